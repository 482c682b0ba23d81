#include "ops/reseal.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/preset.h"
#include "deliver/engine/preset_store.h"
#include "event/sealed.h"
#include "ops/limits.h"
#include "ops/reseal_sub.h"
#include "ops/sealing.h"
#include "seal/keyring.h"
#include "seal/limits.h"
#include "sql.h"
#include "store/store_val.h"

/* Every column that holds sealed values. */
static const struct table {
	const char *column; /* as in keyring_where() */
	enum stmt page, put;
	bool sub; /* a whole subscription: reseal_sub.h */
} TABLES[] = {
    {"api_key.webhook_secret", STMT_SEAL_API_KEY_PAGE, STMT_SEAL_API_KEY_PUT,
	false},
    {"feed_hub.secret", STMT_SEAL_HUB_PAGE, STMT_SEAL_HUB_PUT, false},
    {"hook_source.secrets", STMT_SEAL_HOOK_PAGE, STMT_SEAL_HOOK_PUT, false},
    {"meta.session_secret", STMT_SEAL_SESSION_SECRET_PAGE,
	STMT_SEAL_SESSION_SECRET_PUT, false},
    {"sessions.data", STMT_SEAL_SESSION_PAGE, STMT_SEAL_SESSION_PUT, false},
    {"subscription.conf", STMT_SEAL_SUB_PAGE, STMT_SEAL_SUB_PUT, true},
};

/* A limit, seldom reached: most values are short. */
#define PAGE_MOST (RESEAL_STEP * (2 * SEAL_PLAIN_MAX + SUB_STORED_MAX))

struct value {
	int64_t id;
	struct uuid uid;
	struct str sealed;
};

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for sealed values");
}

/* The next values of a column, in *ret[RESEAL_STEP]. */
static int
page(struct db *db, const struct table *t, int64_t after, struct arena *a,
    struct value *ret, size_t *ret_n, struct err *e)
{
	struct sql_seal_api_key_page_row row; /* all pages have these columns */
	const struct val args[] = {
	    {.type = VAL_INT, .i = after}, {.type = VAL_INT, .i = RESEAL_STEP}};
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = db_query(db, (int)t->page, args, COUNT_OF(args), &rows, e);

	while (rc == OK && n < RESEAL_STEP && (rc = rows_next(rows, e)) > 0) {
		sql_seal_api_key_page_get(rows, &row);
		ret[n] = (struct value){
		    .id = row.id, .sealed = arena_dup(a, row.sealed)};
		if (row.uid.n == sizeof(ret[n].uid.b))
			memcpy(ret[n].uid.b, row.uid.p, row.uid.n);
		rc = ret[n++].sealed.p ? OK : no_room(e);
	}
	rows_close(rows);
	if (rc == OK)
		*ret_n = n;
	return rc;
}

static int
put(struct db *db, const struct table *t, const struct value *v,
    struct str sealed, struct err *e)
{
	const struct val args[] = {{.type = VAL_INT, .i = v->id},
	    {.type = VAL_TEXT, .s = v->sealed},
	    {.type = VAL_TEXT, .s = sealed}};
	int64_t n = db_exec(db, (int)t->put, args, COUNT_OF(args), e);

	return n < 0 ? (int)n : OK;
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

/* .p NULL: the active key's already. */
static int
seal_again(struct keyring *k, struct arena *a, struct str where,
    struct str sealed, struct str *ret, struct err *e)
{
	struct str id = STR_EMPTY, plain = STR_EMPTY;
	int rc = keyring_id_of(a, sealed, &id, e);

	*ret = (struct str){.p = NULL};
	if (rc == OK && str_eq(id, str_of(keyring_id(k, 0))))
		return OK;
	if (rc == OK)
		rc = keyring_unseal(k, a, where, sealed, &plain, e);
	return rc < 0 ? rc : keyring_seal(k, a, where, plain, ret, e);
}

static int
move(struct db *db, struct keyring *k, const struct presets *presets,
    const struct table *t, const struct value *v, struct arena *a,
    struct reseal *s, struct err *e)
{
	struct str sealed = {.p = NULL};
	struct str where = keyring_where(a, t->column, v->uid);
	int rc = where.p ? OK : no_room(e);

	if (rc == OK)
		rc = t->sub ? reseal_sub(
				  k, presets, a, where, v->sealed, &sealed, e)
			    : seal_again(k, a, where, v->sealed, &sealed, e);
	if (rc == ERR_INVALID || (rc == ERR_ABSENT && t->sub)) {
		tell_broken(t, v, e);
		s->broken++;
		return OK;
	}
	if (rc == OK && sealed.p) {
		rc = put(db, t, v, sealed, e);
		s->changed++;
	}
	return rc;
}

int
reseal_step(struct db *db, struct keyring *k, const struct conf *conf,
    struct reseal *s, struct err *e)
{
	struct arena *a = arena_new(PAGE_MOST), *each = arena_new(4 * MIB);
	struct presets *presets = NULL;
	UNINIT struct value values[RESEAL_STEP];
	struct reseal next = *s;
	size_t n = 0;
	int rc = a && each ? OK : no_room(e);

