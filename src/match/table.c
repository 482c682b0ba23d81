#include "match/table.h"

#include <assert.h>

#include "base/str.h"
#include "base/uuid.h"
#include "match/cell.h"
#include "match/limits.h"
#include "match/table_priv.h"
#include "match/types.h"

/* A subscription, and where it stands. */
struct entry {
	struct link link; /* count: of cells */
	int64_t sub;
	struct cell *cells[];
};

/* The key of a pattern, and who wants it. */
struct name {
	struct link link; /* count: of cells, that of all tenants among them */
	struct cell *any; /* of all tenants; NULL: nobody */
	uint16_t n;
	char text[];
};

struct match_table *
match_new(void)
{
	struct match_table *t = calloc(1, sizeof(*t));

	if (t)
		t->sip = sip_new();
	return t;
}

static uint32_t
hash(const struct match_table *t, const void *p, size_t n)
{
	return (uint32_t)sip_hash(&t->sip, (struct str){p, n});
}

uint32_t
match_sub_hash(const struct match_table *t, int64_t sub)
{
	return hash(t, &sub, sizeof(sub));
}

static struct entry *
find_entry(const struct match_table *t, int64_t sub)
{
	struct link *l = index_first(&t->subs, match_sub_hash(t, sub));

	while (l && ((struct entry *)l)->sub != sub)
		l = l->next;
	return (struct entry *)l;
}

static struct name *
find_name(const struct match_table *t, struct str key, uint32_t h)
{
	for (struct link *l = index_first(&t->names, h); l; l = l->next) {
		struct name *nm = (struct name *)l;

		if (l->hash == h && str_eq((struct str){nm->text, nm->n}, key))
			return nm;
	}
	return NULL;
}

static uint32_t
cell_hash(const struct match_table *t, const struct name *nm,
    const struct uuid *tenant)
{
	unsigned char key[sizeof(nm) + sizeof(*tenant)];

	memcpy(key, &nm, sizeof(nm));
	memcpy(key + sizeof(nm), tenant, sizeof(*tenant));
	return hash(t, key, sizeof(key));
}

static struct cell *
find_cell(const struct match_table *t, const struct name *nm,
    const struct uuid *tenant)
{
	uint32_t h;

	if (!tenant || nm->link.count == (nm->any != NULL))
		return tenant ? NULL : nm->any;
	h = cell_hash(t, nm, tenant);
	for (struct link *l = index_first(&t->cells, h); l; l = l->next) {
		struct cell *c = (struct cell *)l;

		if (l->hash == h && c->name == nm &&
		    uuid_eq(c->tenant, *tenant))
			return c;
	}
	return NULL;
}

static struct name *
get_name(struct match_table *t, struct str key, struct err *e)
{
	uint32_t h = hash(t, key.p, key.n);
	struct name *nm = find_name(t, key, h);

	if (nm)
		return nm;
	nm = malloc(sizeof(*nm) + key.n);
	if (!nm) {
		(void)err_set(e, ERR_NOMEM, "no memory for a type");
		return NULL;
	}
	*nm = (struct name){.link.hash = h, .n = (uint16_t)key.n};
	memcpy(nm->text, key.p, key.n);
	if (index_add(&t->names, &nm->link, e) == OK)
		return nm;
	free(nm);
	return NULL;
}

static void
drop_name(struct match_table *t, struct name *nm)
{
	if (nm->link.count > 0)
		return;
	index_remove(&t->names, &nm->link);
	free(nm);
}

/* A new one that nobody refers to yet. */
static struct cell *
new_cell(struct match_table *t, struct name *nm, const struct uuid *tenant,
    struct err *e)
{
	struct cell *c = calloc(1, sizeof(*c));

	if (!c) {
		(void)err_set(e, ERR_NOMEM, "no memory for a subscription");
		return NULL;
	}
	c->name = nm;
	if (tenant) {
		c->tenant = *tenant;
		c->link.hash = cell_hash(t, nm, tenant);
		if (index_add(&t->cells, &c->link, e) < 0) {
			free(c);
			return NULL;
		}
	} else {
		nm->any = c;
	}
	nm->link.count++;
	return c;
}

static void
release(struct match_table *t, struct cell *c)
{
	struct name *nm = c->name;

	if (--c->link.count > 0)
		return;
	if (nm->any == c)
		nm->any = NULL;
	else
		index_remove(&t->cells, &c->link);
	cell_done(c);
	free(c);
	nm->link.count--;
	drop_name(t, nm);
}

