/*
 * The URL under which clients know us (decision 7); origin_put_url makes it.
 */
#ifndef FRONT_PUBLIC_URL_H
#define FRONT_PUBLIC_URL_H

#include "front/origin.h"
#include "http/authority.h"

/* 0, or -EINVAL with the offending value in *bad. */
int public_url_setup(const struct origin_config *c, struct slice *bad)
	__attribute__((warn_unused_result));
/* The configured URL's scheme, host and port; NULL when none is configured. */
const struct authority *public_url_origin(void);

#endif
