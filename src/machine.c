#include "machine.h"

#include <sys/sysinfo.h>

#include "base/file.h"
#include "base/str.h"
#include "bounds.h"

enum { SHARE = 4 };

/* The number in a file of one line; 0 when there is none ("max" means no limit). */
static int64_t file_number(const char *path)
{
	char mem[32];
	struct buf b;
	int64_t v;

	buf_over(&b, mem, sizeof(mem));
	return read_file(path, &b) == 0 && str_int(str_trim(buf_all(&b)), &v) == 0 ? v : 0;
}

static int64_t smaller_share(int64_t budget, int64_t memory)
{
	return memory > 0 && memory / SHARE < budget ? memory / SHARE : budget;
}

size_t machine_budget(void)
{
	int64_t budget = MEM_BUDGET_MAX;
	struct sysinfo si;

	if (sysinfo(&si) == 0)
		budget = smaller_share(budget, (int64_t)si.totalram * si.mem_unit);
	budget = smaller_share(budget, file_number("/sys/fs/cgroup/memory.max"));
	budget = smaller_share(budget, file_number("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
	return budget < MEM_BUDGET_MIN ? MEM_BUDGET_MIN : (size_t)budget;
}

const char *machine_arch(void)
{
#if defined(__x86_64__)
	return "x86_64";
#elif defined(__i386__)
	return "i686";
#elif defined(__aarch64__)
	return "aarch64";
#elif defined(__arm__) && defined(__ARM_PCS_VFP)
	return "armv7";
#elif defined(__arm__)
	return "armv5";
#elif defined(__riscv)
	return "riscv64";
#elif defined(__mips__) && defined(__MIPSEL__)
	return "mipsel";
#elif defined(__mips__)
	return "mips";
#else
	return "unknown";
#endif
}
