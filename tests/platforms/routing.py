"""A box like a small router's for the tests of this folder: scripts/router-box with a squashfs root and 64 MB of memory.

r = router(files=folder, env={...}, tls=folder)     a webserver.WebServer in the box, with .group (its memory, see
                                                    test_router_box.Group); files go into the box's root
"""

import pathlib

from installing import REPOSITORY      # which names the folder of the end-to-end tests

from test_router_box import Group
from webserver import TOKEN, WebServer, WebStarter

BOX = str(REPOSITORY / "scripts/router-box")
ROOT = "/tmp/w"


class Routers:
    """Starts boxes and looks after them at the end of the test."""

    def __init__(self, binary, place):
        self.program = binary
        self._web = WebStarter(binary, ROOT, place)
        self._groups = []

    def start(self, files=None, env=None, **more):
        env = {"SQUASHFS": "1", "FILES": files, **(env or {})}
        return self._noted(self._web.start(wrap=[BOX], root=ROOT, env=env, **more))

    def exactly(self, argv, env, files, host, port, context=None):
        """That command with that environment and no other; as procd starts it."""
        settings = pathlib.Path(files) / "etc/sandstorm-mcp.env"
        token = settings.read_text().strip().partition("=")[2] if settings.exists() else TOKEN
        w = WebServer([BOX, *argv], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SQUASHFS": "1", "FILES": str(files), **env},
                      files, host, port, token, context)
        self._web.started.append(w)
        assert w.wait_ready(), w.stderr_text()
        return self._noted(w)

    def _noted(self, w):
        w.group = Group(w.pid)
        self._groups.append(w.group)
        return w

    def end(self):
        complaints = [text for w in self._web.started for text in w.end()]
        for group in self._groups:
            group.remove()
        return complaints
