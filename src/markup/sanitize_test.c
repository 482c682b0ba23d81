#include "markup/sanitize.h"

#include "base/test.h"
#include "markup/sanitize_check_test.h"

static const char BASE[] = "https://blog.example/2026/post?x=1";

static void
clean(struct str s, const char *base, enum sanitize_tags tags, struct buf *b)
{
	struct err e = {0};
	bool cut = true;

	buf_clear(b);
	if (sanitize(s, str_of(base), tags, b, &cut, &e) < 0)
		fail_msg("%s", e.text);
	assert_false(cut);
}

struct row {
	const char *in, *out;
};

#define A(url)                                                                 \
	"<a href=\"" url "\" target=\"_blank\" rel=\"noopener noreferrer\">"
#define A_TITLE(url, title)                                                    \
	"<a href=\"" url "\" title=\"" title                                   \
	"\" target=\"_blank\" rel=\"noopener noreferrer\">"

/* 11.1 to 11.4, with a base. */
static const struct row BASIC[] = {
    {"", ""},
    {"text", "text"},
    {"1 < 2 & 3 > 2", "1 &lt; 2 &amp; 3 &gt; 2"},
    {"<p>a<br>b</p>", "<p>a<br>b</p>"},
    {"<ul><li>a<li>b</ul><ol><li>c</ol>",
	"<ul><li>a</li><li>b</li></ul><ol><li>c</li></ol>"},
    {"<blockquote><pre><code>x</code></pre></blockquote>",
	"<blockquote><pre><code>x</code></pre></blockquote>"},
    {"<strong>a</strong><em>b</em>", "<strong>a</strong><em>b</em>"},
    {"<p>a<p>b", "<p>a</p><p>b</p>"},
    {"<p><strong>a<p>b</strong>c",
	"<p><strong>a</strong></p><p><strong>b</strong>c</p>"},
    /* left out, with and without what they hold */
    {"<script>x</script>a<style>y</style>b<iframe>z</iframe>", "ab"},
    {"<p onclick=x style=y class=z id=w>a</p>", "<p>a</p>"},
    /* blocks are paragraphs */
    {"<div>a</div><div>b</div>", "<p>a</p><p>b</p>"},
    {"<div>a<div>b</div></div>c", "<p>a</p><p>b</p>\nc"},
    {"<div>a<p>b</p>c</div>", "<p>a</p><p>b</p><p>c</p>"},
    {"<div>a<ul><li>b</ul>c</div>", "<p>a</p><ul><li>b</li></ul><p>c</p>"},
    {"<article><header>a</header><footer>b</footer></article>",
	"<p>a</p><p>b</p>"},
    {"<div>a<br>b</div><div><br></div><div>c</div>", "<p>a<br>b</p><p>c</p>"},
    {"<div>a <em>b</em> c</div>", "<p>a <em>b</em> c</p>"},
    {"<div><a href=/x><div>a</div>b</a></div>",
	A("https://blog.example/x") "<p>a</p><p>b</p></a>"},
    {"<div>a<strong>b<ul><li>c</ul></strong></div>",
	"<p>a</p><strong><p>b</p><ul><li>c</li></ul></strong>"},
    {"<blockquote><div>a</div></blockquote>",
	"<blockquote><p>a</p></blockquote>"},
    {"<dl><dt>a<dd>b</dl>", "<p>a</p><p>b</p>"},
    {"<pre>a<div>b</div></pre>", "<pre>a\nb</pre>"},
    {"<div><a name=x></a></div><section> </section>", " "},
    {"<div>\n<div>a</div>\n</div>", "\n<p>a</p>\n"},
    {"<span>a</span><span>b</span>", "ab"},
    /* headings are strong */
    {"<h1>a</h1><p>b</p>c", "<p><strong>a</strong></p><p>b</p>c"},
    {"<h2><b>a</b> b</h2>", "<p><strong>a b</strong></p>"},
    {"<h6>a <a href=/x>b</a></h6>",
	"<p><strong>a " A("https://blog.example/x") "b</a></strong></p>"},
    {"<strong><h2>a</h2></strong>", "<strong><p>a</p></strong>"},
    {"<hgroup><h1>a</h1><h2>b</h2></hgroup>",
	"<p><strong>a</strong></p><p><strong>b</strong></p>"},
    {"<ul><li><h3>a</h3>b</ul>",
	"<ul><li><p><strong>a</strong></p>b</li></ul>"},
    /* rows are lines, unless there are blocks in them */
    {"<table><tr><td>a<td>b<tr><td>c</table>", "<p>a | b<br>c</p>"},
    {"<table>\n<tr>\n<th>a</th>\n<td>b</td>\n</tr>\n</table>",
	"\n\n<p>a | b</p>"},
    {"<table><caption>t<tr><td>a<td><td>b</table>c", "<p>t</p><p>a | b</p>c"},
    {"<table><tr><td><p>a</p><td>b<tr><td>c<td>d</table>",
	"<p>a</p><p>b</p><p>c | d</p>"},
    {"<table><tr><td><img src=/x><td><b>a</b></table>",
	"<p><img src=\"https://blog.example/x\"> | <strong>a</strong></p>"},
    {"<table><td><table><td>a</table><td>b</table>", "<p>a</p><p>b</p>"},
    {"<b>a</b><i>b</i><u>c</u>", "<strong>a</strong><em>b</em>c"},
    {"<b>a<strong>b</strong></b>", "<strong>ab</strong>"},
    {"<p><i>a<b>b</i>c</b>",
	"<p><em>a<strong>b</strong></em><strong>c</strong></p>"},
    {"<em><i>a</i></em><b><b>b</b></b>", "<em>a</em><strong>b</strong>"},
    {"<b><p>a</b>b", "<strong></strong><p><strong>a</strong>b</p>"},
    /* frames are links */
    {"<iframe src=https://v.example/x></iframe>a",
	"<p>" A("https://v.example/x") "https://v.example/x</a></p>a"},
    {"<p>a<iframe src=/x title='A &amp; b'></iframe>",
	"<p>a\n" A("https://blog.example/x") "A &amp; b</a></p>"},
    {"<div>a<iframe src=//v.example/ ></iframe>b</div>",
	"<p>a</p><p>" A(
	    "https://v.example/") "https://v.example/</a></p><p>b</p>"},
    {"<a href=/x><iframe src=/y title=t></iframe></a>",
	A("https://blog.example/x") "<p>t</p></a>"},
    {"<iframe src=about:blank></iframe><iframe src=javascript:x></iframe>"
     "<iframe srcdoc=x></iframe>",
	""},
    {"<svg><text>a</text></svg><math><mi>x</mi></math>b", "b"},
    {"<template>a</template><noscript>b</noscript><object>c</object>d", "d"},
    {"<video>a</video><select><option>b</select><textarea>c</textarea>d", "d"},
    {"a<!-- b -->c<!doctype html>d<?e?>f", "acdf"},
    {"<pre>\na</pre><pre>\n\nb</pre>", "<pre>a</pre><pre>\n\nb</pre>"},
    {"<p><button>x</button>y</p>", "<p>y</p>"},
    {"<p><section><ul><li>x</ul></section>", "<p></p>\n<ul><li>x</li></ul>"},
    {"<ul><li>a<section><li>b</section></ul>", "<ul><li>a<p>b</p></li></ul>"},
    {"&eacute;&#233;&#xe9;&nbsp;", "\xc3\xa9\xc3\xa9\xc3\xa9\xc2\xa0"},
    {"a\x01\x7f\xc2\x85"
     "b\r\nc\xff",
	"ab\nc\xef\xbf\xbd"},
    /* links */
    {"<a href=https://x.example/>a</a>", A("https://x.example/") "a</a>"},
    {"<a href=http://X.example>a</a>", A("http://x.example/") "a</a>"},
    {"<a href='mailto:a@b.example'>a</a>", A("mailto:a@b.example") "a</a>"},
    {"<a href='/x' title='t \"u\"' target=_top rel=x>a</a>",
	A_TITLE("https://blog.example/x", "t &#34;u&#34;") "a</a>"},
    {"<a href=y?z&copy=1#f>a</a>",
	A("https://blog.example/2026/y?z&amp;copy=1#f") "a</a>"},
    {"<a href=//h.example>a</a>", A("https://h.example/") "a</a>"},
    {"<a href='?q'>a</a>", A("https://blog.example/2026/post?q") "a</a>"},
    {"<a href='#f'>a</a>", A("https://blog.example/2026/post?x=1#f") "a</a>"},
    {"<a href='../../../a/./b/%2e%2E/c'>a</a>",
	A("https://blog.example/a/c") "a</a>"},
    {"<a href='https://h.example/a b\"<>`{|}\\x'>a</a>",
	A("https://h.example/a%20b%22%3C%3E%60%7B%7C%7D/x") "a</a>"},
    {"<a href=' ht\ntps:\\\\h.example\\x '>a</a>",
	A("https://h.example/x") "a</a>"},
    {"<a href=https://h.example/\xe3\x81\x82>a</a>",
	A("https://h.example/%E3%81%82") "a</a>"},
    {"<a href=javascript:x>a</a><a>b</a><a name=c>d</a>", "abd"},
    {"<a href=ftp://h.example/>a</a><a href=https://u@h.example/>b</a>", "ab"},
    {"<a href=https://x.example/>a<a href=https://y.example/>b</a>",
	A("https://x.example/") "a</a>" A("https://y.example/") "b</a>"},
    /* pictures */
    {"<img src=https://h.example/x alt=a title=b width=3 height=4px "
     "srcset=x loading=lazy>",
	"<img src=\"https://h.example/x\" alt=\"a\" title=\"b\" width=\"3\" "
	"height=\"4\">"},
    {"<img src=x.png width=100% height=-1>",
	"<img src=\"https://blog.example/2026/x.png\">"},
    {"a<img>b<img src=data:image/png,x>", "ab"},
    {"<img src=http://h.example/d/x.png>",
	A("http://h.example/d/x.png") "x.png</a>"},
    {"<img src=http://h.example/x alt=' A <b> '>",
	A("http://h.example/x") "A &lt;b&gt;</a>"},
    {"<img src=http://h.example/ title=t>", A("http://h.example/") "t</a>"},
    {"<img src=http://h.example/>",
	A("http://h.example/") "http://h.example/</a>"},
    {"<a href=/x><img src=http://h.example/x alt=a></a>",
	A("https://blog.example/x") "a</a>"},
    {"<div><img src=http://h.example/x alt=a></div>",
	"<p>" A("http://h.example/x") "a</a></p>"},
    {"<img src=http://h.example/x width=1 height=1>a", "a"},
    {"<image src=/x>", "<img src=\"https://blog.example/x\">"},
};

