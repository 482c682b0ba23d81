#include "ops/reseal.h"

#include "base/log/log.h"
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
    TABLE("feed_subscription.login", feed_login, false),
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

/*
 * The sealed texts of a value. A subscription has several, and only
 * contract/sub.h knows which of its texts are secrets, so nothing here looks for
 * them: it is loaded, and what is handed over for unsealing is what there is.
 */
struct sealed {
	struct sealed *next;
	struct str text;
};

struct found {
	struct arena *a;
	struct sealed *first;
};

/* Unseals nothing; that the secret is no good ends the load behind it. */
static int
look(const struct sub_seal *by, struct arena *, struct str text,
    struct str *ret, struct err *)
{
	struct found *f = by->arg;
	struct sealed *x = arena_alloc(f->a, sizeof(*x));

	*x = (struct sealed){f->first, arena_dup(f->a, text)};
	f->first = x;
	*ret = STR("closed");
	return OK;
}

static struct sealed *
sealed_in(const struct table *t, const struct presets *presets, struct arena *a,
    struct str stored)
{
	struct found f = {.a = a};
	struct sub_seal by = {.unseal = look, .arg = &f};
	struct sub_conf *s = NULL;
	struct str unused;
	struct err e;

	if (!t->sub)
		(void)look(&by, a, stored, &unused, &e);
	else if (sub_load(stored, presets, &by, &s, &e) == OK)
		sub_free(s);
	return f.first;
}

struct walk {
	struct db *db;
	struct keyring *k;
	struct presets *presets; /* of a table of subscriptions */
	const struct table *t;
	struct arena *a; /* of one value */
};

/*
 * All of it by the active key. ERR_INVALID when it can't be unsealed,
 * ERR_ABSENT when a subscription's preset is gone.
 */
static int
seal_again(
    struct walk *w, const struct value *v, struct str *ret, struct err *e)
{
	struct str where = keyring_where(w->a, w->t->column, v->uid);
	struct sub_seal by = sub_seal_by(w->k, w->a, v->uid);
	struct sub_conf *s = NULL;
	struct str plain = STR_EMPTY;
	int rc;

	if (!w->t->sub) {
		TRY(keyring_unseal(w->k, w->a, where, v->sealed, &plain, e));
		return keyring_seal(w->k, w->a, where, plain, ret, e);
	}
	TRY(sub_load(v->sealed, w->presets, &by, &s, e));
	rc = sub_store(s, &by, w->a, ret, e);
	sub_free(s);
	return rc;
}

/* Whether one of its texts is another key's than the active one, or of none. */
static bool
is_stale(const struct walk *w, struct str stored)
{
	const struct sealed *x = sealed_in(w->t, w->presets, w->a, stored);
	struct str id = STR_EMPTY;
	struct err e;

	for (; x; x = x->next)
		if (keyring_id_of(w->a, x->text, &id, &e) < 0 ||
		    !str_eq(id, str_of(keyring_id(w->k, 0))))
			return true;
	return false;
}

static int
move(struct walk *w, const struct value *v, struct reseal *s, struct err *e)
{
	const struct table *t = w->t;
	struct str sealed = {.p = NULL};
	int rc;

	if (!is_stale(w, v->sealed))
		return OK;
	rc = seal_again(w, v, &sealed, e);
	if (rc == ERR_INVALID || (rc == ERR_ABSENT && t->sub)) {
		tell_broken(t, v, e);
		s->broken++;
		return OK;
	}
	TRY(rc);
	s->changed++;
	TRY((int)t->put(w->db,
	    &(struct sql_seal_api_key_put_args){
		.id = v->id, .was = v->sealed, .sealed = sealed},
	    e));
	return OK;
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
count(struct counts *c, struct arena *a, struct str sealed)
{
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
			const struct sealed *x;

			arena_reset(each);
			x = sealed_in(t, presets, each, values[i].sealed);
			for (; x; x = x->next)
				count(c, each, x->text);
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
take_log_key(void *arg, const struct sealed_key *key, struct err *)
{
	struct log_keys *l = arg;
	int at = place_of(l->k, key->id);

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
