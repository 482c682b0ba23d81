#include "api/limits.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/uuid.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "contract/verdict.h"

/*
 * Dead letters: what was given up, and deciding on it. The engine decides, so
 * a server must run.
 */

/* reach_open(), and nobody but a server will do. */
static int
open_server(struct cli *c, struct reach *x, struct err *e)
{
	int rc = reach_open(c, x, e);

	if (rc == OK && !x->client)
		rc = err_set(e, ERR_AWAY,
		    "no server runs on this data folder: start hikyaku serve first");
	return rc;
}

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

static int
nobody(struct db *db, struct arena *a, struct buf *b, struct err *e)
{
	(void)db;
	(void)a;
	(void)b;
	return err_set(e, ERR_AWAY,
	    "no server runs on this data folder: start hikyaku serve first");
}

static struct str
raw(const struct json *j, const char *name)
{
	const struct json *v = json_get(j, name);

	return json_is(v, JSON_NUMBER) ? v->raw : STR("-");
}

static bool
row(struct table *t, struct arena *a, const struct json *d)
{
	const struct json *dead = json_get(d, "deadLetter");
	struct str type = listing_text(d, "eventType");
	struct str sub = listing_text(d, "subscriptionId");

	(void)a;
	return table_add(t, listing_text(d, "id")) &&
	       table_add(t, sub.n ? sub : listing_text(d, "source")) &&
	       table_add(t, type.n ? type : STR("-")) &&
	       table_add(t, listing_text(dead, "reason")) &&
	       table_add(t, raw(d, "lastStatusCode")) &&
	       table_add(t, raw(d, "attemptCount")) &&
	       table_add(t, listing_text(dead, "at"));
}

int
verb_dead_list(struct cli *c)
{
	static const char *const heads[] = {"ID", "SUBSCRIPTION", "EVENT TYPE",
	    "REASON", "STATUS", "TRIES", "AT"};
	struct listing deads = {
	    .all = nobody,
	    .heads = heads,
	    .columns = COUNT_OF(heads),
	    .row = row,
	};
	struct str sub, reason, path;
	struct err e;
	int rc = read_filter(c, &sub, &reason, &e);

	if (rc < 0)
		return cli_fail(c, &e);
	path = arena_fmt(c->arena, "/v1/dead-letters?%s%.*s%s%s%.*s",
	    sub.n ? "subscription=" : "", STR_ARG(sub),
	    sub.n && reason.n ? "&" : "", reason.n ? "reason=" : "",
	    STR_ARG(reason));
	deads.path = path.p ? arena_z(c->arena, path) : NULL;
	if (!deads.path) {
		(void)err_set(&e, ERR_NOMEM, "no memory");
		return cli_fail(c, &e);
	}
	return listing_show(c, &deads);
}

/* {"reason":…} of --note; "{}" without. */
static struct str
note_body(struct cli *c)
{
	const char *note = args_text(&c->args, "note");
	struct buf b = BUF(16 * KIB);
	struct str text;

	buf_addc(&b, '{');
	if (note) {
		buf_addz(&b, "\"reason\":");
		buf_json(&b, str_of(note));
	}
	buf_addc(&b, '}');
	text = b.failed ? STR("{}") : arena_dup(c->arena, buf_str(&b));
	buf_done(&b);
	return text;
}

static int
decide(struct cli *c, const char *verb, const char *word)
{
	struct reach x = {.lock = -1};
	struct str body = note_body(c), answer;
	struct uuid id;
	struct err e;
	int rc = open_server(c, &x, &e);

	for (size_t i = 0; rc == OK && i < c->args.n_operands; i++) {
		const char *text = c->args.operands[i];
		struct str path;

		if (!uuid_parse(str_of(text), &id)) {
			rc = err_set(&e, ERR_INVALID,
			    "%.64s is no dead letter's id; `hikyaku dead list` shows them",
			    text);
			break;
		}
		path =
		    arena_fmt(c->arena, "/v1/dead-letters/%s/%s", text, verb);
		rc = !path.p ? err_set(&e, ERR_NOMEM, "no memory")
			     : reach_ask(&x, c, "POST", arena_z(c->arena, path),
				   body, &answer, &e);
		if (rc == OK)
			(void)fprintf(c->out, "%s is %s\n", text, word);
	}
	reach_close(&x);
	return rc < 0 ? cli_fail(c, &e) : EXIT_OK;
}

int
verb_dead_skip(struct cli *c)
{
	return decide(c, "skip", "skipped");
}

static int
bulk_body(struct cli *c, struct str *ret, struct err *e)
{
	const char *note = args_text(&c->args, "note");
	struct buf b = BUF(16 * KIB);
	struct str sub, reason;
	int rc = read_filter(c, &sub, &reason, e);

	if (rc < 0)
		return rc;
	buf_fmt(&b, "{\"dryRun\":%s,",
	    args_flag(&c->args, "dry-run") ? "true" : "false");
	if (note) {
		buf_addz(&b, "\"reason\":");
		buf_json(&b, str_of(note));
		buf_addc(&b, ',');
	}
	buf_addz(&b, "\"filter\":{");
	if (sub.n > 0)
		buf_fmt(&b, "\"subscription\":\"%.*s\"", STR_ARG(sub));
	if (sub.n > 0 && reason.n > 0)
		buf_addc(&b, ',');
	if (reason.n > 0)
		buf_fmt(&b, "\"reason\":\"%.*s\"", STR_ARG(reason));
	buf_addz(&b, "}}");
	*ret = b.failed ? (struct str){.p = NULL}
			: arena_dup(c->arena, buf_str(&b));
	buf_done(&b);
	return ret->p ? OK : err_set(e, ERR_NOMEM, "no memory");
}

/* Call by call, as long as each puts some back. */
static int
bulk(struct cli *c)
{
	bool dry = args_flag(&c->args, "dry-run"), more = true;
	struct reach x = {.lock = -1};
	int64_t total = 0, n = 0, tired = 0, left = 0;
	struct str body, answer;
	struct json *j = NULL;
	struct err e;
	int rc = bulk_body(c, &body, &e);

	if (rc == OK)
		rc = open_server(c, &x, &e);
	while (rc == OK && more) {
		rc = reach_ask(&x, c, "POST", "/v1/dead-letters/requeue", body,
		    &answer, &e);
		if (rc == OK)
			rc = json_parse(c->arena, answer, &j, &e);
		if (rc == OK &&
		    (!json_int(json_get(j, "requeued"), &n) ||
			!json_int(json_get(j, "requeuedTooOften"), &tired) ||
			!json_int(json_get(j, "mustWait"), &left)))
			rc = err_set(
			    &e, ERR_IO, "the answer can't be understood");
		total += n;
		more = rc == OK && !dry && n > 0 &&
		       json_is(json_get(j, "more"), JSON_TRUE);
	}
	reach_close(&x);
	if (rc < 0)
		return cli_fail(c, &e);
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
	return EXIT_OK;
}

int
verb_dead_requeue(struct cli *c)
{
	bool filter = args_text(&c->args, "subscription") ||
		      args_text(&c->args, "reason") ||
		      args_flag(&c->args, "all");

	if (filter == (c->args.n_operands > 0)) {
		(void)fprintf(c->err,
		    "hikyaku: dead requeue takes either ids, or --subscription, --reason or --all: see hikyaku dead requeue --help\n");
		return EXIT_USAGE;
	}
	return filter ? bulk(c) : decide(c, "requeue", "requeued");
}
