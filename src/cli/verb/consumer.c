#include "cli/ask.h"
#include "cli/verbs.h"

/*
 * Working for pull consumers, for shell scripts: `next` prints events, one a line, `ack` and `nack` answer for them. The engine hands events
 * out, so a server must run.
 */

/* Asks for /v1/consumers/NAME + rest. */
static int
consumer_ask(struct cli *c, const char *method, const char *rest,
    struct str body, struct str *ret, struct err *e)
{
	struct str path = arena_fmt(c->arena, "/v1/consumers/{}%s", rest);

	TRY(ask_path(c, path, c->args.operands[0], false, &path, e));
	return reach_ask(c, c->arena, method, path, body, ret, e);
}

/* Some cursors were not taken? `dead` is what a nack may come to. */
static int
told(struct cli *c, struct str answer, const char *want, struct err *e)
{
	struct json *j = NULL;
	bool nack = str_eq(str_of(want), STR("retry"));
	size_t bad = 0;
	int rc = OK;

	TRY(json_parse(c->arena, answer, &j, e));
	for (j = json_first(j, "results"); j; j = j->next) {
		struct str status = json_text(j, "status");
		struct str cursor = json_text(j, "cursor");

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

	put_close(b, ']');
	args_body(&c->args, b);
	put_close(b, '}');
	if (b->failed)
		return err_set(e, ERR_LIMIT, "this is too long");
	TRY(consumer_ask(c, "POST", rest, buf_str(b), &answer, e));
	return told(c, answer, want, e);
}

int
verb_consumer_next(struct cli *c, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(MIB);
	struct str answer = STR_EMPTY,
		   query = arena_fmt(c->arena, "/events?max=%lld&wait=%lld",
		       (long long)args_int(&c->args, "max", 1),
		       (long long)args_int(&c->args, "wait", 0));
	struct json *j = NULL;
	bool ack = args_flag(&c->args, "ack");

	TRY(consumer_ask(c, "GET", query.p, STR_EMPTY, &answer, e));
	TRY(json_parse(c->arena, answer, &j, e));
	j = json_first(j, "data");
	ack = ack && j;
	buf_addz(&b, "{\"cursors\":[");
	for (; j; j = j->next) {
		(void)fprintf(c->out, "%.*s\n", STR_ARG(j->raw));
		put_text(&b, NULL, json_text(j, "cursor"));
	}
	/* Not before they are out of our hands. */
	if (fflush(c->out) != 0)
		return err_set(e, ERR_IO, "the events can't be written");
	return ack ? answer_for(c, &b, "/ack", "acked", e) : OK;
}

static int
answer_named(struct cli *c, const char *rest, const char *want, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);

	buf_addz(&b, "{\"cursors\":[");
	for (size_t i = 1; i < c->args.n_operands; i++)
		put_text(&b, NULL, str_of(c->args.operands[i]));
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
