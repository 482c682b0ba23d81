#include "company.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reads.h"

#define FORGET      10  /* of so many events one is not acknowledged at first */
#define AGAIN_MS    100 /* … and comes again after that */
#define PAUSE_MS    50  /* between looks at outboxes, and after a failure */
#define PUBLISH_MAX 200 /* rows of an outbox at once; sql/common.sql */

/* A thread of the company, and how it talks to the server. */
struct worker {
	struct company *company;
	struct hk_client *client;
	struct hk_consumer *consumer; /* NULL: the publisher */
	struct asker *asker;
	struct taker taker;
	pthread_t thread;
	bool runs;
	bool failing; /* it was told of */
	int64_t taken;
};

struct company {
	struct company_opts o;
	struct reads *reads;
	struct worker workers[CONSUMERS], publisher;
	atomic_bool stop;
};

/* The server ---------------------------------------------------------------- */

static int
stopping(void *ctx)
{
	return atomic_load((atomic_bool *)ctx);
}

/* With one try, or for as long as `stop` is not set. */
static int
open_client(const struct company_opts *o, atomic_bool *stop,
    struct hk_client **ret, struct hk_error *e)
{
	struct hk_client_opts how = {.unix_socket = o->unix_socket, .tries = 1};

	if (stop)
		how = (struct hk_client_opts){.unix_socket = o->unix_socket,
		    .tries = 1000000,
		    .backoff_ms = PAUSE_MS,
		    .backoff_max_ms = 1000,
		    .stop = stopping,
		    .ctx = stop};
	return hk_client_new(o->url, o->key, &how, ret, e);
}

/* From the log's start: what was published before is wanted too. */
static void
definition_of(enum service_id id, const char *tenant, char *ret, size_t room)
{
	char types[SERVICE_TYPES_MAX], *left = NULL;
	const char *comma = "";
	size_t n = (size_t)snprintf(ret, room,
	    "{\"tenants\":[\"%s\"],\"from\":\"start\",\"ackWaitSeconds\":5,\"types\":[",
	    tenant);

	service_types(id, types);
	for (char *p = strtok_r(types, " ", &left); p && n < room;
	     p = strtok_r(NULL, " ", &left), comma = ",")
		n += (size_t)snprintf(ret + n, room - n, "%s\"%s\"", comma, p);
	if (n < room)
		(void)snprintf(ret + n, room - n, "]}");
}

/* By a client of its own: whether there is a server is told at once. */
static int
define_consumers(const struct company_opts *o, struct hk_error *e)
{
	struct hk_client *client = NULL;
	int rc = open_client(o, NULL, &client, e);

	for (enum service_id i = 0; rc == HK_OK && i < CONSUMERS; i++) {
		char definition[2 * SERVICE_TYPES_MAX];
		struct hk_consumer_opts how = {.definition = definition};
		struct hk_consumer *c = NULL;

		definition_of(i, o->tenant, definition, sizeof(definition));
		rc = hk_consumer_open(client, SERVICE[i].consumer, &how, &c, e);
		hk_consumer_close(c);
	}
	hk_client_free(client);
	return rc;
}

int
company_forget(const struct company_opts *o, struct hk_error *e)
{
	struct hk_client *client = NULL;
	int rc = open_client(o, NULL, &client, e);

	for (enum service_id i = 0; rc == HK_OK && i < CONSUMERS; i++) {
		rc = hk_consumer_remove(client, SERVICE[i].consumer, e);
		if (rc == HK_ABSENT)
			rc = HK_OK;
	}
	hk_client_free(client);
	return rc;
}

/* Consumers ----------------------------------------------------------------- */

static void
pause_ms(long ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000L};

	(void)nanosleep(&t, NULL);
}

/* Once, until it goes well again. */
static void
complain(struct worker *w, const char *who, const struct hk_error *e)
{
	if (!w->failing)
		(void)fprintf(stderr, "%s tries again: %s\n", who, e->text);
	w->failing = true;
}

/* What the server is told of an event that was taken, or not. */
static int
settle(
    struct worker *w, const struct hk_event *ev, int result, struct hk_error *e)
{
	struct hk_error said = *e;

