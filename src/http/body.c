/* Bodies: complete where they arrived, collected behind their head, or in an upload buffer. */
#include <errno.h>

#include "http/conn.h"

enum { IN_MAX = HTTP_HEAD_MAX + HTTP_SMALL_BODY + READ_CHUNK };

static struct upload uploads[UPLOADS_MAX];

static void say_continue(struct http_conn *c)
{
	struct slice text = LIT("HTTP/1.1 100 Continue\r\n\r\n");
	int n = 1;

	if (wire_send(c, &text, &n) < 0)
		conn_close(c);
}

static struct upload *upload_take(void)
{
	for (int i = 0; i < UPLOADS_MAX; i++) {
		struct upload *u = &uploads[i];

		if (u->used || !buf_ready(&u->text, REQUEST_MAX))
			continue;
		u->used = true;
		return u;
	}
	return NULL;
}

void upload_give(struct extra *x)
{
	if (!x->upload)
		return;
	buf_reset(&x->upload->text, false);
	x->upload->used = false;
	x->upload = NULL;
}

struct slice body_all(const struct extra *x)
{
	return x->upload ? buf_all(&x->upload->text) : buf_since(&x->in, x->head);
}

/* part may lie in the same memory, not before where it goes to. 0 or a status to refuse. */
static int body_put(struct extra *x, struct slice part)
{
	struct buf *to = x->upload ? &x->upload->text : &x->in;

	if (part.n > x->body_max - body_all(x).n)
		return 413;
	if (!buf_room(to, part.n))
		return 503;
	memmove(to->p + to->len, part.p, part.n);
	to->len += part.n;
	return 0;
}

static int take_length(struct extra *x, struct slice *in)
{
	struct slice part = slice_head(*in, (size_t)x->left < in->n ? (size_t)x->left : in->n);
	int status = body_put(x, part);

	*in = slice_from(*in, part.n);
	x->left -= (int64_t)part.n;
	return status ? status : x->left == 0;
}

static int take_chunks(struct extra *x, struct slice *in)
{
	struct slice part;
	int r = 0, status = 0;

	while (r == 0 && status == 0 && in->n) {
		r = chunked_take(&x->chunked, in, &part);
		status = body_put(x, part);
	}
	if (status)
		return status;
	return r < 0 ? 400 : r;
}

int body_take(struct extra *x, struct slice *in)
{
	return x->left >= 0 ? take_length(x, in) : take_chunks(x, in);
}

bool conn_keep(struct http_conn *c, struct slice bytes)
{
	struct extra *x = conn_extra(c);

	if (!bytes.n)
		return true;
	if (!buf_ready(&x->in, IN_MAX))
		return false;
	buf_slice(&x->in, bytes);
	conn_held(c);
	return !x->in.failed;
}

int body_begin(struct http_conn *c, const struct http_head *h, size_t head, size_t max)
{
	struct extra *x = conn_extra(c);
	bool small = max <= HTTP_SMALL_BODY || (!h->chunked && h->length <= HTTP_SMALL_BODY);

	x->head = head;
	x->body_max = max;
	x->left = h->chunked ? -1 : h->length;
	chunked_init(&x->chunked);
	x->upload = small ? NULL : upload_take();
	if (!small && !x->upload)
		return 503;
	c->state = CONN_BODY;
	conn_queue(c, QUEUE_BODY);
	if (h->expect_continue)
		say_continue(c);
	return 0;
}

void body_first(struct http_conn *c)
{
	struct extra *x = conn_extra(c);
	struct slice body = buf_since(&x->in, x->head);
	int r;

	buf_cut(&x->in, x->head);
	r = body_take(x, &body);
	conn_held(c);
	if (r > 1)
		conn_refuse(c, r);
}

/* A chunked body that stands complete in text, decoded in place. Gives the bytes used, 0: not
 * complete; or -EBADMSG. */
static ssize_t decode_here(char *text, size_t n, size_t *body_len)
{
	struct chunked ck;
	struct slice in = { text, n }, part;
	size_t len = 0;
	int r = 0;

	/* A first pass only looks, so that an incomplete body is still whole afterwards. */
	chunked_init(&ck);
	while (r == 0 && in.n)
		r = chunked_take(&ck, &in, &part);
	if (r <= 0)
		return r;
	chunked_init(&ck);
	in = (struct slice){ text, n };
	for (r = 0; r == 0;) {
		r = chunked_take(&ck, &in, &part);
		memmove(text + len, part.p, part.n);
		len += part.n;
	}
	*body_len = len;
	return (ssize_t)(n - in.n);
}

int body_here(const struct http_head *h, char *text, size_t head, size_t n, struct slice *body,
	size_t *used)
{
	size_t len = h->length > 0 ? (size_t)h->length : 0;
	ssize_t r = (ssize_t)len;

	*used = 0;
	if (h->length > REQUEST_MAX)
		return 413;
	if (h->chunked)
		r = decode_here(text + head, n - head, &len);
	else if (n - head < len)
		return 0;
	if (r < 0)
		return 400;
	if (!h->chunked || r > 0)
		*used = head + (size_t)r;
	*body = (struct slice){ text + head, len };
	return 0;
}

void http_take_body(struct http_request *r, struct buf *to)
{
	struct buf empty = *to;

	if (r->upload) {
		*to = *r->upload;
		*r->upload = empty;
	} else {
		buf_slice(to, r->body);
	}
}
