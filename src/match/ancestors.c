/* What objects of a repository have asked for: from an object's id to its
 * watches, so that an event costs the depth of its object. */
#include <assert.h>

#include "base/str.h"
#include "match/limits.h"
#include "match/table_priv.h"
#include "match/types.h"

struct object {
	struct link link;
	struct watch *first;
	uint16_t n;
	char id[];
};

struct watch {
	struct link link; /* count: of types; 0: all */
	int64_t sub;
	struct object *on;
	struct watch *next, **back; /* of the same object */
	uint8_t levels;             /* 0: the object alone */
	char types[]; /* keys of patterns, each behind its length in a byte */
};

static uint32_t
hash_id(const struct match_table *t, struct str id)
{
	return (uint32_t)sip_hash(&t->sip, id);
}

static struct object *
find_object(const struct match_table *t, struct str id)
{
	uint32_t h = hash_id(t, id);

	for (struct link *l = index_first(&t->objects, h); l; l = l->next) {
		struct object *o = (struct object *)l;

		if (l->hash == h && str_eq((struct str){o->id, o->n}, id))
			return o;
	}
	return NULL;
}

static struct object *
get_object(struct match_table *t, struct str id, struct err *e)
{
	struct object *o = find_object(t, id);

	if (o)
		return o;
	o = malloc(sizeof(*o) + id.n);
	if (!o) {
		(void)err_set(e, ERR_NOMEM, "no memory for an object");
		return NULL;
	}
	*o = (struct object){.link.hash = hash_id(t, id), .n = (uint16_t)id.n};
	memcpy(o->id, id.p, id.n);
	if (index_add(&t->objects, &o->link, e) == OK)
		return o;
	free(o);
	return NULL;
}

static void
drop_object(struct match_table *t, struct object *o)
{
	if (o->first)
		return;
	index_remove(&t->objects, &o->link);
	free(o);
}

static struct watch *
find_watch(const struct match_table *t, int64_t sub)
{
	struct link *l = index_first(&t->watches, match_sub_hash(t, sub));

	while (l && ((struct watch *)l)->sub != sub)
		l = l->next;
	return (struct watch *)l;
}

/* NULL when there is no memory. */
static struct watch *
new_watch(const struct match_table *t, const struct match_watch *w)
{
	struct watch *x;
	size_t bytes = 0;
	char *p;

	for (size_t i = 0; i < w->n_types; i++)
		bytes += 1 + match_types_key(w->types[i]).n;
	x = malloc(sizeof(*x) + bytes);
	if (!x)
		return NULL;
	*x = (struct watch){
	    .link.hash = match_sub_hash(t, w->sub),
	    .link.count = (uint32_t)w->n_types,
	    .sub = w->sub,
	};
	if (w->include_children)
		x->levels = (uint8_t)(w->max_depth > 0 ? w->max_depth : 1);
	p = x->types;
	for (size_t i = 0; i < w->n_types; i++) {
		struct str key = match_types_key(w->types[i]);

		*p++ = (char)(unsigned char)key.n;
		memcpy(p, key.p, key.n);
		p += key.n;
	}
	return x;
}

static void
forget(struct match_table *t, struct watch *x)
{
	index_remove(&t->watches, &x->link);
	*x->back = x->next;
	if (x->next)
		x->next->back = x->back;
	drop_object(t, x->on);
	free(x);
}

static int
check(const struct match_watch *w, struct err *e)
{
	int rc = match_check_types(w->types, w->n_types, e);

	assert(w->sub > 0);
	if (rc == OK && (w->object.n < 1 || w->object.n > MATCH_OBJECT_MAX))
		return err_at(e, ERR_INVALID, "/object",
		    "object must have 1 to %d bytes", MATCH_OBJECT_MAX);
	if (rc == OK && (w->max_depth < 0 || w->max_depth > MATCH_DEPTH_MAX))
		return err_at(e, ERR_INVALID, "/maxDepth",
		    "maxDepth must be from 0 to %d", MATCH_DEPTH_MAX);
	return rc;
}

int
match_add_object(
    struct match_table *t, const struct match_watch *w, struct err *e)
{
	struct watch *old = find_watch(t, w->sub), *x;
	struct object *o;
	int rc = check(w, e);

	if (rc == OK && !old)
		rc = match_room(t, e);
	if (rc < 0)
		return rc;
	o = get_object(t, w->object, e);
	if (!o)
		return e->code;
	x = new_watch(t, w);
	if (x)
		rc = index_add(&t->watches, &x->link, e);
	else
		rc = err_set(e, ERR_NOMEM, "no memory for a subscription");
	if (rc < 0) {
		free(x);
		drop_object(t, o);
		return rc;
	}
	x->on = o;
	x->next = o->first;
	x->back = &o->first;
	if (o->first)
		o->first->back = &x->next;
	o->first = x;
	if (old)
		forget(t, old);
	return OK;
}

void
match_drop_object(struct match_table *t, int64_t sub)
{
	struct watch *x = find_watch(t, sub);

	if (x)
		forget(t, x);
}

static bool
wants(const struct watch *x, struct str type)
{
	const char *p = x->types;

	for (uint32_t i = 0; i < x->link.count; i++) {
		struct str key = {p + 1, (unsigned char)*p};

		if (match_types_fit(key, type))
			return true;
		p = key.p + key.n;
	}
	return x->link.count == 0;
}

int
match_find_objects(struct match_table *t, struct str type,
    const struct str *path, size_t n, struct match_hits *ret, struct err *e)
{
	size_t from = ret->n;

	if (t->objects.n == 0)
		return OK;
	for (size_t i = 0; i < n && i <= MATCH_DEPTH_MAX; i++) {
		const struct object *o = find_object(t, path[i]);

		for (const struct watch *x = o ? o->first : NULL; x;
		     x = x->next) {
			if (i > x->levels || !wants(x, type))
				continue;
			if (match_hit(ret, &x->sub, 1, e) < 0) {
				ret->n = from;
				return e->code;
			}
		}
	}
	match_settle(ret, from);
	return OK;
}

void
match_objects_done(struct match_table *t)
{
	struct link *l;
	size_t at = 0;

	while ((l = index_pop(&t->watches, &at)))
		free(l);
	at = 0;
	while ((l = index_pop(&t->objects, &at)))
		free(l);
	index_done(&t->watches);
	index_done(&t->objects);
}