static const struct row ARTICLE[] = {
    {"<h1>a</h1><h6>b</h6>", "<h1>a</h1><h6>b</h6>"},
    {"<b>a</b><i>b</i><del>c</del><sup>d</sup><sub>e</sub><hr>",
	"<b>a</b><i>b</i><del>c</del><sup>d</sup><sub>e</sub><hr>"},
    {"<figure><img src=/x><figcaption>a</figcaption></figure>",
	"<figure><img src=\"https://blog.example/x\"><figcaption>a</figcaption>"
	"</figure>"},
    {"<table><caption>c<tr><th>a<td>b</table>",
	"<table><caption>c</caption><tbody><tr><th>a</th><td>b</td></tr></tbody>"
	"</table>"},
    {"<table> <colgroup><col> <thead><tr><td>a</thead> x </table>",
	" x <table><thead><tr><td>a</td></tr></thead></table>"},
    {"<p>a<table><td>b</table>", "<p>a</p><table><tbody><tr><td>b</td></tr>"
				 "</tbody></table>"},
    {"<td>a</td><tr>b", "ab"},
    {"<h1>a<p>b<h2>c", "<h1>a<p>b</p></h1><h2>c</h2>"},
    {"<p>a<hr>b", "<p>a</p><hr>b"},
    {"<b>a<b>b</b></b>", "<b>ab</b>"},
    {"<u>a</u><script>b</script>", "a"},
    {"<div>a</div><h2>b<div>c</div></h2>", "<p>a</p><h2>b\nc</h2>"},
    {"<table><td><div>a</div></table>",
	"<table><tbody><tr><td><p>a</p></td></tr></tbody></table>"},
    {"<iframe src=/x title=t></iframe>",
	"<p>" A("https://blog.example/x") "t</a></p>"},
};

