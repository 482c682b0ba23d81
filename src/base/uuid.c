#include "base/uuid.h"

static void
set_version(struct uuid *u, unsigned version)
{
	u->b[6] = (unsigned char)((u->b[6] & 0x0f) | (version << 4));
	u->b[8] = (unsigned char)((u->b[8] & 0x3f) | 0x80);
}

struct uuid
uuid_v4(void)
{
	struct uuid u;

	rand_bytes(u.b, sizeof(u.b));
	set_version(&u, 4);
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
	set_version(&u, 7);
	return u;
}

struct uuid
uuid_from_digest(const unsigned char digest[16])
{
	struct uuid u;

	memcpy(u.b, digest, sizeof(u.b));
	set_version(&u, 8);
	return u;
}

/* A dash stands before these bytes. */
static bool
after_dash(size_t i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

void
uuid_format(struct uuid u, char ret[UUID_LEN + 1])
{
	static const char HEX[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(u.b); i++) {
		if (after_dash(i))
			*ret++ = '-';
		*ret++ = HEX[u.b[i] >> 4];
		*ret++ = HEX[u.b[i] & 15];
	}
	*ret = '\0';
}

void
uuid_add(struct buf *b, struct uuid u)
{
	char text[UUID_LEN + 1];

	uuid_format(u, text);
	buf_add(b, (struct str){text, UUID_LEN});
}

bool
uuid_parse(struct str s, struct uuid *ret)
{
	static const unsigned char AT[] = {
	    0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
	const char *p = s.p;
	struct uuid u;
	int all = 0; /* negative when one digit was */

	if (s.n != UUID_LEN || p[8] != '-' || p[13] != '-' || p[18] != '-' ||
	    p[23] != '-')
		return false;
	for (size_t i = 0; i < sizeof(u.b); i++) {
		int hi = str_hex_digit(p[AT[i]]);
		int lo = str_hex_digit(p[AT[i] + 1]);

		all |= hi | lo;
		u.b[i] = (unsigned char)((unsigned)hi << 4 | (unsigned)lo);
	}
	if (all >= 0)
		*ret = u;
	return all >= 0;
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
