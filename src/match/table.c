#include "match/table.h"

#include <assert.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/uuid.h"
#include "event/limits.h"
#include "match/limits.h"
#include "match/table_priv.h"
#include "match/types.h"

/* A subscription, and where it stands. */
struct want {
	struct by_sub by; /* count: of cells */
	struct cell *cells[];
};

static bool
is_sub(const struct index_link *l, struct str key)
{
	return memcmp(&((const struct by_sub *)l)->sub, key.p, key.n) == 0;
}

static bool
is_cell(const struct index_link *l, struct str key)
{
	const struct cell *c = (const struct cell *)l;

	return str_eq((struct str){c->key, c->n}, key);
}

struct match_table *
match_new(void)
{
	struct match_table *t = mem_get(sizeof(*t));

	index_init(&t->wants, is_sub);
	index_init(&t->watches, is_sub);
	index_init(&t->cells, is_cell);
	return t;
}

static void
free_all(struct index *x)
{
	void *p;

	for (size_t at = 0; (p = index_pop(x, &at));)
		free(p);
	index_done(x);
}

void
match_free(struct match_table *t)
{
	struct cell *c;

	if (!t)
		return;
	for (size_t at = 0; (c = index_pop(&t->cells, &at)); free(c))
		free(c->subs);
	index_done(&t->cells);
	free_all(&t->wants);
	free_all(&t->watches);
	free(t);
}

/* Subs ---------------------------------------------------------------------- */

static struct str
sub_key(const int64_t *sub)
{
	return (struct str){(const char *)sub, sizeof(*sub)};
}

void *
by_sub_find(const struct index *x, int64_t sub)
{
	return index_find(x, sub_key(&sub));
}

void
by_sub_add(struct index *x, struct by_sub *s, int64_t sub)
{
	assert(sub > 0);
	s->sub = sub;
	index_add(x, sub_key(&s->sub), &s->link);
}

size_t
match_count(const struct match_table *t)
{
	return t->wants.n + t->watches.n;
}

int
match_room(const struct match_table *t, struct err *e)
{
	if (match_count(t) < MATCH_SUBS_MAX)
		return OK;
	return err_set(
	    e, ERR_LIMIT, "there are %d subscriptions already", MATCH_SUBS_MAX);
}

/* Cells --------------------------------------------------------------------- */

struct cell_key {
	char bytes[1 + sizeof(struct uuid) + MATCH_OBJECT_MAX];
};
_Static_assert(EVENT_TYPE_MAX <= MATCH_OBJECT_MAX, "both fit in a key");

static struct str
cell_key(struct cell_key *k, enum cell_kind kind, const struct uuid *tenant,
    struct str name)
{
	size_t n = 1;

	k->bytes[0] = (char)kind;
	if (kind == CELL_TENANT) {
		memcpy(k->bytes + n, tenant, sizeof(*tenant));
		n += sizeof(*tenant);
	}
	memcpy(k->bytes + n, name.p, name.n);
	return (struct str){k->bytes, n + name.n};
}

const struct cell *
cell_find(const struct match_table *t, enum cell_kind kind,
    const struct uuid *tenant, struct str name)
{
	UNINIT struct cell_key k;

	if (name.n > MATCH_OBJECT_MAX)
		return NULL;
	return index_find(&t->cells, cell_key(&k, kind, tenant, name));
}

