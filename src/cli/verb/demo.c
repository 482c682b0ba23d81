#include <signal.h>
#include <stdatomic.h>

#include "cli/out/listing.h"
#include "cli/receiver.h"
#include "cli/verbs.h"
#include "contract/limits.h"
#include "contract/receive.h"

/*
 * `hikyaku demo`: what the program does, shown with a server that runs. Two
 * subscriptions point to a receiver of the verb's own; events of the catalog
 * are published, and each arrival is told with whether its signature holds.
 * One endpoint is down at first, so that retries are seen. In the end the
 * subscriptions are switched off, since their receiver ends with the verb.
 *
 * The receiver's thread owns `seen`; what both threads count is atomic.
 */

#define ROUND_EVENTS 3 /* of each round; one is for the endpoint that fails */
#define DOWN_FIRST   3 /* requests that it refuses: below the breaker's 5 */
#define WAIT_S       30
#define SEEN_MAX     4096

enum endpoint { STEADY, RECOVERS, ENDPOINTS };

static const struct {
	const char *name, *path, *types, *about;
} SUBS[ENDPOINTS] = {
    [STEADY] = {"demo-steady", "/steady",
	"\"RecordCreated\",\"RecordUpdated\",\"StageChanged\"",
	"takes everything"},
    [RECOVERS] = {"demo-recovers", "/recovers", "\"RecordCreated\"",
	"is down at first"},
};

/* All of them, page by page. */
static const struct column COLUMNS[] = {{.head = NULL}};
static const struct listing SUBSCRIPTIONS = {
    .path = "/v1/subscriptions", .columns = COLUMNS};

struct demo {
	struct cli *cli;
	struct receiver *receiver;
	struct presets *presets;
	const struct preset *preset;
	struct str ids[ENDPOINTS], secrets[ENDPOINTS];
	sigset_t stop;
	bool stopped;
	int64_t published, rounds;
	/* the receiver's thread's */
	struct map *seen; /* "path id" that were taken, or refused */
	struct arena *words;
	/* both */
	_Atomic int taken, refused, wrong;
	_Atomic bool ready; /* the secrets are there */
};

static void
demo_tell(struct demo *d, const char *what, struct str type, struct str key,
    struct str rest)
{
	char now[TIME_LEN + 1];

	time_format(clock_now_us(), now);
	(void)fprintf(d->cli->out, "%.8s  %-10s %-14.*s %-8.*s %.*s\n",
	    now + 11, what, STR_ARG(type), STR_ARG(key), STR_ARG(rest));
	(void)fflush(d->cli->out);
}

/* Arrivals ------------------------------------------------------------------ */

static const char *
judge(struct demo *d, enum endpoint at, const struct received *r)
{
	enum receive_result result = RECEIVE_WRONG;
	struct err e;

	if (receive_verify(d->preset, &d->secrets[at], 1, r,
		(struct receive_time){clock_now_us(), RECEIVE_TOLERANCE_S},
		&result, &e) == OK &&
	    result == RECEIVE_OK)
		return "verified";
	(void)atomic_fetch_add(&d->wrong, 1);
	return "NOT VERIFIED";
}

/* Whether this event was refused or taken there before; now it was. */
static bool
seen_before(struct demo *d, struct str word)
{
	if (map_find(d->seen, word))
		return true;
	if (map_count(d->seen) < SEEN_MAX)
		map_set(d->seen, arena_dup(d->words, word), d);
	else
		(void)atomic_fetch_add(&d->wrong, 1);
	return false;
}

static unsigned
demo_take(void *arg, const char *, const char *path, const struct received *r,
    struct arena *a)
{
	struct demo *d = arg;
	enum endpoint at =
	    strcmp(path, SUBS[RECOVERS].path) == 0 ? RECOVERS : STEADY;
	struct json *j = NULL;
	struct err e;
	struct str type, key, id, rest;
	bool down, again;

