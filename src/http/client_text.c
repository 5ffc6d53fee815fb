/* What is told of a call that failed (sandbox-tools.md section 5.2). */
#include "http/client_conn.h"

enum { QUOTED_MAX = 80 }; /* bytes shown of a reply that is none */

const char *client_phase(const struct client_conn *k)
{
	if (!k)
		return "queue";
	if (k->state == CLIENT_CONNECT)
		return "connect";
	return k->state == CLIENT_HANDSHAKE ? "TLS" : "reply";
}

/* In tenths where it is no whole number. */
static void put_seconds(struct buf *b, int64_t ms)
{
	int64_t tenths = (ms + 50) / 100;

	buf_printf(b, "%lld", (long long)tenths / 10);
	if (tenths % 10)
		buf_printf(b, ".%lld", (long long)tenths % 10);
	buf_puts(b, " s");
}

/* The limit that was passed: that of the whole call, or of opening a connection. */
static void put_timeout(struct buf *b, struct http_call *c, const struct client_conn *k)
{
	bool whole = loop_now() - c->began >= c->limit_ms;

	c->phase = client_phase(k);
	buf_puts(b, "timed out after ");
	put_seconds(b, whole ? c->limit_ms : CONNECT_MS);
	buf_printf(b, " (%s)", c->phase);
}

static void put_closed(struct buf *b, const struct http_call *c, const struct client_conn *k)
{
	if (k->state == CLIENT_HANDSHAKE) {
		buf_puts(b, "the master closed the connection during the TLS handshake");
		return;
	}
	buf_printf(b, "the master closed the connection before the reply was complete (got %llu",
		(unsigned long long)c->got);
	if (c->expected >= 0)
		buf_printf(b, " of %lld", (long long)c->expected);
	buf_puts(b, " bytes)");
}

static void put_invalid(struct buf *b, const struct http_call *c, const struct client_conn *k)
{
	struct mask m = { .n = 0 };

	mask_from(&m, c->fields);
	buf_printf(b, "invalid reply from the master: %s; it begins ", k->reply.wrong);
	mask_put_quoted(&m, b, buf_all(&k->head), QUOTED_MAX);
}

static void put_connect(struct buf *b, const char *begin, const char *end)
{
	buf_puts(b, begin);
	http_origin_put_host(client_origin, b);
	buf_puts(b, end);
}

static void put_tls(struct buf *b, const struct client_conn *k)
{
	if (k)
		tls_client_put_failure(&k->tls, b);
	else
		buf_puts(b, tls_no_roots);
}

static void put_text(struct buf *b, struct http_call *c, const struct client_conn *k,
	enum http_call_failure failure)
{
	switch (failure) {
	case HTTP_CALL_OK:
	case HTTP_CALL_STOPPED:
		break;
	case HTTP_CALL_RESOLVE:
		buf_printf(b, "cannot resolve %s: %s", client_origin->host,
			resolve_error(k->names.err));
		break;
	case HTTP_CALL_REFUSED:
		put_connect(b, "connection refused by ", "; is the master running?");
		break;
	case HTTP_CALL_CONNECT:
		put_connect(b, "cannot connect to ", ": ");
		buf_puts(b, strerror(-k->error));
		break;
	case HTTP_CALL_TLS:
		put_tls(b, k);
		break;
	case HTTP_CALL_TIMEOUT:
		put_timeout(b, c, k);
		break;
	case HTTP_CALL_CLOSED:
		put_closed(b, c, k);
		break;
	case HTTP_CALL_INVALID:
		put_invalid(b, c, k);
		break;
	case HTTP_CALL_MEMORY:
		buf_puts(b, "the memory budget is used up, try again later");
		break;
	case HTTP_CALL_REQUEST:
		buf_puts(b, c->body.n > REQUEST_BODY_MAX
				    ? "the request was not sent: its body is over 1 MiB"
				    : "the request was not sent: its path is too long or cannot "
				      "stand in a request");
		break;
	}
}

void call_say(struct http_call *c, const struct client_conn *k, enum http_call_failure failure)
{
	struct buf b;

	buf_over(&b, c->text, sizeof(c->text) - 1);
	put_text(&b, c, k, failure);
	c->text[b.len] = '\0';
}