static void
check_rows(const struct row *rows, size_t n, enum sanitize_tags tags)
{
	struct buf b = BUF(SANITIZE_OUT_MAX);
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		clean(str_of(rows[i].in), BASE, tags, &b);
		buf_addc(&b, '\0');
		if (strcmp(b.p, rows[i].out) == 0)
			continue;
		bad++;
		print_error("%s\n  became %s\n  not    %s\n", rows[i].in, b.p,
		    rows[i].out);
	}
	buf_done(&b);
	assert_int_equal(bad, 0);
}

static void
basic(void **)
{
	check_rows(BASIC, COUNT_OF(BASIC), SANITIZE_BASIC);
}

static void
article(void **)
{
	check_rows(ARTICLE, COUNT_OF(ARTICLE), SANITIZE_ARTICLE);
}

static void
relative_without_base(void **)
{
	struct buf b = BUF(SANITIZE_OUT_MAX);

	clean(STR("<a href=/x>a</a><img src=y><a href=//h.example/>b</a>"), "",
	    SANITIZE_BASIC, &b);
	assert_str(buf_str(&b), "ab");
	clean(STR("<a href=x>a</a>"), "javascript:y", SANITIZE_BASIC, &b);
	assert_str(buf_str(&b), "a");
	clean(STR("<a href=x>a</a>"), "https://h.example", SANITIZE_BASIC, &b);
	assert_str(buf_str(&b), A("https://h.example/x") "a</a>");
	buf_done(&b);
}