	if (!atomic_load(&d->ready))
		return 503;
	if (json_parse(a, r->body, &j, &e) < 0)
		return 400;
	type = json_text(j, "eventType");
	key = json_text(j, "deal");
	id = json_text(j, "eventId");
	down = at == RECOVERS && atomic_load(&d->refused) < DOWN_FIRST;
	again = seen_before(d, arena_fmt(a, "%s %.*s", path, STR_ARG(id)));
	rest = arena_fmt(a, "-> %-10s %s, answered %s%s", path, judge(d, at, r),
	    down ? "503: it is down" : "200",
	    again && !down ? ": tried again, and it is back" : "");
	demo_tell(d, down ? "refused" : "delivered", type, key, rest);
	if (down)
		(void)atomic_fetch_add(&d->refused, 1);
	else if (!seen_before(d, arena_fmt(a, "ok %s %.*s", path, STR_ARG(id))))
		(void)atomic_fetch_add(&d->taken, 1);
	return down ? 503 : 200;
}

/* Asking the server --------------------------------------------------------- */

static int
demo_ask(struct demo *d, const char *method, const char *path, struct str body,
    struct json **ret, struct err *e)
{
	return reach_json(
	    d->cli, d->cli->arena, method, str_of(path), body, ret, e);
}

/*
 * On a store that is in use: what an earlier demo left goes, and nobody else is
 * sent our events unless that was asked for.
 */
static int
make_room(struct demo *d, struct err *e)
{
	struct arena *a = d->cli->arena;
	struct json *s = NULL, *gone;

	TRY(listing_read(d->cli, &SUBSCRIPTIONS, &s, e));
	for (; s; s = s->next) {
		struct str name = json_text(s, "name"), id = json_text(s, "id");
		bool ours = str_eq(name, str_of(SUBS[STEADY].name)) ||
			    str_eq(name, str_of(SUBS[RECOVERS].name));

		if (ours)
			TRY(demo_ask(d, "DELETE",
			    arena_fmt(a, "/v1/subscriptions/%.*s", STR_ARG(id))
				.p,
			    STR_EMPTY, &gone, e));
		else if (json_true(s, "enabled") &&
			 !args_flag(&d->cli->args, "force"))
			return err_set(e, ERR_CONFLICT,
			    "the subscription %.*s might get the demo's events: disable it, or say --force",
			    STR_ARG(str_chars(name, 80)));
	}
	return OK;
}

static int
subscribe(struct demo *d, enum endpoint at, struct err *e)
{
	struct json *j = NULL;
	struct err why = {0};
	struct str body = arena_fmt(d->cli->arena,
	    "{\"name\":\"%s\",\"url\":\"http://127.0.0.1:%u%s\",\"types\":[%s],\"order\":\"key\","
	    "\"retry\":{\"delaysMs\":[1000,1000,2000,2000],\"jitterMs\":0}}",
	    SUBS[at].name, receiver_port(d->receiver), SUBS[at].path,
	    SUBS[at].types);
	int rc = demo_ask(d, "POST", "/v1/subscriptions", body, &j, &why);

	if (rc < 0 && strstr(why.text, "webhook.url."))
		return err_set(e, ERR_INVALID,
		    "the server sends nothing to this machine, where the demo's receiver is: start it with HIKYAKU_WEBHOOK_URL_ALLOW_PRIVATE=127.0.0.0/8 in its environment, or webhook.url.allow.private = 127.0.0.0/8 in its settings (./dev run does so)");
	if (rc < 0) {
		*e = why;
		return rc;
	}
	d->ids[at] = json_text(j, "id");
	d->secrets[at] = json_text(j, "secret");
	(void)fprintf(d->cli->out,
	    "made subscription %-13s to http://127.0.0.1:%u%-10s which %s\n",
	    SUBS[at].name, receiver_port(d->receiver), SUBS[at].path,
	    SUBS[at].about);
	return OK;
}

static int
make_key(struct demo *d, struct err *e)
{
	struct json *j = NULL;

	TRY(demo_ask(d, "POST", "/v1/keys",
	    STR("{\"name\":\"demo\",\"scopes\":[\"publish\",\"read\",\"consume\"]}"),
	    &j, e));
	(void)fprintf(d->cli->out, "made API key      %-13s %.*s\n\n", "demo",
	    STR_ARG(json_text(j, "key")));
	return OK;
}

