/*
 * Bytes as a name, and as what a name server says to a question. A name that can be asked for has
 * labels of 1 to 63 bytes; an answer that is taken says nothing to another question; no more
 * addresses come of it than there is room for.
 */
#include "fuzz.h"

#include <errno.h>

#include "base/str.h"
#include "loop/dns.h"

static struct slice question(char *mem, unsigned id, struct slice name, unsigned type)
{
	struct buf b;

	buf_over(&b, mem, DNS_QUESTION_MAX);
	dns_put_question(&b, id, name, type);
	return b.failed ? (struct slice){ 0 } : buf_all(&b);
}

static bool is_name(struct slice s)
{
	struct slice label;
	size_t n = 1;

	do {
		label = str_split(&s, '.');
		if (label.n < 1 || label.n > 63)
			return false;
		n += label.n + 1;
	} while (s.n > 0);
	return n <= 255;
}

/* The answer as it came, and as if its header and question were right. */
static void answer_look(struct slice q, const uint8_t *data, size_t size)
{
	static struct dns_found f;
	static char mem[8192];
	struct slice m = { mem, size };
	int r;

	memcpy(mem, data, size);
	f.count = 0;
	r = dns_take_answer(&f, q, m);
	MUST(r == 0 || r == -EBADMSG || r == -ENOENT || r == -EAGAIN || r == -EMSGSIZE);
	if (size < q.n)
		return;
	memcpy(mem + 12, q.p + 12, q.n - 12);
	memcpy(mem, q.p, 2);
	mem[2] = (char)(mem[2] | 0x80);
	memcpy(mem + 4, "\0\1", 2);
	f.count = RESOLVED_MAX;
	r = dns_take_answer(&f, q, m);
	MUST(r != -EBADMSG);
	MUST(f.count >= RESOLVED_MAX && f.count <= 2 * RESOLVED_MAX);
	MUST(r == 0 || f.count == RESOLVED_MAX);
	mem[1] ^= 1;
	MUST(dns_take_answer(&f, q, m) == -EBADMSG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { (const char *)data, size };
	char mem[DNS_QUESTION_MAX];

	if (size > 4096)
		return 0;
	MUST((question(mem, 1, in, DNS_A).n > 0) == is_name(in));
	answer_look(question(mem, 0x1234, LIT("www.test"), DNS_A), data, size);
	answer_look(question(mem, 0x1234, LIT("www.test"), DNS_AAAA), data, size);
	return 0;
}
