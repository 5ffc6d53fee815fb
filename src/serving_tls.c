#include "serving_tls.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "bounds.h"
#include "loop/loop.h"
#include "tls/server.h"

enum { WHY_MAX = 2 * KIB };

static const char *cert_path, *key_path;

bool serving_tls(const struct config *c)
{
	return c->tls_cert || c->tls_key;
}

int serving_tls_load(const struct config *c)
{
	char mem[WHY_MAX];
	struct buf why;

	if (!c->tls_cert)
		return complain(2, "SANDSTORM_TLS_KEY is set and SANDSTORM_TLS_CERT is not: "
				   "https needs both");
	if (!c->tls_key)
		return complain(2, "SANDSTORM_TLS_CERT is set and SANDSTORM_TLS_KEY is not: "
				   "https needs both");
	cert_path = c->tls_cert;
	key_path = c->tls_key;
	buf_over(&why, mem, sizeof(mem));
	if (tls_server_load(cert_path, key_path, &why) < 0)
		return complain(2, "%.*s", SLICE(buf_all(&why)));
	return 0;
}

/* A wrong clock is as likely as an old certificate, so it is no reason to stop. */
void serving_tls_tell(void)
{
	char subject_mem[300], valid_mem[64];
	struct buf subject, valid;
	struct log_field fields[] = { { "subject" }, { "valid" }, { 0 } };
	const struct cert *c = tls_server_cert();
	int64_t now = clock_unix();

	buf_over(&subject, subject_mem, sizeof(subject_mem));
	cert_put_subject(&subject, c);
	buf_over(&valid, valid_mem, sizeof(valid_mem));
	cert_put_validity(&valid, c);
	fields[0].text = buf_all(&subject);
	fields[1].text = buf_all(&valid);
	if (now > c->not_after)
		log_event(LOG_WARN, "the certificate has expired: clients will refuse it", fields);
	else if (now < c->not_before)
		log_event(LOG_WARN,
			"the certificate is not valid yet, or the clock of this machine is wrong",
			fields);
	else
		log_event(LOG_INFO, "certificate in use", fields);
}

static void again(struct timer *t)
{
	(void)t;
	serving_tls_reread();
}

void serving_tls_reread(void)
{
	static struct timer later = { .fire = again };
	char mem[WHY_MAX];
	struct buf why;
	struct log_field fields[] = { { "why" }, { 0 } };
	int r;

	buf_over(&why, mem, sizeof(mem));
	r = tls_server_load(cert_path, key_path, &why);
	if (r == 0) {
		serving_tls_tell();
	} else if (r == -EBUSY) {
		timer_set(&later, TLS_RELOAD_AGAIN_MS);
	} else {
		fields[0].text = buf_all(&why);
		log_event(LOG_WARN, "TLS files not usable, the old certificate stays", fields);
	}
}

unsigned serving_tls_room(size_t budget)
{
	size_t room = budget / 4 / TLS_CONN_SIZE;

	return room < TLS_CONNS_MAX ? (unsigned)room : TLS_CONNS_MAX;
}