	if (rc == OK && next.table == COUNT_OF(TABLES)) {
		rc = sealing_fresh(db, k, a, e);
		next.done = true;
	} else if (rc == OK) {
		const struct table *t = &TABLES[next.table];

		if (t->sub)
			rc = presets_open(db, conf, &presets, e);
		if (rc == OK)
			rc = page(db, t, next.after, a, values, &n, e);
		for (size_t i = 0; rc == OK && i < n; i++) {
			arena_reset(each);
			rc =
			    move(db, k, presets, t, &values[i], each, &next, e);
			next.seen++;
			next.after = values[i].id;
		}
		if (n < RESEAL_STEP) {
			next.table++;
			next.after = 0;
		}
	}
	presets_free(presets);
	arena_free(a);
	arena_free(each);
	if (rc == OK)
		*s = next;
	return rc;
}

struct counts {
	struct keyring *ring;
	int64_t values[SEAL_KEYS_MAX], missing;
};

static void
count(void *ctx, struct arena *a, struct str sealed)
{
	struct counts *c = ctx;
	struct keyring *k = c->ring;
	struct str id;
	struct err e;
	const char *mine;

	if (keyring_id_of(a, sealed, &id, &e) == OK)
		for (size_t i = 0; (mine = keyring_id(k, i)); i++)
			if (str_eq(str_of(mine), id)) {
				c->values[i]++;
				return;
			}
	c->missing++;
}

static int
count_all(
    struct db *db, const struct conf *conf, struct counts *c, struct err *e)
{
	struct presets *presets = NULL;
	struct arena *a = arena_new(PAGE_MOST), *each = arena_new(4 * MIB);
	UNINIT struct value values[RESEAL_STEP];
	int rc = a && each ? presets_open(db, conf, &presets, e) : no_room(e);

	for (size_t t = 0; rc == OK && t < COUNT_OF(TABLES); t++) {
		int64_t after = 0;
		size_t n = RESEAL_STEP;

		while (rc == OK && n == RESEAL_STEP) {
			arena_reset(a);
			rc = page(db, &TABLES[t], after, a, values, &n, e);
			for (size_t i = 0; rc == OK && i < n; i++) {
				arena_reset(each);
				if (TABLES[t].sub)
					reseal_sub_each(presets, each,
					    values[i].sealed, count, c);
				else
					count(c, each, values[i].sealed);
				after = values[i].id;
			}
		}
	}
	presets_free(presets);
	arena_free(a);
	arena_free(each);
	return rc;
}

/* The keys that the log needs, by their place in the ring, or as JSON. */
struct log_keys {
	struct keyring *k;
	struct sealed_key keys[SEAL_KEYS_MAX]; /* first_seq 0: not needed */
	struct buf missing;
};

static void
add_needed(struct buf *b, const struct sealed_key *key)
{
	char first[TIME_LEN + 1], last[TIME_LEN + 1];
	int64_t now = clock_now_us();

	time_format(key->first_us, first);
	time_format(key->last_us < now ? key->last_us : now, last);
	buf_fmt(b, "{\"firstSeq\":%lld,\"firstAt\":\"%s\",\"lastAt\":\"%s\"}",
	    (long long)key->first_seq, first, last);
}

static int
take_log_key(void *arg, const struct sealed_key *key, struct err *e)
{
	struct log_keys *l = arg;
	const char *mine;

	(void)e;
	for (size_t i = 0; (mine = keyring_id(l->k, i)); i++)
		if (str_eq(str_of(mine), key->id)) {
			l->keys[i] = *key;
			return OK;
		}
	if (l->missing.n > 0)
		buf_addc(&l->missing, ',');
	buf_addz(&l->missing, "{\"id\":");
	buf_json(&l->missing, key->id);
	buf_addz(&l->missing, ",\"log\":");
	add_needed(&l->missing, key);
	buf_addc(&l->missing, '}');
	return OK;
}

static void
add_keys(struct buf *b, const struct counts *c, const struct log_keys *l)
{
	const char *id;

	for (size_t i = 0; (id = keyring_id(l->k, i)); i++) {
		buf_fmt(b,
		    "%s{\"id\":\"%s\",\"active\":%s,\"values\":%lld,\"log\":",
		    i ? "," : "", id, i ? "false" : "true",
		    (long long)c->values[i]);
		if (l->keys[i].first_seq > 0)
			add_needed(b, &l->keys[i]);
		else
			buf_addz(b, "null");
		buf_addc(b, '}');
	}
}

int
reseal_show(struct db *db, struct keyring *k, const struct conf *conf,
    const struct reseal_state *s, struct buf *b, struct err *e)
{
	struct log_keys l = {.k = k, .missing = BUF(64 * KIB)};
	struct counts c = {.ring = k};
	int rc = count_all(db, conf, &c, e);

	if (rc == OK)
		rc = sealed_keys(db, take_log_key, &l, e);
	if (rc < 0) {
		buf_done(&l.missing);
		return rc;
	}
	buf_fmt(b, "{\"source\":\"%s\",\"active\":\"%s\",\"keys\":[",
	    keyring_source(k), keyring_id(k, 0));
	add_keys(b, &c, &l);
	buf_addz(b, "],\"logMissing\":[");
	buf_add(b, buf_str(&l.missing));
	buf_done(&l.missing);
	buf_fmt(b,
	    "],\"missing\":%lld,\"running\":%s,\"failed\":%s,\"seen\":%lld,"
	    "\"changed\":%lld,\"broken\":%lld}",
	    (long long)c.missing, s->running ? "true" : "false",
	    s->failed ? "true" : "false", (long long)s->seen,
	    (long long)s->changed, (long long)s->broken);
	return OK;
}
