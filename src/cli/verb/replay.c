#include <unistd.h>

#include "cli/limits.h"
#include "cli/listing.h"
#include "cli/verbs.h"

#define POLL_MS 250

/* A line that is written over, for whoever watches. */
static void
progress(struct cli *c, int64_t done, int64_t total)
{
	if (!isatty(fileno(c->err)))
		return;
	(void)fprintf(c->err, "\r%lld of %lld (%lld %%)", (long long)done,
	    (long long)total,
	    (long long)(total > 0 ? 100 * done / total : 100));
	(void)fflush(c->err);
}

static int
watch(struct cli *c, struct str id, struct str *ret_state, struct err *e)
{
	struct arena *look CLEANUP(arena_freep) = arena_new(CLI_LOOK_MEM);
	struct str path = arena_fmt(c->arena, "/v1/replays/%.*s", STR_ARG(id));

	for (;;) {
		struct json *j = NULL;
		struct str state;

		arena_reset(look);
		TRY(reach_json(c, look, "GET", path, STR_EMPTY, &j, e));
		state = json_text(j, "state");
		progress(c, json_number(j, "done"), json_number(j, "total"));
		if (!str_eq(state, STR("running"))) {
			*ret_state = str_eq(state, STR("done"))
					 ? STR("done")
					 : STR("stopped");
			return OK;
		}
		clock_sleep_us(POLL_MS * 1000);
	}
}

int
verb_replay(struct cli *c, struct err *e)
{
	struct str body, id, state = STR("running");
	struct json *j = NULL;

	if (!args_text(&c->args, "subscription") ||
	    !args_text(&c->args, "since"))
		return cli_usage(
		    c, e, "replay needs --subscription and --since");
	TRY(args_json(&c->args, c->arena, &body, e));
	TRY(reach_json(c, c->arena, "POST", STR("/v1/replays"), body, &j, e));
	id = json_text(j, "id");
	if (!args_flag(&c->args, "detach")) {
		int rc = watch(c, id, &state, e);

		if (isatty(fileno(c->err)))
			(void)fputc('\n', c->err);
		TRY(rc);
	}
	(void)fprintf(
	    c->out, "replay %.*s: %.*s\n", STR_ARG(id), STR_ARG(state));
	return OK;
}
