/*
 * reader - both sides of bench/reader.py that are not HTTP.
 *
 *   reader feed - - N WORDS               a document of N articles, to stdout
 *   reader list URL FOLDER USER FEED SECONDS   the list's statement, prepared,
 *                                         all rows read, again and again
 *   reader ours URL FOLDER N WORDS        that document into a fresh store, as
 *                                         the fetcher does: plan, commit thread
 *   reader bare URL FOLDER N WORDS        the same rows by prepared statements
 *
 * URL "" is SQLite in FOLDER. The bare sides speak to SQLite and libpq alone.
 *
 * WHAT THE BARE SIDE WRITES. The rows that our plans have, made before the clock
 * runs: feed_item with all its indexes, item_terms, log; on PostgreSQL also ids,
 * as SQLite's are written later by us too. A transaction of a plan's rows (1,000,
 * fewer when they are large), on SQLite a prepared insert of one row each and
 * the pragmas of our own writer, on PostgreSQL one insert of arrays a table.
 * Nothing is looked up, cleaned, compared, counted or told; no event is made.
 *
 * Says "ready", waits for a line, runs, says JSON, and ends at the next line:
 * who started it can read the CPU time of PostgreSQL meanwhile.
 */
#include <libpq-fe.h>
#include <semaphore.h>
#include <sqlite3.h>

#include "articles.h"
#include "doc/caged.h"
#include "doc/child.h"
#include "doc/limits.h"
#include "event/append.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "markup/sanitize.h"
#include "reader/feeds.h"
#include "reader/items.h"
#include "reader/items_priv.h"
#include "reader/limits.h"
#include "seal/digest.h"
#include "sql.h"
#include "store/limits.h"
#include "store/pgparam.h"
#include "store/store.h"
#include "store/store_driver.h"
#include "store/store_val.h"

#define PARTS_MAX 64
#define FEED_URL  STR("https://news.example/feed")

static void
die(const char *what, const char *why)
{
	(void)fprintf(stderr, "reader: %s: %s\n", what, why);
	exit(1);
}