/* Refers to the cell, with room in it for the sub to come. */
static int
hold(struct match_table *t, struct entry *en, struct str pattern,
    const struct uuid *tenant, struct err *e)
{
	struct name *nm = get_name(t, match_types_key(pattern), e);
	struct cell *c;

	if (!nm)
		return e->code;
	c = find_cell(t, nm, tenant);
	if (!c)
		c = new_cell(t, nm, tenant, e);
	if (!c) {
		drop_name(t, nm);
		return e->code;
	}
	c->link.count++;
	en->cells[en->link.count++] = c;
	return cell_reserve(c, e);
}

static int
hold_all(struct match_table *t, struct entry *en, const struct match_want *w,
    struct err *e)
{
	struct str all = STR("*");
	const struct str *types = w->n_types ? w->types : &all;
	size_t n_types = w->n_types ? w->n_types : 1;
	int rc = OK;

	for (size_t i = 0; i < n_types && rc == OK; i++) {
		if (w->n_tenants == 0)
			rc = hold(t, en, types[i], NULL, e);
		for (size_t k = 0; k < w->n_tenants && rc == OK; k++)
			rc = hold(t, en, types[i], &w->tenants[k], e);
	}
	return rc;
}

static void
release_all(struct match_table *t, struct entry *en)
{
	for (uint32_t i = 0; i < en->link.count; i++)
		release(t, en->cells[i]);
	free(en);
}

static void
forget(struct match_table *t, struct entry *en)
{
	index_remove(&t->subs, &en->link);
	for (uint32_t i = 0; i < en->link.count; i++)
		cell_remove(en->cells[i], en->sub);
	release_all(t, en);
}

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

size_t
match_count(const struct match_table *t)
{
	return t->subs.n + t->watches.n;
}

int
match_room(const struct match_table *t, struct err *e)
{
	if (match_count(t) < MATCH_SUBS_MAX)
		return OK;
	return err_set(
	    e, ERR_LIMIT, "there are %d subscriptions already", MATCH_SUBS_MAX);
}

int
match_add(struct match_table *t, const struct match_want *w, struct err *e)
{
	struct entry *old = find_entry(t, w->sub), *en;
	size_t cells =
	    (w->n_types ? w->n_types : 1) * (w->n_tenants ? w->n_tenants : 1);
	int rc = match_want_check(w, e);

	assert(w->sub > 0);
	if (rc == OK && !old)
		rc = match_room(t, e);
	if (rc < 0)
		return rc;
	en = malloc(sizeof(*en) + cells * sizeof(struct cell *));
	if (!en)
		return err_set(e, ERR_NOMEM, "no memory for a subscription");
	*en = (struct entry){
	    .link.hash = match_sub_hash(t, w->sub), .sub = w->sub};
	rc = hold_all(t, en, w, e);
	if (rc == OK)
		rc = index_add(&t->subs, &en->link, e);
	if (rc != OK) {
		release_all(t, en);
		return rc;
	}
	if (old)
		forget(t, old);
	for (uint32_t i = 0; i < en->link.count; i++)
		cell_put(en->cells[i], en->sub);
	return OK;
}

void
match_drop(struct match_table *t, int64_t sub)
{
	struct entry *en = find_entry(t, sub);

	if (en)
		forget(t, en);
	match_drop_object(t, sub);
}

static int
take(const struct match_table *t, struct str key, const struct uuid *tenant,
    struct match_hits *h, struct err *e)
{
	const struct name *nm = find_name(t, key, hash(t, key.p, key.n));
	const struct cell *c;
	int rc = OK;

	if (!nm)
		return OK;
	if (nm->any)
		rc = cell_hits(nm->any, h, e);
	c = tenant && rc == OK ? find_cell(t, nm, tenant) : NULL;
	return c ? cell_hits(c, h, e) : rc;
}

int
match_find(struct match_table *t, struct str type, const struct uuid *tenant,
    struct match_hits *ret, struct err *e)
{
	size_t from = ret->n;
	int rc = take(t, type, tenant, ret, e);

	if (rc == OK)
		rc = take(t, STR_EMPTY, tenant, ret, e);
	for (size_t i = 0; i < type.n && rc == OK; i++)
		if (type.p[i] == '.')
			rc = take(
			    t, (struct str){type.p, i + 1}, tenant, ret, e);
	if (rc < 0)
		ret->n = from;
	else
		match_settle(ret, from);
	return rc;
}

void
match_free(struct match_table *t)
{
	struct link *l;
	size_t at = 0;

	if (!t)
		return;
	while ((l = index_pop(&t->subs, &at)))
		release_all(t, (struct entry *)l);
	match_objects_done(t);
	index_done(&t->subs);
	index_done(&t->names);
	index_done(&t->cells);
	free(t);
}
