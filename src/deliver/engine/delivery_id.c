#include "deliver/engine/delivery_id.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "seal/base64.h"
#include "sql.h"

enum { ROUNDS = 8, HALF_BITS = 61, CHECK_BITS = 26 };
#define HALF_MASK  ((UINT64_C(1) << HALF_BITS) - 1)
#define CHECK_MASK ((UINT64_C(1) << CHECK_BITS) - 1)

/* Two halves of 61 bits: seq 48 and check's high 13; sub, rep, low 13. */
struct halves {
	uint64_t l, r;
};

static uint64_t
rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static uint64_t
load(const unsigned char *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

static void
sip_rounds(uint64_t v[4], int n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

/* SipHash-2-4 of two words. */
static uint64_t
sip(const struct delivery_id_key *key, uint64_t a, uint64_t b)
{
	uint64_t k0 = load(key->b), k1 = load(key->b + 8);
	uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575),
	    k1 ^ UINT64_C(0x646f72616e646f6d),
	    k0 ^ UINT64_C(0x6c7967656e657261),
	    k1 ^ UINT64_C(0x7465646279746573)};
	const uint64_t words[] = {a, b, UINT64_C(16) << 56};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		v[3] ^= words[i];
		sip_rounds(v, 2);
		v[0] ^= words[i];
	}
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t
round_of(const struct delivery_id_key *key, uint64_t n, uint64_t half)
{
	return sip(key, n, half) & HALF_MASK;
}

/* Apart from the rounds, so that check bits are no function of them. */
static uint64_t
check_of(
    const struct delivery_id_key *key, int64_t seq, uint32_t sub, uint16_t rep)
{
	return sip(key, UINT64_C(1) << 63 | (uint64_t)seq,
		   (uint64_t)sub << 16 | rep) &
	       CHECK_MASK;
}

/* 122 bits around the version (4 bits) and the variant (2 bits). */
static struct uuid
pack(struct halves h)
{
	unsigned __int128 v = (unsigned __int128)h.l << HALF_BITS | h.r;
	struct uuid u;

	/* From the end: 62 bits, the variant, 12 bits, the version, 48. */
	for (int i = 15; i >= 9; i--, v >>= 8)
		u.b[i] = (unsigned char)v;
	u.b[8] = (unsigned char)(0x80 | (v & 0x3f));
	v >>= 6;
	u.b[7] = (unsigned char)v;
	v >>= 8;
	u.b[6] = (unsigned char)(0x40 | (v & 0x0f));
	v >>= 4;
	for (int i = 5; i >= 0; i--, v >>= 8)
		u.b[i] = (unsigned char)v;
	return u;
}

static bool
unpack(struct uuid u, struct halves *ret)
{
	unsigned __int128 v = 0;

	if ((u.b[6] & 0xf0) != 0x40 || (u.b[8] & 0xc0) != 0x80)
		return false;
	for (int i = 0; i <= 5; i++)
		v = v << 8 | u.b[i];
	v = v << 4 | (u.b[6] & 0x0f);
	v = v << 8 | u.b[7];
	v = v << 6 | (u.b[8] & 0x3f);
	for (int i = 9; i <= 15; i++)
		v = v << 8 | u.b[i];
	ret->l = (uint64_t)(v >> HALF_BITS);
	ret->r = (uint64_t)v & HALF_MASK;
	return true;
}

struct uuid
delivery_id_make(
    const struct delivery_id_key *key, int64_t seq, uint32_t sub, uint16_t rep)
{
	uint64_t check = check_of(key, seq, sub, rep);
	struct halves h = {
	    .l = (uint64_t)seq << 13 | check >> 13,
	    .r = (uint64_t)sub << 29 | (uint64_t)rep << 13 | (check & 0x1fff),
	};

	assert(seq >= 0 && seq <= DELIVERY_SEQ_MAX);
	for (uint64_t i = 0; i < ROUNDS; i++)
		h = (struct halves){h.r, h.l ^ round_of(key, i, h.r)};
	return pack(h);
}

