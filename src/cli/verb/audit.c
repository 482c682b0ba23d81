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

/*
 * A walk as the server tells it, or as it is done here: the same JSON. `said` is
 * what the step before told, NULL for the first.
 */
static int
step_there(struct cli *c, struct arena *a, const struct json *said,
    struct json **ret, struct err *e)
{
	struct str hash = listing_text(said, "hash");

	return reach_json(c, a, "GET",
	    hash.n ? arena_fmt(a,
			 "/v1/audit/verify?after=%lld&rows=%lld&hash=%.*s",
			 (long long)listing_int(said, "n"),
			 (long long)listing_int(said, "rows"), STR_ARG(hash))
		   : STR("/v1/audit/verify"),
	    STR_EMPTY, ret, e);
}

static int
step_here(struct cli *c, struct arena *a, struct audit_walk *w,
    struct json **ret, struct err *e)
{
	struct buf b = BUF(4 * KIB);
	int rc = audit_walk(c->reach.db, w, e);

	if (rc == OK) {
		audit_walk_json(w, &b);
		rc = json_parse(a, arena_dup(a, buf_str(&b)), ret, e);
	}
	buf_done(&b);
	return rc;
}

static void
progress(struct cli *c, const struct json *j, bool last)
{
	if (!isatty(fileno(c->err)))
		return;
	(void)fprintf(c->err, "\r%lld of %lld%s",
	    (long long)listing_int(j, "n"), (long long)listing_int(j, "head"),
	    last ? "\n" : "");
	(void)fflush(c->err);
}

/* Two arenas in turn: a step needs what the one before it said. */
static int
walk(struct cli *c, struct arena *const turn[2], struct json **ret,
    struct err *e)
{
	struct audit_walk w = {0};
	struct json *j = NULL;
	bool last = false;
	int rc = reach_open(c, e);

	for (size_t i = 0; rc == OK && !last; i++) {
		struct arena *a = turn[i % 2];

		arena_reset(a);
		rc = c->reach.client ? step_there(c, a, j, &j, e)
				     : step_here(c, a, &w, &j, e);
		if (rc == OK && !json_is(json_get(j, "n"), JSON_NUMBER))
			rc = err_set(
			    e, ERR_IO, "the answer can't be understood");
		if (rc < 0)
			return rc;
		last = json_is(json_get(j, "done"), JSON_TRUE) ||
		       json_is(json_get(j, "broken"), JSON_OBJECT);
		progress(c, j, last);
	}
	*ret = j;
	return rc;
}

int
verb_audit_verify(struct cli *c, struct err *e)
{
	struct arena *turn[2] = {arena_new(MIB), arena_new(MIB)};
	struct json *j = NULL;
	const struct json *broken;
	int rc = walk(c, turn, &j, e);

	broken = rc == OK ? json_get(j, "broken") : NULL;
	if (json_is(broken, JSON_OBJECT))
		rc = err_set(e, ERR_INVALID,
		    "the audit is broken at row %lld: %.*s; the %lld rows before it are good",
		    (long long)listing_int(broken, "n"),
		    STR_ARG(listing_text(broken, "why")),
		    (long long)listing_int(j, "rows"));
	if (rc == OK)
		(void)fprintf(c->out,
		    "%lld rows are good, up to row %lld; hash %.*s\n",
		    (long long)listing_int(j, "rows"),
		    (long long)listing_int(j, "n"),
		    STR_ARG(listing_text(j, "hash")));
	arena_free(turn[0]);
	arena_free(turn[1]);
	return rc;
}
