#include "front/plain.h"

#include "base/str.h"
#include "bounds.h"
#include "front/acme.h"
#include "front/gate.h"
#include "front/origin.h"

/* A client that posts has sent in the clear what it should not have: it has to be mended, not
 * helped on. */
static bool leads_on(const struct http_head *h)
{
	return (h->method == HTTP_GET || h->method == HTTP_HEAD) && str_starts(h->path, "/");
}

static void to_https(struct http_request *r)
{
	char mem[HTTP_ANSWER_FIELDS];
	struct buf fields;

	buf_over(&fields, mem, sizeof(mem));
	buf_puts(&fields, "Location: ");
	if (!leads_on(r->head) || !origin_put_https(r->head, &fields)) {
		gate_refuse(r, 400, (struct slice){ 0 },
			"This port only leads to https: the URL must begin with https://");
		return;
	}
	buf_slice(&fields, r->head->path);
	if (r->head->query.n)
		buf_putc(&fields, '?');
	buf_slice(&fields, r->head->query);
	buf_puts(&fields, "\r\n");
	if (fields.failed)
		gate_refuse(r, 400, (struct slice){ 0 }, "The URL is too long");
	else
		http_answer(r->conn, 301, NULL, buf_all(&fields), (struct slice){ 0 });
}

enum { EVERY = ~(1 << HTTP_OPTIONS) };

const struct http_route plain_routes[] = {
	{ ACME_PATH, 1 << HTTP_GET, gate_counted, acme_serve },
	{ "", (unsigned)EVERY, gate_counted, to_https },
	{ 0 },
};
