#include "host/file_kind.h"

#include "base/str.h"

/* No magic here holds a NUL, so that C strings will do. */
static const struct {
	const char *magic, *type;
} kinds[] = {
	{ "\x89PNG\r\n\x1a\n", "image/png" },
	{ "\xff\xd8\xff", "image/jpeg" },
	{ "GIF87a", "image/gif" },
	{ "GIF89a", "image/gif" },
	{ "%PDF-", "application/pdf" },
	{ "\x1f\x8b", "application/gzip" },
	{ "PK\x03\x04", "application/zip" },
	{ "PK\x05\x06", "application/zip" },
	{ "\x7f"
	  "ELF",
		"application/x-executable" },
	{ "\xff\xfe", "text/plain; charset=utf-16" },
	{ "\xfe\xff", "text/plain; charset=utf-16" },
};

const char *file_kind(struct slice head)
{
	size_t i;

	if (!str_has(head, '\0'))
		return NULL;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (str_starts(head, kinds[i].magic))
			return kinds[i].type;
	return "application/octet-stream";
}