bool
delivery_id_open(const struct delivery_id_key *key, struct uuid id,
    int64_t *ret_seq, uint32_t *ret_sub, uint16_t *ret_rep)
{
	struct halves h;
	uint64_t check;
	int64_t seq;
	uint32_t sub;
	uint16_t rep;

	if (!unpack(id, &h))
		return false;
	for (uint64_t i = ROUNDS; i-- > 0;)
		h = (struct halves){h.r ^ round_of(key, i, h.l), h.l};
	seq = (int64_t)(h.l >> 13);
	sub = (uint32_t)(h.r >> 29);
	rep = (uint16_t)(h.r >> 13);
	check = (h.l & 0x1fff) << 13 | (h.r & 0x1fff);
	if (check != check_of(key, seq, sub, rep))
		return false;
	*ret_seq = seq;
	*ret_sub = sub;
	*ret_rep = rep;
	return true;
}

static uint32_t
cursor_check(const struct delivery_id_key *key, struct uuid id, uint32_t n)
{
	return (uint32_t)sip(
	    key, sip(key, load(id.b), load(id.b + 8)), UINT64_C(3) << 62 | n);
}

void
delivery_cursor_make(const struct delivery_id_key *key,
    const struct delivery_cursor *c, char ret[DELIVERY_CURSOR_LEN + 1])
{
	struct uuid id = delivery_id_make(key, c->seq, c->sub, c->rep);
	size_t at = 0;

	for (size_t i = 0; i < sizeof(id.b); i++, at += 2)
		(void)snprintf(ret + at, 3, "%02x", id.b[i]);
	(void)snprintf(
	    ret + at, 17, "%08x%08x", c->n, cursor_check(key, id, c->n));
}

/* Lower case alone: a cursor has one form. */
static bool
from_hex(const char *p, size_t n, unsigned char *ret)
{
	static const char DIGITS[] = "0123456789abcdef";

	for (size_t i = 0; i < 2 * n; i++) {
		const char *at = p[i] ? strchr(DIGITS, p[i]) : NULL;

		if (!at)
			return false;
		ret[i / 2] = (unsigned char)((unsigned)ret[i / 2] << 4 |
					     (unsigned)(at - DIGITS));
	}
	return true;
}

bool
delivery_cursor_open(const struct delivery_id_key *key, struct str text,
    struct delivery_cursor *ret)
{
	unsigned char b[DELIVERY_CURSOR_LEN / 2] = {0};
	struct delivery_cursor c = {0};
	uint32_t words[2] = {0, 0};
	struct uuid id;

	if (text.n != DELIVERY_CURSOR_LEN || !from_hex(text.p, sizeof(b), b))
		return false;
	memcpy(id.b, b, sizeof(id.b));
	for (size_t i = 0; i < 8; i++)
		words[i / 4] = words[i / 4] << 8 | b[16 + i];
	if (words[1] != cursor_check(key, id, words[0]) ||
	    !delivery_id_open(key, id, &c.seq, &c.sub, &c.rep))
		return false;
	c.n = words[0];
	*ret = c;
	return true;
}

/* The key ------------------------------------------------------------------- */

#define KEY_NAME STR("delivery_id_key")

static int
find_key(struct db *db, struct delivery_id_key *ret, struct err *e)
{
	struct sql_meta_get_row row;
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = sql_meta_get(db, &rows, e, .name = KEY_NAME);

	if (rc == OK)
		rc = sql_meta_get_next(rows, &row, e);
	if (rc > 0 &&
	    (!base64_read(row.value, (char *)ret->b, sizeof(ret->b), &n) ||
		n != sizeof(ret->b)))
		rc = err_set(e, ERR_STORE,
		    "meta delivery_id_key is no key of deliveryIds");
	rows_close(rows);
	return rc;
}

int
delivery_id_key(struct db *db, struct delivery_id_key *ret, struct err *e)
{
	struct buf text = BUF(BASE64_LEN(DELIVERY_ID_KEY_LEN));
	int rc = find_key(db, ret, e);

	if (rc != 0)
		return rc < 0 ? rc : OK;
	rand_bytes(ret->b, sizeof(ret->b));
	base64_add(&text, (struct str){(char *)ret->b, sizeof(ret->b)});
	/* Of two nodes that start at once the first one's stays. */
	rc = sql_meta_add(db, e, .name = KEY_NAME, .value = buf_str(&text)) < 0
		 ? (int)e->code
		 : OK;
	buf_done(&text);
	if (rc == OK)
		rc = find_key(db, ret, e);
	return rc < 0 ? rc : OK;
}
