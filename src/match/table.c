#include "match/table.h"

#include "event/limits.h"
#include "match/limits.h"
#include "match/types.h"

struct match_table {
	struct map *cells;
	size_t n; /* subscriptions */
};

struct cell {
	int64_t *subs; /* ascending */
	uint32_t n;    /* of these, never 0 */
	uint32_t n_key;
	char key[];
};

struct match_table *
match_new(void)
{
	struct match_table *t = mem_get(sizeof(*t));

	t->cells = map_new(SIZE_MAX / 2);
	return t;
}

void
match_free(struct match_table *t)
{
	struct cell *c;

	if (!t)
		return;
	for (size_t at = 0; (c = map_each(t->cells, &at)); free(c))
		free(c->subs);
	map_free(t->cells);
	free(t);
}

size_t
match_count(const struct match_table *t)
{
	return t->n;
}

/* Cells --------------------------------------------------------------------- */

struct cell_key {
	char bytes[1 + sizeof(struct uuid) + EVENT_TYPE_MAX];
};

/* tenant NULL: of all tenants. `name` is a pattern's key. */
static struct str
cell_key(struct cell_key *k, const struct uuid *tenant, struct str name)
{
	size_t n = 1;

	k->bytes[0] = tenant ? 't' : 'a';
	if (tenant) {
		memcpy(k->bytes + n, tenant, sizeof(*tenant));
		n += sizeof(*tenant);
	}
	memcpy(k->bytes + n, name.p, name.n);
	return (struct str){k->bytes, n + name.n};
}

