#include "ops/reseal.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/put.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/preset.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "event/sealed.h"
#include "ops/limits.h"
#include "ops/sealing.h"
#include "seal/keyring.h"
#include "seal/limits.h"
#include "sql.h"
#include "store/store_val.h"

/* Every column that holds sealed values. */
static const struct table {
	const char *column; /* as in keyring_where() */
	int (*page)(struct db *, const struct sql_seal_api_key_page_args *,
	    struct rows **, struct err *);
	int64_t (*put)(struct db *, const struct sql_seal_api_key_put_args *,
	    struct err *);
	bool sub; /* a whole subscription */
} TABLES[] = {
#define TABLE(column, name, sub)                                               \
	{                                                                      \
		column, sql_seal_##name##_page_run, sql_seal_##name##_put_run, \
		    sub                                                        \
	}
    TABLE("api_key.webhook_secret", api_key, false),
    TABLE("feed_hub.secret", hub, false),
    TABLE("hook_source.secrets", hook, false),
    TABLE("meta.session_secret", session_secret, false),
    TABLE("sessions.data", session, false),
    TABLE("subscription.conf", sub, true),
#undef TABLE
};

/* A limit, seldom reached: most values are short. */
#define PAGE_MOST (RESEAL_STEP * (2 * SEAL_PLAIN_MAX + SUB_STORED_MAX))

struct value {
	int64_t id;
	struct uuid uid;
	struct str sealed;
};

/* The next values of a column, in *ret[RESEAL_STEP]. */
static int
page(struct db *db, const struct table *t, int64_t after, struct arena *a,
    struct value *ret, size_t *ret_n, struct err *e)
{
	const struct sql_seal_api_key_page_args args = {after, RESEAL_STEP};
	struct sql_seal_api_key_page_row row;
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = t->page(db, &args, &rows, e);

	while (rc >= 0 && n < RESEAL_STEP &&
	       (rc = sql_seal_api_key_page_next(rows, &row, e)) > 0)
		ret[n++] = (struct value){.id = row.id,
		    .uid = uuid_of(row.uid),
		    .sealed = arena_dup(a, row.sealed)};
	rows_close(rows);
	if (rc >= 0)
		*ret_n = n;
	return rc < 0 ? rc : OK;
}

/* A value with a fault is told and stays; the others must not wait for it. */
static void
tell_broken(const struct table *t, const struct value *v, const struct err *e)
{
	struct log_line l;

	log_begin(&l, LOG_WARN, "a sealed value can't be read");
	log_str(&l, "column", str_of(t->column));
	log_int(&l, "row", v->id);
	log_str(&l, "error", str_of(e->text));
	log_end(&l);
}

/* Another key's than the active one, or of no key. */
static bool
is_stale(struct keyring *k, struct arena *a, struct str sealed)
{
	struct str id = STR_EMPTY;
	struct err e;

	return keyring_id_of(a, sealed, &id, &e) < 0 ||
	       !str_eq(id, str_of(keyring_id(k, 0)));
}

/* .p NULL: the active key's already. */
static int
seal_again(struct keyring *k, struct arena *a, struct str where,
    struct str sealed, struct str *ret, struct err *e)
{
	struct str plain = STR_EMPTY;

	*ret = (struct str){.p = NULL};
	if (!is_stale(k, a, sealed))
		return OK;
	TRY(keyring_unseal(k, a, where, sealed, &plain, e));
	return keyring_seal(k, a, where, plain, ret, e);
}

/*
 * The sealed values within a stored subscription. Only contract/sub.h knows
 * which texts of it are secrets, so nothing here looks for them: it is loaded,
 * and what is handed over for unsealing is what there is.
 */
struct each {
	void (*fn)(void *ctx, struct arena *a, struct str sealed);
	void *ctx;
	struct arena *arena;
};

/* Unseals nothing; that the secret is no good ends the load behind it. */
static int
look(void *arg, struct arena *a, struct str sealed, struct str *ret,
    struct err *e)
{
	const struct each *x = arg;

	(void)a;
	(void)e;
	x->fn(x->ctx, x->arena, sealed);
	*ret = STR("closed");
	return OK;
}

