"""Requests, answers, streams and limits once more, on the other side of the seam: all bytes go through TLS."""

import pytest

from test_http_framing import *  # noqa: F401,F403, pytest finds its tests here, too
from test_http_sse import *  # noqa: F401,F403

# a TLS connection is never half closed (RFC 5246 section 7.2.1)
del test_a_client_that_has_sent_all_and_half_closes_is_answered  # noqa: F821


class OverTls:
    """The fixture `web`, whose servers speak TLS."""

    def __init__(self, web, lan):
        self._web, self._lan = web, lan

    def start(self, **options):
        return self._web.start(tls=self._lan, **options)

    __call__ = start


@pytest.fixture
def web(web, lan):
    return OverTls(web, lan)
