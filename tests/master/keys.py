"""Throw-away keys: the certificates a master may show and the files a client may trust, each made when first asked for.

    keys = Keys(folder)
    keys.leaf("full")      Leaf(chain, key): paths of PEM files for the server
    keys.anchor("full")    path of the PEM file for SANDSTORM_CA that belongs to that leaf
    keys.anchor("twin")    another CA with the same name and another key
"""

import collections
import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

Leaf = collections.namedtuple("Leaf", "chain key")
Signer = collections.namedtuple("Signer", "certificate key")

NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
USUAL = (NOW - DAY, NOW + 30 * DAY)
KINDS = {
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
}
EVERYTHING = ["127.0.0.1", "::1", "DNS:localhost", "DNS:master.test"]

# what differs from the usual: names=EVERYTHING, signed by the EC authority "ca", sent with nothing behind it
LEAVES = {
    "full": {},
    "rsa": {"signer": "ca-rsa", "kind": "rsa"},
    "p384": {"signer": "ca-p384", "kind": "p384"},
    "chain": {"signer": "middle", "behind": ["middle"]},
    "chain-root": {"signer": "middle", "behind": ["middle", "ca"]},
    "chain-cut": {"signer": "middle"},
    "chain-turned": {"signer": "middle", "behind": ["ca", "middle"]},
    "ip": {"names": ["127.0.0.1"]},
    "dns": {"names": ["DNS:localhost"]},
    "dns-ip": {"names": ["DNS:127.0.0.1"]},
    "otherip": {"names": ["127.0.0.2"]},
    "cn": {"names": [], "cn": "localhost"},
    "cn-ip": {"names": [], "cn": "127.0.0.1"},
    "expired": {"valid": (NOW - 9 * DAY, NOW - 2 * DAY)},
    "future": {"valid": (NOW + 2 * DAY, NOW + 9 * DAY)},
    "crit": {"critical": True},
    "old-ca": {"signer": "ca-old"},
    "self": {"signer": None},
    "long": {"signer": "ca-long", "valid": (datetime.datetime(1975, 1, 1), datetime.datetime(4096, 1, 1))},
}
AUTHORITIES = {
    "ca": {},
    "twin": {},
    "other": {"cn": "Another CA"},
    "ca-rsa": {"kind": "rsa"},
    "ca-p384": {"kind": "p384"},
    "ca-old": {"valid": (NOW - 9 * DAY, NOW - 2 * DAY)},
    "ca-long": {"valid": LEAVES["long"]["valid"]},
    "middle": {"signer": "ca", "cn": "Test CA in the middle"},
}


def name(common):
    return x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Test"),
                      x509.NameAttribute(NameOID.COMMON_NAME, common)])


def general_name(text):
    if text.startswith("DNS:"):
        return x509.DNSName(text[4:])
    return x509.IPAddress(ipaddress.ip_address(text))


def pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


class Keys:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._authorities = {}

    def _sign(self, common, signer, valid, kind, extensions):
        """A new key and its certificate; signer None: by itself."""
        key = KINDS[kind]()
        issuer = signer.certificate.subject if signer else name(common)
        builder = (x509.CertificateBuilder().subject_name(name(common)).issuer_name(issuer)
                   .public_key(key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(valid[0]).not_valid_after(valid[1]))
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        digest = hashes.SHA384() if kind == "p384" else hashes.SHA256()
        return Signer(builder.sign(signer.key if signer else key, digest), key)

    def authority(self, which):
        if which not in self._authorities:
            row = AUTHORITIES[which]
            signer = self.authority(row["signer"]) if "signer" in row else None
            extensions = [(x509.BasicConstraints(ca=True, path_length=None), True)]
            self._authorities[which] = self._sign(row.get("cn", "Test CA"), signer, row.get("valid", USUAL),
                                                  row.get("kind", "p256"), extensions)
        return self._authorities[which]

    def leaf(self, which):
        chain, key = self.folder / f"{which}.pem", self.folder / f"{which}.key"
        if not key.exists():
            row = LEAVES[which]
            signer_name = row.get("signer", "ca")
            signer = self.authority(signer_name) if signer_name else None
            extensions = [(x509.BasicConstraints(ca=False, path_length=None), True),
                          (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)]
            if names := row.get("names", EVERYTHING):
                extensions.append((x509.SubjectAlternativeName(map(general_name, names)), False))
            if row.get("critical"):
                unknown = ObjectIdentifier("1.3.6.1.4.1.55555.1")
                extensions.append((x509.UnrecognizedExtension(unknown, b"\x05\x00"), True))
            made = self._sign(row.get("cn", "Test master"), signer, row.get("valid", USUAL), row.get("kind", "p256"),
                              extensions)
            behind = [pem(self.authority(authority).certificate) for authority in row.get("behind", [])]
            chain.write_bytes(pem(made.certificate) + b"".join(behind))
            key.write_bytes(made.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                   serialization.NoEncryption()))
        return Leaf(chain, key)

    def certificate(self, which):
        """PEM of what a client has to trust: of an authority, or of the one that signed a leaf."""
        if which in AUTHORITIES:
            return pem(self.authority(which).certificate)
        signer = LEAVES[which].get("signer", "ca")
        if signer is None:
            return self.leaf(which).chain.read_bytes()
        return self.certificate("ca" if signer == "middle" else signer)

    def anchor(self, *which):
        """A file with the certificates of these leaves' authorities (or of authorities), in this order."""
        path = self.folder / ("anchor-" + "-".join(which) + ".pem")
        if not path.exists():
            path.write_bytes(b"".join(map(self.certificate, which)))
        return path