static void
each_of_sub(const struct presets *presets, struct str conf, struct each *x)
{
	struct sub_seal by = {.unseal = look, .arg = x};
	struct sub_conf *s = NULL;
	struct err e;

	if (sub_load(conf, presets, &by, &s, &e) == OK)
		sub_free(s);
}

struct ring {
	struct keyring *ring;
	struct str where;
	bool stale; /* one of its values is */
};

static int
seal(void *arg, struct arena *a, struct str plain, struct str *ret,
    struct err *e)
{
	const struct ring *r = arg;

	return keyring_seal(r->ring, a, r->where, plain, ret, e);
}

static int
unseal(void *arg, struct arena *a, struct str sealed, struct str *ret,
    struct err *e)
{
	const struct ring *r = arg;

	return keyring_unseal(r->ring, a, r->where, sealed, ret, e);
}

static void
look_key(void *ctx, struct arena *a, struct str sealed)
{
	struct ring *r = ctx;

	r->stale = is_stale(r->ring, a, sealed) || r->stale;
}

struct walk {
	struct db *db;
	struct keyring *k;
	struct presets *presets; /* of a table of subscriptions */
	const struct table *t;
	struct arena *a; /* of one value */
};

/*
 * All of them by the active key; ret->p is NULL when they are already.
 * ERR_INVALID when one can't be unsealed, ERR_ABSENT when its preset is gone.
 */
static int
reseal_sub(struct walk *w, struct str where, struct str conf, struct str *ret,
    struct err *e)
{
	struct ring r = {.ring = w->k, .where = where};
	struct sub_seal by = {.seal = seal, .unseal = unseal, .arg = &r};
	struct sub_conf *s = NULL;
	int rc;

	*ret = (struct str){.p = NULL};
	each_of_sub(w->presets, conf, &(struct each){look_key, &r, w->a});
	if (!r.stale)
		return OK;
	TRY(sub_load(conf, w->presets, &by, &s, e));
	rc = sub_store(s, &by, w->a, ret, e);
	sub_free(s);
	return rc;
}

static int
move(struct walk *w, const struct value *v, struct reseal *s, struct err *e)
{
	const struct table *t = w->t;
	struct str sealed = {.p = NULL};
	struct str where = keyring_where(w->a, t->column, v->uid);
	int rc = t->sub ? reseal_sub(w, where, v->sealed, &sealed, e)
			: seal_again(w->k, w->a, where, v->sealed, &sealed, e);

	if (rc == ERR_INVALID || (rc == ERR_ABSENT && t->sub)) {
		tell_broken(t, v, e);
		s->broken++;
		return OK;
	}
	if (rc < 0 || !sealed.p)
		return rc;
	s->changed++;
	return t->put(w->db,
		   &(struct sql_seal_api_key_put_args){
		       .id = v->id, .was = v->sealed, .sealed = sealed},
		   e) < 0
		   ? (int)e->code
		   : OK;
}

static int
walk_page(struct walk *w, struct reseal *next, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(PAGE_MOST);
	UNINIT struct value values[RESEAL_STEP];
	size_t n = 0;

	TRY(page(w->db, w->t, next->after, a, values, &n, e));
	for (size_t i = 0; i < n; i++) {
		arena_reset(w->a);
		TRY(move(w, &values[i], next, e));
		next->seen++;
		next->after = values[i].id;
	}
	if (n < RESEAL_STEP) {
		next->table++;
		next->after = 0;
	}
	return OK;
}

int
reseal_step(struct db *db, struct keyring *k, const struct conf *conf,
    struct reseal *s, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(4 * MIB);
	struct walk w = {.db = db, .k = k, .a = a};
	struct reseal next = *s;
	int rc = OK;

	if (next.table == COUNT_OF(TABLES)) {
		TRY(sealing_fresh(db, k, a, e));
		next.done = true;
	} else {
		w.t = &TABLES[next.table];
		if (w.t->sub)
			TRY(presets_open(db, conf, &w.presets, e));
		rc = walk_page(&w, &next, e);
		presets_free(w.presets);
	}
	if (rc == OK)
		*s = next;
	return rc;
}

struct counts {
	struct keyring *ring;
	int64_t values[SEAL_KEYS_MAX], missing;
};

/* Its place in the ring, the active one's first; -1: it is not there. */
static int
place_of(struct keyring *k, struct str id)
{
	const char *mine;

	for (int i = 0; (mine = keyring_id(k, (size_t)i)); i++)
		if (str_eq(str_of(mine), id))
			return i;
	return -1;
}

