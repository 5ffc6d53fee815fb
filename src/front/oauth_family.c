/*
 * Families of refresh tokens, in memory and in one small file that is replaced whole.
 */
#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "bounds.h"
#include "front/capsule.h"
#include "front/oauth_token.h"
#include "host/state_dir.h"

enum {
	TOKEN_SIZE = FAMILY_ID_SIZE + 4, /* generation, most significant byte first */
	LINE_MAX_SIZE = 2 * FAMILY_ID_SIZE + 2 * HASH_SIZE + 3 * 21,
};

static struct family {
	bool used;
	unsigned char id[FAMILY_ID_SIZE];
	unsigned char client[HASH_SIZE];
	uint32_t generation; /* 0: ended, remembered for its access tokens */
	int64_t rotated_s;   /* when the last generation was made, or when it ended */
} families[FAMILIES_MAX];

static const char *path;

static struct family *find(const unsigned char *id)
{
	for (struct family *f = families; f < families + FAMILIES_MAX; f++)
		if (f->used && memcmp(f->id, id, FAMILY_ID_SIZE) == 0)
			return f;
	return NULL;
}

/* A free place, or that of the family of which nothing was heard for longest. */
static struct family *place(void)
{
	struct family *oldest = families;

	for (struct family *f = families; f < families + FAMILIES_MAX; f++) {
		if (!f->used)
			return f;
		if (f->rotated_s < oldest->rotated_s)
			oldest = f;
	}
	return oldest;
}

static bool expired(const struct family *f, int64_t now_s)
{
	return now_s - f->rotated_s > REFRESH_S;
}

/* ---- the file: a line each of id, client, generation and time ---- */

void oauth_families_put(struct buf *b)
{
	char id[2 * FAMILY_ID_SIZE + 1], client[2 * HASH_SIZE + 1];

	for (const struct family *f = families; f < families + FAMILIES_MAX; f++) {
		if (!f->used)
			continue;
		str_hex(f->id, FAMILY_ID_SIZE, id);
		str_hex(f->client, HASH_SIZE, client);
		buf_printf(
			b, "%s %s %u %lld\n", id, client, f->generation, (long long)f->rotated_s);
	}
}

static bool line_parse(struct slice line, struct family *f)
{
	struct slice id = str_split(&line, ' '), client = str_split(&line, ' ');
	struct slice number = str_split(&line, ' ');
	int64_t generation;

	if (!str_unhex(id, f->id, FAMILY_ID_SIZE) || !str_unhex(client, f->client, HASH_SIZE) ||
		str_int(number, &generation) < 0 || str_int(line, &f->rotated_s) < 0)
		return false;
	f->generation = (uint32_t)generation;
	f->used = true;
	return generation >= 0 && generation <= UINT32_MAX;
}

void oauth_families_parse(struct slice text)
{
	struct family f;

	memset(families, 0, sizeof(families));
	while (text.n > 0) {
		f = (struct family){ 0 };
		if (line_parse(str_split(&text, '\n'), &f) && !find(f.id))
			*place() = f;
	}
}

/* Static: too large for the stack, and needed by one call at a time. */
static struct buf *file_text(void)
{
	static char mem[FAMILIES_MAX * LINE_MAX_SIZE];
	static struct buf b;

	buf_over(&b, mem, sizeof(mem));
	return &b;
}

static int load(void)
{
	struct buf *b = file_text();
	int r = read_file(path, b);

	if (r < 0 && r != -ENOENT)
		return r;
	oauth_families_parse(buf_all(b));
	return 0;
}

/*
 * Before the first change: the file is ours alone from then on (another server may share the
 * directory, or be ending while this one begins), and what the other one wrote is read.
 */
static int own_file(void)
{
	static bool own;
	int dir, r;

	if (own || !path)
		return 0;
	dir = state_dir_open(true);
	if (dir < 0)
		return dir;
	r = state_dir_lock(dir, "sign-ins.lock");
	close(dir);
	own = r == 0;
	return own ? load() : r;
}

static int save(void)
{
	struct buf *b = file_text();

	if (!path)
		return 0;
	oauth_families_put(b);
	return replace_file(path, 0600, buf_all(b));
}

int oauth_families_load(const char *file)
{
	int r;

	path = file;
	oauth_families_parse((struct slice){ 0 });
	r = file ? load() : 0;
	if (r < 0)
		path = NULL;
	return r;
}

