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

/* Asks for /v1/consumers/NAME + rest, after a look at the name. */
static int
consumer_ask(struct cli *c, const char *method, const char *rest,
    struct str body, struct str *ret, struct err *e)
{
	const char *name = c->args.operands[0];

	for (const char *p = name; *p; p++) {
		char low = (char)(*p | 0x20);

		if ((low < 'a' || low > 'z') && (*p < '0' || *p > '9') &&
		    !str_has(STR("._-"), *p))
			return err_set(e, ERR_INVALID,
			    "%.64s is no consumer's name; `hikyaku consumer list` shows them",
			    name);
	}
	return reach_ask(c, c->arena, method,
	    arena_fmt(c->arena, "/v1/consumers/%s%s", name, rest), body, ret,
	    e);
}

/* Looking ------------------------------------------------------------------ */

static const struct column COLUMNS[] = {
    {"NAME", .at = "/name"},
    {"LAG", .at = "/lag/events"},
    {"OLDEST (S)", .at = "/lag/oldestSeconds"},
    {"DEAD", .at = "/dead"},
    {"ACK WAIT (S)", .at = "/ackWaitSeconds"},
    {"ORDER", .at = "/order"},
    {.head = NULL},
};

int
verb_consumer_list(struct cli *c, struct err *e)
{
	static const struct listing l = {
	    .path = "/v1/consumers", .columns = COLUMNS};

	return listing_show(c, &l, e);
}

/* One question whose answer is shown as it is. */
static int
show_answer(struct cli *c, const char *method, struct str body, struct err *e)
{
	struct str answer = STR_EMPTY;
	int rc = consumer_ask(c, method, "", body, &answer, e);

	if (rc == OK)
		(void)fprintf(c->out, "%.*s\n", STR_ARG(answer));
	return rc;
}

int
verb_consumer_show(struct cli *c, struct err *e)
{
	return show_answer(c, "GET", STR_EMPTY, e);
}

/* Making and ending -------------------------------------------------------- */

int
verb_consumer_put(struct cli *c, struct err *e)
{
	struct buf b = BUF(64 * KIB);
	int rc;

	buf_addc(&b, '{');
	args_body(&c->args, &b);
	buf_addc(&b, '}');
	rc = b.failed ? err_set(e, ERR_LIMIT, "this is too long")
		      : show_answer(c, "PUT", buf_str(&b), e);
	buf_done(&b);
	return rc;
}

int
verb_consumer_delete(struct cli *c, struct err *e)
{
	struct str answer = STR_EMPTY;
	int rc = consumer_ask(c, "DELETE", "", STR_EMPTY, &answer, e);

	if (rc == OK)
		(void)fprintf(c->out, "%s is gone\n", c->args.operands[0]);
	return rc;
}

/* Working ------------------------------------------------------------------ */

/* Some cursors were not taken? `dead` is what a nack may come to. */
static int
told(struct cli *c, struct str answer, const char *want, struct err *e)
{
	struct json *j = NULL;
	const struct json *results;
	bool nack = str_eq(str_of(want), STR("retry"));
	size_t bad = 0;
	int rc = json_parse(c->arena, answer, &j, e);

	results = rc == OK ? json_get(j, "results") : NULL;
	for (const struct json *x = results ? results->child : NULL; x;
	     x = x->next) {
		struct str status = listing_text(x, "status");
		struct str cursor = listing_text(x, "cursor");

		if (str_eq(status, str_of(want)) ||
		    str_eq(status, STR("done")) ||
		    (nack && str_eq(status, STR("dead"))))
			continue;
		if (bad++ == 0)
			rc = err_set(e, ERR_CONFLICT, "%.*s is %.*s",
			    cursor.n < 64 ? (int)cursor.n : 64, cursor.p,
			    STR_ARG(status));
		else
			rc = err_set(e, ERR_CONFLICT,
			    "%zu cursors are expired, dead or invalid", bad);
	}
	return rc;
}

/* {"cursors":[… that was begun, and what the options add. */
static int
answer_for(struct cli *c, struct buf *b, const char *rest, const char *want,
    struct err *e)
{
	struct str answer = STR_EMPTY;
	int rc;

	buf_addc(b, ']');
	args_body(&c->args, b);
	buf_addc(b, '}');
	rc = b->failed ? err_set(e, ERR_LIMIT, "this is too long")
		       : consumer_ask(c, "POST", rest, buf_str(b), &answer, e);
	buf_done(b);
	return rc < 0 ? rc : told(c, answer, want, e);
}

int
verb_consumer_next(struct cli *c, struct err *e)
{
	struct buf b = BUF(MIB);
	struct str answer = STR_EMPTY;
	struct json *j = NULL;
	const struct json *data;
	size_t n = 0;
	int rc = consumer_ask(c, "GET",
	    arena_fmt(c->arena, "/events?max=%lld&wait=%lld",
		(long long)args_int(&c->args, "max", 1),
		(long long)args_int(&c->args, "wait", 0))
		.p,
	    STR_EMPTY, &answer, e);

	if (rc == OK)
		rc = json_parse(c->arena, answer, &j, e);
	data = rc == OK ? json_get(j, "data") : NULL;
	buf_addz(&b, "{\"cursors\":[");
	for (const struct json *x = data ? data->child : NULL; x; x = x->next) {
		(void)fprintf(c->out, "%.*s\n", STR_ARG(x->raw));
		args_comma(&b);
		buf_json(&b, listing_text(x, "cursor"));
		n++;
	}
	/* Not before they are out of our hands. */
	if (rc == OK && fflush(c->out) != 0)
		rc = err_set(e, ERR_IO, "the events can't be written");
	if (rc == OK && n > 0 && args_flag(&c->args, "ack"))
		rc = answer_for(c, &b, "/ack", "acked", e);
	buf_done(&b);
	return rc;
}

static int
answer_named(struct cli *c, const char *rest, const char *want, struct err *e)
{
	struct buf b = BUF(64 * KIB);

	buf_addz(&b, "{\"cursors\":[");
	for (size_t i = 1; i < c->args.n_operands; i++) {
		args_comma(&b);
		buf_json(&b, str_of(c->args.operands[i]));
	}
	return answer_for(c, &b, rest, want, e);
}

int
verb_consumer_ack(struct cli *c, struct err *e)
{
	return answer_named(c, "/ack", "acked", e);
}

int
verb_consumer_nack(struct cli *c, struct err *e)
{
	return answer_named(c, "/nack", "retry", e);
}
