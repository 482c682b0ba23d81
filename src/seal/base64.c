#include "seal/base64.h"

static const char ALPHABET[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_add(struct buf *b, struct str bytes)
{
	const unsigned char *p = (const unsigned char *)bytes.p;

	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		uint32_t v = (uint32_t)p[i] << 16;

		if (left > 1)
			v |= (uint32_t)p[i + 1] << 8;
		if (left > 2)
			v |= p[i + 2];
		buf_addc(b, ALPHABET[v >> 18]);
		buf_addc(b, ALPHABET[v >> 12 & 63]);
		buf_addc(b, left > 1 ? ALPHABET[v >> 6 & 63] : '=');
		buf_addc(b, left > 2 ? ALPHABET[v & 63] : '=');
	}
}

/* 0..63, or 64 for a byte that is not in the alphabet, whose last two are
 * given. */
static uint32_t
value(char c, const char last[2])
{
	if (c >= 'A' && c <= 'Z')
		return (uint32_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint32_t)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0') + 52;
	return c == last[0] ? 62 : c == last[1] ? 63 : 64;
}

/* Without padding. */
static bool
read_bits(
    struct str text, const char last[2], char *ret, size_t cap, size_t *ret_n)
{
	uint32_t v = 0;
	size_t n = 0;
	int bits = 0;

	if (text.n % 4 == 1)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		uint32_t six = value(text.p[i], last);

		if (six > 63)
			return false;
		v = (v << 6 | six) & 0xffff;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		if (n == cap)
			return false;
		ret[n++] = (char)(v >> bits & 0xff);
	}
	if (v & ((1u << bits) - 1))
		return false;
	*ret_n = n;
	return true;
}

bool
base64_read(struct str text, char *ret, size_t cap, size_t *ret_n)
{
	if (text.n % 4 != 0)
		return false;
	for (int pad = 0; pad < 2 && str_ends(text, STR("=")); pad++)
		text.n--;
	return read_bits(text, "+/", ret, cap, ret_n);
}

bool
base64_url_read(struct str text, char *ret, size_t cap, size_t *ret_n)
{
	return read_bits(text, "-_", ret, cap, ret_n);
}

void
base64_url_add(struct buf *b, struct str bytes)
{
	size_t from = b->n;

	base64_add(b, bytes);
	if (b->failed)
		return;
	while (b->n > from && b->p[b->n - 1] == '=')
		b->n--;
	for (size_t i = from; i < b->n; i++)
		if (b->p[i] == '+' || b->p[i] == '/')
			b->p[i] = b->p[i] == '+' ? '-' : '_';
}
