#include "licenses.h"

/* The assembler reads the files, relative to the folder the compiler runs in. */
#define INCLUDE_FILE(symbol, path)                                                                 \
	__asm__(".pushsection .rodata." #symbol ", \"a\"\n"                                        \
		".globl " #symbol "_begin, " #symbol "_end\n" #symbol "_begin: .incbin \"" path    \
		"\"\n" #symbol "_end: .byte 0\n"                                                   \
		".popsection\n");                                                                  \
	extern const char symbol##_begin[] __attribute__((visibility("hidden")));                  \
	extern const char symbol##_end[] __attribute__((visibility("hidden")))

INCLUDE_FILE(license_bearssl, "vendor/bearssl/LICENSE.txt");
INCLUDE_FILE(license_jsmn, "vendor/jsmn/LICENSE");
INCLUDE_FILE(license_musl, "vendor/musl/COPYRIGHT");

static struct license item(const char *name, const char *begin, const char *end)
{
	return (struct license){ name, { begin, (size_t)(end - begin) } };
}

struct license license_at(int i)
{
	switch (i) {
	case 0:
		return item("BearSSL", license_bearssl_begin, license_bearssl_end);
	case 1:
		return item("jsmn", license_jsmn_begin, license_jsmn_end);
	case 2:
		return item("musl", license_musl_begin, license_musl_end);
	}
	return (struct license){ 0 };
}
