#include "feed/feed.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "cli/verbs.h"
#include "feed/limits.h"
#include "markup/limits.h"

/*
 * `hikyaku feed parse`: what we make of a feed. Needs neither server nor
 * store, and no network.
 */

static void
feed_show(const struct feed *f, FILE *to)
{
	(void)fprintf(to, "%.*s (%s, %zu items)%s\n", STR_ARG(f->title),
	    feed_format_name(f->format), f->n_items,
	    f->repaired ? ", not well-formed" : "");
	if (f->link.n > 0)
		(void)fprintf(to, "%.*s\n", STR_ARG(f->link));
	for (const struct feed_item *it = f->items; it; it = it->next) {
		int64_t us = it->published_us != FEED_NO_DATE ? it->published_us
							      : it->updated_us;
		char when[TIME_LEN + 1] = "-";

		if (us != FEED_NO_DATE)
			time_format(us, when);
		(void)fprintf(to, "%-10.10s  %.*s  %.*s\n", when,
		    STR_ARG(it->title), STR_ARG(it->link));
	}
}

static int
parse(struct cli *c, struct arena *a, const char *path, struct err *e)
{
	const struct feed_from from = {
	    .url = str_of(args_text(&c->args, "url")),
	    .content_type = str_of(args_text(&c->args, "content-type")),
	};
	struct buf in = BUF(FEED_BYTES_MAX + MIB), out = BUF(8 * FEED_TEXT_MAX);
	struct feed *f = NULL;
	int rc = cli_input(path, &in, e);

	if (rc == OK)
		rc = feed_parse(a, buf_str(&in), &from, &f, e);
	if (rc == OK && args_flag(&c->args, "json")) {
		feed_write(f, &out);
		buf_addc(&out, '\n');
		if (out.failed)
			rc = err_set(e, ERR_LIMIT, "the JSON is too large");
		else
			(void)fwrite(out.p, 1, out.n, c->out);
	} else if (rc == OK) {
		feed_show(f, c->out);
	}
	buf_done(&in);
	buf_done(&out);
	return rc;
}

int
verb_feed_parse(struct cli *c, struct err *e)
{
	struct arena *a = arena_new(FEED_ARENA_MAX);

	for (size_t i = 0; i < c->args.n_operands; i++) {
		arena_reset(a);
		if (parse(c, a, c->args.operands[i], e) < 0) {
			(void)fprintf(c->err, "hikyaku: %s: %s\n",
			    c->args.operands[i], e->text);
			c->status = EXIT_FAILED;
		}
	}
	arena_free(a);
	return OK;
}
