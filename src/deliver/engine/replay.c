#include "deliver/engine/replay.h"

#include "deliver/core/core.h"
#include "deliver/core/limits.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "match/types.h"

int
replay_new(struct replay_key key, const struct replay_terms *t,
    struct replay **ret, struct err *e)
{
	struct str types = t->types;
	struct arena *a CLEANUP(arena_freep) = arena_new(REPLAY_TYPES_MEM);
	struct json *j = NULL;
	struct replay *p;
	char *at;

	if (types.p)
		TRY(json_parse(a, types, &j, e));
	p = mem_get(sizeof(*p) + (j ? j->n : 0) * sizeof(struct str) + types.n +
		    t->order_key.n);
	p->refs = 1;
	p->key = key;
	p->rate = t->rate;
	p->tenant = t->tenant;
	at = (char *)(p->types + (j ? j->n : 0));
	for (const struct json *x = j ? j->child : NULL; x; x = x->next)
		p->types[p->n_types++] = str_put(&at, match_types_key(x->text));
	if (t->order_key.p)
		p->order_key = str_put(&at, t->order_key);
	*ret = p;
	return OK;
}

struct replay *
replay_ref(struct replay *p)
{
	if (p)
		(void)atomic_fetch_add_explicit(
		    &p->refs, 1, memory_order_relaxed);
	return p;
}

void
replay_unref(struct replay *p)
{
	if (p && atomic_fetch_sub(&p->refs, 1) == 1)
		free(p);
}

bool
replay_wants(const struct replay *p, struct str type, const struct uuid *tenant,
    struct str key)
{
	bool fits = p->n_types == 0;

	if ((p->order_key.p && !str_eq(p->order_key, key)) ||
	    (!uuid_eq(p->tenant, (struct uuid){{0}}) &&
		!uuid_eq(p->tenant, *tenant)))
		return false;

	for (size_t i = 0; !fits && i < p->n_types; i++)
		fits = match_types_fit(p->types[i], type);
	return fits;
}

int
replay_chunk(int64_t rate)
{
	int64_t n = rate / REPLAY_PAGES_PER_S;

	if (rate <= 0 || n > READ_PAGE_MAX)
		return READ_PAGE_MAX;
	return n < 1 ? 1 : (int)n;
}

int64_t
replay_interval_us(int64_t rate)
{
	return rate <= 0 ? 0 : replay_chunk(rate) * US_PER_S / rate;
}

/* The deliver thread's ------------------------------------------------------- */

struct replay *
replays_find(const struct replays *all, uint32_t sub, int rep)
{
	struct replay_key k = {sub, (uint32_t)rep};

	return rep > 0 ? map_find(all->map, SUB_KEY(&k)) : NULL;
}

int
replays_begin(struct replays *all, struct core *core,
    const struct core_reader *rd, const struct replay_terms *t, struct err *e)
{
	struct replay_key k = {rd->sub, (uint32_t)rd->rep};
	struct replay *p = map_find(all->map, SUB_KEY(&k));

	if (p) {
		p->stopped = p->stopped || t->stopped;
		return OK;
	}
	TRY(replay_new(k, t, &p, e));
	assert(p);
	map_set(all->map, SUB_KEY(&p->key), p);
	p->stopped = t->stopped;
	core_replay(core, rd, replay_interval_us(t->rate));
	return OK;
}

static void
drop_replay(struct replays *all, struct replay *p)
{
	(void)map_take(all->map, SUB_KEY(&p->key));
	replay_unref(p);
}

void
replays_written(struct replays *all, const struct core_reader *rd)
{
	struct replay *p =
	    rd->gone ? replays_find(all, rd->sub, rd->rep) : NULL;

	if (p)
		drop_replay(all, p);
}

void
replays_forget(struct replays *all, uint32_t sub)
{
	size_t at = 0;
	struct replay *p;

	while ((p = map_each(all->map, &at))) {
		if (sub && p->key.sub != sub)
			continue;
		drop_replay(all, p);
		at = 0;
	}
}