	if (result == HK_DEAD) {
		int rc = db_call(w->taker.db, CRM_COMMON, "count",
		    ARGS(ARG_TEXT("name", "wrong")), e);

		return rc < 0 ? rc
			      : hk_consumer_dead(w->consumer, ev, said.text, e);
	}
	if (result < 0) {
		complain(w, SERVICE[w->taker.id].name, &said);
		return hk_consumer_nack(w->consumer, ev, -1, e);
	}
	w->failing = false;
	if (++w->taken % FORGET == 0 && ev->attempt == 1)
		return hk_consumer_nack(w->consumer, ev, AGAIN_MS, e);
	return hk_consumer_ack(w->consumer, ev, e);
}

static void *
consume(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&w->company->stop)) {
		const struct hk_event *ev = NULL;
		enum hk_verdict verdict;
		struct hk_error e;
		bool foreign;
		int rc = hk_consumer_next(w->consumer, &ev, &e);

		if (rc == HK_OK)
			rc = settle(w, ev,
			    taker_take(&w->taker, ev, &verdict, &foreign, &e),
			    &e);
		if (rc < 0 && rc != HK_EMPTY && rc != HK_STOPPED) {
			complain(w, SERVICE[w->taker.id].name, &e);
			pause_ms(PAUSE_MS);
		}
	}
	return NULL;
}

static int
start_consumer(struct company *c, enum service_id id, struct hk_error *e)
{
	struct hk_consumer_opts how = {.max = 50, .wait_s = 1};
	struct worker *w = &c->workers[id];
	int rc = open_client(&c->o, &c->stop, &w->client, e);

	w->company = c;
	if (rc == HK_OK)
		rc = hk_consumer_open(
		    w->client, SERVICE[id].consumer, &how, &w->consumer, e);
	if (rc == HK_OK)
		rc = taker_open(&w->taker, c->o.dir, id, c->o.tenant, e);
	if (rc == HK_OK)
		rc = asker_new(
		    reads_port(c->reads), reads_key(c->reads), &w->asker, e);
	if (rc < 0)
		return rc;
	w->taker.ask = asker_ask;
	w->taker.ctx = w->asker;
	w->runs = pthread_create(&w->thread, NULL, consume, w) == 0;
	return w->runs ? HK_OK
		       : hk_fail(e, HK_FULL, "no thread for a consumer");
}

/* The publisher ------------------------------------------------------------- */

/* Rows of an outbox on their way. */
struct carried {
	struct hk_publisher *publisher;
	sqlite3 *db;
	int64_t ids[PUBLISH_MAX]; /* that are in the log */
	size_t n, read;
	int rc;
	struct hk_error why;
};

static void
carry_row(void *ctx, sqlite3_stmt *row)
{
	struct carried *x = ctx;
	intptr_t id = (intptr_t)sqlite3_column_int64(row, 0);

	x->read++;
	if (x->rc == HK_OK)
		x->rc = hk_publisher_add(x->publisher,
		    (const char *)sqlite3_column_text(row, 1),
		    (size_t)sqlite3_column_bytes(row, 1), (void *)id, NULL,
		    &x->why);
}

static void
carried(void *ctx, const struct hk_result *r)
{
	struct carried *x = ctx;

	if (r->code == HK_OK && x->n < PUBLISH_MAX)
		x->ids[x->n++] = (intptr_t)r->tag;
	else if (r->code != HK_STOPPED)
		x->why = *r->error;
}

