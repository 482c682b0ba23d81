/*
 * sip.h - a hash that strangers can't steer.
 *
 * SipHash-1-3 with a random secret: whoever does not know it can't choose keys
 * that meet in one slot, and so can't make a table slow. The byte order of a
 * word is the machine's; the result never leaves the process.
 */
#ifndef BASE_SIP_H
#define BASE_SIP_H

#include "base/base.h"

struct sip {
	uint64_t secret[2];
};

struct sip sip_new(void);
uint64_t sip_hash(const struct sip *k, struct str key);

#endif
