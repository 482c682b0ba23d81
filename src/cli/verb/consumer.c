#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/listing.h"
#include "cli/verbs.h"

/*
 * Pull consumers, for looking at them and for shell scripts: `next` prints
 * events, one a line, `ack` and `nack` answer for them. The engine hands events
 * out, so a server must run.
 */

static int
nobody(struct db *db, struct arena *a, struct buf *b, struct err *e)
{
	(void)db;
	(void)a;
	(void)b;
	return err_set(e, ERR_AWAY,
	    "no server runs on this data folder: start hikyaku serve first");
}

/* Asks for /v1/consumers/NAME + rest, after a look at the name. */
static int
ask(struct cli *c, const char *method, const char *rest, struct str body,
    struct str *ret, struct err *e)
{
	const char *name = c->args.operands[0];
	struct reach x = {.lock = -1};
	struct str path;
	int rc;

	for (const char *p = name; *p; p++) {
		char low = (char)(*p | 0x20);

		if ((low < 'a' || low > 'z') && (*p < '0' || *p > '9') &&
		    !str_has(STR("._-"), *p))
			return err_set(e, ERR_INVALID,
			    "%.64s is no consumer's name; `hikyaku consumer list` shows them",
			    name);
	}
	rc = reach_open(c, &x, e);
	if (rc == OK && !x.client)
		rc = nobody(NULL, NULL, NULL, e);
	path = arena_fmt(c->arena, "/v1/consumers/%s%s", name, rest);
	if (rc == OK && !path.p)
		rc = err_set(e, ERR_NOMEM, "no memory");
	if (rc == OK)
		rc = reach_ask(
		    &x, c, method, arena_z(c->arena, path), body, ret, e);
	reach_close(&x);
	return rc;
}

/* Looking ------------------------------------------------------------------ */

static struct str
raw(const struct json *j, const char *name)
{
	const struct json *v = json_get(j, name);

	return json_is(v, JSON_NUMBER) ? v->raw : STR("-");
}

static bool
row(struct table *t, struct arena *a, const struct json *x)
{
	const struct json *lag = json_get(x, "lag");

	(void)a;
	return table_add(t, listing_text(x, "name")) &&
	       table_add(t, raw(lag, "events")) &&
	       table_add(t, raw(lag, "oldestSeconds")) &&
	       table_add(t, raw(x, "dead")) &&
	       table_add(t, raw(x, "ackWaitSeconds")) &&
	       table_add(t, listing_text(x, "order"));
}

int
verb_consumer_list(struct cli *c)
{
	static const char *const heads[] = {
	    "NAME", "LAG", "OLDEST (S)", "DEAD", "ACK WAIT (S)", "ORDER"};
	struct listing l = {
	    .path = "/v1/consumers",
	    .all = nobody,
	    .heads = heads,
	    .columns = COUNT_OF(heads),
	    .row = row,
	};

	return listing_show(c, &l);
}

int
verb_consumer_show(struct cli *c)
{
	struct str answer = STR_EMPTY;
	struct err e;

	if (ask(c, "GET", "", STR_EMPTY, &answer, &e) < 0)
		return cli_fail(c, &e);
	(void)fprintf(c->out, "%.*s\n", STR_ARG(answer));
	return EXIT_OK;
}

/* Making and ending -------------------------------------------------------- */

static void
add_text(struct cli *c, struct buf *b, const char *name, const char *opt)
{
	const char *text = args_text(&c->args, opt);

	if (!text)
		return;
	buf_fmt(b, "%s\"%s\":", b->n > 1 ? "," : "", name);
	buf_json(b, str_of(text));
}

static void
add_types(struct cli *c, struct buf *b)
{
	struct str list = str_of(args_text(&c->args, "types"));
	size_t n = 0;

	if (list.n == 0)
		return;
	buf_addz(b, b->n > 1 ? ",\"types\":[" : "\"types\":[");
	while (list.n > 0) {
		struct str one = str_trim(str_cut(&list, ','));

		if (n++)
			buf_addc(b, ',');
		buf_json(b, one);
	}
	buf_addc(b, ']');
}

int
verb_consumer_put(struct cli *c)
{
	int64_t wait_s = args_int(&c->args, "ack-wait", 0);
	struct buf b = BUF(64 * KIB);
	struct str answer = STR_EMPTY;
	struct err e;
	int rc;

	buf_addc(&b, '{');
	add_types(c, &b);
	add_text(c, &b, "filter", "filter");
	add_text(c, &b, "order", "order");
	add_text(c, &b, "from", "from");
	if (wait_s > 0)
		buf_fmt(&b, "%s\"ackWaitSeconds\":%lld", b.n > 1 ? "," : "",
		    (long long)wait_s);
	buf_addc(&b, '}');
	rc = b.failed ? err_set(&e, ERR_LIMIT, "this is too long")
		      : ask(c, "PUT", "", buf_str(&b), &answer, &e);
	buf_done(&b);
	if (rc < 0)
		return cli_fail(c, &e);
	(void)fprintf(c->out, "%.*s\n", STR_ARG(answer));
	return EXIT_OK;
}

