#include "boot/words.h"

#include <sys/stat.h>

#include "base/file.h"
#include "bounds.h"

static char text[FIRST_WORDS_SIZE];

static bool same_program(void)
{
	struct stat first, own;

	return stat("/proc/1/exe", &first) == 0 && stat("/proc/self/exe", &own) == 0 &&
	       first.st_dev == own.st_dev && first.st_ino == own.st_ino;
}

int boot_words(char **argv, int max)
{
	struct buf b;
	int n = 0;

	buf_over(&b, text, sizeof(text) - 1);
	if (!same_program() || read_file("/proc/1/cmdline", &b) < 0)
		return 0;
	for (size_t at = 0; at < b.len && n < max - 1; at += strlen(text + at) + 1)
		argv[n++] = text + at; /* the kernel ends each word with NUL, the last one, too */
	argv[n] = NULL;
	return n;
}
