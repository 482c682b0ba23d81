#include "event/cursor.h"

#include <assert.h>

enum { VERSION = 1, BYTES = 12, CHECKED = 9 };

static const char ALPHABET[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* CRC-24 of RFC 9580 6.1. */
static uint32_t
crc24(const unsigned char *p, size_t n)
{
	uint32_t crc = 0xb704ce;

	for (size_t i = 0; i < n; i++) {
		crc ^= (uint32_t)p[i] << 16;
		for (int bit = 0; bit < 8; bit++) {
			crc <<= 1;
			if (crc & 0x1000000)
				crc ^= 0x1864cfb;
		}
	}
	return crc;
}

void
cursor_format(int64_t seq, char ret[CURSOR_LEN + 1])
{
	unsigned char b[BYTES] = {VERSION};
	uint32_t crc;

	assert(seq >= 0);
	for (int i = 0; i < 8; i++)
		b[1 + i] = (unsigned char)((uint64_t)seq >> (56 - 8 * i));
	crc = crc24(b, CHECKED);
	for (int i = 0; i < 3; i++)
		b[CHECKED + i] = (unsigned char)(crc >> (16 - 8 * i));
	for (size_t i = 0; i < BYTES / 3; i++) {
		const unsigned char *in = b + 3 * i;
		char *out = ret + 4 * i;

		out[0] = ALPHABET[in[0] >> 2];
		out[1] = ALPHABET[(in[0] & 3) << 4 | in[1] >> 4];
		out[2] = ALPHABET[(in[1] & 15) << 2 | in[2] >> 6];
		out[3] = ALPHABET[in[2] & 63];
	}
	ret[CURSOR_LEN] = '\0';
}

/* The six bits of a character, or -1. */
static int
value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

static bool
decode(struct str s, unsigned char ret[BYTES])
{
	uint32_t bits = 0;

	for (size_t i = 0; i < CURSOR_LEN; i++) {
		int v = value(s.p[i]);

		if (v < 0)
			return false;
		bits = bits << 6 | (uint32_t)v;
		if (i % 4 < 3)
			continue;
		*ret++ = (unsigned char)(bits >> 16);
		*ret++ = (unsigned char)(bits >> 8);
		*ret++ = (unsigned char)bits;
	}
	return true;
}

int
cursor_parse(struct str s, int64_t *ret_seq, struct err *e)
{
	unsigned char b[BYTES];
	uint64_t seq = 0;
	uint32_t crc = 0;

	if (s.n != CURSOR_LEN)
		return err_set(e, ERR_INVALID,
		    "a cursor has %d characters, this one has %zu", CURSOR_LEN,
		    s.n);
	if (!decode(s, b))
		return err_set(e, ERR_INVALID,
		    "a cursor has letters, digits, - and _ only");
	for (int i = 0; i < 3; i++)
		crc = crc << 8 | b[CHECKED + i];
	if (crc != crc24(b, CHECKED))
		return err_set(e, ERR_INVALID,
		    "the cursor was altered, or is not from here");
	for (int i = 0; i < 8; i++)
		seq = seq << 8 | b[1 + i];
	if (b[0] != VERSION || seq > INT64_MAX)
		return err_set(e, ERR_INVALID,
		    "the cursor is of a version that is not known here");
	*ret_seq = (int64_t)seq;
	return OK;
}
