/*
 * What strangers send to the authorization server: a registration, a token, redirect URIs; and the
 * state file. No text opens as a capsule that we did not seal, what is registered comes back from
 * its client_id, pages hold no byte of others that could be markup.
 */
#include "fuzz.h"

#include "base/str.h"
#include "bounds.h"
#include "front/capsule.h"
#include "front/oauth_client.h"
#include "front/oauth_token.h"
#include "front/page.h"
#include "front/redirect.h"

#define KEY LIT("a token of the fuzzer")

static void registers(struct slice in)
{
	static struct buf body, mem, answer;
	const char *why = NULL;
	struct oauth_client c;
	struct slice id, uri;
	struct json d;

	buf_slice(fuzz_buf(&body, 1 << 20), in);
	fuzz_buf(&answer, 1 << 20);
	if (oauth_client_register(buf_all(&body), fuzz_buf(&mem, 1 << 24), &answer, &why)) {
		MUST(why && *why);
		return;
	}
	MUST(json_parse(&d, answer.p, answer.len, fuzz_buf(&mem, 1 << 24)) == 0);
	MUST(json_str(&d, json_get(&d, 0, "client_id"), &id) == 0 && id.n <= CLIENT_ID_MAX);
	MUST(oauth_client_open(&c, id, &mem) == 0);
	MUST(json_str(&d, json_first(&d, json_get(&d, 0, "redirect_uris")), &uri) == 0);
	MUST(redirect_kind(uri) != REDIRECT_REFUSED && oauth_client_redirects(&c, uri));
}

static void tokens(struct slice in)
{
	static struct buf mem;
	unsigned char family[FAMILY_ID_SIZE];
	struct slice payload;

	for (int kind = 0; kind < CAPSULE_KINDS; kind++)
		MUST(capsule_open(fuzz_buf(&mem, 1 << 20), (enum capsule_kind)kind, in, &payload) <
			0);
	MUST(!oauth_access_ok(in, KEY, 1790000000));
	MUST(oauth_refresh_next(fuzz_buf(&mem, 1 << 20), in, LIT("c"), 1, family) < 0);
}

static void redirects(struct slice in)
{
	struct slice first = str_split(&in, '\n');

	if (redirect_kind(first) == REDIRECT_REFUSED)
		return;
	MUST(redirect_same(first, first) && redirect_shown(first).n > 0);
	MUST(!str_has(first, '#') && !str_has(first, ' ') && !str_has(first, '\r'));
	if (redirect_same(first, in) && !slice_eq(first, in))
		MUST(redirect_kind(in) == REDIRECT_LOOPBACK);
}

static void families(struct slice in)
{
	static struct buf once, twice;

	oauth_families_parse(in);
	oauth_families_put(fuzz_buf(&once, 1 << 20));
	oauth_families_parse(buf_all(&once));
	oauth_families_put(fuzz_buf(&twice, 1 << 20));
	MUST(slice_eq(buf_all(&once), buf_all(&twice)));
}

static void pages(struct slice in)
{
	static struct buf page;
	struct slice s;

	page_text(fuzz_buf(&page, 1 << 24), in);
	s = buf_all(&page);
	MUST(!str_has(s, '<') && !str_has(s, '>') && !str_has(s, '"') && !str_has(s, '\''));
	for (int n; s.n > 0; s = slice_from(s, (size_t)n)) {
		n = utf8_seq(s);
		MUST(n >= 1 && (unsigned char)s.p[0] >= ' ');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };

	capsule_keys(KEY);
	registers(in);
	tokens(in);
	redirects(in);
	families(in);
	pages(in);
	return 0;
}
