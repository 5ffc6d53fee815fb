/*
 * Where a request may come from, and under which name we are known (decisions 6, 7, 56).
 */
#ifndef FRONT_ORIGIN_H
#define FRONT_ORIGIN_H

#include "http/server.h"

struct origin_config {
	const char *public_url;      /* SANDSTORM_PUBLIC_URL, or NULL */
	const char *domain;          /* SANDSTORM_DOMAIN, or NULL */
	const char *allowed_origins; /* comma list, or NULL */
	const char *allowed_hosts;   /* comma list, or NULL: any */
	const char *trusted_proxies; /* comma list of CIDRs, or NULL: loopback */
	const char *listen_host;     /* the address we listen on, or NULL: 127.0.0.1 ... */
	unsigned listen_port;        /* ... and its port; 0: not told in URLs */
	bool tls;                    /* what comes to us comes by https */
};

/* 0, or -EINVAL with the offending word in *bad. The strings are borrowed for the life of the
 * program. */
int origin_setup(const struct origin_config *c, struct slice *bad)
	__attribute__((warn_unused_result));

/* Is Host allowed? True unless SANDSTORM_ALLOWED_HOSTS is set; a port is not compared. */
bool origin_host_ok(const struct http_head *h);
/* No Origin, or one that is loopback, the public URL's, or listed. "null" is not. */
bool origin_ok(const struct http_head *h);
/*
 * Does a form come from a page of ours: no Origin, that of the public URL, or one with the name in
 * Host? A proxy may change Host, a person may use another name than the public one.
 */
bool origin_same(const struct http_head *h, const unsigned char peer[16]);

/*
 * CORS fields for an answer to a request with an allowed Origin: Access-Control-Allow-Origin (that
 * origin, never *), Vary, Access-Control-Expose-Headers. Nothing otherwise.
 */
void origin_put_cors(const struct http_head *h, struct buf *b);
/* The fields of a preflight's answer: methods, headers (those asked for, as far as they are known),
 * max age. */
void origin_put_preflight(const struct http_head *h, struct buf *b);

/*
 * The public URL without a slash at the end: configured, else https://domain, else scheme and Host
 * of the request, X-Forwarded-Proto and -Host counting only from trusted proxies (first value of a
 * list). A Host or forwarded value with characters other than letters, digits and ".-_:[]" is
 * replaced by the address we listen on.
 */
void origin_put_url(const struct http_head *h, const unsigned char peer[16], struct buf *b);
/* The same for who came to the plain port beside TLS: the name in Host, on our port, unless one is
 * configured. False: Host is no name. */
bool origin_put_https(const struct http_head *h, struct buf *b);
/* The address of the client: the peer, or for a trusted proxy the last untrusted one in
 * X-Forwarded-For. */
void origin_client(
	const struct http_head *h, const unsigned char peer[16], unsigned char client[16]);

#endif
