#include "account/lockout.h"

#include "account/limits.h"
#include "http/nets.h"
#include "seal/digest.h"

struct pair {
	struct lockout_key key;
	int failures;          /* 0: the place is free */
	int64_t quiet_from_us; /* the last failure, or the end of its lock */
	uint64_t touched;      /* grows: the smallest is the oldest */
};

/* Looked through from its first to its last, which is nothing beside the
 * password that is hashed each time. */
struct lockout {
	struct lockout_opts o;
	uint64_t touches;
	struct pair pairs[LOCKOUT_MAX];
};

struct lockout *
lockout_new(const struct lockout_opts *o)
{
	struct lockout *l = mem_get(sizeof(*l));

	assert(o->failures_max >= 1 && o->window_us > 0);
	assert(o->first_us > 0 && o->lock_us >= o->first_us);
	l->o = *o;
	return l;
}

void
lockout_free(struct lockout *l)
{
	free(l);
}

struct lockout_key
lockout_network(const char *peer)
{
	return lockout_pair(STR_EMPTY, STR_EMPTY, peer);
}

struct lockout_key
lockout_pair(struct str name, struct str hash, const char *peer)
{
	unsigned char bytes[2 * DIGEST_SHORT_LEN + IP_NETWORK_MAX];
	size_t n = 2 * DIGEST_SHORT_LEN;
	struct lockout_key k;

	digest_short(name, bytes);
	digest_short(hash, bytes + DIGEST_SHORT_LEN);
	n += ip_network(peer, bytes + n);
	digest_short((struct str){(const char *)bytes, n}, k.b);
	return k;
}

/* NULL: nothing is known of it. */
static struct pair *
find_pair(struct lockout *l, const struct lockout_key *k)
{
	for (size_t i = 0; i < LOCKOUT_MAX; i++)
		if (l->pairs[i].failures > 0 &&
		    memcmp(&l->pairs[i].key, k, sizeof(*k)) == 0)
			return &l->pairs[i];
	return NULL;
}

int64_t
lockout_wait_us(struct lockout *l, const struct lockout_key *k, int64_t now_us)
{
	const struct pair *p = find_pair(l, k);

	if (!p || p->failures < l->o.failures_max)
		return 0;
	return p->quiet_from_us > now_us ? p->quiet_from_us - now_us : 0;
}

/* For a new pair: a free place, or the oldest's. */
static struct pair *
place(struct lockout *l)
{
	struct pair *oldest = &l->pairs[0];

	for (size_t i = 0; i < LOCKOUT_MAX; i++) {
		if (l->pairs[i].failures == 0)
			return &l->pairs[i];
		if (l->pairs[i].touched < oldest->touched)
			oldest = &l->pairs[i];
	}
	return oldest;
}

/* first_us doubled for each failure past the free ones, up to lock_us. */
static int64_t
lock_for(const struct lockout_opts *o, int failures)
{
	int64_t us = o->first_us;

	if (failures < o->failures_max)
		return 0;
	for (int i = o->failures_max; i < failures; i++) {
		if (us > o->lock_us / 2)
			return o->lock_us;
		us *= 2;
	}
	return us;
}

void
lockout_failed(struct lockout *l, const struct lockout_key *k, int64_t now_us)
{
	struct pair *p = find_pair(l, k);

	if (!p) {
		p = place(l);
		*p = (struct pair){.key = *k};
	}
	p->touched = ++l->touches;
	if (now_us - p->quiet_from_us > l->o.window_us)
		p->failures = 0;
	if (p->failures < INT32_MAX)
		p->failures++;
	p->quiet_from_us = now_us + lock_for(&l->o, p->failures);
}

void
lockout_passed(struct lockout *l, const struct lockout_key *k)
{
	struct pair *p = find_pair(l, k);

	if (p)
		p->failures = 0;
}
