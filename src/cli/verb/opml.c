#include "cli/client.h"
#include "cli/out/listing.h"
#include "cli/verbs.h"
#include "feed/limits.h"
#include "http/percent.h"

/* Subscriptions in and out. The server fetches them, so one must run. */

static int
opml_ask(struct cli *c, const char *method, struct str body, struct str *ret,
    struct err *e)
{
	const char *name = args_text(&c->args, "user");
	struct buf path CLEANUP(buf_done) = BUF(4 * KIB);

	TRY(reach_server(c, e));
	buf_addz(&path, "/v1/users/");
	percent_add(&path, str_of(name ? name : "admin"));
	buf_addz(&path, "/opml");
	if (path.failed)
		return err_set(e, ERR_INVALID, "--user is too long");
	client_type(c->reach.client, "text/x-opml");
	return reach_ask(c, c->arena, method, buf_str(&path), body, ret, e);
}

int
verb_opml_export(struct cli *c, struct err *e)
{
	struct str answer = STR_EMPTY;

	TRY(opml_ask(c, "GET", STR_EMPTY, &answer, e));
	(void)fprintf(c->out, "%.*s", STR_ARG(answer));
	return OK;
}

int
verb_opml_import(struct cli *c, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(OPML_BYTES_MAX);
	struct str answer = STR_EMPTY;
	struct json *j = NULL;
	const struct json *x;

	TRY(cli_input(c->args.operands[0], &b, e));
	TRY(opml_ask(c, "POST", buf_str(&b), &answer, e));
	TRY(json_parse(c->arena, answer, &j, e));
	x = json_get(j, "refused");
	(void)fprintf(c->out, "%lld added, %lld known, %d refused\n",
	    json_number(j, "added"), json_number(j, "known"),
	    x ? (int)x->n : 0);
	for (x = x ? x->child : NULL; x; x = x->next)
		(void)fprintf(c->err, "%.*s: %.*s\n",
		    STR_ARG(json_text(x, "url")),
		    STR_ARG(json_text(x, "message")));
	return OK;
}
