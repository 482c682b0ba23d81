/*
 * sanitize - how fast HTML is cleaned.
 *
 *   make build/release/bench/sanitize
 *   build/release/bench/sanitize [FILE]
 *
 * Cleans FILE, or an article made up, until five seconds are over, and says
 * the MB/s; then 5 MB each of what is meant to be slow, and says the seconds:
 * of CPU time, both.
 */
#include "markup/sanitize.h"

#include "markup/limits.h"

static const char ARTICLE[] =
    "<div class=\"entry\"><h2 id=\"s1\">A heading &amp; more</h2>\n"
    "<p>Some <strong>text</strong> that is as long as text in articles is, "
    "with a <a href=\"/2026/11/other?x=1&amp;y=2\" class=\"link\">link</a> to "
    "another page, and a few words more.</p>\n<ul><li>one</li><li>two <code>"
    "three</code></li></ul>\n<p><img src=\"/img/a.png\" alt=\"A picture\" "
    "width=\"640\" height=\"480\"><br>Below it.</p>\n"
    "<script>track('x < y');</script><table><tr><td>1</td><td>2</td></tr>"
    "</table></div>\n";
static const char *const SLOW[] = {"<div>", "<a href=x><div>", "<table><td>",
    "<b id=1><b id=2><i><p></b>", "&CounterClockwiseContourIntegra",
    "<a href=x>", "<p>x", "</p>", "<svg><desc><b>", "<a><b><i></a>"};

static double
clean(struct str s)
{
	struct buf out = BUF(SANITIZE_OUT_MAX);
	struct err e = {0};
	clock_t begin = clock();
	bool cut = false;
	int rc = sanitize(
	    s, STR("https://h.example/a"), SANITIZE_ARTICLE, &out, &cut, &e);
	double took = (double)(clock() - begin) / CLOCKS_PER_SEC;

	if (rc < 0)
		(void)printf("  %s\n", e.text);
	buf_done(&out);
	return took;
}

static int
read_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;

	if (!f)
		return -1;
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(b, (struct str){part, n});
	(void)fclose(f);
	return b->failed ? -1 : 0;
}

int
main(int argc, char **argv)
{
	struct buf in = BUF(SANITIZE_IN_MAX);
	double seconds = 0, bytes = 0;

	if (argc > 1 && read_file(argv[1], &in) < 0)
		return 1;
	while (argc == 1 && in.n < 100000)
		buf_addz(&in, ARTICLE);
	while (seconds < 5) {
		seconds += clean(buf_str(&in));
		bytes += (double)in.n;
	}
	(void)printf("%.1f MB/s\n", bytes / 1e6 / seconds);
	for (size_t i = 0; i < COUNT_OF(SLOW); i++) {
		buf_clear(&in);
		while (in.n + strlen(SLOW[i]) < SANITIZE_IN_MAX)
			buf_addz(&in, SLOW[i]);
		(void)printf("%6.2f s  %s\n", clean(buf_str(&in)), SLOW[i]);
	}
	buf_done(&in);
	return 0;
}