/* Publishing ---------------------------------------------------------------- */

struct deal {
	struct str name;
	const char *tenant;
	char id[UUID_LEN + 1];
};

static void
add_event(
    struct buf *b, const char *type, const struct deal *of, const char *payload)
{
	buf_fmt(b,
	    "%s{\"eventType\":\"%s\",\"schemaVersion\":1,\"tenantId\":\"%s\","
	    "\"producer\":{\"service\":\"core\",\"instanceId\":\"demo\"},"
	    "\"deal\":\"%.*s\","
	    "\"sequence\":{\"partitionKey\":\"Opportunity:%s:%s\"},\"payload\":{%s}}",
	    b->n > 1 ? "," : "", type, of->tenant, STR_ARG(of->name),
	    of->tenant, of->id, payload);
}

/* A deal is made, changed and won. */
static void
add_round(struct demo *d, struct buf *b, struct str name, const char *tenant)
{
	struct deal deal = {.name = name, .tenant = tenant};
	struct arena *a = d->cli->arena;
	char now[TIME_LEN + 1], owner[UUID_LEN + 1];
	const char *rec, *payload;

	time_format(clock_now_us(), now);
	uuid_format(uuid_v4(), deal.id);
	uuid_format(uuid_v4(), owner);
	rec = arena_fmt(a,
	    "\"objectName\":\"Opportunity\",\"recordId\":\"%s\",\"ownerId\":\"%s\",\"recordVersion\":\"%s\"",
	    deal.id, owner, now)
		  .p;
	payload = arena_fmt(a,
	    "%s,\"fields\":{\"Name\":\"%.*s\"},\"changedFields\":[\"Name\"]",
	    rec, STR_ARG(name))
		      .p;
	buf_addc(b, '[');
	add_event(b, "RecordCreated", &deal, payload);
	payload = arena_fmt(a, "%s,\"changedFields\":[\"StageName\"]", rec).p;
	add_event(b, "RecordUpdated", &deal, payload);
	payload = arena_fmt(a,
	    "\"opportunityId\":\"%s\",\"accountId\":\"%s\",\"oldStageName\":\"Offer\",\"newStageName\":\"Won\",\"oldIsClosed\":false,\"newIsClosed\":true,\"oldIsWon\":false,\"newIsWon\":true,\"closeDate\":\"%.10s\",\"recordVersion\":\"%s\"",
	    deal.id, owner, now, now)
		      .p;
	add_event(b, "StageChanged", &deal, payload);
	buf_addc(b, ']');
}

static int
publish_round(struct demo *d, const char *tenant, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);
	struct str deal =
	    arena_fmt(d->cli->arena, "deal-%lld", (long long)++d->rounds);
	struct json *j = NULL;
	size_t good = 0;

	add_round(d, &b, deal, tenant);
	/* Before the answer: the first deliveries may be earlier than that. */
	demo_tell(d, "publish", STR("3 events"), deal,
	    STR("RecordCreated, RecordUpdated, StageChanged"));
	TRY(demo_ask(d, "POST", "/v1/events", buf_str(&b), &j, e));
	for (j = json_first(j, "results"); j; j = j->next)
		good += json_get(j, "seq") != NULL;
	d->published += (int64_t)good;
	if (good != ROUND_EVENTS)
		return err_set(e, ERR_IO,
		    "the server took %zu of %d events of the demo", good,
		    ROUND_EVENTS);
	return OK;
}

/* The story ----------------------------------------------------------------- */

