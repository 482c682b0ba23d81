#include "deliver/engine/replay.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log/log.h"
#include "base/map.h"
#include "base/str.h"
#include "deliver/core/limits.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/limits.h"
#include "match/types.h"

int
replay_new(struct replay_key key, int64_t rate, struct str types,
    struct replay **ret, struct err *e)
{
	struct arena *a = arena_new(REPLAY_TYPES_MEM);
	struct json *j = NULL;
	struct replay *p = NULL;
	char *at;
	int rc = OK;

	if (a && types.p)
		rc = json_parse(a, types, &j, e);
	if (a && rc == OK)
		p = calloc(1,
		    sizeof(*p) + (j ? j->n : 0) * sizeof(struct str) + types.n);
	if (rc == OK && !p)
		rc = err_set(e, ERR_NOMEM, "no memory for a replay");
	if (p) {
		p->refs = 1;
		p->key = key;
		p->rate = rate;
		at = (char *)(p->types + (j ? j->n : 0));
		for (const struct json *t = j ? j->child : NULL; t;
		     t = t->next) {
			struct str k = match_types_key(t->text);

			memcpy(at, k.p, k.n);
			p->types[p->n_types++] = (struct str){at, k.n};
			at += k.n;
		}
		*ret = p;
	}
	arena_free(a);
	return rc;
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
replay_wants(const struct replay *p, struct str type)
{
	bool fits = p->n_types == 0;

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

static struct str
key_of(const struct replay_key *k)
{
	return (struct str){(const char *)k, sizeof(*k)};
}

struct replay *
replays_find(const struct deliver *d, uint32_t sub, int rep)
{
	struct replay_key k = {sub, (uint32_t)rep};

	return rep > 0 ? map_find(d->replays, key_of(&k)) : NULL;
}

int
replays_begin(struct deliver *d, const struct core_reader *rd, int64_t rate,
    bool stopped, struct str types, int64_t now, struct err *e)
{
	struct replay_key k = {rd->sub, (uint32_t)rd->rep};
	struct replay *p = NULL;
	int rc;

	/* A recovery meanwhile has found it in the store. */
	if (map_find(d->replays, key_of(&k)) || !deliver_wish(d, rd->sub))
		return OK;
	rc = replay_new(k, rate, types, &p, e);
	if (rc < 0 || !p)
		return rc;
	rc = map_put(d->replays, key_of(&p->key), p, NULL, e);
	if (rc < 0) {
		replay_unref(p);
		return rc;
	}
	p->stopped = stopped;
	core_replay(d->core, rd, replay_interval_us(rate), now);
	return OK;
}

void
replays_written(struct deliver *d, const struct core_reader *rd)
{
	struct replay *p = rd->gone ? replays_find(d, rd->sub, rd->rep) : NULL;

	if (!p)
		return;
	(void)map_take(d->replays, key_of(&p->key));
	replay_unref(p);
}

void
replays_forget(struct deliver *d, uint32_t sub)
{
	size_t at = 0;
	struct replay *p;

	while ((p = map_each(d->replays, &at))) {
		if (sub && p->key.sub != sub)
			continue;
		(void)map_take(d->replays, key_of(&p->key));
		replay_unref(p);
		at = 0;
	}
}
