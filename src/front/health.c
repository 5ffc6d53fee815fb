#include "front/health.h"

#include <limits.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "bounds.h"
#include "host/facts.h"
#include "host/sessions.h"
#include "loop/child.h"
#include "version.h"

static struct health_config config;
static int64_t started_ms;

void health_setup(const struct health_config *c)
{
	config = *c;
	started_ms = clock_ms();
}

static int64_t process_uptime(void)
{
	return (clock_ms() - started_ms) / 1000;
}

static int64_t machine_uptime(void)
{
	struct sysinfo s;

	return sysinfo(&s) < 0 ? 0 : (int64_t)s.uptime;
}

/* Processors we may run on, without those that sessions take. */
static int64_t cores_available(void)
{
	cpu_set_t set;
	int64_t n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	n -= sessions_count();
	return n > 0 ? n : 0;
}

static int64_t disk_mb_available(void)
{
	struct statvfs v;

	if (!config.root || statvfs(config.root, &v) < 0)
		return 0;
	return (int64_t)((uint64_t)v.f_bavail * v.f_frsize / MIB);
}

static void put_tools(struct jw *w)
{
	static const char *const names[] = { "node", "bun", "python3", "git", "gh", "curl" };
	char path[PATH_MAX];

	jw_array(w, "tools");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (child_find(names[i], path, sizeof(path)) == 0)
			jw_puts(w, NULL, names[i]);
	jw_close(w);
}

void health_put(struct jw *w, bool detail)
{
	jw_object(w, NULL);
	jw_bool(w, "ok", true);
	jw_puts(w, "server", SERVER_NAME);
	jw_puts(w, "version", SERVER_VERSION);
	jw_int(w, "uptime_seconds", detail ? machine_uptime() : process_uptime());
	jw_int(w, "active_instances", sessions_count());
	jw_int(w, "max_instances", config.max_instances);
	if (detail) {
		jw_int(w, "cores_available", cores_available());
		jw_int(w, "memory_mb_available", (int64_t)(facts_memory_available() / MIB));
		jw_int(w, "disk_mb_available", disk_mb_available());
		put_tools(w);
	}
	jw_close(w);
}
