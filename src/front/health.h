/*
 * /health: native reads, no shell, no child (host-tools.md section 6, fault 63).
 */
#ifndef FRONT_HEALTH_H
#define FRONT_HEALTH_H

#include <stdint.h>

#include "json/json.h"
#include "json/json_write.h"

struct health_config {
	int64_t max_instances;
	const char *root; /* whose disk is told */
};

void health_setup(const struct health_config *c);
/*
 * The whole answer. Without detail: ok, server, version, uptime_seconds (of this process),
 * active_instances, max_instances. With detail also cores_available, memory_mb_available,
 * disk_mb_available, tools (those of node bun python3 git gh curl that are found), and
 * uptime_seconds of the machine as the reference has it. What cannot be read is 0.
 */
void health_put(struct jw *w, bool detail);

/*
 * The probe `sandstorm-mcp health [URL]`: GET url (default http://127.0.0.1:PORT/health, https with
 * SANDSTORM_TLS_CERT) within 5 s; 0 when it answers 200 with ok true; else one line on stderr and
 * 1. 2 for a bad URL. Of the path /mcp a ping is asked, with the token, and it has to be answered.
 * An https server is known by the key of the first certificate in the file cert_path, whatever its
 * name; NULL: https is refused.
 */
int health_probe(const char *url, const char *cert_path, struct slice token);

/* Is it this program that says so in its /health? */
bool health_says_ours(const struct json *d);
/* Does this program serve plain HTTP there? Waits as long as health_probe. */
bool health_is_ours(const unsigned char address[16], unsigned port);

#endif
