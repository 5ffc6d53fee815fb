"""scripts/layers: the order of the rooms holds, and each way to break it is found."""
import pytest

from conftest import run

GOOD = {
    "bounds.h": "enum { KIB = 1024 };\n",
    "version.h": '#define VERSION "1"\n',
    "config.h": '#include "base/buf.h"\n',
    "config.c": '#include "config.h"\n#include <stdlib.h>\nchar *c(void) { return getenv("A"); }\n',
    "main.c": '#include "front/stdio.h"\n#include "config.h"\n#include "host/files.h"\n',
    "base/buf.h": '#include "bounds.h"\n#include <stddef.h>\n',
    "base/hash.c": '#include "bearssl.h"\n',
    "json/json_read.c": '#define JSMN_STATIC\n#include "jsmn.h"\n#include "base/buf.h"\n',
    "json/json.h": '#include "base/buf.h"\n',
    "loop/loop.h": '#include "json/json.h"\n',
    "tls/unverified.h": "",
    "tls/unverified.c": '#include "tls/unverified.h"\n',
    "front/ca_fetch.c": '#include "tls/unverified.h"\n',
    "tls/inner.h": '#include <bearssl.h>\n',
    "tls/tls.c": '#include "tls/inner.h"\n',
    "tls/tls.h": '#include "loop/loop.h"\n',
    "http/http.h": '#include "tls/tls.h"\n',
    "mcp/job.h": '#include "loop/loop.h"\n#include "config.h"\n',
    "proxy/master.h": '#include "mcp/job.h"\n',
    "host/files.h": '#include "mcp/job.h"\n#include "version.h"\n',
    "front/stdio.h": '#include "host/files.h"\n#include "proxy/master.h"\n',
}

BROKEN = {
    "base reads json": ("base/x.c", '#include "json/json.h"\n', "base must not include headers of json"),
    "json reads loop": ("json/x.c", '#include "loop/loop.h"\n', "json must not include headers of loop"),
    "loop reads mcp": ("loop/x.h", '# include "mcp/job.h"\n', "loop must not include headers of mcp"),
    "mcp reads host": ("mcp/x.c", '#include "host/files.h"\n', "mcp must not include headers of host"),
    "host reads proxy": ("host/x.c", '#include "proxy/master.h"\n', "host must not include headers of proxy"),
    "proxy reads host": ("proxy/x.c", '#include "host/files.h"\n', "proxy must not include headers of host"),
    "host reads front": ("host/x.c", '#include "front/stdio.h"\n', "host must not include headers of front"),
    "a climb in angle brackets": ("base/x.c", "#include <mcp/job.h>\n", "base must not include headers of mcp"),
    "base reads the configuration": ("base/x.c", '#include "config.h"\n', "base must not read config.h"),
    "loop reads the configuration": ("loop/x.c", '#include "config.h"\n', "loop must not read config.h"),
    "config.h is more than a struct over base": ("config.h", '#include "mcp/job.h"\n', "config.h is a plain struct"),
    "bounds.h includes something": ("bounds.h", '#include "base/buf.h"\n', "bounds.h includes nothing"),
    "BearSSL in a tool": ("host/x.c", '#include "bearssl.h"\n', "bearssl.h is for"),
    "a part of BearSSL in http": ("http/x.c", "#include <bearssl_hash.h>\n", "bearssl.h is for"),
    "jsmn elsewhere": ("json/json_write.c", '#include "jsmn.h"\n', "jsmn.h is for json/json_read.c alone"),
    "getenv elsewhere": ("host/x.c", "char *f(void) { return getenv(\"A\"); }\n", "getenv is for config.c alone"),
    "secure_getenv elsewhere": ("base/x.c", "char *f(void) { return secure_getenv (\"A\"); }\n", "getenv is for config.c"),
    "types of BearSSL in http": ("http/x.c", '#include "tls/inner.h"\n', "shows the types of BearSSL"),
    "a proxy that verifies nothing": ("proxy/x.c", '#include "tls/unverified.h"\n', "unverified.h is for front/ca_fetch.c alone"),
    "a client that verifies nothing": ("http/client.c", '#include "tls/unverified.h"\n', "unverified.h is for front/ca_fetch.c"),
    "a way around it in tls": ("tls/x.h", '#include "tls/unverified.h"\n', "unverified.h is for front/ca_fetch.c alone"),
    "a header without its room": ("base/x.c", '#include "buf.h"\n', 'included as "room/name.h"'),
    "a header by a way up": ("host/x.c", '#include "../base/buf.h"\n', 'included as "room/name.h"'),
    "a room nobody placed": ("util/x.c", "int x;\n", "the room util is not in the layer order"),
    "a file beside main": ("helper.c", "int x;\n", "does not belong to a room"),
    "a folder in a room": ("host/deep/x.c", "int x;\n", "rooms have no folders"),
}


def tree(folder, more):
    for name, text in {**GOOD, **more}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_the_sources_keep_the_layer_order(root):
    run("scripts/layers", "src", cwd=root)


def test_a_tree_in_order_passes(root, tmp_path):
    run("scripts/layers", tree(tmp_path / "src", {}), cwd=root)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_order_is_found(root, tmp_path, case):
    name, text, message = BROKEN[case]
    done = run("scripts/layers", tree(tmp_path / "src", {name: text}), cwd=root, ok=False)
    assert done.returncode == 1
    assert message in done.stdout
    assert done.stdout.startswith(f"{name}:")


def test_an_empty_folder_is_not_taken_for_order(root, tmp_path):
    assert run("scripts/layers", tmp_path, cwd=root, ok=False).returncode == 2
