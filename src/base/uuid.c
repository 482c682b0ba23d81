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

/* Where each byte is in the text. */
static const unsigned char AT[16] = {
    0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

void
uuid_format(struct uuid u, char ret[UUID_LEN + 1])
{
	static const char HEX[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++) {
		ret[AT[i]] = HEX[u.b[i] >> 4];
		ret[AT[i] + 1] = HEX[u.b[i] & 15];
	}
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

/* Of a hexadecimal digit: its value and 16; of anything else: 0. */
/* clang-format off */
static const unsigned char NIBBLE[256] = {
    ['0'] = 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ['A'] = 26, 27, 28, 29, 30, 31,
    ['a'] = 26, 27, 28, 29, 30, 31,
};
/* clang-format on */

bool
uuid_parse(struct str s, struct uuid *ret)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned good = 16;
	struct uuid u;

	if (s.n != UUID_LEN || p[8] != '-' || p[13] != '-' || p[18] != '-' ||
	    p[23] != '-')
		return false;
	for (int i = 0; i < 16; i++) {
		unsigned hi = NIBBLE[p[AT[i]]], lo = NIBBLE[p[AT[i] + 1]];

		good &= hi & lo;
		u.b[i] = (unsigned char)((hi & 15) << 4 | (lo & 15));
	}
	if (!good)
		return false;
	*ret = u;
	return true;
}

bool
uuid_eq(struct uuid a, struct uuid b)
{
	return memcmp(a.b, b.b, sizeof(a.b)) == 0;
}

struct str
uuid_str(const struct uuid *u)
{
	return (struct str){.p = (const char *)u->b, .n = sizeof(u->b)};
}
