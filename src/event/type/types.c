#include "event/type/types.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log/log.h"
#include "event/append.h"
#include "event/envelope.h"
#include "event/limits.h"
#include "event/type/fault.h"
#include "event/type/jschema.h"
#include "sql.h"

#define STAMP "event_types" /* of the table meta; changes with each change */

/* A row at hand, shared by the lists that have it. */
struct kept {
	struct type_version v;
	struct arena *arena;
	unsigned lists;
};

struct types {
	struct types *older; /* replaced before this one was */
	int64_t replaced_ms;
	size_t n;
	struct kept *v[];
};

struct types_live {
	_Atomic(struct types *) now;
	struct types *replaced; /* the newest first */
	_Atomic(uint64_t) stamp;
	/* types_look()'s */
	int64_t look_ms;
	_Atomic(bool) asked; /* the job is under way */
	struct append_job job;
};

static void
list_free(struct types *t)
{
	for (size_t i = 0; t && i < t->n; i++)
		if (--t->v[i]->lists == 0)
			arena_free(t->v[i]->arena);
	free(t);
}

struct types_live *
types_live_new(void)
{
	return mem_get(sizeof(struct types_live));
}

void
types_live_free(struct types_live *l)
{
	while (l && l->replaced) {
		struct types *t = l->replaced;

		l->replaced = t->older;
		list_free(t);
	}
	if (l)
		list_free(atomic_load(&l->now));
	free(l);
}

const struct types *
types_now(struct types_live *l)
{
	return l ? atomic_load_explicit(&l->now, memory_order_acquire) : NULL;
}

size_t
types_count(const struct types *t)
{
	return t ? t->n : 0;
}

const struct type_version *
types_at(const struct types *t, size_t i)
{
	return &t->v[i]->v;
}

static int
order(const struct type_version *a, struct str type, int64_t version)
{
	int is = str_cmp(a->type, type);

	return is ? is : (a->version > version) - (a->version < version);
}