/* Nothing but the lists comes out, and it stays as it is. */
static void
holds(struct str in, const char *base, enum sanitize_tags tags)
{
	struct buf once = BUF(SANITIZE_OUT_MAX), twice = BUF(SANITIZE_OUT_MAX);
	size_t bad;

	clean(in, base, tags, &once);
	bad = check_bytes(buf_str(&once), tags);
	if (bad != once.n || !check_tree(buf_str(&once), tags))
		fail_msg("%.*s\n  became %.*s\n  bad at %zu", STR_ARG(in),
		    STR_ARG(buf_str(&once)), bad);
	clean(buf_str(&once), base, tags, &twice);
	if (!str_eq(buf_str(&once), buf_str(&twice)))
		fail_msg("%.*s\n  became %.*s\n  then   %.*s", STR_ARG(in),
		    STR_ARG(buf_str(&once)), STR_ARG(buf_str(&twice)));
	clean(buf_str(&once), "", tags, &twice);
	assert_true(str_eq(buf_str(&once), buf_str(&twice)));
	buf_done(&once);
	buf_done(&twice);
}

static void
holds_all(struct str in)
{
	holds(in, "", SANITIZE_BASIC);
	holds(in, BASE, SANITIZE_BASIC);
	holds(in, "", SANITIZE_ARTICLE);
	holds(in, BASE, SANITIZE_ARTICLE);
}

static const struct str PAYLOADS[] = {
#define P(text) {text, sizeof(text) - 1},
#include "markup/payloads_test.tbl"
#undef P
};

static void
payloads(void **)
{
	for (size_t i = 0; i < COUNT_OF(PAYLOADS); i++)
		holds_all(PAYLOADS[i]);
}

/* One payload inside and behind another: what the first leaves open. */
static void
payload_pairs(void **)
{
	struct buf b = BUF(MIB);

	for (size_t i = 0; i < COUNT_OF(PAYLOADS); i++) {
		size_t j = (i * 131 + 17) % COUNT_OF(PAYLOADS);

		buf_clear(&b);
		buf_add(&b, PAYLOADS[i]);
		buf_add(&b, PAYLOADS[j]);
		buf_addz(&b, "<p>");
		buf_add(&b, PAYLOADS[i]);
		holds_all(buf_str(&b));
	}
	buf_done(&b);
}

/* The check is one: what must be found is found. */
static void
check_finds(void **)
{
	static const char *const BAD[] = {"<script>", "<p onclick=\"x\">",
	    "<a href=\"javascript:x\">", "<img src=\"http://x/\">", "<p",
	    "<p >", "a > b", "<P>", "<!-- -->", "\x01", "\xff", "<svg>", "<h1>",
	    "<a href=\"https://x/\"onclick=\"y\">", "<a target=\"_top\">"};

	for (size_t i = 0; i < COUNT_OF(BAD); i++) {
		struct str s = str_of(BAD[i]);

		if (check_bytes(s, SANITIZE_BASIC) == s.n)
			fail_msg("passes: %s", BAD[i]);
	}
	assert_false(check_tree(STR("<svg>"), SANITIZE_BASIC));
	assert_false(check_tree(STR("<p id=x>"), SANITIZE_BASIC));
	assert_false(check_tree(STR("<h1>"), SANITIZE_BASIC));
	assert_true(check_tree(STR("<h1>"), SANITIZE_ARTICLE));
}

/* ---- documents made up ---- */

static uint64_t seed = 88172645463325252U;

static size_t
pick(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed % n);
}

