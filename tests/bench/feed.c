/*
 * feed - how fast feeds are read, beside the bare XML parser.
 *
 * Makes feeds of a few megabytes in memory (RSS with escaped HTML, RSS with
 * CDATA, Atom with XHTML, the first one with a fault) and reads each for a
 * second with libxml2 that calls nothing, then with feed_parse(). A line each:
 * MB/s of both and their ratio. With an argument: that file instead.
 */
#include "feed/feed.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"

#define ITEMS    1000
#define ROUND_US US_PER_S

static const char TEXT[] =
    "The courier left at dawn with nineteen letters and came back at dusk "
    "with none. Nobody had asked him to run; he said that letters want to "
    "arrive. ";

static void
quiet(void *ctx, xmlErrorPtr e)
{
	(void)ctx, (void)e;
}

static void
bare(struct str s)
{
	xmlParserCtxtPtr c = xmlCreateMemoryParserCtxt(s.p, (int)s.n);

	(void)xmlCtxtUseOptions(
	    c, XML_PARSE_NOENT | XML_PARSE_NONET | XML_PARSE_RECOVER);
	memset(c->sax, 0, sizeof(*c->sax));
	c->sax->initialized = XML_SAX2_MAGIC;
	c->sax->serror = quiet;
	(void)xmlParseDocument(c);
	xmlFreeParserCtxt(c);
}

static void
ours(struct str s)
{
	struct arena *a = arena_new(FEED_ARENA_MAX);
	struct feed_from from = {.url = STR("http://site.example/feed")};
	struct feed *f = NULL;
	struct err e = {0};

	if (feed_parse(a, s, &from, &f, &e) < 0) {
		(void)fprintf(stderr, "bench feed: %s\n", e.text);
		exit(1);
	}
	arena_free(a);
}

/* Bytes per microsecond, which is MB/s; the best of five fifths. */
static int64_t
speed(void (*f)(struct str), struct str s)
{
	int64_t best = 0;

	for (int part = 0; part < 5; part++) {
		int64_t from = clock_mono_us(), us = 0, bytes = 0;

		do {
			f(s);
			bytes += (int64_t)s.n;
			us = clock_mono_us() - from;
		} while (us < ROUND_US / 5);
		if (bytes / us > best)
			best = bytes / us;
	}
	return best;
}

static void
compare(const char *name, struct str s)
{
	int64_t b = speed(bare, s), o = speed(ours, s);

	(void)printf("%-10s %6zu KB  libxml2 %4lld MB/s  feed_parse %4lld "
		     "MB/s  %lld %%\n",
	    name, s.n / 1000, (long long)b, (long long)o,
	    (long long)(o * 100 / (b ? b : 1)));
}

static void
html(struct buf *b, const char *open, const char *close, int n)
{
	for (int i = 0; i < n; i++)
		buf_fmt(b,
		    "%sp%s%s%sa href=\"http://site.example/%d\"%s%s"
		    "%s/a%s%s/p%s\n",
		    open, close, TEXT, open, i, close, TEXT, open, close, open,
		    close);
}

static void
rss(struct buf *b, bool cdata)
{
	buf_addz(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss "
		    "version=\"2.0\" xmlns:content=\"http://purl.org/rss/1.0/"
		    "modules/content/\" xmlns:dc=\"http://purl.org/dc/elements/"
		    "1.1/\"><channel><title>T</title>\n");
	for (int i = 0; i < ITEMS; i++) {
		buf_fmt(b,
		    "<item><title>Item %d</title><link>http://site.example/"
		    "%d</link><guid>http://site.example/%d</guid><pubDate>Mon, "
		    "05 Jan 2026 10:00:00 GMT</pubDate><dc:creator>Ann"
		    "</dc:creator><category>a</category><category>b</category>"
		    "<content:encoded>",
		    i, i, i);
		buf_addz(b, cdata ? "<![CDATA[" : "");
		if (cdata)
			html(b, "<", ">", 8);
		else
			html(b, "&lt;", "&gt;", 8);
		buf_addz(b, cdata ? "]]>" : "");
		buf_addz(b, "</content:encoded></item>\n");
	}
	buf_addz(b, "</channel></rss>\n");
}

static void
atom(struct buf *b)
{
	buf_addz(b, "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>T"
		    "</title>");
	for (int i = 0; i < ITEMS; i++) {
		buf_fmt(b,
		    "<entry><title>Item %d</title><link href=\"http://"
		    "site.example/%d\"/><id>urn:%d</id><updated>"
		    "2026-01-05T10:00:00Z</updated><content type=\"xhtml\">"
		    "<div xmlns=\"http://www.w3.org/1999/xhtml\">",
		    i, i, i);
		html(b, "<", ">", 8);
		buf_addz(b, "</div></content></entry>\n");
	}
	buf_addz(b, "</feed>\n");
}

int
main(int argc, char **argv)
{
	struct buf b = BUF(FEED_BYTES_MAX);

	if (argc > 1) {
		FILE *f = fopen(argv[1], "re");
		char *p = f ? buf_room(&b, FEED_BYTES_MAX) : NULL;

		if (!p)
			return 1;
		b.n = fread(p, 1, FEED_BYTES_MAX, f);
		(void)fclose(f);
		compare("file", buf_str(&b));
		buf_done(&b);
		return 0;
	}
	rss(&b, false);
	compare("rss", buf_str(&b));
	buf_clear(&b);
	rss(&b, true);
	compare("rss cdata", buf_str(&b));
	buf_clear(&b);
	atom(&b);
	compare("atom xhtml", buf_str(&b));
	buf_clear(&b);
	rss(&b, false);
	buf_addz(&b, "<p> & </p>");
	compare("rss broken", buf_str(&b));
	buf_done(&b);
	return 0;
}
