#include "cli/limits.h"
#include "cli/out/term.h"
#include "cli/verbs.h"

#define POLL_MS 250

static int
watch(struct cli *c, struct str id, struct str *ret_state, struct err *e)
{
	struct arena *look CLEANUP(arena_freep) = arena_new(CLI_LOOK_MEM);
	struct str path = arena_fmt(c->arena, "/v1/replays/%.*s", STR_ARG(id));

	for (;;) {
		struct json *j = NULL;
		long long done, total;
		struct str state;
		bool ended;

		arena_reset(look);
		TRY(reach_json(c, look, "GET", path, STR_EMPTY, &j, e));
		state = json_text(j, "state");
		done = json_number(j, "done");
		total = json_number(j, "total");
		ended = !str_eq(state, STR("running"));
		term_progress(c, ended, "%lld of %lld (%lld %%)", done, total,
		    total > 0 ? 100 * done / total : 100);
		if (ended) {
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
	    (!args_text(&c->args, "since") && !args_text(&c->args, "from-seq")))
		return cli_usage(c, e,
		    "replay needs --subscription, and --since or --from-seq");
	TRY(args_json(&c->args, c->arena, &body, e));
	TRY(reach_json(c, c->arena, "POST", STR("/v1/replays"), body, &j, e));
	id = json_text(j, "id");
	if (!args_flag(&c->args, "detach"))
		TRY(watch(c, id, &state, e));
	(void)fprintf(
	    c->out, "replay %.*s: %.*s\n", STR_ARG(id), STR_ARG(state));
	return OK;
}
