/*
 * sip.h - a hash that strangers can't steer.
 *
 * SipHash-1-3 with a random secret: whoever does not know it can't choose keys
 * that meet in one slot, and so can't make a table slow. The byte order of a
 * word is the machine's; the result never leaves the process.
 */
#pragma once

#include "base/base.h"

struct sip {
	uint64_t secret[2];
};

struct sip sip_new(void);
uint64_t sip_hash(const struct sip *k, struct str key);

static inline uint64_t
sip_rotl(uint64_t x, int b)
{
	return x << b | x >> (64 - b);
}

/* One round, for other variants of it. */
static inline void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = sip_rotl(v[1], 13) ^ v[0];
	v[0] = sip_rotl(v[0], 32);
	v[2] += v[3];
	v[3] = sip_rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = sip_rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = sip_rotl(v[1], 17) ^ v[2];
	v[2] = sip_rotl(v[2], 32);
}
