#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/input.h"
#include "cli/listing.h"
#include "cli/reach.h"
#include "cli/verbs.h"
#include "feed/limits.h"

/* Subscriptions in and out. The server fetches them, so one must run. */

/* A name as a segment of a path. */
static const char *
path_of(struct cli *c)
{
	const char *name = args_text(&c->args, "user");
	struct str s = str_of(name ? name : "admin");
	struct buf b = BUF(4 * KIB);
	const char *path = NULL;

	buf_addz(&b, "/v1/users/");
	for (size_t i = 0; i < s.n; i++)
		buf_fmt(&b, "%%%02X", (unsigned)(unsigned char)s.p[i]);
	buf_addz(&b, "/opml");
	if (!b.failed)
		path = arena_z(c->arena, buf_str(&b));
	buf_done(&b);
	return path;
}

static int
ask(struct cli *c, const char *method, struct str body, struct str *ret,
    struct err *e)
{
	struct reach x = {.lock = -1};
	const char *path = path_of(c);
	int rc = path ? reach_open(c, &x, e)
		      : err_set(e, ERR_INVALID, "--user is too long");

	if (rc == OK && !x.client)
		rc = err_set(e, ERR_AWAY,
		    "no server runs on this data folder: start hikyaku serve "
		    "first");
	if (rc == OK) {
		client_type(x.client, "text/x-opml");
		rc = reach_ask(&x, c, method, path, body, ret, e);
	}
	reach_close(&x);
	return rc;
}

int
verb_opml_export(struct cli *c)
{
	struct str answer = STR_EMPTY;
	struct err e;

	if (ask(c, "GET", STR_EMPTY, &answer, &e) < 0)
		return cli_fail(c, &e);
	(void)fprintf(c->out, "%.*s", STR_ARG(answer));
	return EXIT_OK;
}

int
verb_opml_import(struct cli *c)
{
	const char *file = c->args.n_operands ? c->args.operands[0] : NULL;
	struct buf b = BUF(OPML_BYTES_MAX);
	struct str answer = STR_EMPTY;
	struct json *j = NULL;
	const struct json *x;
	int64_t added = 0, known = 0;
	struct err e;
	int rc = input_read(file, &b, &e);

	if (rc == OK)
		rc = ask(c, "POST", buf_str(&b), &answer, &e);
	buf_done(&b);
	if (rc == OK)
		rc = json_parse(c->arena, answer, &j, &e);
	if (rc < 0)
		return cli_fail(c, &e);
	(void)json_int(json_get(j, "added"), &added);
	(void)json_int(json_get(j, "known"), &known);
	x = json_get(j, "refused");
	(void)fprintf(c->out, "%lld added, %lld known, %d refused\n",
	    (long long)added, (long long)known, x ? (int)x->n : 0);
	for (x = x ? x->child : NULL; x; x = x->next)
		(void)fprintf(c->err, "%.*s: %.*s\n",
		    STR_ARG(listing_text(x, "url")),
		    STR_ARG(listing_text(x, "message")));
	return EXIT_OK;
}
