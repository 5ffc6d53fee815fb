#include "tls/engine.h"

enum {
	/* a whole record comes in, as peers need not heed a wish for shorter ones; what goes out is
	 * mostly one small message */
	ENGINE_IN = BR_SSL_BUFSIZE_INPUT,
	ENGINE_OUT = 4096 + 85,
};

/* Forward secrecy and authenticated encryption, nothing else. */
#define ECDHE_AES                                                                                  \
	BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,      \
		BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,                                        \
		BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
#define ECDHE_CHACHA                                                                               \
	BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,                                          \
		BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256

bool engine_is_quick_at_aes(void)
{
	return br_aes_x86ni_ctr_get_vtable() || br_aes_pwr8_ctr_get_vtable();
}

/* First what this machine is quick at: AES in software that leaks no timing is slow. */
static void suites_set(br_ssl_engine_context *e)
{
	static const uint16_t with_aes[] = { ECDHE_AES, ECDHE_CHACHA };
	static const uint16_t without[] = { ECDHE_CHACHA, ECDHE_AES };

	br_ssl_engine_set_suites(e, engine_is_quick_at_aes() ? with_aes : without,
		sizeof(without) / sizeof(without[0]));
}

/*
 * Of each primitive one implementation, that of 32-bit words, where BearSSL's defaults bring two
 * and three: 7 KB less. Poly1305 in 64-bit words would make ChaCha20 a seventh faster, RSA would
 * sign a quarter faster.
 */
static void chapol_set(br_ssl_engine_context *e)
{
	br_ssl_engine_set_chapol(e, &br_sslrec_in_chapol_vtable, &br_sslrec_out_chapol_vtable);
	br_ssl_engine_set_poly1305(e, br_poly1305_ctmul_run);
#ifdef __SSE2__
	br_ssl_engine_set_chacha20(e, br_chacha20_sse2_run);
#else
	br_ssl_engine_set_chacha20(e, br_chacha20_ct_run);
#endif
}

/* TLS 1.2. ECDHE takes X25519 first, then P-256, P-384, P-521: BearSSL's order. */
static void engine_setup(br_ssl_engine_context *e)
{
	br_ssl_engine_set_versions(e, BR_TLS12, BR_TLS12);
	br_ssl_engine_add_flags(e, BR_OPT_NO_RENEGOTIATION);
	suites_set(e);
	br_ssl_engine_set_default_aes_gcm(e);
	chapol_set(e);
	br_ssl_engine_set_ec(e, &br_ec_all_m31);
	br_ssl_engine_set_ecdsa(e, br_ecdsa_i31_vrfy_asn1);
	br_ssl_engine_set_rsavrfy(e, br_rsa_i31_pkcs1_vrfy);
	br_ssl_engine_set_hash(e, br_sha256_ID, &br_sha256_vtable);
	br_ssl_engine_set_hash(e, br_sha384_ID, &br_sha384_vtable);
	br_ssl_engine_set_hash(e, br_sha512_ID, &br_sha512_vtable);
	br_ssl_engine_set_prf_sha256(e, &br_tls12_sha256_prf);
	br_ssl_engine_set_prf_sha384(e, &br_tls12_sha384_prf);
}

/* For which there is room; not zeroed: what is never used stays untouched. */
static void *bytes_take(struct buf *mem, size_t n)
{
	void *p = mem->p + mem->len;

	mem->len += n;
	return p;
}

void *engine_open(struct buf *mem, size_t state_size)
{
	size_t size = state_size + ENGINE_OUT + ENGINE_IN;
	void *state, *out;

	if (!buf_ready(mem, size))
		return NULL;
	if (!buf_room(mem, size)) {
		buf_reset(mem, false);
		return NULL;
	}
	state = buf_alloc(mem, state_size);
	out = bytes_take(mem, ENGINE_OUT);
	engine_setup(state);
	br_ssl_engine_set_buffers_bidi(
		state, bytes_take(mem, ENGINE_IN), ENGINE_IN, out, ENGINE_OUT);
	return state;
}
