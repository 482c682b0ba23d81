#include <time.h>

#include "cli/out/term.h"
#include "cli/verbs.h"

/*
 * Dead letters: what was given up, and deciding on it. The engine decides, so
 * a server must run.
 */

/* Options that say which: members of the API's filter. */
static bool
is_filter(const struct opt *o)
{
	return o->member && o->query;
}

static bool
filtered(const struct cli *c)
{
	for (size_t i = 0; i < c->args.n_given; i++)
		if (is_filter(c->args.given[i].opt))
			return true;
	return args_flag(&c->args, "all");
}

static int
decide(struct cli *c, const char *verb, const char *word, struct err *e)
{
	struct str body;
	struct uuid id;

	TRY(reach_server(c, e));
	TRY(args_json(&c->args, c->arena, &body, e));
	for (size_t i = 0; i < c->args.n_operands; i++) {
		const char *text = c->args.operands[i];

		if (!uuid_parse(str_of(text), &id))
			return err_set(e, ERR_INVALID,
			    "%.64s is no dead letter's id; `hikyaku dead list` shows them",
			    text);
		TRY(reach_ask(c, c->arena, "POST",
		    arena_fmt(c->arena, "/v1/dead-letters/%s/%s", text, verb),
		    body, NULL, e));
		(void)fprintf(c->out, "%s is %s\n", text, word);
	}
	return OK;
}

static int
bulk_body(struct cli *c, struct str after, struct buf *b, struct err *e)
{
	buf_clear(b);
	put_open(b, NULL, '{');
	args_body(&c->args, b);
	if (after.n > 0)
		put_text(b, "after", after);
	put_open(b, "filter", '{');
	for (size_t i = 0; i < c->args.n_given; i++) {
		const struct opt *o = c->args.given[i].opt;

		if (is_filter(o) &&
		    args_text(&c->args, o->name) == c->args.given[i].value)
			put_text(b, o->member, str_of(c->args.given[i].value));
	}
	put_close(b, '}');
	put_close(b, '}');
	return b->failed ? err_set(e, ERR_LIMIT, "the note is too long") : OK;
}

/* What calls have done so far. */
struct bulk {
	const char *verb, *word;
	bool dry;
	int64_t done, failed, tired, invalid, gone;
	int64_t round; /* done in this pass over all of them */
	int64_t left;  /* of this pass, have to wait for others */
};

/* One call. */
static int
bulk_call(struct cli *c, struct bulk *k, struct str *after, struct err *e)
{
	struct buf body CLEANUP(buf_done) = BUF(64 * KIB);
	const struct {
		const char *name;
		int64_t *sum;
	} NUMBERS[] = {{k->word, &k->round}, {"failed", &k->failed},
	    {"requeuedTooOften", &k->tired}, {"stillInvalid", &k->invalid},
	    {"gone", &k->gone}, {"mustWait", &k->left}};
	struct json *j = NULL;

	TRY(bulk_body(c, *after, &body, e));
	TRY(reach_json(c, c->arena, "POST",
	    arena_fmt(c->arena, "/v1/dead-letters/%s", k->verb), buf_str(&body),
	    &j, e));
	for (size_t i = 0; i < COUNT_OF(NUMBERS); i++) {
		int64_t n = 0;

		if (json_get(j, NUMBERS[i].name) &&
		    !json_int(json_get(j, NUMBERS[i].name), &n))
			return err_set(
			    e, ERR_IO, "the answer can't be understood");
		*NUMBERS[i].sum += n;
	}
	*after = json_text(j, "next");
	return OK;
}

/* Page by page; and again over what had to wait, as long as it gets on. */
static int
bulk_run(struct cli *c, struct bulk *k, struct err *e)
{
	int idle = 0;

	do {
		struct str after = STR_EMPTY;
		struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};

		k->round = k->failed = k->tired = k->invalid = k->gone =
		    k->left = 0;
		do {
			TRY(bulk_call(c, k, &after, e));
			if (after.n > 0)
				term_progress(c, false, "%lld %s so far",
				    (long long)k->done + k->round, k->word);
		} while (after.n > 0);
		k->done += k->round;
		idle = k->round > 0 ? 0 : idle + 1;
		if (!k->dry && k->left > 0)
			(void)nanosleep(&pause, NULL);
	} while (!k->dry && k->left > 0 && idle < 50);
	return OK;
}

static void
bulk_tell(struct cli *c, int64_t n, const char *what)
{
	if (n > 0)
		(void)fprintf(c->err, "%lld %s\n", (long long)n, what);
}

static int
bulk(struct cli *c, const char *verb, const char *word, struct err *e)
{
	struct bulk k = {
	    .verb = verb, .word = word, .dry = args_flag(&c->args, "dry-run")};

	TRY(reach_server(c, e));
	TRY(bulk_run(c, &k, e));
	(void)fprintf(c->out, "%lld %s%s\n", (long long)k.done,
	    k.dry ? "would be " : "", word);
	bulk_tell(c, k.tired,
	    "were requeued by a filter several times already: name them by id");
	bulk_tell(
	    c, k.invalid, "still are no events: mend them by id, or skip them");
	bulk_tell(c, k.gone, "are gone with the log: they can be skipped");
	bulk_tell(c, k.failed, "failed: run it again");
	bulk_tell(
	    c, k.left, "have to wait until others are through: run it again");
	return OK;
}

static int
some_or_all(struct cli *c, const char *verb, const char *word, struct err *e)
{
	bool filter = filtered(c);

	if (filter == (c->args.n_operands > 0))
		return cli_usage(c, e,
		    arena_fmt(c->arena,
			"dead %s takes either ids, or --all or a filter", verb)
			.p);
	return filter ? bulk(c, verb, word, e) : decide(c, verb, word, e);
}

int
verb_dead_skip(struct cli *c, struct err *e)
{
	return some_or_all(c, "skip", "skipped", e);
}

int
verb_dead_requeue(struct cli *c, struct err *e)
{
	return some_or_all(c, "requeue", "requeued", e);
}
