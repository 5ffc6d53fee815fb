"""The image of the Dockerfile, built by buildah and run: by podman with runc as a user would, and its root alone in a box that
has no /proc, /dev, /etc or /tmp, nothing writable and no capability."""

import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import pytest
import yaml

from container import NOBODY, ROOT, Store, box, given

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/e2e")]

from httpwire import Connection, free_port, request  # noqa: E402, their folders had to be named first
from master.keys import Keys  # noqa: E402
from master.server import Master  # noqa: E402
from process import busy, clean_environment, end_all, wait_until  # noqa: E402
from test_readme import block  # noqa: E402
from test_readme_sandbox import WORKS, filled, first_answers  # noqa: E402
from webserver import TOKEN, WebServer  # noqa: E402

NO_SHELL = "no shell here: neither /bin/bash nor /bin/sh exists"
MACHINES = {"linux/amd64": ("x86_64", 62), "linux/arm64": ("aarch64", 183), "linux/arm/v7": ("armv7", 40),
            "linux/arm/v6": ("armv5", 40), "linux/386": ("i686", 3), "linux/riscv64": ("riscv64", 243)}


@pytest.fixture(scope="session")
def store():
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build/image.lock", "w") as lock:      # other workers of this run do the same
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([ROOT / "scripts/image-files"], check=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="store-"))        # podman wants a short path
    found = Store(folder)
    found.build("sandstorm-mcp", "--target", "prebuilt")
    yield found
    shutil.rmtree(folder)


