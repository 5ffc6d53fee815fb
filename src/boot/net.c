#include "boot/net.h"

#include <errno.h>
#include <net/if.h>
#include <net/route.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "loop/loop.h"

enum { ETHERNET = 1 }; /* ARPHRD_ETHER, also of wireless and virtual ones */

/* What SIOCSIFADDR takes on a socket of IPv6: struct in6_ifreq of the kernel. */
struct v6_address {
	struct in6_addr address;
	uint32_t bits;
	int index;
};

static int control_socket(int family)
{
	int s = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return s < 0 ? -errno : s;
}

/* 0 or -errno. */
static int control(int s, unsigned short request, void *arg)
{
	return ioctl(s, request, arg) < 0 ? -errno : 0;
}

static int bring_up(int s, struct ifreq *r)
{
	int e = control(s, SIOCGIFFLAGS, r);

	if (e < 0 || (r->ifr_flags & IFF_UP))
		return e;
	r->ifr_flags = (short)(r->ifr_flags | IFF_UP);
	return control(s, SIOCSIFFLAGS, r);
}

void net_loopback_up(void)
{
	struct ifreq r = { .ifr_name = "lo" };
	int s = control_socket(AF_INET);

	if (s < 0)
		return;
	bring_up(s, &r);
	close(s);
}

/* --- one interface --- */

static bool is_ethernet(int s, struct ifreq *r)
{
	return control(s, SIOCGIFFLAGS, r) == 0 && !(r->ifr_flags & (IFF_LOOPBACK | IFF_NOARP)) &&
	       control(s, SIOCGIFHWADDR, r) == 0 && r->ifr_hwaddr.sa_family == ETHERNET;
}

/* By index, which is the order in which they came. Its index, or -ENODEV. */
static int find_first(int s, struct ifreq *r)
{
	for (int i = 1; i <= INTERFACES_MAX; i++) {
		r->ifr_ifindex = i;
		if (control(s, SIOCGIFNAME, r) == 0 && is_ethernet(s, r))
			return i;
	}
	return -ENODEV;
}

static void put_v4(const unsigned char address[16], struct sockaddr *to)
{
	union socket_address a;

	address_to_socket(address, 0, &a);
	*to = a.any;
}

static void make_mask(int bits, unsigned char out[16])
{
	address_parse(LIT("255.255.255.255"), out);
	for (int i = bits; i < 32; i++)
		out[12 + i / 8] &= (unsigned char)~(0x80 >> i % 8);
}

static int set_v4(int s, struct ifreq *r, const struct net *n)
{
	struct rtentry route = { .rt_flags = RTF_UP | RTF_GATEWAY };
	unsigned char mask[16];
	int e;

	make_mask(n->bits, mask);
	put_v4(n->address, &r->ifr_addr);
	e = control(s, SIOCSIFADDR, r);
	put_v4(mask, &r->ifr_netmask);
	if (e == 0)
		e = control(s, SIOCSIFNETMASK, r);
	if (e < 0 || !net_given(n->gateway))
		return e;
	put_v4(n->gateway, &route.rt_gateway);
	route.rt_dst.sa_family = route.rt_genmask.sa_family = AF_INET;
	return control(s, SIOCADDRT, &route);
}

static int set_v6(int index, const struct net *n)
{
	struct v6_address a = { .bits = (uint32_t)n->bits, .index = index };
	struct in6_rtmsg route = {
		.rtmsg_flags = RTF_UP | RTF_GATEWAY, .rtmsg_metric = 1, .rtmsg_ifindex = index
	};
	int e, s = control_socket(AF_INET6);

	if (s < 0)
		return s;
	memcpy(&a.address, n->address, 16);
	memcpy(&route.rtmsg_gateway, n->gateway, 16);
	e = control(s, SIOCSIFADDR, &a);
	if (e == -EEXIST)
		e = 0;
	if (e == 0 && net_given(n->gateway))
		e = control(s, SIOCADDRT, &route);
	close(s);
	return e;
}

/* Puts the interface's name into r->ifr_name. 0 or -errno; -ENODEV: there is none. */
static int set_up(const struct net *n, struct ifreq *r)
{
	int e, index, s = control_socket(AF_INET);

	if (s < 0)
		return s;
	index = find_first(s, r);
	e = index < 0 ? index : bring_up(s, r);
	if (e == 0)
		e = address_is_v4(n->address) ? set_v4(s, r, n) : set_v6(index, n);
	close(s);
	return e == -EEXIST ? 0 : e; /* the route is there already */
}

/* Resolvers look for the DNS server there, ours and those of commands. */
static int write_resolver(const struct net *n)
{
	char mem[128];
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	buf_puts(&b, "nameserver ");
	address_put(&b, n->dns);
	buf_putc(&b, '\n');
	mkdir("/etc", 0755);
	return replace_file("/etc/resolv.conf", 0644, buf_all(&b));
}

/* --- when it comes --- */

static struct net wanted;
static int looks;

static void tell(const char *msg, struct slice interface, int err)
{
	char mem[64];
	struct buf b;
	struct log_field fields[] = { { "address" }, { "interface", interface },
		{ err ? "error" : NULL, slice_of(strerror(-err)) }, { 0 } };

	buf_over(&b, mem, sizeof(mem));
	address_put(&b, wanted.address);
	fields[0].text = buf_all(&b);
	log_event(err ? LOG_WARN : LOG_INFO, msg, fields);
}

static void look(struct timer *t)
{
	struct ifreq r = { 0 };
	int e = set_up(&wanted, &r);

	if (e == -ENODEV) {
		if (++looks == INTERFACE_LOOKS)
			tell("no network interface yet: still looking for one", LIT("none"), e);
		timer_set(t, looks < INTERFACE_LOOKS ? INTERFACE_POLL_MS : INTERFACE_LATE_MS);
		return;
	}
	tell(e ? "cannot set up the network" : "network is up", slice_of(r.ifr_name), e);
	e = e == 0 && net_given(wanted.dns) ? write_resolver(&wanted) : 0;
	if (e < 0)
		tell("cannot write /etc/resolv.conf", slice_of(r.ifr_name), e);
}

void net_up(const struct net *n)
{
	static struct timer again = { .fire = look };

	wanted = *n;
	look(&again);
}
