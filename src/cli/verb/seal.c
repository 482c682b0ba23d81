#include <unistd.h>

#include "cli/out/listing.h"
#include "cli/verbs.h"
#include "ops/reseal.h"
#include "ops/sealing.h"
#include "store/store.h"

#define LOOK_MS 200 /* between looks at a server's progress */

/* The state, from the server or from the store itself. */
static int
seal_look(struct cli *c, struct arena *a, struct str *ret_text,
    struct json **ret, struct err *e)
{
	const struct reseal_state none = {0};
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);

	if (c->reach.client) {
		TRY(reach_ask(
		    c, a, "GET", STR("/v1/seal"), STR_EMPTY, ret_text, e));
	} else {
		TRY(reach_keyring(c, e));
		TRY(reseal_show(
		    c->reach.db, c->reach.keyring, &c->conf, &none, &b, e));
		*ret_text = arena_dup(a, buf_str(&b));
	}
	return json_parse(a, *ret_text, ret, e);
}

/* The log keeps what it has: a key of it stays until retention is through. */
static void
tell_log(struct cli *c, struct str id, const struct json *log, const char *what)
{
	struct str first = json_text(log, "firstAt");
	struct str last = json_text(log, "lastAt");

	(void)fprintf(c->err,
	    "the key %.*s %s: it sealed events from seq %lld on, %.*s to %.*s, which are not sealed anew; it can go when event.retention.days has taken them\n",
	    STR_ARG(id), what, json_number(log, "firstSeq"), STR_ARG(first),
	    STR_ARG(last));
}

/* What a person should do now, if anything. */
static void
advise(struct cli *c, const struct json *state)
{
	const struct json *k = json_first(state, "keys");

	for (; k; k = k->next) {
		struct str id = json_text(k, "id");
		const struct json *log = json_get(k, "log");

		if (json_true(k, "active"))
			continue;
		if (json_number(k, "values") > 0)
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
	for (k = json_first(state, "logMissing"); k; k = k->next)
		tell_log(c, json_text(k, "id"), json_get(k, "log"),
		    "is not there, but the log needs it");
	if (json_number(state, "missing") > 0)
		(void)fprintf(c->err,
		    "%lld values were sealed with a key that is not there, or are broken\n",
		    json_number(state, "missing"));
}

static struct str
use(const struct json *k)
{
	return json_true(k, "active") ? STR("seals") : STR("unseals");
}

static const struct column COLUMNS[] = {
    {"KEY", .at = "/id"},
    {"USE", .cell = use},
    {"VALUES", .at = "/values"},
    {"EVENTS", .at = "/log/firstAt"},
    {.head = NULL},
};

int
verb_seal_status(struct cli *c, struct err *e)
{
	struct str text = STR_EMPTY;
	struct json *state = NULL;

	TRY(reach_open(c, e));
	TRY(seal_look(c, c->arena, &text, &state, e));
	if (args_flag(&c->args, "json")) {
		(void)fprintf(c->out, "%.*s\n", STR_ARG(text));
		return OK;
	}
	listing_print(c, COLUMNS, json_first(state, "keys"));
	advise(c, state);
	return OK;
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
rotate_there(struct cli *c, struct err *e)
{
	/* Looks may be many: they have an arena of their own. */
	struct arena *a CLEANUP(arena_freep) = arena_new(4 * MIB);
	struct str text;
	bool running = true;

	TRY(reach_ask(
	    c, a, "POST", STR("/v1/seal/rotate"), STR_EMPTY, NULL, e));
	while (running) {
		struct json *j = NULL;

		arena_reset(a);
		TRY(seal_look(c, a, &text, &j, e));
		running = json_true(j, "running");
		progress(c, json_number(j, "seen"), json_number(j, "changed"),
		    !running);
		if (json_true(j, "failed"))
			return err_set(e, ERR_IO,
			    "the server broke it off: its log says why; run this again to go on");
		if (running)
			clock_sleep_us(LOOK_MS * 1000);
	}
	return OK;
}

struct rotation {
	struct cli *cli;
	struct reseal at, next;
	bool made;
};

static int
seal_begin(struct db *db, void *ctx, struct err *e)
{
	struct rotation *r = ctx;

	return sealing_rotate(db, r->cli->reach.keyring, r->cli->arena,
	    STR("local"), &r->made, e);
}

static int
step(struct db *db, void *ctx, struct err *e)
{
	struct rotation *r = ctx;

	r->next = r->at;
	return reseal_step(
	    db, r->cli->reach.keyring, &r->cli->conf, &r->next, e);
}

static int
rotate_here(struct cli *c, struct err *e)
{
	struct rotation r = {.cli = c};

	TRY(reach_keyring(c, e));
	TRY(db_tx(c->reach.db, seal_begin, &r, e));
	while (!r.at.done) {
		TRY(db_tx(c->reach.db, step, &r, e));
		r.at = r.next;
		progress(c, r.at.seen, r.at.changed, r.at.done);
	}
	return OK;
}

int
verb_seal_rotate(struct cli *c, struct err *e)
{
	struct json *state = NULL;
	struct str text;

	TRY(reach_open(c, e));
	TRY(c->reach.client ? rotate_there(c, e) : rotate_here(c, e));
	TRY(seal_look(c, c->arena, &text, &state, e));
	(void)fprintf(c->out, "%.*s\n", STR_ARG(json_text(state, "active")));
	advise(c, state);
	return OK;
}