@pytest.fixture
def tmp_path():
    """One that the user of the box may enter, which pytest's own is not."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="image-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def root(store, tmp_path):
    return store.root("sandstorm-mcp", tmp_path / "root")


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "workspace"
    path.mkdir()
    return given(path)


@pytest.fixture
def serve(root, workspace, tmp_path):
    """A server in the box: serve(env, args, volumes); its client has the token TOKEN."""
    started = []

    def start(env=None, args=("serve",), volumes=None):
        port = free_port()
        env = {"SANDSTORM_MCP_PORT": str(port), "SANDSTORM_MCP_TOKEN": TOKEN, "SANDSTORM_WORKSPACE_ROOT": "/workspace", **(env or {})}
        wrap = box(root, {"/workspace": (workspace, True)} if volumes is None else volumes)
        started.append(WebServer([*wrap, "/sandstorm-mcp", *args], clean_environment(None, env), tmp_path, "127.0.0.1", port, TOKEN))
        assert started[-1].wait_ready(), started[-1].stderr_text()
        return started[-1]
    yield start
    for w in started:
        if w.alive():
            w.end_first()
    end_all(started)


# -- the image -----------------------------------------------------------------------------------------


def test_it_holds_one_file_and_says_how_to_run_it(store, root):
    files = [path for path in root.rglob("*") if not path.is_dir()]
    assert files == [root / "sandstorm-mcp"] and os.access(files[0], os.X_OK)
    assert files[0].read_bytes() == (ROOT / "out/image/amd64/sandstorm-mcp").read_bytes()
    config = store.settings("sandstorm-mcp")["config"]
    assert config["User"] == f"{NOBODY}:{NOBODY}" and config["Entrypoint"] == ["/sandstorm-mcp"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/sandstorm-mcp", "health"]
    assert config["Healthcheck"]["Timeout"] > 5e9, "longer than health takes to give up"
    assert "8080/tcp" in config["ExposedPorts"] and "Volumes" not in {k for k, v in config.items() if v}
    print(f"\nthe image's file has {files[0].stat().st_size} bytes")


def test_each_platform_gets_its_own_binary(store, tmp_path):
    tried = [platform for platform, (target, _) in MACHINES.items()
             if (ROOT / f"out/sandstorm-mcp-{target}").exists() or target == os.uname().machine]
    assert len(tried) >= 3, f"only {tried}: make TARGET=aarch64, make TARGET=armv7"
    for platform in tried:
        tag = "image-" + platform.replace("/", "-")
        store.build(tag, "--target", "prebuilt", "--platform", platform)
        head = (store.root(tag, tmp_path / tag) / "sandstorm-mcp").read_bytes()[:20]
        assert head[:4] == b"\x7fELF" and struct.unpack("<H", head[18:20])[0] == MACHINES[platform][1], platform
        assert platform.split("/")[1] == store.settings(tag)["architecture"]


FAKES = {   # a Debian in which nothing is fetched or compiled: what was asked for becomes the "binary"
    "apt-get": "exit 0\n",
    "make": 'mkdir out; { echo "make $*"; cat "${1#CA=}"; ls; } > out/sandstorm-mcp-x 2> /dev/null; chmod 755 out/sandstorm-mcp-x\n',
}


@pytest.fixture
def debian(store, tmp_path):
    """An image named like that of the build stage."""
    context = tmp_path / "debian"
    (context / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), context / "bin/busybox")
    for name in ("sh", "ls", "cat", "mkdir", "mv", "chmod", "dirname", "uname", "rm", "echo"):
        (context / "bin" / name).symlink_to("busybox")
    for name, text in FAKES.items():
        (context / "bin" / name).write_text("#!/bin/sh\n" + text)
        (context / "bin" / name).chmod(0o755)
    (context / "Dockerfile").write_text("FROM scratch\nCOPY bin /bin\nENV PATH=/bin\n")
    store.build("debian:12-slim", context=context)


def built_from_source(store, tmp_path, *words):
    context = tmp_path / "context"
    if not context.exists():
        shutil.copytree(ROOT, context, ignore=shutil.ignore_patterns(".git", "build", "out", "musl", "bearssl", "dl", "tests"))
        (context / "out/image/amd64").mkdir(parents=True)       # buildah of Debian 12 builds stages nobody wants, too
        shutil.copytree(context / "out/image/amd64", context / "out/image/arm64")
        shutil.copytree(context / "out/image/amd64", context / "out/image/armv7")
        for arch in ("amd64", "arm64", "armv7"):
            (context / f"out/image/{arch}/sandstorm-mcp").write_text("not this one")
        (context / "ca.pem").write_text("the CA in the context\n")
    store.build("from-source", *words, context=context)
    root = store.root("from-source", tmp_path / f"root-{len(list(tmp_path.iterdir()))}")
    assert [path.name for path in root.rglob("*") if not path.is_dir()] == ["sandstorm-mcp"]
    return (root / "sandstorm-mcp").read_text()


def test_the_build_stage_makes_what_the_last_one_holds(store, debian, tmp_path):
    said = built_from_source(store, tmp_path)
    assert said.startswith("make CA= TARGET=x86_64\n")
    assert {"Makefile", "scripts", "src", "vendor"} <= set(said.split())
    mine, theirs = (store.settings(tag)["config"] for tag in ("from-source", "sandstorm-mcp"))
    for config in (mine, theirs):
        del config["Hostname"], config["Image"]     # of the containers they were built in
    assert mine == theirs


@pytest.mark.parametrize("platform, target", [("linux/arm64", "aarch64"), ("linux/arm/v7", "armv7")])
def test_other_machines_are_compiled_for_on_this_one(store, debian, tmp_path, platform, target):
    said = built_from_source(store, tmp_path, "--platform", platform, "--build-arg", "BUILDPLATFORM=linux/amd64")
    assert said.startswith(f"make CA= TARGET={target}\n")


def test_a_ca_is_compiled_in_by_argument_or_as_a_secret(store, debian, tmp_path):
    said = built_from_source(store, tmp_path, "--build-arg", "CA=ca.pem")
    assert said.startswith("make CA=ca.pem TARGET=x86_64\nthe CA in the context\n")
    (tmp_path / "other.pem").write_text("a CA from elsewhere\n")
    said = built_from_source(store, tmp_path, "--secret", f"id=ca,src={tmp_path / 'other.pem'}")
    assert said.startswith("make CA=/run/secrets/ca TARGET=x86_64\na CA from elsewhere\n")


def test_every_name_of_an_architecture_has_its_target(tmp_path):
    def name(arch):
        return subprocess.run([ROOT / "scripts/image-files", arch], capture_output=True, text=True)
    wanted = {"amd64": "x86_64", "amd64v3": "x86_64", "386": "i686", "arm64": "aarch64", "arm64v8": "aarch64", "armv7": "armv7",
              "armv6": "armv5", "armv5": "armv5", "arm": "armv5", "riscv64": "riscv64", "mips": "mips", "mipsle": "mipsel"}
    assert {arch: name(arch).stdout.strip() for arch in wanted} == wanted
    assert name("s390x").returncode == 2 and "no target for s390x" in name("s390x").stderr


# -- in a box with nothing -------------------------------------------------------------------------------


def test_it_serves_where_there_is_nothing_else(serve, root, workspace):
    w = serve()
    assert w.exchange("POST", "/mcp", {"Content-Type": "application/json"}, b"{}").status == 401
    names = [tool["name"] for tool in w.result("tools/list")["tools"]]
    assert "file_read" in names and names == [tool["name"] for tool in w.modern.result("tools/list")["tools"]]
    assert w.text("file_write", path="a/f", content="x") == "Written 1 bytes to /workspace/a/f"
    assert w.text("file_read", path="a/f") == "x"
    assert "/workspace/a/f" in w.text("file_list", recursive=True)
    assert w.text("file_move", source="a/f", dest="g") == "Moved /workspace/a/f \u2192 /workspace/g"
    assert (workspace / "g").stat().st_uid == (NOBODY if os.geteuid() == 0 else os.geteuid())
    assert w.text("file_delete", path="g") == "Deleted /workspace/g"
    assert w.failure("terminal_exec", command="true") == NO_SHELL
    assert w.failure("terminal_exec_background", command="true") == NO_SHELL
    assert w.failure("git_status") == "git is not installed here"
    assert "=== Disk ===" in w.text("workspace_info")
    assert w.end_first()[0] == 0


def test_it_ends_in_time_with_a_client_connected(serve):
    w = serve()
    kept, half = w.connect(), w.connect()
    kept.send(request("GET", "/health", {"Host": "x"}))
    assert kept.answer().status == 200
    half.send(b"POST /mcp HTTP/1.1\r\nHost: x\r\n")
    code, seconds = w.end_first()
    assert code == 0 and seconds < busy()


def test_without_a_place_for_state_it_serves_and_says_so(serve, workspace):
    (workspace / "kept").write_text("x")
    w = serve(volumes={"/workspace": (workspace, False)})
    assert w.text("file_read", path="kept") == "x"
    assert "Read-only file system" in w.failure("file_write", path="f", content="x")
    wait_until(lambda: "state" in w.stderr_text(), "the word about it")
    assert w.end_first()[0] == 0


def test_health_needs_nothing_either(serve, root, workspace, tmp_path):
    w = serve()

    def health(*words, port=w.port):
        env = clean_environment(None, {"SANDSTORM_MCP_PORT": str(port)})
        return subprocess.run([*box(root), "/sandstorm-mcp", "health", *words], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert health().returncode == 0
    assert health(port=1).returncode == 1 and "cannot be reached" in health(port=1).stderr
    assert health(port="x").returncode == 2
    assert health(f"http://127.0.0.1:{w.port}/health", port=1).returncode == 0
    assert w.end_first()[0] == 0


# -- what the README says, with podman as docker -------------------------------------------------------------


@pytest.fixture
def user(store, tmp_path):
    """A folder in which somebody follows the README, and the environment of that person's shell."""
    folder = store.docker(tmp_path / "bin")
    (folder / "id").write_text(f"#!/bin/sh\necho {NOBODY}\n")
    (folder / "id").chmod(0o755)
    (folder / "sandstorm-mcp").symlink_to(ROOT / "out/image/amd64/sandstorm-mcp")
    (tmp_path / "workspace").mkdir()
    given(tmp_path / "workspace")
    env = clean_environment(None, {"PATH": f"{folder}:{os.environ['PATH']}", "DOCKER_PORT": str(free_port())})
    yield tmp_path, env
    store.podman("rm", "--all", "--force", "--time", "1")