/* Where it is, or where it belongs. */
static size_t
place(const struct cell *c, int64_t sub)
{
	size_t low = 0, n = c->n;

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

/* A subscription may name the same twice. */
static void
cell_put(struct match_table *t, const struct uuid *tenant, struct str name,
    int64_t sub)
{
	UNINIT struct cell_key k;
	struct str key = cell_key(&k, tenant, name);
	struct cell *c = map_find(t->cells, key);
	size_t n, at;

	if (!c) {
		c = mem_get(sizeof(*c) + key.n);
		c->n_key = (uint32_t)key.n;
		memcpy(c->key, key.p, key.n);
		map_set(t->cells, (struct str){c->key, key.n}, c);
	}
	n = c->n;
	at = place(c, sub);
	if (at < n && c->subs[at] == sub)
		return;
	/* There is room up to the next power of two, which most never see:
	 * they have one. */
	if ((n & (n - 1)) == 0)
		c->subs = mem_grow(c->subs, n ? 2 * n : 1, sizeof(*c->subs));
	memmove(c->subs + at + 1, c->subs + at, (n - at) * sizeof(*c->subs));
	c->subs[at] = sub;
	c->n++;
}

static void
cell_drop(struct match_table *t, const struct uuid *tenant, struct str name,
    int64_t sub)
{
	UNINIT struct cell_key k;
	struct cell *c = map_find(t->cells, cell_key(&k, tenant, name));
	size_t at = c ? place(c, sub) : 0;

	if (!c || at == c->n || c->subs[at] != sub)
		return;
	c->n--;
	memmove(c->subs + at, c->subs + at + 1, (c->n - at) * sizeof(*c->subs));
	if (c->n > 0)
		return;
	(void)map_take(t->cells, (struct str){c->key, c->n_key});
	free(c->subs);
	free(c);
}

/* Wants --------------------------------------------------------------------- */

static int
check_types(const struct str *types, size_t n, struct err *e)
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

static int
check_want(const struct match_want *w, struct err *e)
{
	TRY(check_types(w->types, w->n_types, e));
	if (w->n_tenants > MATCH_TENANTS_MAX)
		return err_at(e, ERR_LIMIT, "/tenants",
		    "tenants has %zu entries; at most %d are allowed",
		    w->n_tenants, MATCH_TENANTS_MAX);
	if (w->n_types * w->n_tenants > MATCH_CELLS_MAX)
		return err_at(e, ERR_LIMIT, "/tenants",
		    "types times tenants is %zu; at most %d are allowed",
		    w->n_types * w->n_tenants, MATCH_CELLS_MAX);
	return OK;
}

/* In all of its cells. */
static void
each_cell(struct match_table *t, const struct match_want *w,
    void (*fn)(struct match_table *t, const struct uuid *tenant,
	struct str name, int64_t sub))
{
	for (size_t i = 0; i < w->n_types || i == 0; i++)
		for (size_t k = 0; k < w->n_tenants || k == 0; k++)
			fn(t, w->n_tenants ? &w->tenants[k] : NULL,
			    w->n_types ? match_types_key(w->types[i])
				       : STR_EMPTY,
			    w->sub);
}

int
match_add(struct match_table *t, const struct match_want *w, struct err *e)
{
	TRY(check_want(w, e));
	if (t->n == MATCH_SUBS_MAX)
		return err_set(e, ERR_LIMIT,
		    "there are %d subscriptions already", MATCH_SUBS_MAX);
	assert(w->sub > 0);
	each_cell(t, w, cell_put);
	t->n++;
	return OK;
}

void
match_drop(struct match_table *t, const struct match_want *w)
{
	each_cell(t, w, cell_drop);
	t->n--;
}

/* Hits ---------------------------------------------------------------------- */

static int
hit_cell(const struct match_table *t, const struct uuid *tenant,
    struct str name, struct match_hits *h, struct err *e)
{
	UNINIT struct cell_key k;
	const struct cell *c =
	    name.n <= EVENT_TYPE_MAX
		? map_find(t->cells, cell_key(&k, tenant, name))
		: NULL;

	if (!c)
		return OK;
	if (c->n > MATCH_HITS_MAX - h->n)
		return err_set(e, ERR_LIMIT,
		    "an event hits over %d subscriptions", MATCH_HITS_MAX);
	h->subs = mem_more(h->subs, &h->cap, h->n + c->n, sizeof(*h->subs));
	memcpy(h->subs + h->n, c->subs, c->n * sizeof(*c->subs));
	h->n += c->n;
	return OK;
}

static int
hit_name(const struct match_table *t, struct str name,
    const struct uuid *tenant, struct match_hits *h, struct err *e)
{
	TRY(hit_cell(t, NULL, name, h, e));
	return tenant ? hit_cell(t, tenant, name, h, e) : OK;
}

static int
hit_all(const struct match_table *t, struct str type, const struct uuid *tenant,
    struct match_hits *h, struct err *e)
{
	TRY(hit_name(t, type, tenant, h, e));
	TRY(hit_name(t, STR_EMPTY, tenant, h, e));
	for (size_t i = 0; i < type.n; i++)
		if (type.p[i] == '.')
			TRY(hit_name(
			    t, (struct str){type.p, i + 1}, tenant, h, e));
	return OK;
}

static int
ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Those after the first `from`, each once. */
static void
sort_hits(struct match_hits *h, size_t from)
{
	size_t kept = from, at = from + 1;

	while (at < h->n && h->subs[at - 1] < h->subs[at])
		at++;
	if (at >= h->n)
		return; /* one list gave them: as a rule */
	qsort(h->subs + from, h->n - from, sizeof(*h->subs), ascending);
	for (size_t i = from; i < h->n; i++)
		if (i == from || h->subs[i] != h->subs[kept - 1])
			h->subs[kept++] = h->subs[i];
	h->n = kept;
}

int
match_find(struct match_table *t, struct str type, const struct uuid *tenant,
    struct match_hits *ret, struct err *e)
{
	size_t from = ret->n;
	int rc = hit_all(t, type, tenant, ret, e);

	if (rc < 0)
		ret->n = from;
	else
		sort_hits(ret, from);
	return rc;
}

void
match_hits_done(struct match_hits *h)
{
	free(h->subs);
	*h = (struct match_hits){.n = 0};
}
