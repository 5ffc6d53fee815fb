"""A public certificate without a proxy, as the README says it: lego against pebble, an authority for tests.

Issue 7, point 6.
"""

import json
import os
import shlex
import socket
import ssl
import subprocess
import time

import pytest

from httpwire import free_port
from process import wait_until
from test_readme import block

NAME = "mcp.example.com"


@pytest.fixture
def authority(binary, tmp_path):
    """Starts pebble, for which every name is this machine: gives what lego has to be told of it."""
    place = tmp_path / "authority"
    subprocess.run([binary, "cert", "--host", "localhost,127.0.0.1", place], check=True, capture_output=True)
    dns, api, manage = free_port(), free_port(), free_port()
    started = []

    def start(http_port):
        (place / "config.json").write_text(json.dumps({"pebble": {
            "listenAddress": f"127.0.0.1:{api}", "managementListenAddress": f"127.0.0.1:{manage}",
            "certificate": str(place / "server.pem"), "privateKey": str(place / "server.key"),
            "httpPort": http_port, "tlsPort": free_port()}}))
        env = {**os.environ, "PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0"}
        for argv in (["pebble-challtestsrv", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dns01", f"127.0.0.1:{dns}",
                      "-http01", "", "-https01", "", "-tlsalpn01", "", "-management", ""],
                     ["pebble", "-config", place / "config.json", "-dnsserver", f"127.0.0.1:{dns}"]):
            started.append(subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))
        wait_until(lambda: root(), "the authority answers", 20)
        return {"LEGO_CA_CERTIFICATES": str(place / "ca.pem"), "server": f"https://localhost:{api}/dir"}

    def root():
        """The certificate it signs with."""
        try:
            context = ssl.create_default_context(cafile=place / "ca.pem")
            with context.wrap_socket(socket.create_connection(("127.0.0.1", manage)), server_hostname="localhost") as s:
                s.sendall(b"GET /roots/0 HTTP/1.0\r\n\r\n")
                return b"".join(iter(lambda: s.recv(65536), b"")).partition(b"\r\n\r\n")[2].decode()
        except OSError:
            return None
    start.root = root
    yield start
    for process in started:
        process.kill()
        process.wait()


def presented(web, cafile=None, cadata=None):
    """What the server shows to a client that trusts these, in seconds of its end; None where it is refused."""
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    try:
        with context.wrap_socket(socket.create_connection((web.host, web.port), 5), server_hostname=NAME) as s:
            return ssl.cert_time_to_seconds(s.getpeercert()["notAfter"])
    except ssl.SSLCertVerificationError:
        return None


def test_a_certificate_comes_and_is_renewed(servers, authority, binary, tmp_path):
    """The lines of the README, but for places, ports and the name of the authority."""
    place, port = tmp_path / "acme", free_port()
    env = {**os.environ, "A": str(place), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (tmp_path / "sandstorm-mcp").symlink_to(binary)
    begin = block("acme-begin").replace("A=/var/lib/sandstorm-acme\n", "")
    subprocess.run(["sh", "-euc", begin], env=env, check=True, capture_output=True)

    words = shlex.split(block("acme-serve").replace("$A", str(place)))
    assert words[:6] == ["sandstorm-mcp", "serve", "--mcp-host", "0.0.0.0", "--mcp-port", "443"]
    web = servers.start(args=[*words[6:], "--acme-port", port], address="0.0.0.0", tls=place)
    assert presented(web, cafile=place / "ca.pem")

    told = authority(port)
    hook = place / "hook"
    hook.write_text(hook.read_text().replace("pkill -HUP -o -f '[s]andstorm-mcp serve'", f"kill -HUP {web.pid}"))
    lines = block("acme-run").replace("lego ", f"lego --server {told['server']} ", 1).replace(" renew ", " renew --days 9999 --no-random-sleep ")
    subprocess.run(["sh", "-euxc", "\n".join(lines.splitlines()[:2])], env={**env, **told}, check=True, timeout=60)
    wait_until(lambda: presented(web, cadata=authority.root()), "the public certificate is shown")
    first = presented(web, cadata=authority.root())
    assert presented(web, cafile=place / "ca.pem") is None
    assert not list(place.glob(".well-known/acme-challenge/*")), "lego has cleared up"

    time.sleep(1.1)     # so that the new one ends later
    lines = lines.splitlines()
    subprocess.run(["sh", "-euxc", f"{lines[0]}\n{lines[2]}"], env={**env, **told}, check=True, timeout=60)
    wait_until(lambda: presented(web, cadata=authority.root()) > first, "the renewed certificate is shown")
    assert (place / "server.key").stat().st_mode & 0o777 == 0o600
