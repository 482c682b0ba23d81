#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "ops/reseal.h"
#include "ops/sealing.h"
#include "store/store.h"

#define LOOK_MS 200 /* between looks at a server's progress */

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory");
}

static int64_t
number(const struct json *j, const char *name)
{
	int64_t n = 0;

	return json_int(json_get(j, name), &n) ? n : 0;
}

/* The state, from the server or from the store itself. */
static int
look(struct cli *c, struct reach *x, const struct reseal_state *s,
    struct str *ret_text, struct json **ret, struct err *e)
{
	struct buf b = BUF(64 * KIB);
	struct str text = STR_EMPTY;
	int rc;

	if (x->client) {
		rc = reach_ask(x, c, "GET", "/v1/seal", STR_EMPTY, &text, e);
	} else {
		rc = reseal_show(x->db, x->keyring, &c->conf, s, &b, e);
		if (rc == OK)
			text = b.failed ? (struct str){NULL, 0}
					: arena_dup(c->arena, buf_str(&b));
		if (rc == OK && !text.p)
			rc = no_room(e);
	}
	buf_done(&b);
	if (rc == OK)
		rc = json_parse(c->arena, text, ret, e);
	if (rc == OK)
		*ret_text = text;
	return rc;
}

/* The log keeps what it has: a key of it stays until retention is through. */
static void
tell_log(struct cli *c, struct str id, const struct json *log, const char *what)
{
	struct str first = listing_text(log, "firstAt");
	struct str last = listing_text(log, "lastAt");

	(void)fprintf(c->err,
	    "the key %.*s %s: it sealed events from seq %lld on, %.*s to %.*s, which are not sealed anew; it can go when event.retention.days has taken them\n",
	    STR_ARG(id), what, (long long)number(log, "firstSeq"),
	    STR_ARG(first), STR_ARG(last));
}

/* What a person should do now, if anything. */
static void
advise(struct cli *c, const struct json *state)
{
	const struct json *keys = json_get(state, "keys");
	const struct json *k = keys ? keys->child : NULL;

	for (; k; k = k->next) {
		struct str id = listing_text(k, "id");
		const struct json *log = json_get(k, "log");

		if (json_is(json_get(k, "active"), JSON_TRUE))
			continue;
		if (number(k, "values") > 0)
			(void)fprintf(c->err,
			    "the key %.*s is still needed: hikyaku seal rotate moves its values on\n",
			    STR_ARG(id));
		else if (json_is(log, JSON_OBJECT))
			tell_log(c, id, log, "is needed by the log");
		else
			(void)fprintf(c->err,
			    "the key %.*s can go, unless a backup needs it\n",
			    STR_ARG(id));
	}
	keys = json_get(state, "logMissing");
	for (k = keys ? keys->child : NULL; k; k = k->next)
		tell_log(c, listing_text(k, "id"), json_get(k, "log"),
		    "is not there, but the log needs it");
	if (number(state, "missing") > 0)
		(void)fprintf(c->err,
		    "%lld values were sealed with a key that is not there, or are broken\n",
		    (long long)number(state, "missing"));
}

static int
show(struct cli *c, const struct json *state, struct err *e)
{
	static const char *const heads[] = {"KEY", "USE", "VALUES", "EVENTS"};
	const struct json *keys = json_get(state, "keys");
	struct table *t = table_new(c->arena, heads, COUNT_OF(heads));
	bool ok = t != NULL;

	for (const struct json *k = keys ? keys->child : NULL; ok && k;
	     k = k->next)
		ok = table_add(t, listing_text(k, "id")) &&
		     table_add(t, json_is(json_get(k, "active"), JSON_TRUE)
				      ? STR("seals")
				      : STR("unseals")) &&
		     table_add(t, json_get(k, "values")->raw) &&
		     table_add(
			 t, json_is(json_get(k, "log"), JSON_OBJECT)
				? listing_text(json_get(k, "log"), "firstAt")
				: STR("-"));
	if (!ok)
		return no_room(e);
	table_print(t, c->out);
	return OK;
}

