#include "base/uuid.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"

#define POOL_BYTES ((size_t)512)

static void
system_random(void *ret, size_t n)
{
	unsigned char *p = ret;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		/* Without random bytes nothing here is safe to go on. */
		assert(got > 0);
		p += got;
		n -= (size_t)got;
	}
}

static _Thread_local unsigned char pool[POOL_BYTES];
static _Thread_local size_t left;

void
rand_forget(void)
{
	explicit_bzero(pool, left);
	left = 0;
}

void
rand_bytes(void *ret, size_t n)
{
	if (n > POOL_BYTES / 4) {
		system_random(ret, n);
		return;
	}
	if (left < n) {
		system_random(pool, POOL_BYTES);
		left = POOL_BYTES;
	}
	left -= n;
	memcpy(ret, pool + left, n);
	explicit_bzero(pool + left, n);
}

static void
mark(struct uuid *u, unsigned version)
{
	u->b[6] = (unsigned char)((u->b[6] & 0x0f) | (version << 4));
	u->b[8] = (unsigned char)((u->b[8] & 0x3f) | 0x80);
}

struct uuid
uuid_v4(void)
{
	struct uuid u;

	rand_bytes(u.b, sizeof(u.b));
	mark(&u, 4);
	return u;
}

struct uuid
uuid_v7(int64_t now_us)
{
	uint64_t ms = (uint64_t)(now_us / US_PER_MS);
	/* RFC 9562 6.2 method 3: the sub-millisecond part fills rand_a. */
	uint64_t sub = (uint64_t)(now_us % US_PER_MS) * 4096 / 1000;
	struct uuid u;

	rand_bytes(u.b + 8, 8);
	for (int i = 0; i < 6; i++)
		u.b[i] = (unsigned char)(ms >> (40 - 8 * i));
	u.b[6] = (unsigned char)(sub >> 8);
	u.b[7] = (unsigned char)sub;
	mark(&u, 7);
	return u;
}

struct uuid
uuid_from_digest(const unsigned char digest[16])
{
	struct uuid u;

	memcpy(u.b, digest, sizeof(u.b));
	mark(&u, 8);
	return u;
}

/*
 * Eight digits at a time, each in a byte of a word, the first in the lowest:
 * an event has five ids to read and three to write.
 */
#define EACH(byte) (0x0101010101010101u * (byte))
#define WORDS      4 /* of a uuid */

static uint64_t
load(const char *p, size_t n)
{
	uint64_t w = 0;

	memcpy(&w, p, n);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	return w;
}

static void
save(char *p, uint64_t w, size_t n)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	memcpy(p, &w, n);
}

/* Values below 16 as digits, small letters. */
static uint64_t
digits_of(uint64_t values)
{
	uint64_t letter = ((values + EACH(6)) >> 4) & EACH(1);

	return values + EACH('0') + letter * ('a' - '0' - 10);
}

/* Four bytes as eight values, the high half of each byte first. */
static uint64_t
spread(uint64_t w)
{
	w = (w | w << 16) & 0x0000ffff0000ffffu;
	w = (w | w << 8) & 0x00ff00ff00ff00ffu;
	return (w >> 4 & 0x000f000f000f000fu) | (w << 8 & 0x0f000f000f000f00u);
}

static uint64_t
join(uint64_t values)
{
	uint64_t w = (values << 4 | values >> 8) & 0x00ff00ff00ff00ffu;

	w = (w | w >> 8) & 0x0000ffff0000ffffu;
	return (w | w >> 16) & 0xffffffffu;
}

void
uuid_format(struct uuid u, char ret[UUID_LEN + 1])
{
	uint64_t w[WORDS];

	for (size_t i = 0; i < WORDS; i++)
		w[i] = digits_of(spread(load((const char *)u.b + 4 * i, 4)));
	save(ret, w[0], 8);
	save(ret + 9, w[1], 4);
	save(ret + 14, w[1] >> 32, 4);
	save(ret + 19, w[2], 4);
	save(ret + 24, w[2] >> 32, 4);
	save(ret + 28, w[3], 8);
	ret[8] = ret[13] = ret[18] = ret[23] = '-';
	ret[UUID_LEN] = '\0';
}

void
uuid_add(struct buf *b, struct uuid u)
{
	char text[UUID_LEN + 1];

	uuid_format(u, text);
	buf_add(b, (struct str){text, UUID_LEN});
}

/* False when one of the eight is no digit: written again it differs. */
static bool
values_of(uint64_t digits, uint64_t *ret)
{
	uint64_t letter = (digits >> 6) & EACH(1);

	*ret = (digits & EACH(0x0f)) + letter * 9;
	return !(*ret & EACH(0xf0)) &&
	       digits_of(*ret) == (digits | letter << 5);
}

bool
uuid_parse(struct str s, struct uuid *ret)
{
	const char *p = s.p;
	uint64_t w[WORDS], v;
	struct uuid u;

	if (s.n != UUID_LEN || p[8] != '-' || p[13] != '-' || p[18] != '-' ||
	    p[23] != '-')
		return false;
	w[0] = load(p, 8);
	w[1] = load(p + 9, 4) | load(p + 14, 4) << 32;
	w[2] = load(p + 19, 4) | load(p + 24, 4) << 32;
	w[3] = load(p + 28, 8);
	for (size_t i = 0; i < WORDS; i++) {
		if (!values_of(w[i], &v))
			return false;
		save((char *)u.b + 4 * i, join(v), 4);
	}
	*ret = u;
	return true;
}

bool
uuid_eq(struct uuid a, struct uuid b)
{
	return memcmp(a.b, b.b, sizeof(a.b)) == 0;
}

struct uuid
uuid_of(struct str bytes)
{
	struct uuid u = {{0}};

	if (bytes.n == sizeof(u.b))
		memcpy(u.b, bytes.p, sizeof(u.b));
	return u;
}

struct str
uuid_str(const struct uuid *u)
{
	return (struct str){.p = (const char *)u->b, .n = sizeof(u->b)};
}
