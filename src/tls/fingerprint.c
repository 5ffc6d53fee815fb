#include "tls/fingerprint.h"

#include "base/ascii.h"
#include "base/base64.h"
#include "base/str.h"

enum {
	HEX_DIGITS = 2 * HASH_SIZE,
	WITH_COLONS = 3 * HASH_SIZE - 1,
};

/* step: 2, or 3 with a colon behind each byte but the last. */
static bool hex_parse(struct slice s, size_t step, unsigned char *out)
{
	for (size_t i = 0; i < HASH_SIZE; i++) {
		const char *p = s.p + i * step;
		int high = ascii_hex(p[0]), low = ascii_hex(p[1]);

		if (high < 0 || low < 0 || (step == 3 && i + 1 < HASH_SIZE && p[2] != ':'))
			return false;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* s without padding: 43 digits. */
static bool base64_parse(struct slice s, unsigned char *out)
{
	char padded[HASH_TEXT_SIZE + 1];
	struct buf b;

	buf_over(&b, out, HASH_SIZE);
	if (base64url_get(s, &b))
		return true;
	memcpy(padded, s.p, s.n);
	padded[s.n] = '=';
	buf_cut(&b, 0);
	return base64_get((struct slice){ padded, sizeof(padded) }, &b);
}

bool fingerprint_parse(struct slice s, unsigned char out[HASH_SIZE])
{
	s = str_trim(s);
	if (str_starts(s, "sha256:") || str_starts(s, "SHA256:"))
		s = slice_from(s, sizeof("sha256:") - 1);
	if (s.n == HEX_DIGITS)
		return hex_parse(s, 2, out);
	if (s.n == WITH_COLONS)
		return hex_parse(s, 3, out);
	if (s.n == HASH_TEXT_SIZE + 1 && s.p[s.n - 1] == '=')
		s.n--;
	return s.n == HASH_TEXT_SIZE && base64_parse(s, out);
}

bool fingerprint_is_of(const unsigned char fingerprint[HASH_SIZE], const struct cert *c)
{
	unsigned char hash[HASH_SIZE];

	hash_sha256(c->der, hash);
	if (memcmp(hash, fingerprint, HASH_SIZE) == 0)
		return true;
	hash_sha256(c->spki, hash);
	return memcmp(hash, fingerprint, HASH_SIZE) == 0;
}