/* False when somebody wants us to end. */
static bool
pause_ms(struct demo *d, int64_t ms)
{
	struct timespec t = {
	    .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

	d->stopped = d->stopped || sigtimedwait(&d->stop, NULL, &t) > 0;
	return !d->stopped;
}

static int
play(struct demo *d, struct err *e)
{
	int64_t rounds = args_int(&d->cli->args, "seconds", 5), wanted;
	int64_t until;
	char tenant[UUID_LEN + 1];

	uuid_format(uuid_v4(), tenant);
	while (d->rounds < rounds && !d->stopped) {
		TRY(publish_round(d, tenant, e));
		(void)pause_ms(d, 1000);
	}
	wanted = d->published + d->rounds;
	until = clock_mono_ms() + WAIT_S * 1000;
	while (atomic_load(&d->taken) < wanted && clock_mono_ms() < until &&
	       pause_ms(d, 50))
		;
	if (d->stopped)
		return OK;
	if (atomic_load(&d->taken) < wanted)
		return err_set(e, ERR_IO,
		    "%d of %lld deliveries came within %d s: the server's log says more (is webhook.enabled true?)",
		    atomic_load(&d->taken), (long long)wanted, WAIT_S);
	if (atomic_load(&d->wrong) > 0)
		return err_set(e, ERR_INVALID,
		    "%d deliveries were not verified", atomic_load(&d->wrong));
	(void)fprintf(d->cli->out,
	    "\n%lld events published, %lld deliveries verified. %s refused %d at first; all of them were sent again.\n",
	    (long long)d->published, (long long)wanted, SUBS[RECOVERS].path,
	    atomic_load(&d->refused));
	return OK;
}

/* Their receiver ends with us: nothing more is to be sent there. */
static void
switch_off(struct demo *d)
{
	struct json *j = NULL;
	struct err e;
	int off = 0;

	for (int i = 0; i < ENDPOINTS; i++)
		if (d->ids[i].n > 0)
			off += demo_ask(d, "POST",
				   arena_fmt(d->cli->arena,
				       "/v1/subscriptions/%.*s/disable",
				       STR_ARG(d->ids[i]))
				       .p,
				   STR("{}"), &j, &e) == OK;
	if (off > 0)
		(void)fprintf(d->cli->out,
		    "The %d subscriptions are switched off: their receiver ends now.\n",
		    off);
}

static void
tell_where(struct demo *d)
{
	const struct conf *c = &d->cli->conf;
	struct str url = str_of(c->base_url);
	const char *scheme = c->tls_cert[0] ? "https" : "http";

	if (url.n == 0 && c->server_listen[0])
		url = arena_fmt(
		    d->cli->arena, "%s://%s", scheme, c->server_listen);
	else if (url.n == 0)
		url = arena_fmt(d->cli->arena, "%s://127.0.0.1:%lld", scheme,
		    (long long)c->server_port);
	(void)fprintf(d->cli->out,
	    "the server is     %.*s, by these settings; its data in %s\n"
	    "our receiver is   http://127.0.0.1:%u\n",
	    STR_ARG(url), c->data, receiver_port(d->receiver));
}

static int
demo_prepare(struct demo *d, struct err *e)
{
	struct receiver_opts o = {.take = demo_take, .arg = d};
	int rc = reach_open(d->cli, e);

	if (rc == ERR_ABSENT || (rc == OK && !d->cli->reach.client))
		return err_set(e, ERR_ABSENT,
		    "no server runs on %s: start one with ./dev run, or with HIKYAKU_WEBHOOK_URL_ALLOW_PRIVATE=127.0.0.0/8 hikyaku serve, and run this beside it",
		    d->cli->conf.data);
	TRY(rc);
	TRY(make_room(d, e));
	d->presets = presets_load(&d->cli->conf);
	d->preset = presets_find(d->presets, STR("standard"));
	TRY(receiver_start(&o, &d->receiver, e));
	tell_where(d);
	for (int i = 0; i < ENDPOINTS; i++)
		TRY(subscribe(d, (enum endpoint)i, e));
	TRY(make_key(d, e));
	atomic_store(&d->ready, true);
	return OK;
}

int
verb_demo(struct cli *c, struct err *e)
{
	struct demo d = {
	    .cli = c, .seen = map_new(SEEN_MAX), .words = arena_new(4 * MIB)};
	int rc;

	cli_signals(&d.stop);
	rc = demo_prepare(&d, e);
	if (rc == OK)
		rc = play(&d, e);
	switch_off(&d);
	receiver_stop(d.receiver);
	presets_free(d.presets);
	map_free(d.seen);
	arena_free(d.words);
	if (rc == OK)
		(void)fprintf(c->out,
		    "Look at what is there: hikyaku event tail --from-start\n");
	return rc;
}
