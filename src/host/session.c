#include "host/session.h"

#include "base/ascii.h"
#include "base/random.h"
#include "base/str.h"

enum {
	ID_BYTES = 16,
	MINUTE_MS = 60 * 1000,
};

/* --- ids --- */

/* RFC 9562 section 5.4 */
bool session_make_id(char id[SESSION_ID_LEN + 1])
{
	static const unsigned char parts[] = { 4, 2, 2, 2, 6 };
	unsigned char raw[ID_BYTES];
	const unsigned char *from = raw;

	if (random_key(raw, sizeof(raw)) < 0)
		return false;
	raw[6] = (unsigned char)((raw[6] & 0x0f) | 0x40);
	raw[8] = (unsigned char)((raw[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(parts); i++) {
		str_hex(from, parts[i], id);
		from += parts[i];
		id += 2 * parts[i];
		*id++ = '-';
	}
	id[-1] = '\0';
	return true;
}

bool session_is_id(struct slice s)
{
	static const char form[] = "00000000-0000-0000-0000-000000000000";

	if (s.n != SESSION_ID_LEN)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		bool hex = ascii_digit(s.p[i]) || (s.p[i] >= 'a' && s.p[i] <= 'f');

		if (form[i] == '-' ? s.p[i] != '-' : !hex)
			return false;
	}
	return true;
}

/* --- time --- */

/* Rounded down, before 1970 too. */
static int64_t whole_second(int64_t ms)
{
	int64_t part = ms % 1000;

	return ms - (part < 0 ? part + 1000 : part);
}

/* created is what is shown: nobody finds a session that lives longer than it may. */
static void end_after(struct session *s, int64_t from, int64_t minutes)
{
	int64_t end = from + minutes * MINUTE_MS;
	int64_t latest = s->created + (int64_t)SESSION_TTL_MAX * MINUTE_MS;

	s->end = end < latest ? end : latest;
}

/* --- rows --- */

struct session *session_next(struct session_table *t, struct session *after)
{
	struct session *s = after ? after + 1 : t->row, *end = t->row + t->top;

	while (s < end && s->state == SESSION_NONE)
		s++;
	return s < end ? s : NULL;
}

struct session *session_find(struct session_table *t, struct slice id)
{
	struct session *s = NULL;

	while ((s = session_next(t, s)))
		if (slice_is(id, s->id))
			return s;
	return NULL;
}

static bool is_over(const struct session *s)
{
	return s->state == SESSION_CLEANED && s->files == FILES_GONE && !s->running;
}

static struct session *free_row(struct session_table *t)
{
	struct session *oldest = NULL;

	for (int i = 0; i < t->top; i++) {
		struct session *s = &t->row[i];

		if (s->state == SESSION_NONE)
			return s;
		if (is_over(s) && (!oldest || s->cleaned < oldest->cleaned))
			oldest = s;
	}
	return t->top < SESSIONS_MAX ? &t->row[t->top++] : oldest;
}

struct session *session_add(
	struct session_table *t, struct slice id, struct slice type, int64_t now, int64_t minutes)
{
	struct session *s = session_find(t, id) ? NULL : free_row(t);

	if (!s)
		return NULL;
	*s = (struct session){ .state = SESSION_CREATING };
	memcpy(s->id, id.p, SESSION_ID_LEN);
	memcpy(s->type, type.p, type.n);
	s->type_len = (unsigned char)type.n;
	s->created = whole_second(now);
	end_after(s, now, minutes);
	return s;
}

void session_drop(struct session *s)
{
	*s = (struct session){ 0 };
}

int session_count(const struct session_table *t)
{
	int n = 0;

	for (int i = 0; i < t->top; i++)
		n += session_alive(&t->row[i]);
	return n;
}

int64_t session_first_end(const struct session_table *t)
{
	int64_t first = INT64_MAX;

	for (int i = 0; i < t->top; i++)
		if (session_alive(&t->row[i]) && t->row[i].end < first)
			first = t->row[i].end;
	return first;
}

/* --- states --- */

const char *session_status(const struct session *s)
{
	static const char *const names[] = { "", "creating", "ready", "expired", "cleaned" };

	return s->state == SESSION_READY && s->running ? "active" : names[s->state];
}

bool session_ready(struct session *s)
{
	if (s->state != SESSION_CREATING)
		return false;
	s->state = SESSION_READY;
	return true;
}

bool session_extend(struct session *s, int64_t minutes)
{
	if (s->state != SESSION_READY)
		return false;
	end_after(s, s->end, minutes);
	return true;
}

struct session *session_expire(struct session_table *t, int64_t now)
{
	struct session *s = NULL;

	while ((s = session_next(t, s)))
		if (session_alive(s) && s->end <= now) {
			s->state = SESSION_EXPIRED;
			return s;
		}
	return NULL;
}

bool session_clean(struct session *s, int64_t now)
{
	if (s->state == SESSION_CLEANED)
		return false;
	s->state = SESSION_CLEANED;
	s->cleaned = now;
	return true;
}

void session_forget(struct session_table *t, int64_t now)
{
	struct session *s = NULL;

	while ((s = session_next(t, s)))
		if (is_over(s) && now - s->cleaned >= SESSION_KEPT_MS)
			session_drop(s);
}

int64_t session_minutes_left(const struct session *s, int64_t now)
{
	int64_t ms = s->end - now, minutes, rest;

	if (!session_alive(s) || ms <= 0)
		return 0;
	minutes = ms / MINUTE_MS;
	rest = ms % MINUTE_MS;
	if (rest > MINUTE_MS / 2 || (rest == MINUTE_MS / 2 && minutes % 2))
		minutes++;
	return minutes;
}

void session_settle(struct session *s, int64_t now)
{
	if (s->created > now) {
		s->end = whole_second(now) + (s->end - s->created);
		s->created = whole_second(now);
	}
	if (s->end < s->created)
		s->end = s->created;
	end_after(s, s->end, 0);
	if (s->state == SESSION_CLEANED && (s->cleaned > now || s->cleaned < s->created))
		s->cleaned = now;
}

void session_shift(struct session_table *t, int64_t seconds)
{
	for (int i = 0; i < t->top; i++) {
		t->row[i].created += seconds * 1000;
		t->row[i].end += seconds * 1000;
		t->row[i].cleaned += seconds * 1000;
	}
}
