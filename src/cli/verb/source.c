#include "cli/listing.h"
#include "cli/verbs.h"
#include "contract/sub.h"
#include "source/hook.h"

/* Sources of incoming webhooks. A server checks and takes them, so one must
 * run. */

static const struct column COLUMNS[] = {
    {"NAME", .at = "/name"},
    {"PATH", .at = "/path"},
    {"SCHEME", .at = "/scheme"},
    {"ENABLED", .at = "/enabled"},
    {"CHANGED", .at = "/changedAt"},
    {"DESCRIPTION", .at = "/description"},
    {.head = NULL},
};

int
verb_source_list(struct cli *c, struct err *e)
{
	static const struct listing l = {
	    .path = "/v1/sources", .columns = COLUMNS};

	return listing_show(c, &l, e);
}

/* Asks for the source that the first operand names. */
static int
source_ask(struct cli *c, const char *method, struct str body,
    struct json **ret, struct err *e)
{
	struct str name = str_of(c->args.operands[0]);

	TRY(hook_name_check(name, e)); /* it goes into a path */
	return reach_json(c, c->arena, method,
	    arena_fmt(c->arena, "/v1/sources/%.*s", STR_ARG(name)), body, ret,
	    e);
}

int
verb_source_put(struct cli *c, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(MIB);
	struct json *j = NULL;
	struct str secret;

	TRY(cli_input(c->args.operands[1], &b, e));
	TRY(source_ask(c, "PUT", buf_str(&b), &j, e));
	secret = json_text(j, "secret");
	(void)fprintf(c->out, "%.*s\n", STR_ARG(json_text(j, "path")));
	if (secret.n > 0 && !str_eq(secret, STR(SUB_MASK)))
		(void)fprintf(c->out, "%.*s\n", STR_ARG(secret));
	return OK;
}

int
verb_source_remove(struct cli *c, struct err *e)
{
	struct json *j = NULL;

	TRY(source_ask(c, "DELETE", STR_EMPTY, &j, e));
	(void)fprintf(c->out, "%s is removed\n", c->args.operands[0]);
	return OK;
}
