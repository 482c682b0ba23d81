#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/limits.h"
#include "cli/listing.h"
#include "cli/verbs.h"

#define POLL_MS 250

static void
add_text(struct cli *c, struct buf *b, const char *name, const char *opt)
{
	const char *text = args_text(&c->args, opt);

	if (!text)
		return;
	buf_fmt(b, "%s\"%s\":", b->n > 1 ? "," : "", name);
	buf_json(b, str_of(text));
}

static void
add_types(struct cli *c, struct buf *b)
{
	struct str list = str_of(args_text(&c->args, "types"));
	size_t n = 0;

	if (list.n == 0)
		return;
	buf_addz(b, ",\"types\":[");
	while (list.n > 0) {
		struct str one = str_trim(str_cut(&list, ','));

		if (n++)
			buf_addc(b, ',');
		buf_json(b, one);
	}
	buf_addc(b, ']');
}

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
watch(struct cli *c, struct reach *x, struct str id, struct str *ret_state,
    struct err *e)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
	struct str path = arena_fmt(c->arena, "/v1/replays/%.*s", STR_ARG(id));
	struct arena *kept = c->arena;
	int rc = path.p ? OK : err_set(e, ERR_NOMEM, "no memory");
	const char *z = rc == OK ? arena_z(kept, path) : NULL;

	/* What one look makes is gone with the next. */
	c->arena = arena_new(CLI_LOOK_MEM);
	if (!c->arena || (rc == OK && !z))
		rc = err_set(e, ERR_NOMEM, "no memory");
	while (rc == OK) {
		struct str answer = STR_EMPTY, state;
		struct json *j = NULL;
		int64_t done = 0, total = 0;

		arena_reset(c->arena);
		rc = reach_ask(x, c, "GET", z, STR_EMPTY, &answer, e);
		if (rc == OK)
			rc = json_parse(c->arena, answer, &j, e);
		if (rc < 0)
			break;
		(void)json_int(json_get(j, "done"), &done);
		(void)json_int(json_get(j, "total"), &total);
		state = listing_text(j, "state");
		progress(c, done, total);
		if (!str_eq(state, STR("running"))) {
			*ret_state = str_eq(state, STR("done"))
					 ? STR("done")
					 : STR("stopped");
			break;
		}
		(void)nanosleep(&pause, NULL);
	}
	if (isatty(fileno(c->err)))
		(void)fputc('\n', c->err);
	arena_free(c->arena);
	c->arena = kept;
	return rc;
}

int
verb_replay(struct cli *c)
{
	int64_t rate = args_int(&c->args, "rate", 0);
	struct reach x = {.lock = -1};
	struct buf b = BUF(16 * KIB);
	struct str answer = STR_EMPTY, id, state = STR("running");
	struct json *j = NULL;
	struct err e;
	int rc;

	if (!args_text(&c->args, "subscription") ||
	    !args_text(&c->args, "since")) {
		(void)fprintf(c->err,
		    "hikyaku: replay needs --subscription and --since: see hikyaku replay --help\n");
		return EXIT_USAGE;
	}
	buf_addc(&b, '{');
	add_text(c, &b, "subscription", "subscription");
	add_text(c, &b, "since", "since");
	add_text(c, &b, "until", "until");
	add_types(c, &b);
	if (rate > 0)
		buf_fmt(&b, ",\"ratePerSecond\":%lld", (long long)rate);
	buf_addc(&b, '}');
	rc = reach_open(c, &x, &e);
	if (rc == OK && !x.client)
		rc = err_set(&e, ERR_AWAY,
		    "no server runs on this data folder: start hikyaku serve first");
	if (rc == OK)
		rc = reach_ask(
		    &x, c, "POST", "/v1/replays", buf_str(&b), &answer, &e);
	buf_done(&b);
	if (rc == OK)
		rc = json_parse(c->arena, answer, &j, &e);
	id = rc == OK ? listing_text(j, "id") : STR_EMPTY;
	if (rc == OK && !args_flag(&c->args, "detach"))
		rc = watch(c, &x, id, &state, &e);
	reach_close(&x);
	if (rc < 0)
		return cli_fail(c, &e);
	(void)fprintf(
	    c->out, "replay %.*s: %.*s\n", STR_ARG(id), STR_ARG(state));
	return EXIT_OK;
}