static int
mark(struct carried *x, struct hk_error *e)
{
	struct script begin = {.text = "BEGIN IMMEDIATE", .n = 15};
	struct script end = {.text = "COMMIT", .n = 6};
	int rc = db_run(x->db, &begin, NO_ARGS, NULL, NULL, e);

	for (size_t i = 0; rc == HK_OK && i < x->n; i++)
		rc = db_call(x->db, CRM_COMMON, "published",
		    ARGS(ARG_NUMBER("id", x->ids[i])), e);
	if (rc == HK_OK)
		rc = db_run(x->db, &end, NO_ARGS, NULL, NULL, e);
	if (rc < 0 && !sqlite3_get_autocommit(x->db))
		(void)sqlite3_exec(x->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* What waits, up to PUBLISH_MAX rows; how many are in the log now. */
static int
carry(struct worker *w, sqlite3 *db, size_t *ret_n, struct hk_error *e)
{
	struct carried x = {.db = db};
	struct hk_publisher_opts how = {.done = carried, .ctx = &x};
	int rc = hk_publisher_new(w->client, &how, &x.publisher, e);

	if (rc == HK_OK)
		rc = db_each(
		    db, CRM_COMMON, "unpublished", NO_ARGS, carry_row, &x, e);
	if (rc == HK_OK && x.read > 0)
		rc = hk_publisher_flush(x.publisher, -1, e);
	hk_publisher_free(x.publisher);
	if (x.n > 0 && mark(&x, e) < 0)
		return e->code;
	*ret_n += x.n;
	if (rc == HK_OK && x.why.code) {
		*e = x.why;
		rc = x.why.code;
	}
	return rc;
}

static void *
publish(void *arg)
{
	struct worker *w = arg;
	struct company *c = w->company;
	sqlite3 *db[SERVICES] = {NULL};
	struct hk_error e;
	int rc = HK_OK;

	for (enum service_id i = 0; rc == HK_OK && i < SERVICES; i++)
		if (SERVICE[i].producer && !(i == CORE && c->o.relayed))
			rc = service_open(c->o.dir, i, &db[i], &e);
	if (rc < 0)
		complain(w, "the publisher", &e);
	while (rc == HK_OK && !atomic_load(&c->stop)) {
		size_t n = 0;

		for (enum service_id i = 0; i < SERVICES; i++) {
			int went = db[i] ? carry(w, db[i], &n, &e) : HK_OK;

			if (went < 0 && went != HK_STOPPED)
				complain(w, "the publisher", &e);
		}
		if (n == 0)
			pause_ms(PAUSE_MS);
		else
			w->failing = false;
	}
	for (enum service_id i = 0; i < SERVICES; i++)
		(void)sqlite3_close(db[i]);
	return NULL;
}

static int
start_publisher(struct company *c, struct hk_error *e)
{
	struct worker *w = &c->publisher;
	int rc = open_client(&c->o, &c->stop, &w->client, e);

	w->company = c;
	if (rc == HK_OK)
		w->runs = pthread_create(&w->thread, NULL, publish, w) == 0;
	return w->runs || rc < 0
		   ? rc
		   : hk_fail(e, HK_FULL, "no thread for the publisher");
}

/* All of it ----------------------------------------------------------------- */

int
company_make(
    const char *dir, char ret_tenant[HK_ID_LEN + 1], struct hk_error *e)
{
	sqlite3 *db = NULL;
	char *tenant = NULL;
	int rc = HK_OK;

	/* Core's comes first, and makes the tenant up. */
	for (enum service_id i = 0; rc == HK_OK && i < SERVICES; i++) {
		rc = service_open(dir, i, &db, e);
		if (rc == HK_OK)
			rc = service_make(db, i, tenant, e);
		if (rc == HK_OK && i == CORE)
			rc = db_text(db, CRM_COMMON, "keep",
			    ARGS(ARG_TEXT("name", "tenant"),
				ARG_TEXT("value", NULL)),
			    &tenant, e);
		if (rc == HK_OK && i == CORE)
			rc = db_call(db, CRM_COMMON, "keep",
			    ARGS(ARG_TEXT("name", "campaign"),
				ARG_TEXT("value", NULL)),
			    e);
		(void)sqlite3_close(db);
		db = NULL;
	}
	if (rc == HK_OK)
		(void)snprintf(ret_tenant, HK_ID_LEN + 1, "%s", tenant);
	free(tenant);
	return rc;
}

int
company_start(
    const struct company_opts *o, struct company **ret, struct hk_error *e)
{
	struct company *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return hk_fail(e, HK_NOMEM, "no memory for the company");
	c->o = *o;
	rc = define_consumers(o, e);
	if (rc == HK_OK)
		rc = reads_start(o->dir, &c->reads, e);
	for (enum service_id i = 0; rc == HK_OK && i < CONSUMERS; i++)
		rc = start_consumer(c, i, e);
	if (rc == HK_OK)
		rc = start_publisher(c, e);
	if (rc < 0)
		company_stop(c);
	else
		*ret = c;
	return rc;
}

static void
end_worker(struct worker *w)
{
	if (w->runs)
		(void)pthread_join(w->thread, NULL);
	hk_consumer_close(w->consumer);
	hk_client_free(w->client);
	taker_close(&w->taker);
	asker_free(w->asker);
}

void
company_stop(struct company *c)
{
	if (!c)
		return;
	atomic_store(&c->stop, true);
	for (enum service_id i = 0; i < CONSUMERS; i++)
		end_worker(&c->workers[i]);
	end_worker(&c->publisher);
	reads_stop(c->reads);
	free(c);
}

int
company_port(const struct company *c)
{
	return reads_port(c->reads);
}
