#include "front/oauth_code.h"

#include "base/base64.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/str.h"
#include "bounds.h"

enum { CODE_SIZE = 32 };

/* A wrong try spends the code, too: the right client asks once. */
static struct code {
	int64_t until;                 /* loop time; 0: free */
	bool spent;                    /* somebody has tried it ... */
	bool redeemed;                 /* ... and got tokens for it */
	unsigned char hash[HASH_SIZE]; /* of the text, which is kept nowhere */
	unsigned char client[HASH_SIZE], redirect[HASH_SIZE];
	char challenge[CHALLENGE_SIZE];
	unsigned char family[FAMILY_ID_SIZE];
} codes[CODES_MAX];

bool oauth_challenge_ok(struct slice challenge)
{
	return challenge.n == CHALLENGE_SIZE && str_only(challenge, "-_");
}

bool oauth_verifier_ok(struct slice verifier)
{
	return verifier.n >= 43 && verifier.n <= 128 && str_only(verifier, "-_.~");
}

static bool same_hash(const unsigned char *known, struct slice text)
{
	unsigned char hash[HASH_SIZE];

	hash_sha256(text, hash);
	return secret_eq((struct slice){ (char *)hash, HASH_SIZE },
		(struct slice){ (const char *)known, HASH_SIZE });
}

/* A free place, or that of the oldest. */
static struct code *place(int64_t now)
{
	struct code *best = codes;

	for (struct code *c = codes; c < codes + CODES_MAX; c++) {
		if (c->until <= now)
			return c;
		if (c->until < best->until)
			best = c;
	}
	return best;
}

int oauth_code_issue(const struct oauth_grant *g, int64_t now_ms, struct buf *b)
{
	unsigned char raw[CODE_SIZE];
	struct code *c = place(now_ms);
	size_t from = b->len;
	int r = random_key(raw, sizeof(raw));

	if (r < 0)
		return r;
	base64url_put(b, raw, sizeof(raw));
	secret_wipe(raw, sizeof(raw));
	*c = (struct code){ .until = now_ms + CODE_MS };
	hash_sha256(buf_since(b, from), c->hash);
	hash_sha256(g->client_id, c->client);
	hash_sha256(g->redirect_uri, c->redirect);
	memcpy(c->challenge, g->challenge.p, CHALLENGE_SIZE);
	return 0;
}

/* By hash, so that how long a look takes tells nothing of a text. */
static struct code *find(struct slice text, int64_t now)
{
	unsigned char hash[HASH_SIZE];

	hash_sha256(text, hash);
	for (struct code *c = codes; c < codes + CODES_MAX; c++)
		if (c->until > now && memcmp(c->hash, hash, HASH_SIZE) == 0)
			return c;
	return NULL;
}

static bool proves(const struct code *c, struct slice verifier)
{
	unsigned char hash[HASH_SIZE];
	char mem[HASH_TEXT_SIZE];
	struct buf b;

	hash_sha256(verifier, hash);
	buf_over(&b, mem, sizeof(mem));
	base64url_put(&b, hash, sizeof(hash));
	return secret_eq(buf_all(&b), (struct slice){ c->challenge, CHALLENGE_SIZE });
}

enum redeemed oauth_code_redeem(struct slice code, const struct oauth_grant *g,
	struct slice verifier, int64_t now_ms, unsigned char family[FAMILY_ID_SIZE])
{
	struct code *c = find(code, now_ms);

	if (!c || !same_hash(c->client, g->client_id))
		return CODE_BAD;
	if (c->redeemed)
		memcpy(family, c->family, FAMILY_ID_SIZE);
	if (c->spent)
		return c->redeemed ? CODE_USED : CODE_BAD;
	c->spent = true;
	if ((g->redirect_uri.n && !same_hash(c->redirect, g->redirect_uri)) ||
		!oauth_verifier_ok(verifier) || !proves(c, verifier))
		return CODE_BAD;
	c->redeemed = true;
	memcpy(c->family, family, FAMILY_ID_SIZE);
	return CODE_GOOD;
}

void oauth_codes_end(void)
{
	secret_wipe(codes, sizeof(codes));
}