def shell(user, command, ok=True):
    folder, env = user
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    assert not ok or done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done


def asks(port, token, method, params=None):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, **({"params": params} if params else {})}).encode()
    fields = {"Host": "x", "Authorization": f"Bearer {token}", "Content-Type": "application/json", "Accept": "application/json"}
    connection = Connection("127.0.0.1", port, 10)
    try:
        connection.send(request("POST", "/mcp", fields, body))
        return connection.answer().json()["result"]
    finally:
        connection.close()


def answers(port):
    return subprocess.run([ROOT / "out/image/amd64/sandstorm-mcp", "health", f"http://127.0.0.1:{port}/health"],
                          capture_output=True).returncode == 0


def test_docker_run_as_it_stands_there(user):
    folder, env = user
    make_token, run = block("docker-run").replace("\\\n", "").strip().splitlines()
    shell(user, make_token)
    token = (folder / "token").read_text().strip()
    given(folder / "token")
    shell(user, run)
    port = int(env["DOCKER_PORT"])
    wait_until(lambda: answers(port), "the server", 20)
    assert len(asks(port, token, "tools/list")["tools"]) >= 20
    call = {"name": "file_write", "arguments": {"path": "f", "content": "x"}}
    assert "Written" in asks(port, token, "tools/call", call)["content"][0]["text"]
    assert (folder / "workspace/f").stat().st_uid == NOBODY
    assert shell(user, "docker exec sandstorm-mcp /sandstorm-mcp health").stderr == ""
    began = time.monotonic()
    shell(user, "docker stop sandstorm-mcp")
    assert time.monotonic() - began < 5 * busy(), "and not after the ten seconds that docker waits"
    assert shell(user, "docker inspect --format '{{.State.ExitCode}}' sandstorm-mcp").stdout.strip() == "0"
    assert token not in shell(user, "docker logs sandstorm-mcp 2>&1").stdout


