/*
 * What is asked of process 1, in a container or as /init of a machine: nobody else mounts, nobody
 * else ends what is left at the end, and a machine's kernel panics when it exits. (Orphans are
 * reaped by loop/proc, signals arrive as always.) Anywhere else these functions do nothing.
 */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include <stdbool.h>

/* Is this process 1 of its process-id namespace? */
bool boot_is_first(void);

/*
 * Mounts /proc, /dev and /tmp where they are missing, brings the loopback interface up, has
 * Ctrl-Alt-Del arrive as INT; each as far as it is allowed.
 */
void boot_begin(void);

/*
 * Ends all other processes: TERM, and KILL a second later. Then, where this is /init of a machine,
 * turns it off or restarts it and does not return; in a container it does.
 */
void boot_end(bool restart);

#endif
