#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/verbs.h"
#include "feed/discover.h"
#include "feed/limits.h"
#include "markup/limits.h"
#include "markup/sanitize.h"

/*
 * `hikyaku feed sanitize` and `hikyaku feed discover`: what the reader makes of
 * HTML. They need neither server nor store, and fetch nothing.
 */

static struct str
text_arg(const struct cli *c, const char *name)
{
	return str_of(args_text(&c->args, name));
}

int
verb_feed_sanitize(struct cli *c, struct err *e)
{
	struct buf in = BUF(SANITIZE_IN_MAX), out = BUF(SANITIZE_OUT_MAX);
	bool cut = false;
	int rc = cli_input(c->args.operands[0], &in, e);

	if (rc == OK)
		rc = sanitize(buf_str(&in), text_arg(c, "base"),
		    strcmp(c->conf.reader_sanitize_tags, "article") == 0
			? SANITIZE_ARTICLE
			: SANITIZE_BASIC,
		    &out, &cut, e);
	if (rc == OK && out.n > 0)
		(void)fwrite(out.p, 1, out.n, c->out);
	if (rc == OK && cut)
		rc = err_set(e, ERR_LIMIT,
		    "its tree is too large: the end of it is missing");
	buf_done(&in);
	buf_done(&out);
	return rc;
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
}

int
verb_feed_discover(struct cli *c, struct err *e)
{
	struct buf in = BUF(DISCOVER_IN_MAX), out = BUF(4 * MIB);
	struct discover d UNINIT;
	int rc = cli_input(c->args.operands[1], &in, e);

	if (rc == OK)
		rc = discover(c->arena, buf_str(&in),
		    str_of(c->args.operands[0]), text_arg(c, "content-type"),
		    &d, e);
	if (rc == OK && d.is_feed)
		(void)fprintf(c->out, "the page is a feed itself\n");
	if (rc == OK && args_flag(&c->args, "json"))
		show_json(&d, &out);
	else if (rc == OK)
		show_text(&d, &out);
	if (rc == OK && out.n > 0)
		(void)fwrite(out.p, 1, out.n, c->out);
	if (rc == OK && !d.is_feed && d.n_feeds == 0)
		rc = err_set(e, ERR_ABSENT, "the page names no feed");
	buf_done(&in);
	buf_done(&out);
	return rc;
}
