#include "audit/audit.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/listing.h"
#include "cli/verbs.h"
#include "store/store.h"

/* A walk as the server tells it, or as it is done here: the same text. */
struct told {
	int64_t n, rows, head;
	struct str hash;
	bool done, broken;
	int64_t broken_n;
	struct str why;
};

static int
read_told(struct arena *a, struct str text, struct told *ret, struct err *e)
{
	struct json *j = NULL;
	const struct json *broken;
	int rc = json_parse(a, text, &j, e);

	if (rc < 0)
		return rc;
	broken = json_get(j, "broken");
	*ret = (struct told){
	    .hash = listing_text(j, "hash"),
	    .done = json_is(json_get(j, "done"), JSON_TRUE),
	    .broken = json_is(broken, JSON_OBJECT),
	    .why = listing_text(broken, "why"),
	};
	if (!json_int(json_get(j, "n"), &ret->n) ||
	    !json_int(json_get(j, "rows"), &ret->rows) ||
	    !json_int(json_get(j, "head"), &ret->head) ||
	    (ret->broken && !json_int(json_get(broken, "n"), &ret->broken_n)))
		return err_set(e, ERR_IO, "the answer can't be understood");
	return OK;
}

static int
step_there(struct cli *c, struct reach *x, const struct told *t,
    struct str *ret_text, struct err *e)
{
	struct str path =
	    t->hash.n
		? arena_fmt(c->arena,
		      "/v1/audit/verify?after=%lld&rows=%lld&hash=%.*s",
		      (long long)t->n, (long long)t->rows, STR_ARG(t->hash))
		: STR("/v1/audit/verify");

	if (!path.p)
		return err_set(e, ERR_NOMEM, "no memory");
	return reach_ask(
	    x, c, "GET", arena_z(c->arena, path), STR_EMPTY, ret_text, e);
}

static int
step_here(struct cli *c, struct reach *x, struct audit_walk *w,
    struct str *ret_text, struct err *e)
{
	struct buf b = BUF(4 * KIB);
	int rc = audit_walk(x->db, w, e);

	if (rc == OK) {
		audit_walk_json(w, &b);
		*ret_text = arena_dup(c->arena, buf_str(&b));
		if (b.failed || !ret_text->p)
			rc = err_set(e, ERR_NOMEM, "no memory");
	}
	buf_done(&b);
	return rc;
}

static void
progress(struct cli *c, const struct told *t)
{
	if (!isatty(fileno(c->err)))
		return;
	(void)fprintf(
	    c->err, "\r%lld of %lld", (long long)t->n, (long long)t->head);
	if (t->done || t->broken)
		(void)fputc('\n', c->err);
	(void)fflush(c->err);
}

/* Two arenas in turn: a step needs what the one before it said. */
static int
walk(struct cli *c, struct reach *x, struct arena *const turn[2],
    struct told *t, struct err *e)
{
	struct arena *verb = c->arena;
	struct audit_walk w = {0};
	struct str text = STR_EMPTY;
	int rc = OK;

	for (size_t i = 0; rc == OK && !t->done && !t->broken; i++) {
		c->arena = turn[i % 2];
		arena_reset(c->arena);
		rc = x->client ? step_there(c, x, t, &text, e)
			       : step_here(c, x, &w, &text, e);
		if (rc == OK)
			rc = read_told(c->arena, text, t, e);
		if (rc == OK)
			progress(c, t);
	}
	c->arena = verb;
	return rc;
}

int
verb_audit_verify(struct cli *c)
{
	struct arena *turn[2] = {arena_new(MIB), arena_new(MIB)};
	struct reach x = {.lock = -1};
	struct told t = {.hash = STR_EMPTY};
	struct err e;
	int rc = turn[0] && turn[1] ? reach_open(c, &x, &e)
				    : err_set(&e, ERR_NOMEM, "no memory");

	if (rc == OK)
		rc = walk(c, &x, turn, &t, &e);
	reach_close(&x);
	if (rc == OK && t.broken)
		rc = err_set(&e, ERR_INVALID,
		    "the audit is broken at row %lld: %.*s; the %lld rows before it are good",
		    (long long)t.broken_n, STR_ARG(t.why), (long long)t.rows);
	if (rc == OK)
		(void)fprintf(c->out,
		    "%lld rows are good, up to row %lld; hash %.*s\n",
		    (long long)t.rows, (long long)t.n, STR_ARG(t.hash));
	arena_free(turn[0]);
	arena_free(turn[1]);
	return rc < 0 ? cli_fail(c, &e) : EXIT_OK;
}
