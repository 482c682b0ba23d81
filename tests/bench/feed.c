/*
 * feed - how fast feeds are read, beside the bare XML parser.
 *
 * Makes feeds of a few megabytes in memory and reads each in turn with libxml2
 * (SAX2 without a single callback: the least that it can do) and with
 * feed_parse(). Five rounds, both in each, by CPU time: a neighbour on the
 * machine slows both. A line each: the medians, and of the rounds' ratios too.
 * It is to be half as fast at least. With an argument: that file instead.
 */
#include "feed/feed.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "feed/limits.h"

#define ITEMS   1000
#define ROUNDS  5
#define ROUND_S 0.4 /* of CPU time, for both */

static int passed, missed;

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

static double
cpu_s(void (*f)(struct str), struct str s)
{
	struct timespec a, b;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	f(s);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	return (double)(b.tv_sec - a.tv_sec) +
	       (double)(b.tv_nsec - a.tv_nsec) / 1e9;
}

static int
by_size(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static double
median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), by_size);
	return v[ROUNDS / 2];
}

static void
compare(const char *name, struct str s)
{
	double theirs[ROUNDS], own[ROUNDS], ratio[ROUNDS], r;

	for (size_t i = 0; i < ROUNDS; i++) {
		double b = 0, o = 0;
		size_t n = 0;

		for (; b + o < ROUND_S; n++) {
			b += cpu_s(bare, s);
			o += cpu_s(ours, s);
		}
		theirs[i] = (double)s.n * (double)n / b / 1e6;
		own[i] = (double)s.n * (double)n / o / 1e6;
		ratio[i] = b / o;
	}
	r = median(ratio);
	missed += r < 0.5;
	passed += r >= 0.5;
	(void)printf("%-8s%-13s %5zu KB  libxml2 %4.0f MB/s  feed_parse %4.0f "
		     "MB/s, %.2f ns of CPU a byte  ratio %.2f\n",
	    r < 0.5 ? "MISSED" : "met", name, s.n / 1000, median(theirs),
	    median(own), 1e3 / median(own), r);
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
rss(struct buf *b, bool cdata, int n, int paragraphs)
{
	buf_addz(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss "
		    "version=\"2.0\" xmlns:content=\"http://purl.org/rss/1.0/"
		    "modules/content/\" xmlns:dc=\"http://purl.org/dc/elements/"
		    "1.1/\"><channel><title>T</title>\n");
	for (int i = 0; i < n; i++) {
		buf_fmt(b,
		    "<item><title>Item %d</title><link>http://site.example/"
		    "%d</link><guid>http://site.example/%d</guid><pubDate>Mon, "
		    "05 Jan 2026 10:00:00 GMT</pubDate><dc:creator>Ann"
		    "</dc:creator><category>a</category><category>b</category>"
		    "<content:encoded>",
		    i, i, i);
		buf_addz(b, cdata ? "<![CDATA[" : "");
		if (cdata)
			html(b, "<", ">", paragraphs);
		else
			html(b, "&lt;", "&gt;", paragraphs);
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
	rss(&b, false, ITEMS, 8);
	compare("rss escaped", buf_str(&b));
	buf_clear(&b);
	rss(&b, true, ITEMS, 8);
	compare("rss cdata", buf_str(&b));
	buf_clear(&b);
	rss(&b, false, 5 * ITEMS, 0);
	compare("rss short", buf_str(&b));
	buf_clear(&b);
	atom(&b);
	compare("atom xhtml", buf_str(&b));
	buf_clear(&b);
	rss(&b, false, ITEMS, 8);
	buf_addz(&b, "<p> & </p>");
	compare("junk behind", buf_str(&b));
	buf_clear(&b);
	rss(&b, false, ITEMS, 8);
	b.n -= sizeof("</channel></rss>\n") - 1;
	buf_addz(&b, "<item><title>Never closed</channel></rss>\n");
	compare("rss broken", buf_str(&b));
	buf_done(&b);
	(void)printf("%d passed, %d failed\n", passed, missed);
	return missed > 0;
}
