#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
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
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
	struct arena *look = arena_new(CLI_LOOK_MEM);
	bool running = true;
	int rc = OK;

	while (rc == OK && running) {
		struct json *j = NULL;
		struct str state;

		arena_reset(look);
		rc = reach_json(c, look, "GET",
		    arena_fmt(look, "/v1/replays/%.*s", STR_ARG(id)), STR_EMPTY,
		    &j, e);
		if (rc < 0)
			break;
		state = listing_text(j, "state");
		running = str_eq(state, STR("running"));
		*ret_state =
		    str_eq(state, STR("done")) ? STR("done") : STR("stopped");
		progress(c, listing_int(j, "done"), listing_int(j, "total"));
		if (running)
			(void)nanosleep(&pause, NULL);
	}
	if (isatty(fileno(c->err)))
		(void)fputc('\n', c->err);
	arena_free(look);
	return rc;
}

int
verb_replay(struct cli *c, struct err *e)
{
	struct buf b = BUF(16 * KIB);
	struct str id = STR_EMPTY, state = STR("running");
	struct json *j = NULL;
	int rc;

	if (!args_text(&c->args, "subscription") ||
	    !args_text(&c->args, "since"))
		return cli_usage(
		    c, e, "replay needs --subscription and --since");
	buf_addc(&b, '{');
	args_body(&c->args, &b);
	buf_addc(&b, '}');
	rc = reach_json(
	    c, c->arena, "POST", STR("/v1/replays"), buf_str(&b), &j, e);
	buf_done(&b);
	if (rc == OK)
		id = listing_text(j, "id");
	if (rc == OK && !args_flag(&c->args, "detach"))
		rc = watch(c, id, &state, e);
	if (rc == OK)
		(void)fprintf(
		    c->out, "replay %.*s: %.*s\n", STR_ARG(id), STR_ARG(state));
	return rc;
}
