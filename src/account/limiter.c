#include "account/limiter.h"

#include <stdatomic.h>

#define NS_PER_US   INT64_C(1000)
#define NS_PER_MS   INT64_C(1000000)
#define NS_PER_S    INT64_C(1000000000)
/* Nobody goes further into debt: keeps every sum far from overflow. */
#define DEBT_MAX_NS (3600 * NS_PER_S)

struct slot {
	_Atomic int64_t key_id;  /* 0: never used */
	_Atomic int64_t full_at; /* ns: when the bucket will be full again */
	_Atomic int64_t untold;  /* ns: of it, what other nodes don't know */
};

struct limiter {
	size_t n;
	int64_t span_ns;
	struct slot slots[];
};

struct limiter *
limiter_new(size_t slots, int span_s)
{
	struct limiter *l = mem_get(sizeof(*l) + slots * sizeof(struct slot));

	assert(slots > 0 && (slots & (slots - 1)) == 0);
	l->n = slots;
	l->span_ns = span_s * NS_PER_S;
	return l;
}

void
limiter_free(struct limiter *l)
{
	free(l);
}

/*
 * The key's slot, or one it may have. All of a chain is looked at before one
 * is taken over: the key may have its own further on. NULL: all are busy.
 */
static struct slot *
slot_of(struct limiter *l, int64_t key_id, int64_t now_ns)
{
	/* Ids that follow each other are spread. */
	uint64_t home = ((uint64_t)key_id * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

	for (;;) {
		struct slot *idle = NULL;
		int64_t idle_id = 0;

		for (size_t i = 0; i < l->n; i++) {
			struct slot *s = &l->slots[(home + i) & (l->n - 1)];
			int64_t id = atomic_load(&s->key_id);

			if (id == key_id)
				return s;
			if (!idle &&
			    (id == 0 || atomic_load(&s->full_at) <= now_ns)) {
				idle = s;
				idle_id = id;
			}
			if (id == 0)
				break;
		}
		if (!idle)
			return NULL;
		if (atomic_compare_exchange_strong(
			&idle->key_id, &idle_id, key_id))
			return idle;
		/* Somebody was faster, perhaps with the same key: look anew. */
	}
}

static int
refuse_for(int64_t wait_ns, struct err *e)
{
	int64_t wait_ms = (wait_ns + NS_PER_MS - 1) / NS_PER_MS;

	(void)err_set(e, ERR_BUSY, "the rate is used up; try again in %lld ms",
	    (long long)wait_ms);
	e->retry_after_s = (int)((wait_ms + 999) / 1000);
	return ERR_BUSY;
}

int
limiter_take(struct limiter *l, int64_t key_id, int64_t rate, int64_t cost,
    int64_t now_us, struct err *e)
{
	int64_t now_ns = now_us * NS_PER_US, span_ns = l->span_ns;
	int64_t each_ns, spend_ns, full_at;
	struct slot *s;

	assert(key_id > 0 && cost >= 0);
	if (rate <= 0 || cost == 0)
		return OK;
	each_ns = rate < span_ns ? span_ns / rate : 1;
	spend_ns = cost < DEBT_MAX_NS / each_ns ? cost * each_ns : DEBT_MAX_NS;
	s = slot_of(l, key_id, now_ns);
	if (!s)
		return refuse_for(NS_PER_S, e); /* a moment, not a span */
	full_at = atomic_load(&s->full_at);
	for (;;) {
		int64_t from = full_at > now_ns ? full_at : now_ns;
		int64_t fits = spend_ns < span_ns ? spend_ns : span_ns;
		int64_t over = from - now_ns + fits - span_ns;

		if (over > 0)
			return refuse_for(over, e);
		if (atomic_compare_exchange_weak(
			&s->full_at, &full_at, from + spend_ns)) {
			atomic_fetch_add(&s->untold, spend_ns);
			return OK;
		}
	}
}

bool
limiter_untold(
    struct limiter *l, size_t *at, int64_t *ret_key_id, int64_t *ret_us)
{
	while (*at < l->n) {
		struct slot *s = &l->slots[(*at)++];

		if (atomic_load(&s->untold) < NS_PER_US)
			continue;
		*ret_key_id = atomic_load(&s->key_id);
		*ret_us = atomic_exchange(&s->untold, 0) / NS_PER_US;
		return true;
	}
	*at = 0;
	return false;
}

void
limiter_told(
    struct limiter *l, int64_t key_id, int64_t ahead_us, int64_t now_us)
{
	int64_t now_ns = now_us * NS_PER_US, full_at, want;
	struct slot *s = slot_of(l, key_id, now_ns);

	if (!s)
		return;
	if (ahead_us > DEBT_MAX_NS / NS_PER_US)
		ahead_us = DEBT_MAX_NS / NS_PER_US;
	want = now_ns + ahead_us * NS_PER_US;
	full_at = atomic_load(&s->full_at);
	while (full_at < want &&
	       !atomic_compare_exchange_weak(&s->full_at, &full_at, want))
		;
}
