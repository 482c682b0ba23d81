#include "deliver/engine/stale.h"

#include "base/log/metric.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"

struct version_key {
	struct core_rec rec;
	uint32_t sub, none;
};

struct version {
	struct version_key key;
	struct link in_order;
	int64_t rv;
	bool known; /* the store was asked */
	int pins;   /* successes that are not written yet */
};

struct stale {
	struct map *map;
	struct list order; /* used last at the end */
};

struct stale *
stale_new(void)
{
	struct stale *t = mem_get(sizeof(*t));

	list_init(&t->order);
	t->map = map_new(SIZE_MAX / 2);
	return t;
}

static void
forget_version(struct stale *t, struct version *v)
{
	(void)map_take(t->map, SUB_KEY(&v->key));
	list_remove(&t->order, &v->in_order);
	free(v);
}

void
stale_forget_all(struct stale *t)
{
	list_each (struct version, v, &t->order, in_order)
		forget_version(t, v);
}

void
stale_free(struct stale *t)
{
	if (!t)
		return;
	stale_forget_all(t);
	map_free(t->map);
	free(t);
}

static struct version *
find_version(struct stale *t, uint32_t sub, const struct core_rec *rec)
{
	struct version_key key = {.rec = *rec, .sub = sub};
	struct version *v = map_find(t->map, SUB_KEY(&key));

	if (v) {
		list_remove(&t->order, &v->in_order);
		list_add(&t->order, &v->in_order);
	}
	return v;
}

/* Unwritten ones are few: UNFLUSHED_MAX, and what is under way. */
static void
make_room(struct stale *t)
{
	list_each (struct version, v, &t->order, in_order) {
		if (t->order.n < VERSIONS_MAX)
			return;
		if (v->pins == 0)
			forget_version(t, v);
	}
}

static struct version *
get_version(struct stale *t, uint32_t sub, const struct core_rec *rec)
{
	struct version *v = find_version(t, sub, rec);

	if (v)
		return v;
	make_room(t);
	v = mem_get(sizeof(*v));
	v->key = (struct version_key){.rec = *rec, .sub = sub};
	v->rv = CORE_NO_RV;
	map_set(t->map, SUB_KEY(&v->key), v);
	list_add(&t->order, &v->in_order);
	return v;
}

enum stale_look
stale_look(struct stale *t, const struct core_send *s,
    const struct core_rec *rec, int64_t rv)
{
	const struct version *v;

	if (s->row.rep > 0 || s->row.asked || rv == CORE_NO_RV ||
	    (rec->a == 0 && rec->b == 0))
		return STALE_SEND;
	v = find_version(t, s->row.sub, rec);
	if (!v || !v->known)
		return STALE_ASK;
	return rv < v->rv ? STALE_DROP : STALE_SEND;
}

/* Somebody's replay may have been quicker than the store. */
void
stale_learn(
    struct stale *t, uint32_t sub, const struct core_rec *rec, int64_t rv)
{
	struct version *v = get_version(t, sub, rec);

	v->known = true;
	if (rv > v->rv)
		v->rv = rv;
}

/* One that was not checked may not be known: the store may have a newer one. */
void
stale_handed(struct stale *t, uint32_t sub, const struct core_rec *rec,
    int64_t rv, struct core_result *r)
{
	struct version *v;

	if (rv == CORE_NO_RV || (rec->a == 0 && rec->b == 0))
		return;
	v = get_version(t, sub, rec);
	v->pins++;
	if (rv > v->rv)
		v->rv = rv;
	r->rec = *rec;
	r->rv = rv;
}

void
stale_written(struct stale *t, const struct core_attempt *a)
{
	struct version_key key = {.rec = a->result.rec, .sub = a->sub};
	struct version *v;

	if (a->result.verdict == CORE_DROP)
		metric_add(a->result.reason == REASON_STALE ? M_STALE_DROPPED
							    : M_COALESCED,
		    1);
	if (a->result.verdict != CORE_OK ||
	    (a->result.rec.a == 0 && a->result.rec.b == 0))
		return;
	v = map_find(t->map, SUB_KEY(&key));
	if (v && v->pins > 0)
		v->pins--;
}
