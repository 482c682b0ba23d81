#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/input.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "contract/sub.h"
#include "source/hook.h"

/* Sources of incoming webhooks. A server checks and takes them, so one must
 * run. */

static int
nobody(struct db *db, struct arena *a, struct buf *b, struct err *e)
{
	(void)db;
	(void)a;
	(void)b;
	return err_set(e, ERR_AWAY,
	    "no server runs on this data folder: start hikyaku serve first");
}

static bool
row(struct table *t, struct arena *a, const struct json *s)
{
	struct str about = listing_text(s, "description");

	(void)a;
	return table_add(t, listing_text(s, "name")) &&
	       table_add(t, listing_text(s, "path")) &&
	       table_add(t, listing_text(s, "scheme")) &&
	       table_add(t, json_is(json_get(s, "enabled"), JSON_TRUE)
				? STR("yes")
				: STR("no")) &&
	       table_add(t, listing_text(s, "changedAt")) &&
	       table_add(t, about.n ? about : STR("-"));
}

int
verb_source_list(struct cli *c)
{
	static const char *const heads[] = {
	    "NAME", "PATH", "SCHEME", "ENABLED", "CHANGED", "DESCRIPTION"};
	static const struct listing sources = {
	    .path = "/v1/sources",
	    .all = nobody,
	    .heads = heads,
	    .columns = COUNT_OF(heads),
	    .row = row,
	};

	return listing_show(c, &sources);
}

/* Asks for the source that the first operand names. */
static int
ask(struct cli *c, const char *method, struct str body, struct str *ret,
    struct err *e)
{
	struct str name = str_of(c->args.operands[0]), path;
	struct reach x = {.lock = -1};
	int rc = hook_name_check(name, e); /* it goes into a path */

	if (rc < 0)
		return rc;
	rc = reach_open(c, &x, e);
	if (rc == OK && !x.client)
		rc = nobody(NULL, NULL, NULL, e);
	path = arena_fmt(c->arena, "/v1/sources/%.*s", STR_ARG(name));
	if (rc == OK && !path.p)
		rc = err_set(e, ERR_NOMEM, "no memory");
	if (rc == OK)
		rc = reach_ask(
		    &x, c, method, arena_z(c->arena, path), body, ret, e);
	reach_close(&x);
	return rc;
}

int
verb_source_put(struct cli *c)
{
	const char *file = c->args.n_operands > 1 ? c->args.operands[1] : NULL;
	struct buf b = BUF(MIB);
	struct str answer = STR_EMPTY, secret;
	struct json *j = NULL;
	struct err e;
	int rc = input_read(file, &b, &e);

	if (rc == OK)
		rc = ask(c, "PUT", buf_str(&b), &answer, &e);
	buf_done(&b);
	if (rc == OK)
		rc = json_parse(c->arena, answer, &j, &e);
	if (rc < 0)
		return cli_fail(c, &e);
	secret = listing_text(j, "secret");
	(void)fprintf(c->out, "%.*s\n", STR_ARG(listing_text(j, "path")));
	if (secret.n > 0 && !str_eq(secret, STR(SUB_MASK)))
		(void)fprintf(c->out, "%.*s\n", STR_ARG(secret));
	return EXIT_OK;
}

int
verb_source_remove(struct cli *c)
{
	struct str answer = STR_EMPTY;
	struct err e;
	int rc = ask(c, "DELETE", STR_EMPTY, &answer, &e);

	if (rc < 0)
		return cli_fail(c, &e);
	(void)fprintf(c->out, "%s is removed\n", c->args.operands[0]);
	return EXIT_OK;
}