/* Where it is, or where it belongs. */
static size_t
place(const struct cell *c, int64_t sub)
{
	size_t low = 0, n = c->link.count;

	if (n == 0 || sub > c->subs[n - 1])
		return n; /* ids grow: nearly always */
	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (c->subs[mid] < sub)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

struct cell *
cell_put(struct match_table *t, enum cell_kind kind, const struct uuid *tenant,
    struct str name, int64_t sub)
{
	UNINIT struct cell_key k;
	struct str key = cell_key(&k, kind, tenant, name);
	struct cell *c = index_find(&t->cells, key);
	size_t n, at;

	if (!c) {
		c = mem_get(sizeof(*c) + key.n);
		c->n = (uint16_t)key.n;
		memcpy(c->key, key.p, key.n);
		index_add(&t->cells, key, &c->link);
	}
	n = c->link.count;
	at = place(c, sub);
	if (at < n && c->subs[at] == sub)
		return NULL;
	/* There is room up to the next power of two, which most never see:
	 * they have one. */
	if ((n & (n - 1)) == 0)
		c->subs = mem_grow(c->subs, n ? 2 * n : 1, sizeof(*c->subs));
	memmove(c->subs + at + 1, c->subs + at, (n - at) * sizeof(*c->subs));
	c->subs[at] = sub;
	c->link.count++;
	return c;
}

void
cell_drop(struct match_table *t, struct cell *c, int64_t sub)
{
	size_t at = place(c, sub), n = --c->link.count;

	assert(at <= n && c->subs[at] == sub);
	memmove(c->subs + at, c->subs + at + 1, (n - at) * sizeof(*c->subs));
	if (n > 0)
		return;
	index_remove(&t->cells, &c->link);
	free(c->subs);
	free(c);
}

/* Hits ---------------------------------------------------------------------- */

int
match_hit(struct match_hits *h, const int64_t *subs, size_t n, struct err *e)
{
	if (n > MATCH_HITS_MAX - h->n)
		return err_set(e, ERR_LIMIT,
		    "an event hits over %d subscriptions", MATCH_HITS_MAX);
	h->subs = mem_more(h->subs, &h->cap, h->n + n, sizeof(*h->subs));
	memcpy(h->subs + h->n, subs, n * sizeof(*subs));
	h->n += n;
	return OK;
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int
match_settle(struct match_hits *h, size_t from, int rc)
{
	size_t kept = from, at = from + 1;

	if (rc < 0)
		h->n = from;
	while (at < h->n && h->subs[at - 1] < h->subs[at])
		at++;
	if (at >= h->n)
		return rc; /* one list gave them: as a rule */
	qsort(h->subs + from, h->n - from, sizeof(*h->subs), ascending);
	for (size_t i = from; i < h->n; i++)
		if (i == from || h->subs[i] != h->subs[kept - 1])
			h->subs[kept++] = h->subs[i];
	h->n = kept;
	return rc;
}

void
match_hits_done(struct match_hits *h)
{
	free(h->subs);
	*h = (struct match_hits){.n = 0};
}

/* Wants --------------------------------------------------------------------- */

int
match_check_types(const struct str *types, size_t n, struct err *e)
{
	char at[32];

	if (n > MATCH_TYPES_MAX)
		return err_at(e, ERR_LIMIT, "/types",
		    "types has %zu entries; at most %d are allowed", n,
		    MATCH_TYPES_MAX);
	for (size_t i = 0; i < n; i++) {
		struct err why;

		if (match_types_check(types[i], &why) == OK)
			continue;
		(void)snprintf(at, sizeof(at), "/types/%zu", i);
		return err_at(e, why.code, at, "types: %.*s",
		    (int)sizeof(why.text) - 16, why.text);
	}
	return OK;
}

int
match_want_check(const struct match_want *w, struct err *e)
{
	int rc = match_check_types(w->types, w->n_types, e);

	if (rc == OK && w->n_tenants > MATCH_TENANTS_MAX)
		return err_at(e, ERR_LIMIT, "/tenants",
		    "tenants has %zu entries; at most %d are allowed",
		    w->n_tenants, MATCH_TENANTS_MAX);
	if (rc == OK && w->n_types * w->n_tenants > MATCH_CELLS_MAX)
		return err_at(e, ERR_LIMIT, "/tenants",
		    "types times tenants is %zu; at most %d are allowed",
		    w->n_types * w->n_tenants, MATCH_CELLS_MAX);
	return rc;
}

static void
forget(struct match_table *t, struct want *w)
{
	index_remove(&t->wants, &w->by.link);
	for (uint32_t i = 0; i < w->by.link.count; i++)
		cell_drop(t, w->cells[i], w->by.sub);
	free(w);
}

/* It may name the same twice. */
static void
table_put(struct match_table *t, struct want *w, struct str pattern,
    const struct uuid *tenant)
{
	enum cell_kind kind = tenant ? CELL_TENANT : CELL_ALL_TENANTS;
	struct cell *c =
	    cell_put(t, kind, tenant, match_types_key(pattern), w->by.sub);

	if (c)
		w->cells[w->by.link.count++] = c;
}

int
match_add(struct match_table *t, const struct match_want *w, struct err *e)
{
	static const struct str ALL = {"*", 1};
	struct want *old = by_sub_find(&t->wants, w->sub), *x;
	const struct str *types = w->n_types ? w->types : &ALL;
	size_t n_types = w->n_types ? w->n_types : 1;
	size_t n_tenants = w->n_tenants ? w->n_tenants : 1;
	int rc = match_want_check(w, e);

	if (rc == OK && !old)
		rc = match_room(t, e);
	if (rc < 0)
		return rc;
	if (old)
		forget(t, old);
	x = mem_get(sizeof(*x) + n_types * n_tenants * sizeof(struct cell *));
	by_sub_add(&t->wants, &x->by, w->sub);
	for (size_t i = 0; i < n_types; i++)
		for (size_t k = 0; k < n_tenants; k++)
			table_put(t, x, types[i],
			    w->n_tenants ? &w->tenants[k] : NULL);
	return OK;
}

void
match_drop(struct match_table *t, int64_t sub)
{
	struct want *w = by_sub_find(&t->wants, sub);

	if (w)
		forget(t, w);
	match_drop_object(t, sub);
}

static int
hit_name(const struct match_table *t, struct str name,
    const struct uuid *tenant, struct match_hits *h, struct err *e)
{
	const struct cell *c = cell_find(t, CELL_ALL_TENANTS, NULL, name);
	int rc = c ? match_hit(h, c->subs, c->link.count, e) : OK;

	c = tenant && rc == OK ? cell_find(t, CELL_TENANT, tenant, name) : NULL;
	return c ? match_hit(h, c->subs, c->link.count, e) : rc;
}

int
match_find(struct match_table *t, struct str type, const struct uuid *tenant,
    struct match_hits *ret, struct err *e)
{
	size_t from = ret->n;
	int rc = hit_name(t, type, tenant, ret, e);

	if (rc == OK)
		rc = hit_name(t, STR_EMPTY, tenant, ret, e);
	for (size_t i = 0; i < type.n && rc == OK; i++)
		if (type.p[i] == '.')
			rc = hit_name(
			    t, (struct str){type.p, i + 1}, tenant, ret, e);
	return match_settle(ret, from, rc);
}
