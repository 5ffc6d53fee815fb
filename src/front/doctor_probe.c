#include "front/doctor_probe.h"

#include "base/percent.h"
#include "base/str.h"
#include "bounds.h"
#include "front/doctor_ask.h"
#include "front/json_shape.h"
#include "proxy/routes.h"

enum { PATH_SIZE = 2 * KIB };

/* The id of some sandbox as it stands in a path; empty: there is none. */
static void find_id(struct buf *id)
{
	const struct route *r = route_of("list_sandboxes");
	const struct doctor_answer *a = doctor_get(slice_of(r->path), true);
	int list = doctor_good(a) ? json_list_in(&a->d) : -1;
	int at = json_get(&a->d, json_first(&a->d, list), "id");
	struct slice raw = json_raw(&a->d, at);

	if (json_type(&a->d, at) == JSON_STRING && !str_has(raw, '\\'))
		percent_put(id, (struct slice){ raw.p + 1, raw.n - 2 });
}

/* The path with the id for what stands in braces. False: it needs one and there is none. */
static bool put_path(struct buf *b, const struct route *r, struct slice id)
{
	struct slice rest = slice_of(r->path);

	while (rest.n) {
		buf_slice(b, str_split(&rest, '{'));
		if (!rest.n)
			break;
		if (!id.n)
			return false;
		buf_slice(b, id);
		str_split(&rest, '}');
	}
	return !b->failed;
}

static void probe_route(const struct route *r, struct slice id)
{
	char path_mem[PATH_SIZE], text_mem[2 * PATH_SIZE];
	const struct doctor_answer *a;
	struct buf path, text;

	buf_over(&path, path_mem, sizeof(path_mem));
	buf_over(&text, text_mem, sizeof(text_mem));
	if (!put_path(&path, r, id)) {
		doctor_say(SKIPPED, r->tool, "%s: there is no sandbox to ask about", r->path);
		return;
	}
	a = doctor_get(buf_all(&path), true);
	buf_printf(&text, "%s %s: ", r->method, r->path);
	doctor_put_outcome(a, &text);
	if (a->d.n) {
		buf_puts(&text, ", ");
		json_put_shape(&text, &a->d, 0);
	} else if (a->c.failure == HTTP_CALL_OK) {
		buf_puts(&text, a->c.got ? ", not JSON" : ", empty");
	}
	doctor_line(doctor_good(a) && a->d.n ? FINE : FAILED, r->tool, buf_all(&text),
		doctor_good(a) ? NULL : "SANDSTORM_ROUTES can correct the route");
}

void doctor_probe(void)
{
	char mem[PATH_SIZE];
	struct buf id;

	buf_over(&id, mem, sizeof(mem));
	find_id(&id);
	for (const struct route *r = route_next_read(NULL); r; r = route_next_read(r))
		probe_route(r, buf_all(&id));
}
