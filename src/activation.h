/*
 * Sockets opened by who has started us, such as a socket unit of systemd: they stay open while one
 * server makes place for the next, so that no client is refused meanwhile (sd_listen_fds(3)).
 */
#ifndef ACTIVATION_H
#define ACTIVATION_H

#include "bounds.h"
#include "front/serve.h"

struct activation {
	struct serve_socket socket[LISTENERS_MAX];
	int sockets; /* 0: none */
};

/*
 * Reads LISTEN_PID and LISTEN_FDS; to be called before env_scrub takes them out. They are nothing
 * to us when they were meant for another process. 0, or 2 after a complaint.
 */
int activation_load(struct activation *a) __attribute__((warn_unused_result));

#endif