bool oauth_can_refresh(void)
{
	return path != NULL;
}

/* ---- tokens ---- */

static void put_token(struct buf *b, const struct family *f)
{
	char payload[TOKEN_SIZE];

	memcpy(payload, f->id, FAMILY_ID_SIZE);
	for (int i = 0; i < 4; i++)
		payload[FAMILY_ID_SIZE + i] = (char)(f->generation >> (24 - 8 * i));
	capsule_put(b, CAPSULE_REFRESH, (struct slice){ payload, sizeof(payload) });
}

int oauth_refresh_begin(struct buf *b, const unsigned char family[FAMILY_ID_SIZE],
	struct slice client_id, int64_t now_s)
{
	int r = own_file();
	struct family *f = place(), before = *f;

	if (r < 0)
		return r;
	*f = (struct family){ .used = true, .generation = 1, .rotated_s = now_s };
	memcpy(f->id, family, FAMILY_ID_SIZE);
	hash_sha256(client_id, f->client);
	r = save();
	if (r < 0)
		*f = before;
	else
		put_token(b, f);
	return r;
}

/*
 * The family a token names, whose generation it then has in *generation; NULL when it is none or
 * has ended.
 */
static struct family *token_family(struct slice token, uint32_t *generation)
{
	struct family *f;
	char mem[TOKEN_SIZE];
	struct slice payload;
	struct buf b;

	buf_over(&b, mem, sizeof(mem));
	if (capsule_open(&b, CAPSULE_REFRESH, token, &payload) < 0 || payload.n != TOKEN_SIZE)
		return NULL;
	*generation = 0;
	for (int i = 0; i < 4; i++)
		*generation = *generation << 8 | (unsigned char)payload.p[FAMILY_ID_SIZE + i];
	f = find((const unsigned char *)payload.p);
	return f && f->generation > 0 ? f : NULL;
}

static bool same_client(const struct family *f, struct slice client_id)
{
	unsigned char hash[HASH_SIZE];

	hash_sha256(client_id, hash);
	return memcmp(hash, f->client, HASH_SIZE) == 0;
}

static int rotate(struct family *f, int64_t now_s)
{
	struct family before = *f;
	int r;

	f->generation++;
	f->rotated_s = now_s;
	r = save();
	if (r < 0)
		*f = before;
	return r;
}

int oauth_refresh_next(struct buf *b, struct slice token, struct slice client_id, int64_t now_s,
	unsigned char family[FAMILY_ID_SIZE])
{
	int r = own_file();
	uint32_t generation;
	struct family *f = token_family(token, &generation);

	if (r < 0)
		return r;
	if (!f || !same_client(f, client_id) || expired(f, now_s))
		return -EBADMSG;
	if (generation == f->generation) {
		r = rotate(f, now_s);
	} else if (generation + 1 != f->generation || now_s - f->rotated_s > REFRESH_AGAIN_S) {
		log_event(LOG_WARN, "refresh token used again: its sign-in is ended", NULL);
		oauth_family_end(f->id, now_s);
		return -EBADMSG;
	}
	if (r < 0)
		return r;
	memcpy(family, f->id, FAMILY_ID_SIZE);
	put_token(b, f);
	return 0;
}

static void log_unsaved(int r)
{
	const struct log_field fields[] = { { "why", .text = slice_of(strerror(-r)) }, { 0 } };

	log_event(LOG_ERROR, "ended sign-ins could not be saved", fields);
}

void oauth_family_end(const unsigned char family[FAMILY_ID_SIZE], int64_t now_s)
{
	int r = own_file();
	struct family *f = find(family);

	if (!f)
		f = place();
	memmove(f->id, family, FAMILY_ID_SIZE); /* it may be this very one's */
	f->used = true;
	f->generation = 0;
	f->rotated_s = now_s;
	if (r == 0)
		r = save();
	if (r < 0)
		log_unsaved(r);
}

bool oauth_family_ended(const unsigned char family[FAMILY_ID_SIZE])
{
	const struct family *f = find(family);

	return f && f->generation == 0;
}

void oauth_families_end(void)
{
	int r = own_file();

	memset(families, 0, sizeof(families));
	if (r == 0)
		r = save();
	if (r < 0)
		log_unsaved(r);
}
