#include "licenses.h"

#include "base/str.h"

/* The assembler reads the file, relative to the folder the compiler runs in. */
__asm__(".pushsection .rodata.license_musl, \"a\"\n"
	".globl license_musl\n"
	"license_musl: .incbin \"vendor/musl/COPYRIGHT\"\n"
	".byte 0\n"
	".popsection\n");
extern const char license_musl[] __attribute__((visibility("hidden")));

/*
 * The others are under the same words: these, between the copyright and a line of dashes.
 * tests/build compares with their files.
 */
static struct slice permission(void)
{
	struct slice all = slice_of(license_musl);

	all = slice_from(all, (size_t)(str_find(all, LIT("Permission is")) - all.p));
	return slice_head(all, (size_t)(str_find(all, LIT("-----")) - all.p));
}

struct license license_at(int i)
{
	switch (i) {
	case 0:
		return (struct license){ "BearSSL",
			"Copyright (c) 2016 Thomas Pornin <pornin@bolet.org>\n\n", permission() };
	case 1:
		return (struct license){ "jsmn", "Copyright (c) 2010 Serge A. Zaitsev\n\n",
			permission() };
	case 2:
		return (struct license){ "musl", "", slice_of(license_musl) };
	}
	return (struct license){ 0 };
}