static double
cpu_us(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The clock: from the line that we wait for to the answer. */
struct lap {
	int64_t wall;
	double cpu;
};

static struct lap
ready(void)
{
	(void)puts("ready");
	(void)fflush(stdout);
	(void)getchar();
	return (struct lap){clock_mono_us(), cpu_us(CLOCK_PROCESS_CPUTIME_ID)};
}

static struct lap
since(struct lap from)
{
	return (struct lap){clock_mono_us() - from.wall,
	    cpu_us(CLOCK_PROCESS_CPUTIME_ID) - from.cpu};
}

static void
tell(struct lap took, size_t n, double plan, double clean)
{
	(void)printf("{\"n\": %zu, \"rate\": %.1f, \"cpu_us\": %.2f, "
		     "\"plan_us\": %.2f, \"clean_us\": %.2f}\n",
	    n, (double)n * 1e6 / (double)took.wall, took.cpu / (double)n,
	    plan / (double)n, clean / (double)n);
	(void)fflush(stdout);
	(void)getchar();
}

/* ---- a fresh store with a feed ---- */

struct place {
	struct store_opts o;
	struct store *store;
	struct db *db; /* for reading */
	int64_t feed, now_us;
	struct uuid uid;
	char uid_text[UUID_LEN + 1];
	struct arena *a;
	struct feed *doc;
	struct caged *caged;
};

static int
add_feed(struct db *db, void *ctx, struct err *e)
{
	struct place *p = ctx;
	struct feed_new f = {
	    .url = FEED_URL, .title = STR("News"), .next_fetch_us = p->now_us};

	return feeds_add(db, &f, p->now_us, &p->feed, &p->uid, e);
}

static void
place_open(struct place *p, int64_t n, int n_words)
{
	struct feed_from from = {.url = FEED_URL};
	struct buf b = BUF(FEED_BYTES_MAX);
	struct db *db = NULL;
	struct err e = {0};
	int steps;

	p->now_us = clock_now_us();
	p->a = arena_new(2 * FEED_ARENA_MAX);
	if (!p->a || store_open(&p->o, &p->store, &e) < 0 ||
	    store_migrate(p->store, &steps, &e) < 0 ||
	    db_open(p->store, DB_WRITE, &db, &e) < 0 ||
	    db_tx(db, add_feed, p, &e) < 0 ||
	    db_open(p->store, DB_READ, &p->db, &e) < 0)
		die("store", e.text);
	if (caged_new("/proc/self/exe", NULL, &p->caged, &e) < 0)
		die("child", e.text);
	db_close(db);
	uuid_format(p->uid, p->uid_text);
	document(&b, n, n_words);
	if (b.failed)
		die("document", "too large");
	if (feed_parse(p->a, buf_str(&b), &from, &p->doc, &e) < 0)
		die("parse", e.text);
	if (p->doc->n_items != (size_t)n)
		die("parse", "articles are missing");
	buf_done(&b);
}

static void
place_close(struct place *p)
{
	caged_free(p->caged);
	db_close(p->db);
	store_close(p->store);
	arena_free(p->a);
}

static void
plan(struct place *p, size_t done, struct items_plan *ret)
{
	struct items_from from = {.feed = p->feed,
	    .feed_uid = str_of(p->uid_text),
	    .feed_url = FEED_URL,
	    .parsed = p->doc,
	    .tags = SANITIZE_BASIC,
	    .caged = p->caged,
	    .now_us = p->now_us,
	    .done = done,
	    .doc = ret->doc};
	struct err e = {0};

	if (items_plan(p->db, p->a, &from, ret, &e) < 0)
		die("plan", e.text);
}

/* ---- ours ---- */

struct waited {
	struct append_job job;
	sem_t over;
};

static void
written(struct append_job *job)
{
	(void)sem_post(&MAIL_OF(job, struct waited, job)->over);
}

static int
write_plan(struct db *db, void *ctx, struct err *e)
{
	return items_write(db, ctx, e);
}

static void
commit(struct append *ap, struct items_plan *x)
{
	struct waited w = {.job = {.fn = write_plan,
			       .ctx = x,
			       .entries = x->entries,
			       .n = x->n_entries,
			       .done = written}};
	struct err e = {0};

	(void)sem_init(&w.over, 0, 0);
	if (append_post(ap, &w.job, &e) < 0)
		die("post", e.text);
	(void)sem_wait(&w.over);
	if (w.job.err.code != OK)
		die("write", w.job.err.text);
	(void)sem_destroy(&w.over);
}

/* What cleaning alone takes of a plan. */
static double
cleaning(const struct place *p)
{
	struct buf b = BUF(ITEM_CONTENT_MAX);
	double from = cpu_us(CLOCK_THREAD_CPUTIME_ID);
	struct err e;

	for (const struct feed_item *it = p->doc->items; it; it = it->next) {
		buf_clear(&b);
		if (sanitize(it->summary, it->base, SANITIZE_BASIC, &b, NULL,
			&e) < 0 ||
		    sanitize(it->content, it->base, SANITIZE_BASIC, &b, NULL,
			&e) < 0)
			die("clean", e.text);
	}
	buf_done(&b);
	return cpu_us(CLOCK_THREAD_CPUTIME_ID) - from;
}

static void
ours(struct place *p)
{
	struct append_opts o = {.store = p->store};
	struct items_plan x = {.more = true};
	struct append *ap = NULL;
	double planning = 0, from;
	struct err e = {0};
	struct lap lap;
	size_t n = 0;

	if (append_start(&o, &ap, &e) < 0)
		die("start", e.text);
	lap = ready();
	while (x.more) {
		from = cpu_us(CLOCK_THREAD_CPUTIME_ID);
		plan(p, x.done, &x);
		planning += cpu_us(CLOCK_THREAD_CPUTIME_ID) - from;
		commit(ap, &x);
		n += x.inserted;
	}
	lap = since(lap);
	if (n != p->doc->n_items)
		die("ours", "not all were new");
	tell(lap, n, planning, cleaning(p));
	append_stop(ap);
}

/* ---- bare: SQLite ---- */

static void
lite(sqlite3 *h, int rc, const char *what)
{
	if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
		die(what, sqlite3_errmsg(h));
}

static sqlite3 *
lite_open(const char *dir, const char *pragmas)
{
	sqlite3 *h = NULL;
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", dir);
	lite(h, sqlite3_open_v2(path, &h, SQLITE_OPEN_READWRITE, NULL), path);
	lite(h, sqlite3_exec(h, pragmas, NULL, NULL, NULL), pragmas);
	return h;
}

static sqlite3_stmt *
lite_prepare(sqlite3 *h, const char *sql)
{
	sqlite3_stmt *st = NULL;

	lite(h,
	    sqlite3_prepare_v3(
		h, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL),
	    sql);
	return st;
}

static void
bind_text(sqlite3_stmt *st, int at, struct str s)
{
	if (s.p)
		(void)sqlite3_bind_text(st, at, s.p, (int)s.n, SQLITE_STATIC);
	else
		(void)sqlite3_bind_null(st, at);
}

static void
bind_bytes(sqlite3_stmt *st, int at, const void *p, size_t n)
{
	(void)sqlite3_bind_blob(st, at, p, (int)n, SQLITE_STATIC);
}

static void
lite_item(sqlite3_stmt *st, const struct sql_item_insert_args *r)
{
	const struct str texts[] = {r->guid, r->link, r->title, r->author,
	    r->categories, r->enclosures, r->summary, r->content};

	bind_bytes(st, 1, r->uid.p, r->uid.n);
	(void)sqlite3_bind_int64(st, 2, r->feed);
	(void)sqlite3_bind_int64(st, 3, r->published_at);
	(void)sqlite3_bind_int64(st, 4, r->estimated);
	(void)sqlite3_bind_int64(st, 5, r->now);
	bind_bytes(st, 6, r->content_hash.p, r->content_hash.n);
	bind_bytes(st, 7, r->state_hash.p, r->state_hash.n);
	bind_bytes(st, 8, r->link_hash.p, r->link_hash.n);
	bind_bytes(st, 9, r->same_as.p, r->same_as.n);
	for (int i = 0; i < (int)COUNT_OF(texts); i++)
		bind_text(st, 10 + i, texts[i]);
}

static void
lite_entry(
    sqlite3_stmt *st, int64_t seq, int64_t now_us, const struct entry *en)
{
	(void)sqlite3_bind_int64(st, 1, seq);
	(void)sqlite3_bind_int64(st, 2, en->kind);
	bind_bytes(st, 3, en->tenant.b, sizeof(en->tenant.b));
	bind_bytes(st, 4, en->event_id.b, sizeof(en->event_id.b));
	(void)sqlite3_bind_int64(st, 5, en->h);
	bind_bytes(st, 6, "", 0); /* as ours: the body is what was received */
	bind_text(st, 7, en->type);
	bind_text(st, 8, en->key);
	(void)sqlite3_bind_int64(st, 9, en->rv_us);
	(void)sqlite3_bind_int64(st, 10, now_us);
	(void)sqlite3_bind_null(st, 11);
	(void)sqlite3_bind_null(st, 12);
	bind_bytes(st, 13, en->body.p, en->body.n);
}

static void
put(sqlite3 *h, sqlite3_stmt *st)
{
	lite(h, sqlite3_step(st), sqlite3_sql(st));
	(void)sqlite3_reset(st);
}

static void
bare_sqlite(const struct place *p, const struct items_plan *v, size_t parts)
{
	sqlite3 *h = lite_open(p->o.dir,
	    "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA "
	    "wal_autocheckpoint=0; PRAGMA cache_size=-4096");
	sqlite3_stmt *begin = lite_prepare(h, "BEGIN IMMEDIATE"),
		     *end = lite_prepare(h, "COMMIT"),
		     *items = lite_prepare(h, STMTS[STMT_ITEM_INSERT].sqlite),
		     *log = lite_prepare(h, STMTS[STMT_LOG_INSERT].sqlite),
		     *terms = lite_prepare(h,
			 "INSERT INTO item_terms (rowid, terms) VALUES (?, ?)");
	struct lap lap = ready();
	size_t n = 0;

	for (size_t k = 0; k < parts; k++) {
		const struct items_plan *x = &v[k];

		put(h, begin);
		for (size_t i = 0; i < x->n_changes; i++, n++) {
			lite_item(items, &x->added[i]);
			put(h, items);
			(void)sqlite3_bind_int64(
			    terms, 1, sqlite3_last_insert_rowid(h));
			bind_text(terms, 2, x->terms[i].terms);
			put(h, terms);
			lite_entry(
			    log, (int64_t)n + 1, x->now_us, &x->entries[i]);
			put(h, log);
		}
		put(h, end);
	}
	tell(since(lap), n, 0, 0);
	(void)sqlite3_close_v2(h); /* what is prepared ends with us */
}

/* ---- bare: PostgreSQL ---- */

static const char PG_LOG[] =
    "WITH f AS MATERIALIZED (SELECT nextval('log_seq') AS seq, g.* FROM"
    " unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[], $5::text[],"
    " $6::text[], $7::bytea[]) AS g (tenant, event_id, h, hash, type, pkey,"
    " body)), put AS (INSERT INTO log (seq, kind, tenant, event_id, h, hash,"
    " type, pkey, rv, received_at, body) SELECT seq, 0, tenant, event_id, h,"
    " hash, type, pkey, $8::bigint, $8::bigint, body FROM f)"
    " INSERT INTO ids (h, seq) SELECT h, seq FROM f";
static const enum val_type PG_LOG_ARGS[] = {VAL_BYTESS, VAL_BYTESS, VAL_INTS,
    VAL_BYTESS, VAL_TEXTS, VAL_TEXTS, VAL_BYTESS, VAL_INT};

static void
pg_check(PGconn *pg, PGresult *res, const char *what)
{
	ExecStatusType st = PQresultStatus(res);

	if (st != PGRES_COMMAND_OK && st != PGRES_TUPLES_OK)
		die(what, PQerrorMessage(pg));
}

static void
pg_do(PGconn *pg, const char *sql)
{
	PGresult *res = PQexec(pg, sql);

	pg_check(pg, res, sql);
	PQclear(res);
}

static PGconn *
pg_open(const char *url)
{
	PGconn *pg = PQconnectdb(url);

	if (PQstatus(pg) != CONNECTION_OK)
		die("connect", PQerrorMessage(pg));
	return pg;
}

static void
pg_prepare(PGconn *pg, const char *name, const char *sql,
    const enum val_type *args, int n)
{
	Oid types[STORE_ARGS_MAX];
	PGresult *res;

	for (int i = 0; i < n; i++)
		types[i] = pgparam_type(args[i]);
	res = PQprepare(pg, name, sql, n, types);
	pg_check(pg, res, sql);
	PQclear(res);
}

static PGresult *
pg_run(PGconn *pg, struct pgparam *p, const char *name, const struct val *v,
    size_t n)
{
	struct err e = {0};
	PGresult *res;

	if (pgparam_set(p, v, n, &e) < 0)
		die(name, e.text);
	res = PQexecPrepared(
	    pg, name, (int)n, p->values, p->lengths, p->formats, 1);
	pg_check(pg, res, name);
	pgparam_sent(p);
	return res;
}

/* The entries of a plan, a column each. */
struct log_columns {
	struct str *tenants, *ids, *hashes, *types, *keys, *bodies;
	int64_t *h;
};

static struct log_columns
log_columns(struct arena *a, const struct items_plan *x)
{
	struct log_columns c = {.h = arena_array(a, x->n_entries, 8)};
	struct str **all[] = {
	    &c.tenants, &c.ids, &c.hashes, &c.types, &c.keys, &c.bodies};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		*all[i] = arena_array(a, x->n_entries, sizeof(struct str));
	for (size_t i = 0; i < x->n_entries; i++) {
		struct entry *en = &x->entries[i];

		entry_hash(en);
		c.h[i] = en->h;
		c.tenants[i] = uuid_str(&en->tenant);
		c.ids[i] = uuid_str(&en->event_id);
		c.hashes[i] =
		    (struct str){(const char *)en->hash, ENTRY_HASH_LEN};
		c.types[i] = en->type;
		c.keys[i] = en->key;
		c.bodies[i] = en->body;
	}
	return c;
}

static struct val
texts(const struct str *v, size_t n)
{
	return (struct val){.type = VAL_TEXTS, .sv = v, .n = n};
}

static struct val
bytes(const struct str *v, size_t n)
{
	return (struct val){.type = VAL_BYTESS, .sv = v, .n = n};
}

static struct val
ints(const int64_t *v, size_t n)
{
	return (struct val){.type = VAL_INTS, .iv = v, .n = n};
}

static struct val
whole(int64_t i)
{
	return (struct val){.type = VAL_INT, .i = i};
}

/* The member at `at` of each row. */
static struct val
column(struct arena *a, const void *rows, size_t size, size_t n, size_t at,
    enum val_type type)
{
	int64_t *iv = arena_array(a, n, sizeof(*iv));
	struct str *sv = arena_array(a, n, sizeof(*sv));

	for (size_t i = 0; i < n; i++)
		if (type == VAL_INTS)
			memcpy(&iv[i], (const char *)rows + i * size + at,
			    sizeof(*iv));
		else
			memcpy(&sv[i], (const char *)rows + i * size + at,
			    sizeof(*sv));
	return type == VAL_INTS ? ints(iv, n)
				: (struct val){.type = type, .sv = sv, .n = n};
}

enum { ITEM_ARGS = 17 };

struct item_columns {
	struct val items[ITEM_ARGS], terms[2];
};

/* What is to be written, an array for each argument. */
static struct item_columns
item_columns(struct arena *a, const struct items_plan *x)
{
	struct item_columns c;
	size_t at = 0;

	for (int i = 0; i < ITEM_ARGS; i++) {
		enum val_type t =
		    store_arg_type(STORE_POSTGRES, STMT_ITEM_INSERT, i);

		c.items[i] =
		    column(a, x->added, sizeof(*x->added), x->inserted, at, t);
		at += t == VAL_INTS ? sizeof(int64_t) : sizeof(struct str);
	}
	c.terms[0] =
	    column(a, x->terms, sizeof(*x->terms), x->n_changes, 0, VAL_BYTESS);
	c.terms[1] = column(a, x->terms, sizeof(*x->terms), x->n_changes,
	    sizeof(struct str), VAL_TEXTS);
	return c;
}

static void
pg_part(PGconn *pg, struct pgparam *p, const struct items_plan *x,
    const struct item_columns *c, const struct log_columns *l)
{
	size_t n = x->n_changes;
	struct val log[] = {bytes(l->tenants, n), bytes(l->ids, n),
	    ints(l->h, n), bytes(l->hashes, n), texts(l->types, n),
	    texts(l->keys, n), bytes(l->bodies, n), whole(x->now_us)};

	pg_do(pg, "BEGIN");
	PQclear(pg_run(pg, p, "items", c->items, ITEM_ARGS));
	PQclear(pg_run(pg, p, "terms", c->terms, COUNT_OF(c->terms)));
	PQclear(pg_run(pg, p, "log", log, COUNT_OF(log)));
	pg_do(pg, "COMMIT");
}

static void
bare_postgres(struct place *p, const struct items_plan *v, size_t parts)
{
	static const enum val_type TERMS_ARGS[] = {VAL_BYTESS, VAL_TEXTS};
	enum val_type types[ITEM_ARGS];
	struct item_columns items[PARTS_MAX];
	struct log_columns logs[PARTS_MAX];
	struct pgparam params = {.arrays = BUF(STORE_ARRAYS_MAX)};
	PGconn *pg = pg_open(p->o.url);
	struct lap lap;
	size_t n = 0;

	for (int i = 0; i < ITEM_ARGS; i++)
		types[i] = store_arg_type(STORE_POSTGRES, STMT_ITEM_INSERT, i);
	pg_prepare(
	    pg, "items", STMTS[STMT_ITEM_INSERT].postgres, types, ITEM_ARGS);
	pg_prepare(pg, "terms",
	    "INSERT INTO item_terms (item_id, terms) SELECT i.id,"
	    " u.terms::tsvector FROM unnest($1::bytea[], $2::text[]) AS u (uid,"
	    " terms) JOIN feed_item i ON i.uid = u.uid",
	    TERMS_ARGS, 2);
	pg_prepare(pg, "log", PG_LOG, PG_LOG_ARGS, COUNT_OF(PG_LOG_ARGS));
	for (size_t k = 0; k < parts; k++) {
		logs[k] = log_columns(p->a, &v[k]);
		items[k] = item_columns(p->a, &v[k]);
	}
	lap = ready();
	for (size_t k = 0; k < parts; k++) {
		pg_part(pg, &params, &v[k], &items[k], &logs[k]);
		n += v[k].n_changes;
	}
	tell(since(lap), n, 0, 0);
	pgparam_done(&params);
	PQfinish(pg);
}

static void
bare(struct place *p)
{
	struct items_plan v[PARTS_MAX], x = {.more = true};
	unsigned char digest[DIGEST_LEN];
	size_t parts = 0;

	while (x.more) {
		if (parts == PARTS_MAX)
			die("bare", "too many parts");
		plan(p, x.done, &x);
		for (size_t i = 0; i < x.n_entries; i++) {
			digest_sha256(uuid_str(&x.entries[i].event_id), digest);
			memcpy(&x.entries[i].h, digest, 8);
		}
		v[parts++] = x;
	}
	if (p->o.url[0])
		bare_postgres(p, v, parts);
	else
		bare_sqlite(p, v, parts);
}

/* ---- bare: the list ---- */

static size_t
list_sqlite(sqlite3 *h, sqlite3_stmt *st, const struct stmt_info *q,
    const struct val *args)
{
	size_t seen = 0;
	int rc;

	for (int i = 0; i < q->n_args; i++)
		(void)sqlite3_bind_int64(st, i + 1, args[i].i);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		for (int i = 0; i < q->n_cols; i++)
			if (q->cols[i] == VAL_INT)
				seen += (size_t)sqlite3_column_int64(st, i) & 1;
			else
				seen += (sqlite3_column_text(st, i) != NULL) +
					(size_t)sqlite3_column_bytes(st, i);
	}
	lite(h, rc, "list");
	(void)sqlite3_reset(st);
	return seen;
}

