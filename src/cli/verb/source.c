#include "cli/ask.h"
#include "cli/verbs.h"
#include "contract/sub.h"

/* Sources of incoming webhooks. A server checks and takes them, so one must
 * run. */

int
verb_source_put(struct cli *c, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(MIB);
	struct json *j = NULL;
	struct str secret, path;

	TRY(cli_input(c->args.operands[1], &b, e));
	TRY(ask_path(
	    c, STR("/v1/sources/{}"), c->args.operands[0], false, &path, e));
	TRY(reach_json(c, c->arena, "PUT", path, buf_str(&b), &j, e));
	secret = json_text(j, "secret");
	(void)fprintf(c->out, "%.*s\n", STR_ARG(json_text(j, "path")));
	if (secret.n > 0 && !str_eq(secret, STR(SUB_MASK)))
		(void)fprintf(c->out, "%.*s\n", STR_ARG(secret));
	return OK;
}
