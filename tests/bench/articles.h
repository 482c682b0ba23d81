/*
 * articles.h - a made-up feed for benchmarks: words of which few are frequent,
 * some markup, a date, an author and a category; always the same.
 */
#pragma once

#include "base/base.h"

#define FIRST_DATE INT64_C(1780000000) /* May 2026 */
#define WORDS_MAX  4000                /* there are */

static uint32_t
some(uint32_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 20) % below);
}

/* Few words are frequent, most are rare. */
static void
word(struct buf *b)
{
	static const char *const SYLLABLES[] = {"ka", "ri", "to", "men", "sol",
	    "da", "ver", "lin", "po", "shi", "gra", "ne", "ul", "ber", "cy",
	    "an"};
	uint32_t n = some(WORDS_MAX);

	n = (uint32_t)((uint64_t)n * some(WORDS_MAX) / WORDS_MAX);
	buf_addz(b, SYLLABLES[n & 15]);
	buf_addz(b, SYLLABLES[(n >> 4) & 15]);
	if (n > 255)
		buf_addz(b, SYLLABLES[n >> 8]);
}

static void
words(struct buf *b, int n)
{
	for (int i = 0; i < n; i++) {
		if (i > 0)
			buf_addc(b, ' ');
		word(b);
	}
}

static void
item(struct buf *b, int64_t i, int n_words)
{
	time_t at = (time_t)(FIRST_DATE + 60 * i);
	char date[64];
	struct tm tm;

	(void)gmtime_r(&at, &tm);
	(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	buf_addz(b, "<item><title>");
	words(b, 6);
	buf_fmt(b,
	    "</title><link>https://news.example/2026/%lld</link><guid>n-%lld"
	    "</guid><pubDate>%s</pubDate><dc:creator>Ann %s</dc:creator>"
	    "<category>c%lld</category><description>&lt;p&gt;",
	    (long long)i, (long long)i, date, i % 2 ? "Ota" : "Berg",
	    (long long)(i % 20));
	for (int left = n_words; left > 0; left -= 30) {
		words(b, left < 20 ? left : 20);
		if (left <= 20)
			break;
		buf_fmt(b, " &lt;a href=\"/t/%lld\"&gt;", (long long)i);
		words(b, 2);
		buf_addz(b, "&lt;/a&gt; &amp;amp; &lt;b class=\"x\"&gt;");
		words(b, left < 30 ? left - 20 : 8);
		buf_addz(b, left > 30 ? "&lt;/b&gt;&lt;/p&gt;\n&lt;p&gt;"
				      : "&lt;/b&gt;");
	}
	buf_addz(b, "&lt;/p&gt;</description></item>\n");
}

/* b->failed when it is over the buffer's limit. */
static void
document(struct buf *b, int64_t n, int n_words)
{
	buf_addz(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss "
		    "version=\"2.0\" xmlns:dc=\"http://purl.org/dc/elements/"
		    "1.1/\"><channel><title>News</title><link>"
		    "https://news.example/</link>\n");
	for (int64_t i = n; i > 0; i--) /* newest on top */
		item(b, i, n_words);
	buf_addz(b, "</channel></rss>\n");
}
