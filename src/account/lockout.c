#include "account/lockout.h"

#include <assert.h>

#include "account/limits.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/nets.h"
#include "seal/digest.h"

/* Indexes are 1-based: 0 is none, so that zeroed memory is an empty table. */
struct pair {
	struct lockout_key key;
	int failures;
	int64_t quiet_from_us; /* the last failure, or the end of its lock */
	uint32_t chain;        /* next in the bucket, or next free */
	uint32_t newer, older;
};

struct lockout {
	struct lockout_opts o;
	size_t n;
	uint32_t newest, oldest, free;
	uint32_t buckets[LOCKOUT_MAX];
	struct pair pairs[LOCKOUT_MAX + 1];
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

static uint32_t *
bucket(struct lockout *l, const struct lockout_key *k)
{
	uint64_t h;

	memcpy(&h, k->b, sizeof(h));
	return &l->buckets[h % LOCKOUT_MAX];
}

/* The link that points to the pair, or the empty one that ends its chain. */
static uint32_t *
find_pair(struct lockout *l, const struct lockout_key *k)
{
	uint32_t *at = bucket(l, k);

	while (*at && memcmp(&l->pairs[*at].key, k, sizeof(*k)) != 0)
		at = &l->pairs[*at].chain;
	return at;
}

static void
unlink_age(struct lockout *l, uint32_t i)
{
	struct pair *p = &l->pairs[i];

	*(p->newer ? &l->pairs[p->newer].older : &l->newest) = p->older;
	*(p->older ? &l->pairs[p->older].newer : &l->oldest) = p->newer;
}

static void
make_newest(struct lockout *l, uint32_t i)
{
	struct pair *p = &l->pairs[i];

	p->newer = 0;
	p->older = l->newest;
	*(l->newest ? &l->pairs[l->newest].newer : &l->oldest) = i;
	l->newest = i;
}

static void
forget_pair(struct lockout *l, uint32_t *link)
{
	uint32_t i = *link;
	struct pair *p = &l->pairs[i];

	unlink_age(l, i);
	*link = p->chain;
	p->chain = l->free;
	l->free = i;
	l->n--;
}

static bool
is_over(const struct lockout *l, const struct pair *p, int64_t now_us)
{
	return now_us - p->quiet_from_us > l->o.window_us;
}

int64_t
lockout_wait_us(struct lockout *l, const struct lockout_key *k, int64_t now_us)
{
	uint32_t *link = find_pair(l, k);
	const struct pair *p = &l->pairs[*link];

	if (!*link || p->failures < l->o.failures_max)
		return 0;
	return p->quiet_from_us > now_us ? p->quiet_from_us - now_us : 0;
}

/* A place for a new pair: a free one, a fresh one, or the oldest's. */
static uint32_t
place(struct lockout *l)
{
	uint32_t i;

	if (!l->free && l->n == LOCKOUT_MAX)
		forget_pair(l, find_pair(l, &l->pairs[l->oldest].key));
	i = l->free;
	if (i)
		l->free = l->pairs[i].chain;
	else
		i = (uint32_t)l->n + 1;
	l->n++;
	return i;
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
	uint32_t *link = find_pair(l, k);
	uint32_t i = *link;
	struct pair *p;

	if (i) {
		unlink_age(l, i);
	} else {
		i = place(l);
		/* place() may have changed the chain: find its start anew. */
		link = bucket(l, k);
		l->pairs[i] = (struct pair){.key = *k, .chain = *link};
		*link = i;
	}
	p = &l->pairs[i];
	make_newest(l, i);
	if (is_over(l, p, now_us))
		p->failures = 0;
	if (p->failures < INT32_MAX)
		p->failures++;
	p->quiet_from_us = now_us + lock_for(&l->o, p->failures);
}

void
lockout_passed(struct lockout *l, const struct lockout_key *k)
{
	uint32_t *link = find_pair(l, k);

	if (*link)
		forget_pair(l, link);
}

size_t
lockout_count(const struct lockout *l)
{
	return l->n;
}