static void
count(void *ctx, struct arena *a, struct str sealed)
{
	struct counts *c = ctx;
	struct str id = STR_EMPTY;
	struct err e;
	int at =
	    keyring_id_of(a, sealed, &id, &e) < 0 ? -1 : place_of(c->ring, id);

	++*(at < 0 ? &c->missing : &c->values[at]);
}

static int
count_table(struct db *db, const struct table *t, const struct presets *presets,
    struct counts *c, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(PAGE_MOST);
	struct arena *each CLEANUP(arena_freep) = arena_new(4 * MIB);
	UNINIT struct value values[RESEAL_STEP];
	int64_t after = 0;
	size_t n;

	do {
		arena_reset(a);
		TRY(page(db, t, after, a, values, &n, e));
		for (size_t i = 0; i < n; i++) {
			arena_reset(each);
			if (t->sub)
				each_of_sub(presets, values[i].sealed,
				    &(struct each){count, c, each});
			else
				count(c, each, values[i].sealed);
			after = values[i].id;
		}
	} while (n == RESEAL_STEP);
	return OK;
}

static int
count_all(
    struct db *db, const struct conf *conf, struct counts *c, struct err *e)
{
	struct presets *presets = NULL;
	int rc = presets_open(db, conf, &presets, e);

	for (size_t t = 0; rc == OK && t < COUNT_OF(TABLES); t++)
		rc = count_table(db, &TABLES[t], presets, c, e);
	presets_free(presets);
	return rc;
}

/* The keys that the log needs, by their place in the ring, or as JSON. */
struct log_keys {
	struct keyring *k;
	struct sealed_key keys[SEAL_KEYS_MAX]; /* first_seq 0: not needed */
	struct buf *missing;
};

static void
add_needed(struct buf *b, const struct sealed_key *key)
{
	int64_t now = clock_now_us();

	put_open(b, "log", '{');
	put_int(b, "firstSeq", key->first_seq);
	put_time(b, "firstAt", key->first_us);
	put_time(b, "lastAt", key->last_us < now ? key->last_us : now);
	put_close(b, '}');
}

static int
take_log_key(void *arg, const struct sealed_key *key, struct err *e)
{
	struct log_keys *l = arg;
	int at = place_of(l->k, key->id);

	(void)e;
	if (at >= 0) {
		l->keys[at] = *key;
		return OK;
	}
	put_open(l->missing, NULL, '{');
	put_text(l->missing, "id", key->id);
	add_needed(l->missing, key);
	put_close(l->missing, '}');
	return OK;
}

static void
add_keys(struct buf *b, const struct counts *c, const struct log_keys *l)
{
	const char *id;

	for (size_t i = 0; (id = keyring_id(l->k, i)); i++) {
		put_open(b, NULL, '{');
		put_z(b, "id", id);
		put_bool(b, "active", i == 0);
		put_int(b, "values", c->values[i]);
		if (l->keys[i].first_seq > 0)
			add_needed(b, &l->keys[i]);
		else
			put_null(b, "log");
		put_close(b, '}');
	}
}

int
reseal_show(struct db *db, struct keyring *k, const struct conf *conf,
    const struct reseal_state *s, struct buf *b, struct err *e)
{
	struct buf missing CLEANUP(buf_done) = BUF(64 * KIB);
	struct log_keys l = {.k = k, .missing = &missing};
	struct counts c = {.ring = k};

	TRY(count_all(db, conf, &c, e));
	TRY(sealed_keys(db, take_log_key, &l, e));
	put_open(b, NULL, '{');
	put_z(b, "source", keyring_source(k));
	put_z(b, "active", keyring_id(k, 0));
	put_open(b, "keys", '[');
	add_keys(b, &c, &l);
	put_close(b, ']');
	put_open(b, "logMissing", '[');
	buf_add(b, buf_str(&missing));
	put_close(b, ']');
	put_int(b, "missing", c.missing);
	put_bool(b, "running", s->running);
	put_bool(b, "failed", s->failed);
	put_int(b, "seen", s->seen);
	put_int(b, "changed", s->changed);
	put_int(b, "broken", s->broken);
	put_close(b, '}');
	return OK;
}
