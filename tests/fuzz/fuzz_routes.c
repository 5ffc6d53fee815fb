/*
 * Whatever a SANDSTORM_ROUTES file holds: each row still makes a target that can stand in a request
 * and members that have names, and a file that is refused is refused again.
 */
#include "fuzz.h"

#include <errno.h>

#include "bounds.h"
#include "http/field.h"
#include "proxy/master.h"
#include "proxy/proxy.h"

static void row_good(const struct route *r)
{
	char mem[8 * KIB];
	struct member m;
	struct buf b;
	size_t at = 0, n = 0;

	buf_over(&b, mem, sizeof(mem));
	request_put_target(&b, r, LIT("a/b c"));
	MUST(!b.failed && http_is_target(buf_all(&b)));
	MUST(b.p[0] == '/' && !memchr(b.p, '{', b.len));
	while (route_member(r, &at, &m)) {
		MUST(m.arg.n > 0 && ++n < ROUTES_FILE_MAX);
		for (int i = 0; i < wire_count(m.names); i++)
			MUST(wire_name(m.names, i).n <= WIRE_NAME_MAX);
	}
}

static void tables_good(void)
{
	for (const struct tool *const *group = sandbox_toolset.groups; *group; group++)
		for (const struct tool *t = *group; t->name; t++)
			if (route_named(slice_of(t->name)))
				row_good(route_of(t->name));
	row_good(route_of("version"));
	for (int n = 0; n < NAMES_COUNT; n++)
		MUST(names_of((enum names)n).n > 0);
	MUST(http_is_token(names_of(NAMES_HEADER)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[ROUTES_FILE_MAX + 1], again[ROUTES_FILE_MAX + 1];
	const char *why, *still;
	int line, same, r;

	if (size > ROUTES_FILE_MAX)
		return 0;
	routes_reset();
	memcpy(text, data, size);
	r = routes_correct(text, size, &line, &why);
	MUST(r == 0 || (r == -EBADMSG && why && line > 0));
	tables_good();
	routes_reset();
	memcpy(again, data, size);
	MUST(routes_correct(again, size, &same, &still) == r && (r == 0 || still == why));
	return 0;
}
