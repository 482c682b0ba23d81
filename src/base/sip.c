#include "base/sip.h"

static void
sip_word(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	sip_round(v);
	v[0] ^= m;
}

struct sip
sip_new(void)
{
	struct sip k;

	rand_bytes(k.secret, sizeof(k.secret));
	return k;
}

uint64_t
sip_hash(const struct sip *k, struct str key)
{
	uint64_t v[4] = {
	    k->secret[0] ^ 0x736f6d6570736575u,
	    k->secret[1] ^ 0x646f72616e646f6du,
	    k->secret[0] ^ 0x6c7967656e657261u,
	    k->secret[1] ^ 0x7465646279746573u,
	};
	uint64_t last = (uint64_t)key.n << 56, word;

	for (; key.n >= sizeof(word); key = str_from(key, sizeof(word))) {
		memcpy(&word, key.p, sizeof(word));
		sip_word(v, word);
	}
	for (size_t i = 0; i < key.n; i++)
		last |= (uint64_t)(unsigned char)key.p[i] << 8 * i;
	sip_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