static void
make_up(struct buf *b)
{
	static const char *const BITS[] = {"x", " ", "\n", "&lt;", "&amp;",
	    "&#xfeff;", "&#13;", "<", ">", "\"", "'", "</", "<!--", "-->",
	    "<![CDATA[", "]]>", "<a href=/x>", "<a href=//y title='&gt;'>",
	    "<img src=z alt=\"a'b\">", "<pre>\n", "<script>", "</script>",
	    "<style>", "</style>", "<svg>", "<math>", "<mtext>", "<template>",
	    "<select>", "<annotation-xml encoding=text/html>",
	    "<foreignObject>", "<td>", "<tr>", "<table>", "<caption>"};
	size_t n = 1 + pick(40);

	buf_clear(b);
	for (size_t i = 0; i < n; i++) {
		enum html_tag t = (enum html_tag)(1 + pick(T_COUNT - 1));

		if (pick(3) == 0 || t == T_PLAINTEXT)
			buf_addz(b, BITS[pick(COUNT_OF(BITS))]);
		else
			buf_fmt(
			    b, pick(3) ? "<%s>" : "</%s>", html_tag_name(t));
	}
}

static void
generated(void **)
{
	struct buf b = BUF(MIB);

	for (int i = 0; i < 10000; i++) {
		make_up(&b);
		holds(buf_str(&b), i & 1 ? BASE : "",
		    i & 2 ? SANITIZE_BASIC : SANITIZE_ARTICLE);
	}
	buf_done(&b);
}

/* ---- much of it ---- */

static int64_t
clock_cpu_us(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
	return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

/* Copies of z, so many bytes of them: the microseconds of CPU it takes. */
static int64_t
took(const char *before, const char *z, size_t bytes)
{
	struct buf in = BUF(SANITIZE_IN_MAX), out = BUF(SANITIZE_OUT_MAX);
	size_t n = strlen(z);
	struct err e = {0};
	bool cut = false;
	int64_t us;
	int rc;

	buf_addz(&in, before);
	while (in.n + n <= bytes)
		buf_add(&in, (struct str){z, n});
	us = clock_cpu_us();
	rc = sanitize(buf_str(&in), STR("https://h.example/"), SANITIZE_ARTICLE,
	    &out, &cut, &e);
	us = clock_cpu_us() - us;
	assert_true(rc == OK || rc == ERR_LIMIT);
	if (rc == OK)
		assert_int_equal(
		    check_bytes(buf_str(&out), SANITIZE_ARTICLE), out.n);
	buf_done(&in);
	buf_done(&out);
	return us;
}

/* Four times as much takes four times as long, where a square takes sixteen. */
static void
much(const char *before, const char *z, size_t bytes)
{
	int64_t part = took(before, z, bytes / 4), all = took(before, z, bytes);

	if (all > 8 * part + 100 * US_PER_MS)
		fail_msg("%s: %lld us, a quarter of it %lld", z, (long long)all,
		    (long long)part);
}

static void
large(void **)
{
	struct buf b = BUF(MIB);

	much("", "<div>", SANITIZE_IN_MAX);
	much("", "<a href=x><div>", MIB);
	much("", "<table><td>", MIB);
	much("<a ", "xy ", MIB);
	much("", "<b id=1><b id=2><i><p></b>", MIB);
	much("", "<", MIB);
	much("", "&", MIB);
	much("", "&CounterClockwiseContourIntegra", MIB);
	much("", "</p>", MIB);
	much("", "<!--", MIB);
	much("", "<svg><p>", MIB);
	much("", "<template>", MIB);
	much("", "\xff", MIB);
	for (int i = 0; i < 100; i++)
		buf_fmt(&b, "<b id=%d>", i);
	buf_addc(&b, '\0');
	much(b.p, "<p>x", MIB);
	buf_done(&b);
}

static void
limits(void **)
{
	struct buf in = BUF(2 * SANITIZE_IN_MAX), out = BUF(10);
	struct err e = {0};

	assert_non_null(buf_room(&in, SANITIZE_IN_MAX + 1));
	memset(in.p, 'x', SANITIZE_IN_MAX + 1);
	assert_int_equal(sanitize((struct str){in.p, SANITIZE_IN_MAX + 1},
			     STR_EMPTY, SANITIZE_BASIC, &out, NULL, &e),
	    ERR_LIMIT);
	assert_int_equal(sanitize(STR("<p>too long</p>"), STR_EMPTY,
			     SANITIZE_BASIC, &out, NULL, &e),
	    ERR_LIMIT);
	buf_done(&in);
	buf_done(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(basic),
	    cmocka_unit_test(article),
	    cmocka_unit_test(relative_without_base),
	    cmocka_unit_test(payloads),
	    cmocka_unit_test(payload_pairs),
	    cmocka_unit_test(check_finds),
	    cmocka_unit_test(generated),
	    cmocka_unit_test(large),
	    cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
