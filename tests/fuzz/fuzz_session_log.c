/*
 * Whatever stands in the state file: the same sessions come of it in whatever pieces it is read;
 * each has an id of its own that leads nowhere else; they live no longer than they may; written
 * anew and read again they are the same.
 */
#include "fuzz.h"

#include "bounds.h"
#include "host/session_log.h"

#define NOW INT64_C(1796000000000)

static struct session_table whole, pieces, again;
static struct session_log reader;
static struct buf text;

static void start(struct session_table *t)
{
	memset(t->row, 0, (size_t)t->top * sizeof(*t->row));
	t->top = 0;
	session_log_init(&reader, t);
}

static void same(struct session_table *a, struct session_table *b)
{
	struct session *s = NULL, *o = NULL;

	while ((s = session_next(a, s))) {
		o = session_next(b, o);
		MUST(o && memcmp(s, o, sizeof(*s)) == 0);
	}
	MUST(!session_next(b, o));
}

static void read_in_pieces(struct slice in, size_t seed)
{
	start(&pieces);
	while (in.n > 0) {
		struct slice piece = slice_head(in, 1 + seed % 13);

		session_log_feed(&reader, piece);
		in = slice_from(in, piece.n);
		seed = seed * 31 + 7;
	}
}

static void settle(struct session_table *t)
{
	struct session *s = NULL;

	while ((s = session_next(t, s))) {
		session_settle(s, NOW);
		MUST(session_is_id(slice_of(s->id)));
		MUST(session_find(t, slice_of(s->id)) == s);
		MUST(s->state == SESSION_READY || s->state == SESSION_CLEANED);
		MUST(s->created <= NOW && s->cleaned <= NOW && s->end >= s->created);
		MUST(s->end - s->created <= (int64_t)SESSION_TTL_MAX * 60000);
		MUST(session_minutes_left(s, NOW) >= 0);
		MUST(session_minutes_left(s, NOW) <= SESSION_TTL_MAX);
	}
}

static void write_anew(struct session_table *t)
{
	struct session *s = NULL;

	fuzz_buf(&text, 4 * MIB);
	while ((s = session_next(t, s)))
		session_put_all(&text, s);
	MUST(!text.failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };

	start(&whole);
	session_log_feed(&reader, in);
	read_in_pieces(in, size);
	same(&whole, &pieces);
	settle(&whole);
	write_anew(&whole);
	start(&again);
	session_log_feed(&reader, buf_all(&text));
	MUST(reader.bad == 0);
	same(&whole, &again);
	return 0;
}
