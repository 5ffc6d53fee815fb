"""Caddy and nginx as processes of a test, on loopback with TLS, configured by what the README tells people to paste.

    p = caddy(folder, block("caddy"), inner, port)      or nginx: listens on port, passes on to inner
    p.url                  https://localhost:PORT, where the README has https://mcp.example.com
    p.ca                   path of the certificate to trust
    p.connect()            httpwire.Connection to it
    p.answer(request)      Answer, over a connection of its own
    p.end()                ends it
"""

import os
import re
import socket
import ssl
import subprocess
import time

from httpwire import Connection

NAME = "mcp.example.com"


def certificate(folder):
    """A CA that is its own server's certificate."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    if not cert.exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", f"subjectAltName=DNS:localhost,DNS:{NAME}",
                        "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


class TlsConnection(Connection):
    def __init__(self, port, context):
        super().__init__("127.0.0.1", port)
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")


class Proxy:
    def __init__(self, folder, argv, port, env=()):
        self.port, self.url = port, f"https://localhost:{port}"
        self.ca, _ = certificate(folder)
        self.context = ssl.create_default_context(cafile=self.ca)
        self.log = open(folder / "proxy.log", "wb")
        self.process = subprocess.Popen(argv, cwd=folder, env={**os.environ, **dict(env)}, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 20
        while not self.listens():
            assert self.process.poll() is None and time.monotonic() < deadline, self.said()
            time.sleep(0.05)

    def said(self):
        with open(self.log.name) as log:
            return log.read()[-3000:]

    def listens(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as raw:
                self.context.wrap_socket(raw, server_hostname="localhost").close()
                return True
        except OSError:
            return False

    def connect(self):
        return TlsConnection(self.port, self.context)

    def answer(self, request, to="POST"):
        with self.connect() as c:
            c.send(request)
            return c.answer(to)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def placed(text, inner, site):
    """The recipe with the addresses of the test instead of those of the README."""
    assert NAME in text and "127.0.0.1:8080" in text, text
    return text.replace("127.0.0.1:8080", f"127.0.0.1:{inner}").replace(f"{NAME} {{", site)


def without_cut_answers(text):
    """What the README says of Caddy 2.6: it cuts one long answer in 500 of any server, too seldom to be seen, too often for CI."""
    version = subprocess.run(["caddy", "version"], capture_output=True, text=True, check=True).stdout
    if not re.match(r"v?2\.6\.", version):
        return text
    text = re.sub(r"(reverse_proxy [\d.:]+)$", r"\1 {\n}", text, flags=re.M)
    return re.sub(r"(reverse_proxy [\d.:]+ \{)$", r"\1\nbuffer_requests", text, flags=re.M)


def caddy(folder, recipe, inner, port):
    cert, key = certificate(folder)
    text = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    text += placed(recipe, inner, f"https://localhost:{port} {{\n\ttls {cert} {key}")
    (folder / "Caddyfile").write_text(without_cut_answers(text))
    env = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    return Proxy(folder, ["caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile"], port, env)


def nginx(folder, recipe, inner, port):
    cert, key = certificate(folder)
    server = placed(recipe, inner, f"{NAME} {{").replace("listen 443", f"listen 127.0.0.1:{port}")
    server = re.sub(r"ssl_certificate \S+;", f"ssl_certificate {cert};", server)
    server = re.sub(r"ssl_certificate_key \S+;", f"ssl_certificate_key {key};", server)
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;\n" if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(f"{user}daemon off;\npid {folder}/pid;\nerror_log stderr info;\nevents {{}}\n"
                                       f"http {{\naccess_log off;\n{temporary}{server}\n}}\n")
    path = "/usr/sbin/nginx" if os.access("/usr/sbin/nginx", os.X_OK) else "nginx"
    return Proxy(folder, [path, "-e", "stderr", "-p", folder, "-c", folder / "nginx.conf"], port)
