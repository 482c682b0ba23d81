#include "crm/run.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/str.h"
#include "crm/check.h"
#include "crm/reads.h"
#include "crm_sql.h"
#include "event/catalog.h"
#include "loop/thread.h"

#define FETCH_MAX    50
#define FETCH_WAIT_S 1
#define ACK_WAIT_S   5
#define PAUSE_MS     50 /* between looks at outboxes, and after a failure */
#define PUBLISH_MAX  200

/*
 * What the server is told of an event. Without delayMs it waits as its own
 * schedule says, longer each time; ten failures make a dead letter.
 */
enum outcome { DONE, FORGOT, FAILED, OUTCOMES };
static const struct {
	const char *verb, *more;
} OUTCOME[OUTCOMES] = {
    [DONE] = {"ack", ""},
    [FORGOT] = {"nack", ",\"delayMs\":100"},
    [FAILED] = {"nack", ""},
};

/* A consumer while it runs. */
struct worker {
	struct run *run;
	struct taker taker;
	struct asker *asker;
	struct crm_server server;
	struct thread *thread;
	struct arena *page;        /* for one fetch */
	struct buf told[OUTCOMES]; /* cursors, as JSON strings */
	char name[32];
	int64_t taken;
	bool failing; /* it was told of */
};

struct run {
	struct run_opts o;
	struct reads *reads;
	struct worker workers[CRM_SERVICES];
	struct thread *publisher;
	atomic_bool stop;
};

/* The four outboxes; Core's is the first. */
static const struct {
	const char *file;
	const struct crm_service *service; /* NULL: Metadata */
} OUTBOXES[] = {
    {"core.db", &CRM_CORE},
    {CRM_METADATA_FILE, NULL},
    {"sharing.db", &CRM_SHARING},
    {"approval.db", &CRM_APPROVAL},
};

static void
pause_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	(void)nanosleep(&t, NULL);
}

void
run_name(const struct crm_service *s, char ret[32])
{
	(void)snprintf(ret, 32, "crm-%s", s->name);
	for (char *p = ret; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p | 0x20);
}

/* Consumers ----------------------------------------------------------------- */

static void
add_cursor(struct buf *b, const struct json *ev)
{
	const struct json *cursor = json_get(ev, "cursor");

	if (!cursor)
		return;
	buf_addz(b, b->n ? "," : "");
	buf_add(b, cursor->raw);
}

/* Whether to act as if we had been killed before we could acknowledge. */
static bool
forgets(struct worker *w, const struct json *ev)
{
	int64_t attempt = 0;

	w->taken++;
	return w->run->o.forget > 0 && w->taken % w->run->o.forget == 0 &&
	       json_int(json_get(ev, "attempt"), &attempt) && attempt == 1;
}

/* Once, until it goes well again. */
static void
complain(struct worker *w, const struct err *e)
{
	if (!w->failing)
		log_fmt(LOG_WARN, "a consumer of the demo tries again",
		    "%s: %s", w->name, e->text);
	w->failing = true;
}

/*
 * What was done with them. If it can't be told, they come again when their
 * leases end, and are known by then.
 */
static int
tell(struct worker *w, const char *verb, struct str cursors, struct str more,
    struct err *e)
{
	char path[64];
	struct buf b = BUF(MIB);
	struct str text;
	int rc;

	(void)snprintf(
	    path, sizeof(path), "/v1/consumers/%s/%s", w->name, verb);
	buf_addz(&b, "{\"cursors\":[");
	buf_add(&b, cursors);
	buf_addc(&b, ']');
	buf_add(&b, more);
	buf_addc(&b, '}');
	rc = b.failed ? err_set(e, ERR_LIMIT, "too many cursors")
		      : w->server.ask(w->server.arg, "POST", path, buf_str(&b),
			    w->page, &text, e);
	buf_done(&b);
	return rc;
}

/* It is wrong for good: a dead letter, with the reason. */
static int
give_up(struct worker *w, const struct json *ev, const struct err *why,
    struct err *e)
{
	const struct json *cursor = json_get(ev, "cursor");
	struct buf b = BUF(4 * KIB);
	struct str reason = arena_fmt(
	    w->page, "%s%s%s", why->at, why->at[0] ? ": " : "", why->text);
	int rc;

	buf_addz(&b, ",\"dead\":true,\"reason\":");
	buf_json(&b, reason.p ? reason : STR("wrong"));
	rc = crm_done(
	    crm_count_add(w->taker.db, str_of(CRM_RESULTS[CRM_WRONG]), e), e);
	if (rc == OK && cursor)
		rc = tell(w, "nack", cursor->raw, buf_str(&b), e);
	buf_done(&b);
	return rc;
}