static size_t
list_postgres(PGconn *pg, struct pgparam *p, const struct stmt_info *q,
    const struct val *args)
{
	PGresult *res = pg_run(pg, p, "list", args, (size_t)q->n_args);
	size_t seen = 0;

	for (int r = 0; r < PQntuples(res); r++)
		for (int i = 0; i < q->n_cols; i++)
			seen += (size_t)PQgetlength(res, r, i) +
				(size_t)(unsigned char)PQgetvalue(res, r, i)[0];
	PQclear(res);
	return seen;
}

static void
list(const char *url, const char *dir, int64_t user, int64_t feed,
    double seconds)
{
	const struct stmt_info *q = &STMTS[STMT_LIST_FEED];
	struct val args[] = {whole(user), whole(feed), whole(0),
	    whole(INT64_MAX), whole(INT64_MAX), whole(READER_PAGE + 1)};
	struct pgparam params = {.arrays = BUF(STORE_ARRAYS_MAX)};
	PGconn *pg = url[0] ? pg_open(url) : NULL;
	sqlite3 *h = url[0] ? NULL : lite_open(dir, "PRAGMA query_only=ON");
	sqlite3_stmt *st = h ? lite_prepare(h, q->sqlite) : NULL;
	struct lap lap = {0, 0};
	size_t n = 0, warm = 20, seen = 0;

	if (pg)
		pg_prepare(pg, "list", q->postgres, q->args, q->n_args);
	for (;; n++) {
		if (n == warm && lap.wall == 0) {
			lap = ready();
			n = 0;
		}
		if (lap.wall &&
		    (double)(clock_mono_us() - lap.wall) >= seconds * 1e6)
			break;
		seen += h ? list_sqlite(h, st, q, args)
			  : list_postgres(pg, &params, q, args);
	}
	if (seen / (n + warm) < READER_PAGE)
		die("list", "there is no full page");
	tell(since(lap), n, 0, 0);
	(void)sqlite3_close_v2(h);
	pgparam_done(&params);
	PQfinish(pg);
}

