#include "tls/pinned.h"

#include "tls/client_state.h"
#include "tls/pkey.h"

static void x509_pinned(struct tls_client *c)
{
	br_x509_knownkey_context *known = &c->state->x509.known;
	br_rsa_public_key rsa;
	br_ec_public_key ec;

	if (c->pin->key.type == CERT_KEY_RSA) {
		rsa = pkey_rsa(&c->pin->key);
		br_x509_knownkey_init_rsa(known, &rsa, BR_KEYTYPE_SIGN);
	} else {
		ec = pkey_ec(&c->pin->key);
		br_x509_knownkey_init_ec(known, &ec, BR_KEYTYPE_SIGN);
	}
}

/* The name says nothing here, but there has to be one. */
int tls_pinned_start(struct tls_client *c, int fd, const struct cert *pin)
{
	c->pin = pin;
	return client_start(c, fd, "localhost", NULL, x509_pinned);
}

bool tls_pinned_is_other(const struct tls_client *c)
{
	int error = c->stream.error;

	return error == BR_ERR_BAD_SIGNATURE || error == BR_ERR_WRONG_KEY_USAGE ||
	       error == BR_ERR_X509_WRONG_KEY_TYPE;
}