static int
take(struct worker *w, const struct json *j, struct err *e)
{
	enum crm_result result = CRM_APPLIED;
	struct crm_event ev;
	struct err why = {0};
	int rc = crm_event_read(j, w->taker.arena, &ev, &why);

	if (rc == ERR_INVALID || rc == ERR_ABSENT) {
		rc = give_up(w, j, &why, e);
	} else {
		if (rc == OK)
			rc = crm_take(&w->taker, &ev, &result, &why);
		if (rc < 0)
			complain(w, &why);
		else
			w->failing = false;
		add_cursor(&w->told[rc < 0          ? FAILED
				    : forgets(w, j) ? FORGOT
						    : DONE],
		    j);
		rc = OK;
	}
	arena_reset(w->taker.arena);
	return rc;
}

static int
turn(struct worker *w, struct err *e)
{
	char path[96];
	struct json *j = NULL;
	const struct json *ev;
	struct str text;
	int rc;

	(void)snprintf(path, sizeof(path),
	    "/v1/consumers/%s/events?max=%d&wait=%d", w->name, FETCH_MAX,
	    FETCH_WAIT_S);
	rc = w->server.ask(
	    w->server.arg, "GET", path, STR_EMPTY, w->page, &text, e);
	if (rc == OK)
		rc = json_parse(w->page, text, &j, e);
	if (rc < 0)
		return rc;
	for (int i = 0; i < OUTCOMES; i++)
		buf_clear(&w->told[i]);
	ev = json_get(j, "data");
	for (ev = ev ? ev->child : NULL; rc == OK && ev; ev = ev->next)
		rc = take(w, ev, e);
	for (int i = 0; rc == OK && i < OUTCOMES; i++)
		if (w->told[i].n > 0)
			rc = tell(w, OUTCOME[i].verb, buf_str(&w->told[i]),
			    str_of(OUTCOME[i].more), e);
	return rc;
}

static void
work(void *arg)
{
	struct worker *w = arg;
	struct err e;

	while (!atomic_load(&w->run->stop)) {
		/* The server may be away for a while: it is asked again. */
		if (turn(w, &e) < 0) {
			complain(w, &e);
			pause_ms(PAUSE_MS);
		}
		arena_reset(w->page);
	}
}

/* The publisher ------------------------------------------------------------- */

static int
open_outbox(struct run *r, size_t i, struct lite **ret, struct err *e)
{
	static const int SCHEMAS[] = {CRM_SCHEMA_INBOX, CRM_SCHEMA_OUTBOX};
	const struct crm_service *s = OUTBOXES[i].service;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", r->o.dir, OUTBOXES[i].file);
	return s ? lite_open(path, s->schemas, s->n_schemas, ret, e)
		 : lite_open(path, SCHEMAS, COUNT_OF(SCHEMAS), ret, e);
}

static void
publish(void *arg)
{
	struct run *r = arg;
	struct lite *db[COUNT_OF(OUTBOXES)] = {NULL};
	struct crm_server server = {0};
	struct arena *a = arena_new(16 * MIB);
	struct err e = {0};
	int64_t n, all;
	int rc = a ? r->o.link.open(r->o.link.arg, &server, &e) : ERR_NOMEM;

	for (size_t i = 0; rc == OK && i < COUNT_OF(OUTBOXES); i++)
		rc = open_outbox(r, i, &db[i], &e);
	while (rc == OK && !atomic_load(&r->stop)) {
		all = 0;
		for (size_t i = r->o.relayed ? 1 : 0; i < COUNT_OF(OUTBOXES);
		     i++) {
			n = 0;
			if (outbox_publish(
				db[i], &server, a, PUBLISH_MAX, &n, &e) < 0)
				pause_ms(PAUSE_MS);
			arena_reset(a);
			all += n;
		}
		if (all == 0)
			pause_ms(PAUSE_MS);
	}
	if (rc < 0)
		log_fmt(LOG_WARN, "the demo publishes nothing", "%s", e.text);
	for (size_t i = 0; i < COUNT_OF(OUTBOXES); i++)
		lite_close(db[i]);
	if (server.ask)
		r->o.link.close(&server);
	arena_free(a);
}

/* All of it ----------------------------------------------------------------- */

/* Its types, as JSON strings or between blanks. */
static struct str
types_of(const struct crm_service *s, struct arena *a, bool json)
{
	struct buf b = BUF(4 * KIB);
	struct str text;

	buf_addz(&b, json ? "" : " ");
	for (const struct event_type *t = catalog_each(NULL); t;
	     t = catalog_each(t)) {
		if (!crm_wants(s, t))
			continue;
		if (json)
			buf_fmt(&b, "%s\"%s\"", b.n ? "," : "", t->name);
		else
			buf_fmt(&b, "%s ", t->name);
	}
	text = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return text;
}

