#include "feed/feed.h"
#include "feed/feed_priv.h"
#include "feed/limits.h"
#include "markup/charset.h"
#include "markup/limits.h"
#include "markup/xml.h"

#define SNIFF_MAX 4096 /* of JSON, for its version */

/* What is before the root element. */
struct prolog {
	struct str root; /* its name without prefix; empty: there is none */
	struct str from; /* the text from the root on */
	struct str doctype;
	bool html; /* by its DOCTYPE */
};

static struct str
blanks(struct str s)
{
	/* A NUL or a mark in the middle of what was put together is one too. */
	for (;;) {
		if (s.n > 0 && ((unsigned char)s.p[0] <= ' '))
			s = str_from(s, 1);
		else if (str_starts(s, STR("\xef\xbb\xbf")))
			s = str_from(s, 3);
		else
			return s;
	}
}

static struct str
behind(struct str s, struct str end)
{
	return str_pass(&s, end) ? s : STR_EMPTY;
}

static struct str
root_name(struct str s)
{
	size_t n = 0;

	while (n < s.n && !strchr(" \t\r\n/><", s.p[n]) && s.p[n])
		n++;
	s.n = n;
	if (str_has(s, ':'))
		(void)str_cut(&s, ':');
	return s;
}

static struct prolog
read_prolog(struct str s)
{
	struct prolog p = {.root = STR_EMPTY};

	for (;;) {
		s = blanks(s);
		p.from = s;
		if (str_starts(s, STR("<?"))) {
			/* A declaration may lack its second question mark. */
			s = behind(s, str_starts_nocase(s, STR("<?xml"))
					  ? STR(">")
					  : STR("?>"));
		} else if (str_starts(s, STR("<!--"))) {
			s = behind(s, STR("-->"));
		} else if (str_starts_nocase(s, STR("<!doctype"))) {
			size_t n = xml_doctype(s);

			p.html =
			    p.html || str_starts_nocase(
					  blanks(str_from(s, 9)), STR("html"));
			p.doctype = (struct str){s.p, n};
			s = n > 0 ? str_from(s, n) : behind(s, STR(">"));
		} else {
			break;
		}
	}
	if (s.n > 1 && s.p[0] == '<')
		p.root = root_name(str_from(s, 1));
	return p;
}

static bool
among(struct str name, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(name, list[i]))
			return true;
	return false;
}

static const struct str ROOTS[] = {
    STR("rss"), STR("feed"), STR("rdf"), STR("channel"), STR("entry")};
static const struct str PAGES[] = {STR("html"), STR("head"), STR("body")};

/* A feed behind junk: from its root on, or empty. */
static struct str
dig(struct str s)
{
	for (;;) {
		const char *lt = s.n > 0 ? memchr(s.p, '<', s.n) : NULL;

		if (!lt)
			return STR_EMPTY;
		s = str_from(s, (size_t)(lt - s.p) + 1);
		/* An entry alone would be any <entry> of anything. */
		if (among(root_name(s), ROOTS, COUNT_OF(ROOTS) - 1))
			return (struct str){s.p - 1, s.n + 1};
	}
}

static int
no_feed(const struct prolog *p, struct err *e)
{
	if (p->html || among(p->root, PAGES, COUNT_OF(PAGES)))
		return err_set(
		    e, ERR_INVALID, "this is an HTML page, not a feed");
	if (p->root.n > 0)
		return err_set(e, ERR_INVALID,
		    "this is not a feed: its root element is <%.*s>",
		    (int)(p->root.n < 40 ? str_chars(p->root, 40).n : 40),
		    p->root.p);
	return err_set(
	    e, ERR_INVALID, "this is not a feed: it is neither XML nor JSON");
}

/* Reads it again, into a new feed. */
static int
mended(struct making *m, struct str xml, struct str doctype, struct err *e)
{
	making_init(m, m->arena, m->url);
	return feed_read_xml(m, xml, doctype, true, e);
}

/* callback({...}); as scripts load it: what is in the brackets, or nothing. */
static struct str
wrapped_json(struct str s)
{
	size_t n = 0;

	if (str_starts(s, STR("/**/")))
		s = blanks(str_from(s, 4));
	while (n < s.n && n < 128 &&
	       (str_is_letter(s.p[n]) || str_is_digit(s.p[n]) ||
		   str_has(STR("_.$"), s.p[n])))
		n++;
	if (n == 0 || n == s.n)
		return STR_EMPTY;
	s = blanks(str_from(s, n));
	if (s.n < 2 || s.p[0] != '(')
		return STR_EMPTY;
	s = blanks(str_from(s, 1));
	return s.n > 0 && s.p[0] == '{' ? s : STR_EMPTY;
}

static int
dispatch(struct making *m, struct str text, struct err *e)
{
	struct prolog p;
	struct str from;
	int rc;

	text = blanks(text);
	if (text.n == 0)
		return err_set(e, ERR_INVALID, "there is nothing in it");
	if (text.p[0] == '{' || text.p[0] == '[')
		return feed_read_json(m, text, e);
	from = wrapped_json(text);
	if (from.n > 0)
		return feed_read_json(m, from, e);
	p = read_prolog(text);
	/* Whatever its DOCTYPE says. */
	if (among(p.root, ROOTS, COUNT_OF(ROOTS))) {
		rc = feed_read_xml(m, p.from, p.doctype, false, e);
		return rc == ERR_SYNTAX ? mended(m, p.from, p.doctype, e) : rc;
	}
	from = p.html || among(p.root, PAGES, COUNT_OF(PAGES)) ? STR_EMPTY
							       : dig(p.from);
	return from.n > 0 ? mended(m, from, p.doctype, e) : no_feed(&p, e);
}

bool
feed_begins(struct str text)
{
	text = blanks(text);
	if (text.n > 0 && text.p[0] == '{') {
		text.n = text.n < SNIFF_MAX ? text.n : SNIFF_MAX;
		return memmem(text.p, text.n, "jsonfeed.org/version/", 21) ||
		       memmem(text.p, text.n, "jsonfeed.org\\/version\\/", 23);
	}
	return among(read_prolog(text).root, ROOTS, COUNT_OF(ROOTS) - 1);
}

int
feed_parse(struct arena *a, struct str bytes, const struct feed_from *from,
    struct feed **ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(FEED_TEXT_MAX);
	struct str text = STR_EMPTY;
	struct making m;

	if (bytes.n > FEED_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "the feed is over %zu MiB",
		    FEED_BYTES_MAX / MIB);
	if (bytes.n == 0)
		return err_set(e, ERR_INVALID, "there is nothing in it");
	making_init(&m, a, from->url);
	TRY(charset_decode(bytes, from->content_type, &b, &text, e));
	TRY(dispatch(&m, text, e));
	*ret = m.feed;
	return OK;
}
