#include "activation.h"

#include <unistd.h>

#include "base/address.h"
#include "base/str.h"
#include "bounds.h"
#include "config.h"
#include "environment.h"
#include "http/server.h"

/* Is there a socket that connections can be accepted from? */
static bool accepts(int fd)
{
	int on = 0, type = 0;
	socklen_t len = sizeof(on), type_len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 && on &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_STREAM;
}

static bool socket_look(struct serve_socket *s, int fd)
{
	unsigned char address[16];
	struct buf host;

	if (!accepts(fd) || address_of_socket(fd, address, &s->port) < 0)
		return false;
	buf_over(&host, s->host, sizeof(s->host) - 1);
	address_put(&host, address);
	return true;
}

static int sockets_look(struct activation *a)
{
	for (int i = 0; i < a->sockets; i++)
		if (!socket_look(&a->socket[i], HTTP_GIVEN_FIRST + i))
			return complain(2,
				"LISTEN_FDS: descriptor %d is no listening TCP socket; a socket "
				"unit needs ListenStream=ADDRESS:PORT and no Accept=yes",
				HTTP_GIVEN_FIRST + i);
	return 0;
}

int activation_load(struct activation *a)
{
	const char *pid = env_get("LISTEN_PID"), *fds = env_get("LISTEN_FDS");
	int64_t meant = 0, n = 0;

	*a = (struct activation){ 0 };
	if (!pid || !fds)
		return 0;
	if (str_int(slice_of(pid), &meant) < 0)
		return complain(2, "LISTEN_PID: \"%s\" is not a number", pid);
	if (meant != getpid())
		return 0;
	if (str_int(slice_of(fds), &n) < 0 || n < 1 || n > LISTENERS_MAX)
		return complain(2, "LISTEN_FDS: \"%s\" is not a number of sockets from 1 to %d",
			fds, LISTENERS_MAX);
	a->sockets = (int)n;
	return sockets_look(a);
}
