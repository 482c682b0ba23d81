#include "feed/feed.h"

#include "cli/verbs.h"
#include "feed/discover.h"
#include "feed/limits.h"
#include "markup/limits.h"
#include "markup/sanitize.h"

/*
 * `hikyaku feed parse`, `sanitize` and `discover`: what the reader makes of a
 * feed and of HTML. They need neither server nor store, and fetch nothing.
 */

static struct str
text_arg(const struct cli *c, const char *name)
{
	return str_of(args_text(&c->args, name));
}

static void
show(const struct cli *c, const struct buf *b)
{
	if (b->n > 0)
		(void)fwrite(b->p, 1, b->n, c->out);
}

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
	    .url = text_arg(c, "url"),
	    .content_type = text_arg(c, "content-type"),
	};
	struct buf in CLEANUP(buf_done) = BUF(FEED_BYTES_MAX + MIB);
	struct buf out CLEANUP(buf_done) = BUF(8 * FEED_TEXT_MAX);
	struct feed *f = NULL;

	TRY(cli_input(path, &in, e));
	TRY(feed_parse(a, buf_str(&in), &from, &f, e));
	if (!args_flag(&c->args, "json")) {
		feed_show(f, c->out);
		return OK;
	}
	feed_write(f, &out);
	buf_addc(&out, '\n');
	if (out.failed)
		return err_set(e, ERR_LIMIT, "the JSON is too large");
	show(c, &out);
	return OK;
}

int
verb_feed_parse(struct cli *c, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(FEED_ARENA_MAX);

	for (size_t i = 0; i < c->args.n_operands; i++) {
		arena_reset(a);
		if (parse(c, a, c->args.operands[i], e) < 0) {
			(void)fprintf(c->err, "hikyaku: %s: %s\n",
			    c->args.operands[i], e->text);
			c->status = EXIT_FAILED;
		}
	}
	return OK;
}

int
verb_feed_sanitize(struct cli *c, struct err *e)
{
	struct buf in CLEANUP(buf_done) = BUF(SANITIZE_IN_MAX);
	struct buf out CLEANUP(buf_done) = BUF(SANITIZE_OUT_MAX);
	bool cut = false;

	TRY(cli_input(c->args.operands[0], &in, e));
	TRY(sanitize(buf_str(&in), text_arg(c, "base"),
	    strcmp(c->conf.reader_sanitize_tags, "article") == 0
		? SANITIZE_ARTICLE
		: SANITIZE_BASIC,
	    &out, &cut, e));
	show(c, &out);
	if (cut)
		return err_set(e, ERR_LIMIT,
		    "its tree is too large: the end of it is missing");
	return OK;
}

static void
show_json(const struct discover *d, struct buf *b)
{
	for (size_t i = 0; i < d->n_feeds; i++) {
		buf_addz(b, "{\"feed\":");
		buf_json(b, d->feeds[i].url);
		buf_fmt(b, ",\"type\":\"%s\",\"title\":",
		    discover_kind_name(d->feeds[i].kind));
		buf_json(b, d->feeds[i].title);
		buf_addz(b, "}\n");
	}
	for (size_t i = 0; i < d->n_icons; i++) {
		buf_addz(b, "{\"icon\":");
		buf_json(b, d->icons[i].url);
		buf_fmt(b, ",\"pixels\":%d}\n", d->icons[i].pixels);
	}
	if (d->refresh.n > 0) {
		buf_addz(b, "{\"refresh\":");
		buf_json(b, d->refresh);
		buf_addz(b, "}\n");
	}
}

static void
show_text(const struct discover *d, struct buf *b)
{
	for (size_t i = 0; i < d->n_feeds; i++)
		buf_fmt(b, "feed\t%s\t%.*s\t%.*s\n",
		    discover_kind_name(d->feeds[i].kind),
		    STR_ARG(d->feeds[i].url), STR_ARG(d->feeds[i].title));
	for (size_t i = 0; i < d->n_icons; i++)
		buf_fmt(b, "icon\t%d\t%.*s\n", d->icons[i].pixels,
		    STR_ARG(d->icons[i].url));
	if (d->refresh.n > 0)
		buf_fmt(b, "refresh\t%.*s\n", STR_ARG(d->refresh));
}

int
verb_feed_discover(struct cli *c, struct err *e)
{
	struct buf in CLEANUP(buf_done) = BUF(DISCOVER_IN_MAX);
	struct buf out CLEANUP(buf_done) = BUF(4 * MIB);
	struct feed_from from = {str_of(c->args.operands[0]),
	    text_arg(c, "content-type"), text_arg(c, "link")};
	struct discover d UNINIT;

	TRY(cli_input(c->args.operands[1], &in, e));
	TRY(discover(c->arena, buf_str(&in), &from, &d, e));
	if (d.is_feed)
		(void)fprintf(c->out, "the page is a feed itself\n");
	if (args_flag(&c->args, "json"))
		show_json(&d, &out);
	else
		show_text(&d, &out);
	show(c, &out);
	if (!d.is_feed && d.n_feeds == 0)
		return err_set(e, ERR_ABSENT, "the page names no feed");
	return OK;
}