size_t
types_find(const struct types *t, struct str type, int64_t version)
{
	size_t from = 0, to = types_count(t);

	while (from < to) {
		size_t mid = (from + to) / 2;

		if (order(&t->v[mid]->v, type, version) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* 0 when there is none; its digits else. */
static int
read_stamp(struct db *db, uint64_t *ret, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(KIB);
	struct sql_meta_get_row row;
	int64_t n = 0;

	if (TRY(sql_meta_get_one(db, a, &row, e, .name = STR(STAMP))) > 0)
		(void)str_int(row.value, &n);
	*ret = (uint64_t)n;
	return OK;
}

/* What is null stays so. */
static struct str
dup_some(struct arena *a, struct str s)
{
	return s.p ? arena_dup(a, s) : s;
}

/* The same row of the list before, or one that is compiled now. */
static struct kept *
keep(const struct types *old, const struct sql_types_all_row *row)
{
	size_t i = types_find(old, row->type, row->version);
	struct json *tree = NULL;
	struct jschema *s = NULL;
	struct err e = {0};
	struct arena *a;
	struct kept *k;

	if (i < types_count(old) &&
	    order(types_at(old, i), row->type, row->version) == 0 &&
	    types_at(old, i)->changed_us == row->changed_at)
		return old->v[i];
	a = arena_new(64 * (size_t)TYPE_BODY_MAX);
	k = arena_alloc(a, sizeof(*k));
	k->arena = a;
	k->v = (struct type_version){
	    .type = arena_dup(a, row->type),
	    .version = row->version,
	    .strict = row->strict,
	    .deprecated = row->deprecated,
	    .description = dup_some(a, row->description),
	    .schema = arena_dup(a, row->schema),
	    .example = dup_some(a, row->example),
	    .created_us = row->created_at,
	    .changed_us = row->changed_at,
	};
	/* It was checked when it was saved: a later version may take less. */
	if (json_parse(a, k->v.schema, &tree, &e) < 0 ||
	    jschema_compile(a, tree, "/schema", &s, &e) < 0)
		log_err(
		    LOG_ERROR, "the schema of an event type can't be used", &e);
	k->v.compiled = s;
	return k;
}

/* What nobody can be looking at any more. */
static void
drop_replaced(struct types_live *l)
{
	int64_t before = clock_mono_ms() - TYPES_GRACE_MS;
	struct types **at = &l->replaced;

	while (*at && (*at)->replaced_ms > before)
		at = &(*at)->older;
	while (*at) {
		struct types *t = *at;

		*at = t->older;
		list_free(t);
	}
}

static int
by_order(const void *a, const void *b)
{
	const struct kept *const *x = a, *const *y = b;

	return order(&(*x)->v, (*y)->v.type, (*y)->v.version);
}

int
types_reload(struct types_live *l, struct db *db, struct err *e)
{
	struct types *old = atomic_load(&l->now), *new;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_types_all_row row;
	uint64_t stamp;
	int rc;

	TRY(read_stamp(db, &stamp, e));
	TRY(sql_types_all(db, &rows, e, .most = TYPES_MAX));
	new = mem_get(sizeof(*new) + TYPES_MAX * sizeof(new->v[0]));
	while ((rc = sql_types_all_next(rows, &row, e)) > 0 &&
	       new->n < TYPES_MAX) {
		struct kept *k = keep(old, &row);

		k->lists++;
		new->v[new->n++] = k;
	}
	if (rc < 0) {
		list_free(new);
		return rc;
	}
	qsort(new->v, new->n, sizeof(struct kept *), by_order);
	atomic_store_explicit(&l->now, new, memory_order_release);
	atomic_store(&l->stamp, stamp);
	drop_replaced(l);
	if (old) {
		old->replaced_ms = clock_mono_ms();
		old->older = l->replaced;
		l->replaced = old;
	}
	return OK;
}

static int
reload_fn(struct db *db, void *ctx, struct err *e)
{
	return types_reload(ctx, db, e);
}

static void
reload_done(struct append_job *job)
{
	struct types_live *l = job->ctx;

	if (job->err.code != OK)
		log_err(LOG_WARN, "event types were not read", &job->err);
	atomic_store(&l->asked, false);
}

void
types_look(struct types_live *l, struct db *db, struct append *append)
{
	int64_t now_ms = clock_mono_ms();
	struct err e = {0};
	uint64_t stamp = 0;

	if (now_ms < l->look_ms || atomic_load(&l->asked))
		return;
	l->look_ms = now_ms + TYPES_POLL_MS;
	if (read_stamp(db, &stamp, &e) < 0 || stamp == atomic_load(&l->stamp))
		return; /* a store that is away is told of by others */
	l->job =
	    (struct append_job){.fn = reload_fn, .ctx = l, .done = reload_done};
	atomic_store(&l->asked, true);
	if (append_post(append, &l->job, &e) < 0)
		atomic_store(&l->asked, false);
}

static void
tell(struct faults *ret, bool told, const char *at, const char *what,
    const struct type_version *v)
{
	struct err e;

	(void)json_wrong(&e, at, "%.*s %s", STR_ARG(v->type), what);
	faults_add(ret, &e, told);
}

bool
types_check(const struct types *t, const struct event *ev, struct faults *ret,
    bool *strict)
{
	size_t n = types_count(t), i;
	const struct type_version *v;

	if (n == 0)
		return false;
	i = types_find(t, ev->type, ev->schema_version);
	v = i < n ? types_at(t, i) : NULL;
	if (v && v->version == ev->schema_version &&
	    str_eq(v->type, ev->type)) {
		*strict |= v->strict;
		if (v->deprecated)
			tell(ret, true, "/eventType", "is deprecated", v);
		if (v->compiled)
			jschema_check(
			    v->compiled, ev->payload, "/payload", ret);
		return true;
	}
	/* Another version of it stands beside where this one would. */
	if ((!v || !str_eq(v->type, ev->type)) && i > 0)
		v = types_at(t, i - 1);
	if (!v || !str_eq(v->type, ev->type))
		return false;
	*strict |= v->strict;
	tell(ret, false, "/schemaVersion", "has no such version", v);
	return true;
}

/* So that all nodes learn of it; time alone could stand still. */
static int
stamp_put(struct db *db, struct err *e)
{
	char text[24];
	uint64_t n = 0;

	rand_bytes(&n, sizeof(n));
	(void)snprintf(
	    text, sizeof(text), "%lld", (long long)(n & INT64_MAX) | 1);
	return (int)sql_meta_put(
		   db, e, .name = STR(STAMP), .value = str_of(text)) < 0
		   ? (int)e->code
		   : OK;
}

int
types_put(
    struct db *db, const struct type_version *v, int64_t now_us, struct err *e)
{
	struct sql_types_size_row size;

	TRY(sql_types_size_one(db, &size, e));
	if (size.n >= TYPES_MAX ||
	    size.bytes + (int64_t)(v->schema.n + v->example.n) >
		(int64_t)TYPES_BYTES_MAX)
		return err_set(e, ERR_CONFLICT,
		    "there are %lld versions of types with %lld bytes; %d and %lld are allowed",
		    (long long)size.n, (long long)size.bytes, TYPES_MAX,
		    (long long)TYPES_BYTES_MAX);
	TRY((int)sql_type_put(db, e, .type = v->type, .version = v->version,
	    .schema = v->schema, .strict = v->strict,
	    .deprecated = v->deprecated, .description = v->description,
	    .example = v->example, .now = now_us));
	return stamp_put(db, e);
}

int
types_delete(struct db *db, struct str type, int64_t version, struct err *e)
{
	int n =
	    TRY((int)sql_type_delete(db, e, .type = type, .version = version));

	TRY(stamp_put(db, e));
	return n;
}
