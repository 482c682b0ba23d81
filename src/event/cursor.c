#include "event/cursor.h"

#include "seal/base64.h"

enum { VERSION = 1, BYTES = 12, CHECKED = 9 };

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
	struct buf text CLEANUP(buf_done) = BUF(CURSOR_LEN);
	unsigned char b[BYTES] = {VERSION};
	uint32_t crc;

	assert(seq >= 0);
	for (int i = 0; i < 8; i++)
		b[1 + i] = (unsigned char)((uint64_t)seq >> (56 - 8 * i));
	crc = crc24(b, CHECKED);
	for (int i = 0; i < 3; i++)
		b[CHECKED + i] = (unsigned char)(crc >> (16 - 8 * i));
	base64_url_add(&text, (struct str){(const char *)b, BYTES});
	assert(text.n == CURSOR_LEN);
	memcpy(ret, text.p, CURSOR_LEN);
	ret[CURSOR_LEN] = '\0';
}

int
cursor_parse(struct str s, int64_t *ret_seq, struct err *e)
{
	unsigned char b[BYTES];
	uint64_t seq = 0;
	uint32_t crc = 0;
	size_t n;

	if (s.n != CURSOR_LEN)
		return err_set(e, ERR_INVALID,
		    "a cursor has %d characters, this one has %zu", CURSOR_LEN,
		    s.n);
	if (!base64_url_read(s, (char *)b, BYTES, &n))
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
