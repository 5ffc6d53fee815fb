"""The pages as people see them, by real Chromium: screenshots in build/pages, an accessibility check, the keyboard.

Issue 7, points 2 and 3; decision 38; field-case O11. `pages.mjs` plays the person; all of it is one run of the browser.
"""

import json
import shutil
import subprocess
from urllib.parse import parse_qs, urlsplit

import pytest

from programs import run

PAGES = {"home": 200, "home-private-ca": 200, "authorize": 200, "authorize-tools": 200, "wrong-token": 401,
         "too-many": 429, "unknown-client": 400, "other-address": 400}
VIEWS = ["390-light", "390-dark", "1280-light", "1280-dark"]


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium")
    assert path, "chromium is missing: run make pages"
    return path


@pytest.fixture
def seen(servers, clients, node, browser, binary, tmp_path):
    out = clients.parent / "pages"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    web = servers.start(env={"SANDSTORM_RATE_LIMIT": "0"})
    subprocess.run([binary, "cert", "--host", "127.0.0.1", tmp_path / "tls"], check=True, capture_output=True)
    private = servers.start(tls=tmp_path / "tls")
    told = {"url": web.url.removesuffix("/mcp"), "private": private.url.removesuffix("/mcp"), "token": web.token,
            "out": str(out), "chromium": browser}
    found = json.loads(run(node, "pages.mjs", json.dumps(told), cwd=clients, timeout=240))
    return {**found, "url": told["url"], "out": out}


def test_the_pages_are_fit_to_be_seen(seen):
    """All pages in both widths and schemes; then sign-ins by keyboard alone, one for each kind of way back."""
    views = {(view["name"], view["view"]): view for view in seen["views"]}
    assert set(views) == {(name, view) for name in PAGES for view in VIEWS}
    for (name, view), shown in views.items():
        assert shown["status"] == PAGES[name], shown
        assert shown["violations"] == [] and shown["unsure"] == [] and shown["rules"] > 10, shown
        assert shown["wide"] <= 0, f"{name} needs to be moved sideways at {view}"
        assert shown["small"] == [], "what is tapped has 24 pixels at least (WCAG 2.5.8)"
        assert shown.get("complaints", []) == [], shown
        assert (seen["out"] / f"{name}-{view}.png").stat().st_size > 5000

    for name, way in seen["signIns"].items():
        assert [place["tag"] for place in way["focus"][:2]] == ["INPUT", "BUTTON"], way
        assert "SUMMARY" in [place["tag"] for place in way["focus"]]
        assert all(place["outline"] for place in way["focus"] if place["tag"] != "BODY"), "one sees where one is"
        assert way["complaints"] == [] and way["origin"] == seen["url"], way
        assert way["status"] == 302
        got = parse_qs(urlsplit(way["location"]).query)
        assert got["code"] and got["state"] == ["the state"] and got["iss"] == [seen["url"]]
    assert seen["signIns"]["app"]["location"].startswith("cursor://anysphere.cursor-retrieval/")
    came = seen["came"]     # at the program that listens on this machine
    assert seen["signIns"]["loopback"]["location"].endswith(came["path"])
    assert came["referrer"] is None, "the way back tells nobody where one was"
