#include "base/secret.h"

bool secret_eq(struct slice given, struct slice secret)
{
	/* volatile: each byte is looked at, whatever the ones before have shown */
	volatile unsigned char differ = given.n != secret.n || secret.n == 0;
	size_t at = 0;

	if (secret.n == 0)
		return false;
	for (size_t i = 0; i < given.n; i++) {
		differ = (unsigned char)(differ | (given.p[i] ^ secret.p[at]));
		at += at + 1 < secret.n; /* a longer text is held against the last byte */
	}
	return differ == 0;
}

void secret_wipe(void *p, size_t n)
{
	explicit_bzero(p, n);
}