/* From the log's start: what was published before is wanted too. */
static int
make_consumer(struct worker *w, struct err *e)
{
	struct arena *a = w->page;
	char path[64];
	struct str text, types = types_of(w->taker.service, a, true);

	(void)snprintf(path, sizeof(path), "/v1/consumers/%s", w->name);
	return w->server.ask(w->server.arg, "PUT", path,
	    arena_fmt(a,
		"{\"types\":[%.*s],\"tenants\":[\"%.*s\"],\"from\":\"start\",\"ackWaitSeconds\":%d}",
		STR_ARG(types), STR_ARG(w->run->o.tenant), ACK_WAIT_S),
	    a, &text, e);
}

static int
open_worker(
    struct run *r, struct worker *w, const struct crm_service *s, struct err *e)
{
	char path[PATH_MAX];
	int rc;

	w->run = r;
	run_name(s, w->name);
	for (int i = 0; i < OUTCOMES; i++)
		w->told[i] = BUF(256 * KIB);
	w->page = arena_new(16 * MIB);
	w->taker = (struct taker){
	    .service = s, .arena = arena_new(4 * MIB), .tenant = r->o.tenant};
	if (!w->page || !w->taker.arena)
		return err_set(e, ERR_NOMEM, "no memory for a consumer");
	(void)snprintf(path, sizeof(path), "%s/%s", r->o.dir, s->file);
	rc = lite_open(path, s->schemas, s->n_schemas, &w->taker.db, e);
	if (rc == OK)
		rc = asker_new(
		    reads_port(r->reads), reads_key(r->reads), &w->asker, e);
	if (rc == OK) {
		w->taker.fetch = asker_fetch(w->asker);
		rc = r->o.link.open(r->o.link.arg, &w->server, e);
	}
	if (rc == OK)
		rc = make_consumer(w, e);
	arena_reset(w->page);
	return rc;
}

static void
close_worker(struct run *r, struct worker *w)
{
	if (w->server.ask)
		r->o.link.close(&w->server);
	asker_free(w->asker);
	lite_close(w->taker.db);
	arena_free(w->taker.arena);
	arena_free(w->page);
	for (int i = 0; i < OUTCOMES; i++)
		buf_done(&w->told[i]);
}

int
run_start(const struct run_opts *o, struct run **ret, struct err *e)
{
	struct run *r = calloc(1, sizeof(*r));
	char path[PATH_MAX];
	int rc;

	if (!r)
		return err_set(e, ERR_NOMEM, "no memory for the services");
	r->o = *o;
	(void)snprintf(path, sizeof(path), "%s/%s", o->dir, CRM_CORE.file);
	rc = reads_start(path, &r->reads, e);
	for (int i = 0; rc == OK && i < CRM_SERVICES; i++)
		rc = open_worker(r, &r->workers[i], CRM_ALL[i], e);
	for (int i = 0; rc == OK && i < CRM_SERVICES; i++)
		rc = thread_start(r->workers[i].name, work, &r->workers[i],
		    &r->workers[i].thread, e);
	if (rc == OK)
		rc =
		    thread_start("crm-publisher", publish, r, &r->publisher, e);
	if (rc < 0) {
		run_stop(r);
		return rc;
	}
	*ret = r;
	return OK;
}

void
run_stop(struct run *r)
{
	if (!r)
		return;
	atomic_store(&r->stop, true);
	for (int i = 0; i < CRM_SERVICES; i++)
		thread_join(r->workers[i].thread);
	thread_join(r->publisher);
	for (int i = 0; i < CRM_SERVICES; i++)
		close_worker(r, &r->workers[i]);
	reads_stop(r->reads);
	free(r);
}

int
run_forget(const struct run_opts *o, struct err *e)
{
	struct arena *a = arena_new(MIB);
	struct crm_server server = {0};
	char name[32], path[64];
	struct str text;
	int rc = a ? o->link.open(o->link.arg, &server, e)
		   : err_set(e, ERR_NOMEM, "no memory");

	for (int i = 0; rc == OK && i < CRM_SERVICES; i++) {
		run_name(CRM_ALL[i], name);
		(void)snprintf(path, sizeof(path), "/v1/consumers/%s", name);
		rc = server.ask(
		    server.arg, "DELETE", path, STR_EMPTY, a, &text, e);
		if (rc == ERR_ABSENT)
			rc = OK;
	}
	if (server.ask)
		o->link.close(&server);
	arena_free(a);
	return rc;
}

int
run_port(const struct run *r)
{
	return reads_port(r->reads);
}

int
run_missing(
    const char *dir, const struct crm_service *s, int64_t *ret, struct err *e)
{
	struct arena *a = arena_new(MIB);
	int rc = a ? crm_missing(dir, s, types_of(s, a, false), ret, e)
		   : err_set(e, ERR_NOMEM, "no memory");

	arena_free(a);
	return rc;
}
