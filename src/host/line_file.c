#include "host/line_file.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"

/* Where even the cutting back fails a torn line stays: readers pass over it, and over the next one.
 */
int line_file_add(struct line_file *f, struct slice lines)
{
	int r = write_all(f->fd, lines);

	if (r < 0)
		(void)!ftruncate(f->fd, f->size);
	else
		f->size += (off_t)lines.n;
	return r;
}

int line_file_trim(struct line_file *f)
{
	char byte = '\n';

	f->size = lseek(f->fd, 0, SEEK_END);
	while (f->size > 0 && pread(f->fd, &byte, 1, f->size - 1) == 1 && byte != '\n')
		f->size--;
	return f->size < 0 || ftruncate(f->fd, f->size) < 0 ? -errno : 0;
}

void line_file_close(struct line_file *f)
{
	file_close(&f->fd);
}
