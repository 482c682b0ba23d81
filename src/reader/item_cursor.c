#include "reader/item_cursor.h"

#include "base/buf.h"
#include "base/str.h"
#include "seal/base64.h"
#include "seal/digest.h"

enum { SAID = 17, CHECK = 4, BYTES = SAID + CHECK };

static void
item_cursor_put(unsigned char *to, int64_t v)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)((uint64_t)v >> (56 - 8 * i));
}

static int64_t
get(const unsigned char *from)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | from[i];
	return (int64_t)v;
}

static void
item_cursor_check(const unsigned char said[SAID], unsigned char ret[CHECK])
{
	unsigned char text[SAID + 4] = {'i', 't', 'e', 'm'}, d[DIGEST_LEN];

	memcpy(text + 4, said, SAID);
	digest_sha256((struct str){(const char *)text, sizeof(text)}, d);
	memcpy(ret, d, CHECK);
}

void
item_cursor_format(
    enum item_order order, struct item_place p, char ret[ITEM_CURSOR_LEN + 1])
{
	unsigned char b[BYTES] = {(unsigned char)order};
	struct buf out = BUF(64);

	item_cursor_put(b + 1, p.at);
	item_cursor_put(b + 9, p.id);
	item_cursor_check(b, b + SAID);
	base64_add(&out, (struct str){(const char *)b, BYTES});
	memset(ret, 'A', ITEM_CURSOR_LEN);
	for (size_t i = 0; i < out.n && i < ITEM_CURSOR_LEN; i++)
		ret[i] = out.p[i] == '+'   ? '-'
			 : out.p[i] == '/' ? '_'
					   : out.p[i];
	ret[ITEM_CURSOR_LEN] = '\0';
	buf_done(&out);
}

int
item_cursor_parse(
    struct str s, enum item_order order, struct item_place *ret, struct err *e)
{
	char text[ITEM_CURSOR_LEN];
	unsigned char b[BYTES], want[CHECK];
	size_t n = 0;

	if (s.n != ITEM_CURSOR_LEN)
		return err_set(e, ERR_INVALID,
		    "a cursor has %d characters, this one has %zu",
		    ITEM_CURSOR_LEN, s.n);
	for (size_t i = 0; i < ITEM_CURSOR_LEN; i++) {
		char c = s.p[i];

		text[i] = c == '-' ? '+' : c == '_' ? '/' : c;
		if (c == '+' || c == '/' || c == '=')
			text[i] = '!';
	}
	if (!base64_read(
		(struct str){text, sizeof(text)}, (char *)b, BYTES, &n) ||
	    n != BYTES)
		return err_set(e, ERR_INVALID,
		    "a cursor has letters, digits, - and _ only");
	item_cursor_check(b, want);
	if (memcmp(want, b + SAID, CHECK) != 0)
		return err_set(e, ERR_INVALID,
		    "the cursor was altered, or is not from here");
	if (b[0] != (unsigned char)order)
		return err_set(
		    e, ERR_INVALID, "the cursor is of another kind of list");
	*ret = (struct item_place){get(b + 1), get(b + 9)};
	return OK;
}
