/* What objects of a repository have asked for: from an object's id to its
 * watches, so that an event costs the depth of its object. */
#include "base/mem.h"
#include "base/str.h"
#include "match/limits.h"
#include "match/table_priv.h"
#include "match/types.h"

struct watch {
	struct by_sub by; /* count: of types; 0: all */
	struct cell *cell;
	uint8_t levels; /* 0: the object alone */
	char types[];   /* keys of patterns, each behind its length in a byte */
};

static int
table_objects_check(const struct match_watch *w, struct err *e)
{
	int rc = match_check_types(w->types, w->n_types, e);

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
	struct watch *x;
	size_t bytes = 0;
	int rc = table_objects_check(w, e);
	char *p;

	if (rc == OK && !by_sub_find(&t->watches, w->sub))
		rc = match_room(t, e);
	if (rc < 0)
		return rc;
	match_drop_object(t, w->sub);
	for (size_t i = 0; i < w->n_types; i++)
		bytes += 1 + match_types_key(w->types[i]).n;
	x = mem_get(sizeof(*x) + bytes);
	x->by.link.count = (uint32_t)w->n_types;
	if (w->include_children)
		x->levels = (uint8_t)(w->max_depth > 0 ? w->max_depth : 1);
	p = x->types;
	for (size_t i = 0; i < w->n_types; i++) {
		struct str key = match_types_key(w->types[i]);

		*p++ = (char)(unsigned char)key.n;
		memcpy(p, key.p, key.n);
		p += key.n;
	}
	by_sub_add(&t->watches, &x->by, w->sub);
	x->cell = cell_put(t, CELL_OBJECT, NULL, w->object, w->sub);
	return OK;
}

void
match_drop_object(struct match_table *t, int64_t sub)
{
	struct watch *x = by_sub_find(&t->watches, sub);

	if (!x)
		return;
	index_remove(&t->watches, &x->by.link);
	cell_drop(t, x->cell, sub);
	free(x);
}

static bool
wants(const struct watch *x, struct str type)
{
	const char *p = x->types;

	for (uint32_t i = 0; i < x->by.link.count; i++) {
		struct str key = {p + 1, (unsigned char)*p};

		if (match_types_fit(key, type))
			return true;
		p = key.p + key.n;
	}
	return x->by.link.count == 0;
}

int
match_find_objects(struct match_table *t, struct str type,
    const struct str *path, size_t n, struct match_hits *ret, struct err *e)
{
	size_t from = ret->n;
	int rc = OK;

	for (size_t i = 0; i < n && i <= MATCH_DEPTH_MAX; i++) {
		const struct cell *c = cell_find(t, CELL_OBJECT, NULL, path[i]);

		for (size_t k = 0; c && k < c->link.count && rc == OK; k++) {
			const struct watch *x =
			    by_sub_find(&t->watches, c->subs[k]);

			if (i <= x->levels && wants(x, type))
				rc = match_hit(ret, &c->subs[k], 1, e);
		}
	}
	return match_settle(ret, from, rc);
}
