#include "audit/audit.h"

#include "cli/out/term.h"
#include "cli/verbs.h"
#include "store/store.h"

/* A step that is done here, as the server tells it. */
static int
step_here(struct cli *c, struct arena *a, struct audit_walk *w,
    struct json **ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(4 * KIB);

	TRY(audit_walk(c->reach.db, w, e));
	audit_walk_json(w, &b);
	return json_parse(a, arena_dup(a, buf_str(&b)), ret, e);
}

int
verb_audit_verify(struct cli *c, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(MIB);
	char path[256] = "/v1/audit/verify"; /* of the next step */
	struct audit_walk w = {0};
	struct json *j = NULL;
	const struct json *broken;
	struct str hash;
	bool last = false;

	TRY(reach_open(c, e));
	while (!last) {
		arena_reset(a);
		TRY(c->reach.client ? reach_json(c, a, "GET", str_of(path),
					  STR_EMPTY, &j, e)
				    : step_here(c, a, &w, &j, e));
		if (!json_is(json_get(j, "n"), JSON_NUMBER))
			return err_set(
			    e, ERR_IO, "the answer can't be understood");
		hash = json_text(j, "hash");
		(void)snprintf(path, sizeof(path),
		    "/v1/audit/verify?after=%lld&rows=%lld&hash=%.*s",
		    json_number(j, "n"), json_number(j, "rows"), STR_ARG(hash));
		broken = json_get(j, "broken");
		last = json_true(j, "done") || json_is(broken, JSON_OBJECT);
		term_progress(c, last, "%lld of %lld", json_number(j, "n"),
		    json_number(j, "head"));
	}
	if (json_is(broken, JSON_OBJECT))
		return err_set(e, ERR_INVALID,
		    "the audit is broken at row %lld: %.*s; the %lld rows before it are good",
		    json_number(broken, "n"), STR_ARG(json_text(broken, "why")),
		    json_number(j, "rows"));
	(void)fprintf(c->out, "%lld rows are good, up to row %lld; hash %.*s\n",
	    json_number(j, "rows"), json_number(j, "n"), STR_ARG(hash));
	return OK;
}