def test_a_token_can_be_made_by_the_image(user):
    made = shell(user, "docker run --rm sandstorm-mcp token > token; cat token").stdout
    assert re.fullmatch(r"\S{32,}\n", made)


def test_health_in_a_container_whose_port_is_a_flag(user):
    port = free_port()
    folder, env = user
    env = {name: value for name, value in env.items() if name != "DOCKER_PORT"}
    shell((folder, env), f"docker run -d --name mcp -e SANDSTORM_MCP_TOKEN={TOKEN} -e SANDSTORM_WORKSPACE_ROOT=/workspace "
                         f"-v $PWD/workspace:/workspace sandstorm-mcp serve --mcp-port {port}")
    wait_until(lambda: answers(port), "the server", 20)
    assert shell(user, "docker exec mcp /sandstorm-mcp health").returncode == 0
    assert shell(user, "docker exec mcp /sandstorm-mcp health --mcp-port 1", ok=False).returncode == 1
    assert shell(user, "docker exec mcp /sandstorm-mcp health http://nowhere", ok=False).returncode == 2


def test_the_sandbox_tools_over_stdio_by_docker_run(user, tmp_path):
    folder, env = user
    keys = tmp_path / "keys"
    keys.mkdir()
    master = Master(tmp_path / "master", keys=Keys(keys))
    try:
        entry = json.loads(filled(block("sandbox-docker"), master))["mcpServers"]["sandstorm"]
        assert first_answers([entry["command"], *entry["args"]], {**env, **entry["env"]}, folder / "bin") == WORKS
    finally:
        master.end()


# -- the manifests -----------------------------------------------------------------------------------------


def known_variables():
    """Those of the option table, and the secrets' own."""
    said = subprocess.run([ROOT / "out/image/amd64/sandstorm-mcp", "tools", "--config-json"], capture_output=True, check=True).stdout
    secrets = ("SANDSTORM_MCP_TOKEN", "SESSION_AUTH_TOKEN", "SANDSTORM_TOKEN")
    return {row["name"] for row in json.loads(said)} | {s + end for s in secrets for end in ("", "_FILE")}


def checked(env, words, mounts):
    """Every variable is ours, every word a command of ours, every path below something that is mounted."""
    assert set(env) <= known_variables()
    assert words == ["serve"] and env["SANDSTORM_MCP_HOST"] == "0.0.0.0"
    for name, value in env.items():
        if value.startswith("/"):
            assert any(value == m or value.startswith(m + "/") for m in mounts), f"{name}={value} is nowhere in {mounts}"
    assert "SANDSTORM_MCP_TOKEN" not in env, "a secret is a file"


