"""Containers: the image made by buildah, run by podman with runc, or its root alone in a box without anything else.

    Store(folder)       where both keep images: .buildah(...), .podman(...), .build("--target", "prebuilt"), .root(image, folder)
    .docker(folder)     a command `docker` for what the README says: podman on the host's network, since the tests have no other
    box(root, volumes)  a prefix for a server's command: its own namespaces, the root read-only, no /proc, /dev, /etc or /tmp,
                        no capability, and where the tests run as root the user 65534
"""

import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534
# Limits are those of the tests, which may not be raised; a health check by timer wants systemd
DOCKER = """#!/bin/sh
command=$1
shift
[ "$command" != run ] || set -- --network host --no-healthcheck --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \\
	${DOCKER_PORT:+-e SANDSTORM_MCP_PORT=$DOCKER_PORT} "$@"
exec podman %s $command "$@"
"""


class Store:
    def __init__(self, folder):
        self.folder = folder
        self._common = ["--root", folder / "images", "--runroot", folder / "run", "--storage-driver", "vfs"]

    def _podman_options(self):
        return [*self._common, "--tmpdir", self.folder / "tmp", "--cgroup-manager", "cgroupfs", "--events-backend", "file",
                "--runtime", "runc"]

    def _run(self, command, ok=True, **more):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **more)
        assert not ok or done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        return done

    def buildah(self, *words, **more):
        return self._run(["buildah", *self._common, *words], **more)

    def podman(self, *words, **more):
        return self._run(["podman", *self._podman_options(), *words], **more)

    def build(self, tag, *words, context=ROOT):
        """`docker build` without a network: what is not here is not fetched."""
        return self.buildah("bud", "--isolation", "chroot", "--format", "docker", "--pull-never", "-t", tag, *words, context)

    def settings(self, image):
        """What the image says of itself."""
        return json.loads(self.buildah("inspect", "--type", "image", image).stdout)["Docker"]

    def root(self, image, folder):
        """A copy of the image's files."""
        container = self.buildah("from", "--pull-never", image).stdout.strip()
        shutil.copytree(self.buildah("mount", container).stdout.strip(), folder, symlinks=True)
        self.buildah("rm", container)
        return folder

    def docker(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "docker").write_text(DOCKER % " ".join(map(str, self._podman_options())))
        (folder / "docker").chmod(0o755)
        return folder


def box(root, volumes=None):
    """volumes: path inside -> (path outside, may it be written). Folders for them are made in the root, as runtimes do."""
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    command += ["bwrap", "--unshare-all", "--share-net", "--as-pid-1", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", root, "/"]
    for inside, (outside, writable) in (volumes or {}).items():
        place = root / inside.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if outside.is_dir():
            place.mkdir(exist_ok=True)
        else:
            place.touch()
        command += ["--bind" if writable else "--ro-bind", outside, inside]
    words = " ".join(f"'{word}'" for word in command)
    return ["sh", "-c", f'shift; exec {words} /sandstorm-mcp "$@"', "sh"]


def given(path):
    """Belongs to the user of the box."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    return path
