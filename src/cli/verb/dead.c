#include "api/limits.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "contract/verdict.h"

/*
 * Dead letters: what was given up, and deciding on it. The engine decides, so
 * a server must run.
 */

/* What --subscription and --reason say: checked, since they go into a path. */
static int
read_filter(
    struct cli *c, struct str *ret_sub, struct str *ret_reason, struct err *e)
{
	struct uuid id;
	enum reason reason;

	*ret_sub = str_of(args_text(&c->args, "subscription"));
	*ret_reason = str_of(args_text(&c->args, "reason"));
	if (ret_sub->n > 0 && !uuid_parse(*ret_sub, &id))
		return err_set(e, ERR_INVALID, "%.64s is no subscription's id",
		    ret_sub->p);
	if (ret_reason->n > 0 && !reason_find(*ret_reason, &reason))
		return err_set(e, ERR_INVALID,
		    "%.64s is no reason; HTTP_STATUS, EXHAUSTED and EXPIRED are some",
		    ret_reason->p);
	return OK;
}

static struct str
whose(const struct json *d)
{
	struct str sub = json_text(d, "subscriptionId");

	return sub.n ? sub : json_text(d, "source");
}

static const struct column COLUMNS[] = {
    {"ID", .at = "/id"},
    {"SUBSCRIPTION", .cell = whose},
    {"EVENT TYPE", .at = "/eventType"},
    {"REASON", .at = "/deadLetter/reason"},
    {"STATUS", .at = "/lastStatusCode"},
    {"TRIES", .at = "/attemptCount"},
    {"AT", .at = "/deadLetter/at"},
    {.head = NULL},
};

int
verb_dead_list(struct cli *c, struct err *e)
{
	struct listing l = {.columns = COLUMNS};
	struct str sub, reason;

	TRY(read_filter(c, &sub, &reason, e));
	l.path = arena_fmt(c->arena, "/v1/dead-letters?%s%.*s%s%s%.*s",
	    sub.n ? "subscription=" : "", STR_ARG(sub),
	    sub.n && reason.n ? "&" : "", reason.n ? "reason=" : "",
	    STR_ARG(reason))
		     .p;
	return listing_show(c, &l, e);
}

static int
decide(struct cli *c, const char *verb, const char *word, struct err *e)
{
	struct str body;
	struct uuid id;

	TRY(reach_server(c, e));
	TRY(args_json(&c->args, c->arena, &body, e));
	for (size_t i = 0; i < c->args.n_operands; i++) {
		const char *text = c->args.operands[i];

		if (!uuid_parse(str_of(text), &id))
			return err_set(e, ERR_INVALID,
			    "%.64s is no dead letter's id; `hikyaku dead list` shows them",
			    text);
		TRY(reach_ask(c, c->arena, "POST",
		    arena_fmt(c->arena, "/v1/dead-letters/%s/%s", text, verb),
		    body, NULL, e));
		(void)fprintf(c->out, "%s is %s\n", text, word);
	}
	return OK;
}

int
verb_dead_skip(struct cli *c, struct err *e)
{
	return decide(c, "skip", "skipped", e);
}

static int
bulk_body(struct cli *c, struct buf *b, struct err *e)
{
	struct str sub, reason;

	TRY(read_filter(c, &sub, &reason, e));
	put_open(b, NULL, '{');
	args_body(&c->args, b);
	put_open(b, "filter", '{');
	if (sub.n > 0)
		put_text(b, "subscription", sub);
	if (reason.n > 0)
		put_text(b, "reason", reason);
	put_close(b, '}');
	put_close(b, '}');
	return b->failed ? err_set(e, ERR_LIMIT, "the note is too long") : OK;
}

/* Call by call, as long as each puts some back. */
static int
bulk(struct cli *c, struct err *e)
{
	bool dry = args_flag(&c->args, "dry-run"), more = true;
	int64_t total = 0, tired = 0, left = 0;
	struct buf body CLEANUP(buf_done) = BUF(16 * KIB);

	TRY(bulk_body(c, &body, e));
	while (more) {
		struct json *j = NULL;
		int64_t n = 0;

		TRY(reach_json(c, c->arena, "POST",
		    STR("/v1/dead-letters/requeue"), buf_str(&body), &j, e));
		if (!json_int(json_get(j, "requeued"), &n) ||
		    !json_int(json_get(j, "requeuedTooOften"), &tired) ||
		    !json_int(json_get(j, "mustWait"), &left))
			return err_set(
			    e, ERR_IO, "the answer can't be understood");
		total += n;
		more = !dry && n > 0 && json_true(j, "more");
	}
	(void)fprintf(c->out, "%lld %s\n", (long long)total,
	    dry ? "would be requeued" : "requeued");
	if (tired > 0)
		(void)fprintf(c->err,
		    "%lld were requeued by a filter %d times already: name them by id\n",
		    (long long)tired, BULK_TIMES_MAX);
	if (left > 0)
		(void)fprintf(c->err,
		    "%lld have to wait until others are through: run it again\n",
		    (long long)left);
	return OK;
}

int
verb_dead_requeue(struct cli *c, struct err *e)
{
	bool filter = args_text(&c->args, "subscription") ||
		      args_text(&c->args, "reason") ||
		      args_flag(&c->args, "all");

	if (filter == (c->args.n_operands > 0))
		return cli_usage(c, e,
		    "dead requeue takes either ids, or --subscription, --reason or --all");
	return filter ? bulk(c, e) : decide(c, "requeue", "requeued", e);
}
