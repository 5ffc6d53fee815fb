#include "boot/boot.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "boot/net.h"
#include "bounds.h"

bool boot_is_first(void)
{
	return getpid() == 1;
}

/*
 * The first process-id namespace has a fixed number (PROC_PID_INIT_INO of the kernel). A kernel
 * without namespaces has no such file. Without /proc we are in a container: a machine's /init may
 * mount it.
 */
static bool is_machine(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) == 0)
		return st.st_ino == 0xeffffffc;
	return errno == ENOENT && stat("/proc/self", &st) == 0;
}

/* Where that is not allowed, or there is no place for it, what needs it does without. */
static void mount_at(const char *dir, const char *type, unsigned long flags, const char *data)
{
	mkdir(dir, 0755);
	mount(type, dir, type, flags, data);
}

static void mount_missing(void)
{
	struct stat st;

	if (lstat("/proc/self", &st) < 0)
		mount_at("/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (stat("/dev/null", &st) < 0)
		mount_at("/dev", "devtmpfs", MS_NOSUID, NULL);
	if (access("/tmp", W_OK) < 0)
		mount_at("/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

void boot_begin(void)
{
	if (!boot_is_first())
		return;
	mount_missing();
	net_loopback_up();
	if (is_machine())
		reboot(RB_DISABLE_CAD); /* else the kernel restarts without asking us */
}

/* What has lost its parent is our child; what was started from outside, as by `docker exec`, is
 * not and gets no second of its own. */
static void end_others(void)
{
	const struct timespec pause = { 0, BOOT_END_PAUSE_MS * 1000000L };
	int left = BOOT_END_MS / BOOT_END_PAUSE_MS;
	pid_t reaped;

	if (kill(-1, SIGTERM) < 0)
		return; /* there is nobody */
	while (left > 0 && (reaped = waitpid(-1, NULL, WNOHANG)) >= 0)
		if (reaped == 0) {
			nanosleep(&pause, NULL);
			left--;
		}
	kill(-1, SIGKILL);
}

void boot_end(bool restart)
{
	if (!boot_is_first())
		return;
	end_others();
	if (!is_machine())
		return;
	sync();
	reboot(restart ? RB_AUTOBOOT : RB_POWER_OFF);
}
