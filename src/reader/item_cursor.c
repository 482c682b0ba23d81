#include "reader/item_cursor.h"

#include <endian.h>

#include "seal/base64.h"
#include "seal/digest.h"

enum { SAID = 17, CHECK = 4, BYTES = SAID + CHECK };

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
	uint64_t said[] = {htobe64((uint64_t)p.at), htobe64((uint64_t)p.id)};
	struct buf out CLEANUP(buf_done) = BUF(ITEM_CURSOR_LEN);
	unsigned char b[BYTES] = {(unsigned char)order};

	memcpy(b + 1, said, sizeof(said));
	item_cursor_check(b, b + SAID);
	base64_url_add(&out, (struct str){(const char *)b, BYTES});
	memcpy(ret, out.p, ITEM_CURSOR_LEN);
	ret[ITEM_CURSOR_LEN] = '\0';
}

int
item_cursor_parse(
    struct str s, enum item_order order, struct item_place *ret, struct err *e)
{
	unsigned char b[BYTES], want[CHECK];
	uint64_t said[2];
	size_t n = 0;

	if (s.n != ITEM_CURSOR_LEN)
		return err_set(e, ERR_INVALID,
		    "a cursor has %d characters, this one has %zu",
		    ITEM_CURSOR_LEN, s.n);
	if (!base64_url_read(s, (char *)b, BYTES, &n) || n != BYTES)
		return err_set(e, ERR_INVALID,
		    "a cursor has letters, digits, - and _ only");
	item_cursor_check(b, want);
	if (memcmp(want, b + SAID, CHECK) != 0)
		return err_set(e, ERR_INVALID,
		    "the cursor was altered, or is not from here");
	if (b[0] != (unsigned char)order)
		return err_set(
		    e, ERR_INVALID, "the cursor is of another kind of list");
	memcpy(said, b + 1, sizeof(said));
	*ret = (struct item_place){
	    (int64_t)be64toh(said[0]), (int64_t)be64toh(said[1])};
	return OK;
}