int
verb_seal_status(struct cli *c)
{
	struct reseal_state none = {0};
	struct reach x = {.lock = -1};
	struct str text;
	struct json *state = NULL;
	struct err e;
	int rc = reach_open(c, &x, &e);

	if (rc == OK && x.db)
		rc = reach_keyring(&x, c, &e);
	if (rc == OK)
		rc = look(c, &x, &none, &text, &state, &e);
	reach_close(&x);
	if (rc == OK && args_flag(&c->args, "json"))
		(void)fprintf(c->out, "%.*s\n", STR_ARG(text));
	else if (rc == OK)
		rc = show(c, state, &e);
	if (rc < 0)
		return cli_fail(c, &e);
	if (!args_flag(&c->args, "json"))
		advise(c, state);
	return EXIT_OK;
}

static void
progress(struct cli *c, int64_t seen, int64_t changed, bool last)
{
	bool terminal = isatty(fileno(c->err));

	if (!last && !terminal)
		return;
	(void)fprintf(c->err, "%s%lld values looked at, %lld sealed anew%s",
	    terminal ? "\r" : "", (long long)seen, (long long)changed,
	    last ? "\n" : "");
	(void)fflush(c->err);
}

/* Asks the server to, and waits until it has. */
static int
rotate_there(
    struct cli *c, struct reach *x, struct json **ret_state, struct err *e)
{
	struct arena *verb = c->arena;
	struct str text;
	struct json *j = NULL;
	bool running = true;
	int rc =
	    reach_ask(x, c, "POST", "/v1/seal/rotate", STR_EMPTY, &text, e);

	while (rc == OK && running) {
		/* Looks may be many: each has an arena of its own. */
		c->arena = arena_new(4 * MIB);
		rc = c->arena ? look(c, x, NULL, &text, &j, e) : no_room(e);
		running =
		    rc == OK && json_is(json_get(j, "running"), JSON_TRUE);
		if (rc == OK)
			progress(c, number(j, "seen"), number(j, "changed"),
			    !running);
		if (rc == OK && json_is(json_get(j, "failed"), JSON_TRUE))
			rc = err_set(e, ERR_IO,
			    "the server broke it off: its log says why; run this again to go on");
		arena_free(c->arena);
		c->arena = verb;
		if (running)
			(void)nanosleep(
			    &(struct timespec){.tv_nsec = LOOK_MS * 1000000L},
			    NULL);
	}
	return rc < 0 ? rc : look(c, x, NULL, &text, ret_state, e);
}

struct rotation {
	struct reach *x;
	const struct conf *conf;
	struct arena *arena;
	struct reseal at, next;
	bool made;
};

static int
begin(struct db *db, void *ctx, struct err *e)
{
	struct rotation *r = ctx;

	return sealing_rotate(
	    db, r->x->keyring, r->arena, STR("local"), &r->made, e);
}

static int
step(struct db *db, void *ctx, struct err *e)
{
	struct rotation *r = ctx;

	r->next = r->at;
	return reseal_step(db, r->x->keyring, r->conf, &r->next, e);
}

static int
rotate_here(
    struct cli *c, struct reach *x, struct json **ret_state, struct err *e)
{
	struct rotation r = {.x = x, .conf = &c->conf, .arena = c->arena};
	struct reseal_state none = {0};
	struct str text;
	int rc = reach_keyring(x, c, e);

	if (rc == OK)
		rc = db_tx(x->db, begin, &r, e);
	while (rc == OK && !r.at.done) {
		rc = db_tx(x->db, step, &r, e);
		if (rc == OK) {
			r.at = r.next;
			progress(c, r.at.seen, r.at.changed, r.at.done);
		}
	}
	return rc < 0 ? rc : look(c, x, &none, &text, ret_state, e);
}

int
verb_seal_rotate(struct cli *c)
{
	struct reach x = {.lock = -1};
	struct json *state = NULL;
	struct err e;
	int rc = reach_open(c, &x, &e);

	if (rc == OK)
		rc = x.client ? rotate_there(c, &x, &state, &e)
			      : rotate_here(c, &x, &state, &e);
	reach_close(&x);
	if (rc < 0)
		return cli_fail(c, &e);
	(void)fprintf(c->out, "%.*s\n", STR_ARG(listing_text(state, "active")));
	advise(c, state);
	return EXIT_OK;
}