int
verb_consumer_delete(struct cli *c)
{
	struct str answer = STR_EMPTY;
	struct err e;

	if (ask(c, "DELETE", "", STR_EMPTY, &answer, &e) < 0)
		return cli_fail(c, &e);
	(void)fprintf(c->out, "%s is gone\n", c->args.operands[0]);
	return EXIT_OK;
}

/* Working ------------------------------------------------------------------ */

/* False: some cursors were not taken. `dead` is what a nack may come to. */
static bool
told(struct cli *c, struct str answer, const char *want, struct err *e)
{
	struct json *j = NULL;
	const struct json *results;
	bool nack = str_eq(str_of(want), STR("retry"));
	size_t bad = 0;

	if (json_parse(c->arena, answer, &j, e) < 0)
		return false;
	results = json_get(j, "results");
	for (const struct json *x = results ? results->child : NULL; x;
	     x = x->next) {
		struct str status = listing_text(x, "status");
		struct str cursor = listing_text(x, "cursor");

		if (str_eq(status, str_of(want)) ||
		    str_eq(status, STR("done")) ||
		    (nack && str_eq(status, STR("dead"))))
			continue;
		if (bad++ == 0)
			(void)err_set(e, ERR_CONFLICT, "%.*s is %.*s",
			    cursor.n < 64 ? (int)cursor.n : 64, cursor.p,
			    STR_ARG(status));
		else
			(void)err_set(e, ERR_CONFLICT,
			    "%zu cursors are expired, dead or invalid", bad);
	}
	return bad == 0;
}

static int
next_ack(struct cli *c, const struct json *data, struct err *e)
{
	struct buf b = BUF(1 * MIB);
	struct str answer = STR_EMPTY;
	size_t n = 0;
	int rc = OK;

	buf_addz(&b, "{\"cursors\":[");
	for (const struct json *x = data->child; x; x = x->next) {
		if (n++)
			buf_addc(&b, ',');
		buf_json(&b, listing_text(x, "cursor"));
	}
	buf_addz(&b, "]}");
	if (n > 0)
		rc = ask(c, "POST", "/ack", buf_str(&b), &answer, e);
	buf_done(&b);
	if (rc == OK && n > 0 && !told(c, answer, "acked", e))
		rc = e->code;
	return rc;
}

int
verb_consumer_next(struct cli *c)
{
	struct str rest = arena_fmt(c->arena, "/events?max=%lld&wait=%lld",
	    (long long)args_int(&c->args, "max", 1),
	    (long long)args_int(&c->args, "wait", 0));
	struct str answer = STR_EMPTY;
	struct json *j = NULL;
	const struct json *data;
	struct err e;
	int rc = rest.p ? ask(c, "GET", arena_z(c->arena, rest), STR_EMPTY,
			      &answer, &e)
			: err_set(&e, ERR_NOMEM, "no memory");

	if (rc == OK)
		rc = json_parse(c->arena, answer, &j, &e);
	data = rc == OK ? json_get(j, "data") : NULL;
	for (const struct json *x = data ? data->child : NULL; x; x = x->next)
		(void)fprintf(c->out, "%.*s\n", STR_ARG(x->raw));
	/* Not before they are out of our hands. */
	if (rc == OK && fflush(c->out) != 0)
		rc = err_set(&e, ERR_IO, "the events can't be written");
	if (rc == OK && data && args_flag(&c->args, "ack"))
		rc = next_ack(c, data, &e);
	return rc < 0 ? cli_fail(c, &e) : EXIT_OK;
}

static int
answer_for(struct cli *c, const char *rest, const char *want)
{
	int64_t delay_ms = args_int(&c->args, "delay", -1);
	const char *note = args_text(&c->args, "note");
	bool dead = args_flag(&c->args, "dead");
	struct buf b = BUF(64 * KIB);
	struct str answer = STR_EMPTY;
	struct err e;
	int rc;

	buf_addz(&b, "{\"cursors\":[");
	for (size_t i = 1; i < c->args.n_operands; i++) {
		if (i > 1)
			buf_addc(&b, ',');
		buf_json(&b, str_of(c->args.operands[i]));
	}
	buf_addc(&b, ']');
	if (delay_ms >= 0)
		buf_fmt(&b, ",\"delayMs\":%lld", (long long)delay_ms);
	if (dead)
		buf_addz(&b, ",\"dead\":true");
	if (note) {
		buf_addz(&b, ",\"reason\":");
		buf_json(&b, str_of(note));
	}
	buf_addc(&b, '}');
	rc = b.failed ? err_set(&e, ERR_LIMIT, "this is too long")
		      : ask(c, "POST", rest, buf_str(&b), &answer, &e);
	buf_done(&b);
	if (rc == OK && !told(c, answer, want, &e))
		rc = e.code;
	return rc < 0 ? cli_fail(c, &e) : EXIT_OK;
}

int
verb_consumer_ack(struct cli *c)
{
	return answer_for(c, "/ack", "acked");
}

int
verb_consumer_nack(struct cli *c)
{
	return answer_for(c, "/nack", "retry");
}
