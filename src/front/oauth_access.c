/*
 * Access tokens: ours, and those the reference server has issued.
 */
#include "bounds.h"
#include "front/capsule.h"
#include "front/oauth_token.h"
#include "json/json.h"

enum {
	TIME_SIZE = 8, /* seconds since 1970, most significant byte first */
	TOKEN_SIZE = TIME_SIZE + FAMILY_ID_SIZE,
	REFERENCE_MAX =
		8 * KIB, /* payload and its tokens; a client_id of the reference has 43 bytes */
};

void oauth_access_put(struct buf *b, const unsigned char family[FAMILY_ID_SIZE], int64_t now_s)
{
	uint64_t until = (uint64_t)now_s + ACCESS_S;
	char payload[TOKEN_SIZE];

	for (int i = 0; i < TIME_SIZE; i++)
		payload[i] = (char)(until >> (56 - 8 * i));
	memcpy(payload + TIME_SIZE, family, FAMILY_ID_SIZE);
	capsule_put(b, CAPSULE_ACCESS, (struct slice){ payload, sizeof(payload) });
}

static bool ours_ok(struct slice token, int64_t now_s)
{
	char mem[TOKEN_SIZE];
	struct slice payload;
	uint64_t until = 0;
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	if (capsule_open(&b, CAPSULE_ACCESS, token, &payload) < 0 || payload.n != TOKEN_SIZE)
		return false;
	for (int i = 0; i < TIME_SIZE; i++)
		until = until << 8 | (unsigned char)payload.p[i];
	return now_s < (int64_t)until &&
	       !oauth_family_ended((const unsigned char *)payload.p + TIME_SIZE);
}

static bool reference_ok(struct slice token, struct slice mcp_token, int64_t now_s)
{
	static char mem[REFERENCE_MAX];
	struct slice payload;
	struct json d;
	struct buf b;
	int64_t t;

	buf_over(&b, mem, sizeof(mem));
	if (capsule_open_reference(&b, mcp_token, token, &payload) < 0 ||
		json_parse(&d, (char *)payload.p, payload.n, &b) < 0)
		return false;
	return json_str_is(&d, json_get(&d, 0, "k"), "access") &&
	       json_int(&d, json_get(&d, 0, "t"), &t) == 0 && now_s - t / 1000 < ACCESS_S;
}

bool oauth_access_ok(struct slice token, struct slice mcp_token, int64_t now_s)
{
	return ours_ok(token, now_s) || reference_ok(token, mcp_token, now_s);
}
