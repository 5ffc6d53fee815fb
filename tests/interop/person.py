"""Plays the person at the browser: opens the address in the first argument, types the token of the server (in PERSON_TOKEN)
into the form and follows the way back, as a browser would do it. Each visit is a line in the file PERSON_VISITS."""

import html.parser
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request


class Form(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.action, self.fields = None, {}

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "form":
            self.action = found["action"]
        elif tag == "input":
            self.fields[found["name"]] = found.get("value", "")


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *about):
        return None


def open_browser():
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay)


def allow(address, token):
    """Opens the page and types the token; where the server sends one then."""
    browser = open_browser()
    form = Form()
    form.feed(browser.open(address, timeout=20).read().decode())
    body = urllib.parse.urlencode({**form.fields, "password": token}).encode()
    parts = urllib.parse.urlsplit(address)
    request = urllib.request.Request(urllib.parse.urljoin(address, form.action), body,
                                     {"Origin": f"{parts.scheme}://{parts.netloc}"})
    try:
        raise SystemExit(f"not sent back: {browser.open(request, timeout=20).read()!r}")
    except urllib.error.HTTPError as answer:
        if answer.code != 302:
            raise SystemExit(f"{answer.code}: {answer.read()!r}") from None
        return answer.headers["Location"]


def visit(address):
    browser, back = open_browser(), allow(address, os.environ["PERSON_TOKEN"])
    for _ in range(100):      # some programs listen only after they have sent somebody here
        try:
            browser.open(back, timeout=20).read()
            return
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.1)
    raise SystemExit(f"nobody listens at {back}")


if __name__ == "__main__":
    with open(os.environ["PERSON_VISITS"], "a") as visits:
        visits.write(sys.argv[1] + "\n")
    visit(sys.argv[1])