def works(serve, env, mounts, token_file, tmp_path, workspace):
    """The same environment and mounts, in the box."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "token").write_text(TOKEN + "\n")
    (secret / "token").chmod(0o440)
    given(secret / "token")
    token_mount = next(m for m in mounts if token_file == m or token_file.startswith(m + "/"))
    source = secret if token_file != token_mount else secret / "token"
    w = serve({"SANDSTORM_MCP_TOKEN": None, **env},
              volumes={"/workspace": (workspace, True), token_mount: (source, False)})
    assert w.text("file_write", path="f", content="x") == "Written 1 bytes to /workspace/f"
    assert w.exchange("GET", "/health").status == 200
    assert w.end_first()[0] == 0


def test_the_docker_run_line_names_what_there_is():
    words = shlex.split(block("docker-run").replace("\\\n", "").splitlines()[1])
    assert words[:2] == ["docker", "run"] and words[-2:] == ["sandstorm-mcp", "serve"]
    options = list(zip(words, words[1:]))
    env = dict(value.split("=", 1) for name, value in options if name == "-e")
    checked(env, words[-1:], [value.split(":")[1] for name, value in options if name == "-v"])
    assert ("--cap-drop", "ALL") in options and "--read-only" in words and ("-p", "127.0.0.1:8080:8080") in options


def test_the_compose_file_names_what_there_is_and_serves(serve, tmp_path, workspace):
    compose = yaml.safe_load(block("compose"))
    (name, service), = compose["services"].items()
    mounts = [volume.split(":")[1] for volume in service["volumes"]] + [f"/run/secrets/{s}" for s in service["secrets"]]
    checked(service["environment"], service["command"], mounts)
    assert service["image"] == "sandstorm-mcp" and service["read_only"] is True and service["cap_drop"] == ["ALL"]
    assert set(service["secrets"]) == set(compose["secrets"]) and "healthcheck" not in service, "the image has its own"
    assert set(service) <= {"image", "command", "user", "read_only", "cap_drop", "security_opt", "environment", "secrets", "volumes",
                            "ports", "restart"}
    works(serve, service["environment"], mounts, service["environment"]["SANDSTORM_MCP_TOKEN_FILE"], tmp_path, workspace)


def kubernetes():
    found = list(yaml.safe_load_all(block("kubernetes")))
    return {document["kind"]: document for document in found}


def test_the_kubernetes_manifest_fits_together():
    k = kubernetes()
    spec, pod = k["Deployment"]["spec"], k["Deployment"]["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert spec["replicas"] == 1 and spec["strategy"]["type"] == "Recreate"
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"] == k["Service"]["spec"]["selector"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {m["name"] for m in container["volumeMounts"]} == set(volumes)
    assert volumes["token"]["secret"] == {"secretName": k["Secret"]["metadata"]["name"], "defaultMode": 0o440}
    assert volumes["workspace"]["persistentVolumeClaim"]["claimName"] == k["PersistentVolumeClaim"]["metadata"]["name"]
    port, = container["ports"]
    assert port["containerPort"] == 8080 and container["readinessProbe"]["httpGet"] == {"path": "/health", "port": port["name"]}
    assert k["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert container["livenessProbe"]["exec"]["command"] == ["/sandstorm-mcp", "health"]
    assert container["livenessProbe"]["timeoutSeconds"] > 5, "longer than health takes to give up"
    assert container["securityContext"] == {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
                                            "capabilities": {"drop": ["ALL"]}}
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == NOBODY
    assert "token" in k["Secret"]["stringData"]


def test_the_kubernetes_manifest_serves(serve, tmp_path, workspace):
    pod = kubernetes()["Deployment"]["spec"]["template"]["spec"]
    container, = pod["containers"]
    env = {variable["name"]: variable["value"] for variable in container["env"]}
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    checked(env, container["args"], mounts)
    works(serve, env, mounts, env["SANDSTORM_MCP_TOKEN_FILE"], tmp_path, workspace)


def test_no_variable_that_kubernetes_makes_of_a_service_is_ours():
    """Of a Service NAME it makes NAME_PORT=tcp://..., NAME_SERVICE_HOST and more, unless it is told not to."""
    k = kubernetes()
    assert k["Deployment"]["spec"]["template"]["spec"]["enableServiceLinks"] is False
    prefix = k["Service"]["metadata"]["name"].upper().replace("-", "_")
    made = {prefix + end for end in ("_PORT", "_SERVICE_HOST", "_SERVICE_PORT", "_PORT_8080_TCP", "_PORT_8080_TCP_ADDR")}
    assert not made & known_variables()
    done = subprocess.run([ROOT / "out/image/amd64/sandstorm-mcp", "serve"], capture_output=True, text=True,
                          env={"SANDSTORM_MCP_TOKEN": TOKEN, "SANDSTORM_MCP_PORT": "tcp://10.0.0.1:8080"})
    assert done.returncode == 2 and 'SANDSTORM_MCP_PORT: "tcp://10.0.0.1:8080" is not a number' in done.stderr


def test_an_image_of_ones_own_takes_the_binary_from_ours(store, debian, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/Dockerfile").write_text(block("from-image"))
    store.build("own", context=tmp_path / "own")
    root = store.root("own", tmp_path / "own-root")
    assert (root / "usr/local/bin/sandstorm-mcp").read_bytes() == (ROOT / "out/image/amd64/sandstorm-mcp").read_bytes()
    assert store.settings("own")["config"]["Entrypoint"] == ["/usr/local/bin/sandstorm-mcp"]
