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
step_there(struct cli *c, struct arena *a, const struct told *t,
    struct str *ret_text, struct err *e)
{
	return reach_ask(c, a, "GET",
	    t->hash.n
		? arena_fmt(a,
		      "/v1/audit/verify?after=%lld&rows=%lld&hash=%.*s",
		      (long long)t->n, (long long)t->rows, STR_ARG(t->hash))
		: STR("/v1/audit/verify"),
	    STR_EMPTY, ret_text, e);
}

static int
step_here(struct cli *c, struct arena *a, struct audit_walk *w,
    struct str *ret_text, struct err *e)
{
	struct buf b = BUF(4 * KIB);
	int rc = audit_walk(c->reach.db, w, e);

	if (rc == OK) {
		audit_walk_json(w, &b);
		*ret_text = arena_dup(a, buf_str(&b));
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
walk(struct cli *c, struct arena *const turn[2], struct told *t, struct err *e)
{
	struct audit_walk w = {0};
	struct str text = STR_EMPTY;
	int rc = reach_open(c, e);

	for (size_t i = 0; rc == OK && !t->done && !t->broken; i++) {
		struct arena *a = turn[i % 2];

		arena_reset(a);
		rc = c->reach.client ? step_there(c, a, t, &text, e)
				     : step_here(c, a, &w, &text, e);
		if (rc == OK)
			rc = read_told(a, text, t, e);
		if (rc == OK)
			progress(c, t);
	}
	return rc;
}

int
verb_audit_verify(struct cli *c, struct err *e)
{
	struct arena *turn[2] = {arena_new(MIB), arena_new(MIB)};
	struct told t = {.hash = STR_EMPTY};
	int rc = walk(c, turn, &t, e);

	if (rc == OK && t.broken)
		rc = err_set(e, ERR_INVALID,
		    "the audit is broken at row %lld: %.*s; the %lld rows before it are good",
		    (long long)t.broken_n, STR_ARG(t.why), (long long)t.rows);
	if (rc == OK)
		(void)fprintf(c->out,
		    "%lld rows are good, up to row %lld; hash %.*s\n",
		    (long long)t.rows, (long long)t.n, STR_ARG(t.hash));
	arena_free(turn[0]);
	arena_free(turn[1]);
	return rc;
}
