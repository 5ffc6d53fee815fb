#include "relro.h"

#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* Where the program begins in memory, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static void protect(const ElfW(Phdr) * segment)
{
	uintptr_t page = getauxval(AT_PAGESZ);
	uintptr_t at = (uintptr_t)__ehdr_start + segment->p_vaddr, end = at + segment->p_memsz;

	at &= -page;
	end &= -page;
	mprotect((void *)at, end - at, PROT_READ);
}

void relro_protect(void)
{
	const ElfW(Ehdr) *head = (const void *)__ehdr_start;
	const ElfW(Phdr) *segments = (const void *)(__ehdr_start + head->e_phoff);

	for (unsigned i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_RELRO)
			protect(&segments[i]);
}
