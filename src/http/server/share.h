/*
 * share.h - who has how much of what all callers need: connections, memory for
 * bodies, live streams.
 *
 * A holder is a key or a person, or for who has not said who he is the network
 * that he calls from (nets.h). What each has is counted in a slot, chosen by
 * a hash that strangers can't steer: two holders may meet in one by chance, one
 * in SHARE_SLOTS, and then have a share together. So there is no list of holders
 * to grow, and nothing to clean up.
 *
 * How much is too much is said by those who count: door.c, conn_body.c, api/streams.c.
 *
 * LIFE. Any thread; the counts are atomic.
 */
#pragma once

#include <stdatomic.h>

#include "base/sip.h"

struct principal;

#define SHARE_SLOTS 4096

struct share {
	struct sip secret;
	atomic_size_t held[SHARE_SLOTS];
};

void share_init(struct share *s);
unsigned share_network(const struct share *s, const char *peer);
/* Of a principal that is known. */
unsigned share_principal(const struct share *s, const struct principal *who);

/* Returns what the slot has now. */
size_t share_add(struct share *s, unsigned slot, size_t n);
void share_sub(struct share *s, unsigned slot, size_t n);
size_t share_held(const struct share *s, unsigned slot);
