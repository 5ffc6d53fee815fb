/*
 * The network of a machine that has nobody else to set it up: the loopback interface, and an
 * address, a route and a DNS server for the first Ethernet interface. By ioctl; no library.
 */
#ifndef BOOT_NET_H
#define BOOT_NET_H

#include "boot/net_text.h"

/* Does nothing where that is not allowed, or done already. */
void net_loopback_up(void);

/*
 * Sets the first Ethernet interface up. Where there is none yet (its driver may be a module that
 * is still being loaded) it is looked for by a timer, without an end. Tells in the log what became
 * of it. Needs the loop. *n is copied.
 */
void net_up(const struct net *n);

#endif
