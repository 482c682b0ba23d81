#include "deliver/engine/delivery_id.h"

#include <endian.h>
#include <inttypes.h>

#include "base/sip.h"
#include "seal/base64.h"
#include "sql.h"

enum { ROUNDS = 8, HALF_BITS = 61, LOW_BITS = 62, CHECK_BITS = 26 };
#define HALF_MASK  ((UINT64_C(1) << HALF_BITS) - 1)
#define LOW_MASK   ((UINT64_C(1) << LOW_BITS) - 1)
#define CHECK_MASK ((UINT64_C(1) << CHECK_BITS) - 1)

/* Two halves of 61 bits: seq 48 and check's high 13; sub, rep, low 13. */
struct halves {
	uint64_t l, r;
};

static uint64_t
load_le(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static uint64_t
load_be(const unsigned char *p)
{
	return __builtin_bswap64(load_le(p));
}

static void
sip_rounds(uint64_t v[4], int n)
{
	while (n-- > 0)
		sip_round(v);
}

/* SipHash-2-4 of two words. */
static uint64_t
sip(const struct delivery_id_key *key, uint64_t a, uint64_t b)
{
	uint64_t k0 = load_le(key->b), k1 = load_le(key->b + 8);
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

/* 122 bits: 48, the version (4 bits), 12, the variant (2 bits), 62. */
static struct uuid
pack(struct halves h)
{
	unsigned __int128 v = (unsigned __int128)h.l << HALF_BITS | h.r;
	uint64_t words[2] = {
	    htobe64((uint64_t)(v >> 74) << 16 | UINT64_C(4) << 12 |
		    ((uint64_t)(v >> LOW_BITS) & 0xfff)),
	    htobe64(UINT64_C(2) << LOW_BITS | ((uint64_t)v & LOW_MASK)),
	};
	struct uuid u;

	memcpy(u.b, words, sizeof(u.b));
	return u;
}

static bool
unpack(struct uuid u, struct halves *ret)
{
	uint64_t high = load_be(u.b), low = load_be(u.b + 8);
	unsigned __int128 v =
	    (unsigned __int128)(high >> 16 << 12 | (high & 0xfff)) << LOW_BITS |
	    (low & LOW_MASK);

	if ((high >> 12 & 0xf) != 4 || low >> LOW_BITS != 2)
		return false;
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
	return (uint32_t)sip(key, sip(key, load_le(id.b), load_le(id.b + 8)),
	    UINT64_C(3) << 62 | n);
}

void
delivery_cursor_make(const struct delivery_id_key *key,
    const struct delivery_cursor *c, char ret[DELIVERY_CURSOR_LEN + 1])
{
	struct uuid id = delivery_id_make(key, c->seq, c->sub, c->rep);

	(void)snprintf(ret, DELIVERY_CURSOR_LEN + 1,
	    "%016" PRIx64 "%016" PRIx64 "%08" PRIx32 "%08" PRIx32,
	    load_be(id.b), load_be(id.b + 8), c->n,
	    cursor_check(key, id, c->n));
}

/* It is one when it is what is made of what it says: a cursor has one form. */
bool
delivery_cursor_open(const struct delivery_id_key *key, struct str text,
    struct delivery_cursor *ret)
{
	struct {
		struct uuid id;
		uint32_t n, check;
	} b;
	char same[DELIVERY_CURSOR_LEN + 1];
	struct delivery_cursor c;

	if (text.n != DELIVERY_CURSOR_LEN || !str_unhex(text, &b) ||
	    !delivery_id_open(key, b.id, &c.seq, &c.sub, &c.rep))
		return false;
	c.n = be32toh(b.n);
	delivery_cursor_make(key, &c, same);
	if (!str_eq(text, str_of(same)))
		return false;
	*ret = c;
	return true;
}

/* The key ------------------------------------------------------------------- */

#define KEY_NAME STR("delivery_id_key")

/* 1: there is one. */
static int
find_key(struct db *db, struct delivery_id_key *ret, struct err *e)
{
	struct sql_meta_get_row row;
	struct arena *a CLEANUP(arena_freep) = arena_new(1 * KIB);
	size_t n = 0;
	int there = TRY(sql_meta_get_one(db, a, &row, e, .name = KEY_NAME));

	if (there &&
	    (!base64_read(row.value, (char *)ret->b, sizeof(ret->b), &n) ||
		n != sizeof(ret->b)))
		return err_set(e, ERR_STORE,
		    "meta delivery_id_key is no key of deliveryIds");
	return there;
}

int
delivery_id_key(struct db *db, struct delivery_id_key *ret, struct err *e)
{
	struct buf text CLEANUP(buf_done) =
	    BUF(BASE64_LEN(DELIVERY_ID_KEY_LEN));

	if (TRY(find_key(db, ret, e)) > 0)
		return OK;
	rand_bytes(ret->b, sizeof(ret->b));
	base64_add(&text, (struct str){(char *)ret->b, sizeof(ret->b)});
	/* Of two nodes that start at once the first one's stays. */
	if (sql_meta_add(db, e, .name = KEY_NAME, .value = buf_str(&text)) < 0)
		return e->code;
	TRY(find_key(db, ret, e));
	return OK;
}
