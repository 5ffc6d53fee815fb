#include "front/capsule.h"

#include <errno.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/secret.h"
#include "base/str.h"

/* Written into the keys: changed when a payload changes its form. */
static const char *const purposes[CAPSULE_KINDS] = {
	[CAPSULE_CLIENT] = "sandstorm-mcp client 1",
	[CAPSULE_ACCESS] = "sandstorm-mcp access 1",
	[CAPSULE_REFRESH] = "sandstorm-mcp refresh 1",
};

static unsigned char keys[CAPSULE_KINDS][HASH_SIZE];

void capsule_keys(struct slice token)
{
	for (int i = 0; i < CAPSULE_KINDS; i++)
		hash_hmac(token, slice_of(purposes[i]), keys[i]);
}

static struct slice key_of(enum capsule_kind kind)
{
	return (struct slice){ (const char *)keys[kind], HASH_SIZE };
}

void capsule_put(struct buf *b, enum capsule_kind kind, struct slice payload)
{
	unsigned char mac[HASH_SIZE];
	size_t from = b->len;

	base64url_put(b, (const unsigned char *)payload.p, payload.n);
	hash_hmac(key_of(kind), buf_since(b, from), mac);
	buf_putc(b, '.');
	base64url_put(b, mac, sizeof(mac));
}

/* Is mac the text of the HMAC of signed text? */
static bool mac_ok(struct slice key, struct slice text, struct slice mac)
{
	unsigned char want[HASH_SIZE];
	char mem[HASH_TEXT_SIZE];
	struct buf b;

	hash_hmac(key, text, want);
	buf_over(&b, mem, sizeof(mem));
	base64url_put(&b, want, sizeof(want));
	return secret_eq(mac, buf_all(&b));
}

static int open_payload(struct buf *mem, struct slice text, struct slice *payload)
{
	size_t from = mem->len;

	if (!base64url_get(text, mem))
		return mem->failed ? -ENOMEM : -EBADMSG;
	*payload = buf_since(mem, from);
	return 0;
}

int capsule_open(struct buf *mem, enum capsule_kind kind, struct slice text, struct slice *payload)
{
	struct slice mac = text, body = str_split(&mac, '.');

	return mac_ok(key_of(kind), body, mac) ? open_payload(mem, body, payload) : -EBADMSG;
}

/* The reference signs the payload before it is put into base64url. */
int capsule_open_reference(
	struct buf *mem, struct slice token, struct slice text, struct slice *payload)
{
	struct slice body = text, mac = str_split(&body, '.');
	int r = open_payload(mem, body, payload);

	return r < 0 || mac_ok(token, *payload, mac) ? r : -EBADMSG;
}