int
main(int argc, char **argv)
{
	const struct cage_kind *const kinds[] = {&DOC_CHILD, NULL};
	const char *what = argc > 1 ? argv[1] : "";
	long long v[3] = {0};
	int status = cage_main(kinds, argc, argv);

	if (status >= 0)
		return status;

	for (int i = 4; i < argc && i < 7; i++)
		v[i - 4] = strtoll(argv[i], NULL, 10);
	if (strcmp(what, "feed") == 0 && argc == 6) {
		struct buf b = BUF(FEED_BYTES_MAX);

		document(&b, v[0], (int)v[1]);
		(void)fwrite(b.p, 1, b.n, stdout);
		buf_done(&b);
	} else if (strcmp(what, "list") == 0 && argc == 7) {
		list(argv[2], argv[3], v[0], v[1], strtod(argv[6], NULL));
	} else if ((strcmp(what, "ours") == 0 || strcmp(what, "bare") == 0) &&
		   argc == 6 && v[0] > 0) {
		struct place p = {.o = {.url = argv[2], .dir = argv[3]}};

		place_open(&p, v[0], (int)v[1]);
		if (what[0] == 'o')
			ours(&p);
		else
			bare(&p);
		place_close(&p);
	} else {
		die("usage", "see the beginning of reader.c");
	}
	return 0;
}
