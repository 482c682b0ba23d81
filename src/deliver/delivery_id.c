#include "deliver/delivery_id.h"

#include <assert.h>

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
