#include "markup/html.h"

#include "base/test.h"
#include "markup/limits.h"

/*
 * What stands on the right is what parse5 finds, a parser of HTML for Node
 * that passes the tests of the standard: <name attr='value'>, </> where it
 * ends, text in quotes.
 */
static const struct {
	const char *in, *tree;
} ROWS[] = {
    {"a&amp;b&lt&notit;&#x80;&#0;&ngE;",
	"\"a&b<\302\254it;\342\202\254\357\277\275\342\211\247\314\270\""},
    {"<p>a<p>b", "<p>\"a\"</><p>\"b\"</>"},
    {"<b><p>a</b>b", "<b></><p><b>\"a\"</>\"b\"</>"},
    {"<a href=x>1<a href=y>2", "<a href='x'>\"1\"</><a href='y'>\"2\"</>"},
    {"<a><p>1</a>2", "<a></><p><a>\"1\"</>\"2\"</>"},
    {"<b id=1><i><p>x</b>y</i>z",
	"<b id='1'><i></></><i></><p><i><b id='1'>\"x\"</>\"y\"</>\"z\"</>"},
    {"<table>x<tr><td>y</table>z",
	"\"x\"<table><tbody><tr><td>\"y\"</></></></>\"z\""},
    {"<table><b><tr><td>x</b>y",
	"<b></><table><tbody><tr><td>\"xy\"</></></></>"},
    {"<table><a>1<p>2</a>3</p>", "<a>\"1\"</><p><a>\"2\"</>\"3\"</><table></>"},
    {"<ul><li>a<li>b<ul><li>c</ul>d",
	"<ul><li>\"a\"</><li>\"b\"<ul><li>\"c\"</></>\"d\"</></>"},
    {"<dl><dt>a<dd>b<dt>c", "<dl><dt>\"a\"</><dd>\"b\"</><dt>\"c\"</></>"},
    {"<p>a</div>b</p></p>c</br>", "<p>\"ab\"</><p></>\"c\"<br></>"},
    {"<h1>a<h2>b</h3>c", "<h1>\"a\"</><h2>\"b\"</>\"c\""},
    {"<button>a<button>b", "<button>\"a\"</><button>\"b\"</>"},
    {"<pre>\n\nx", "<pre>\"\\nx\"</>"},
    {"<pre><!-- -->\nx", "<pre>\"\\nx\"</>"},
    {"<textarea>\n&lt;b></textarea>x", "<textarea>\"<b>\"</>\"x\""},
    {"<script><!--<script></script>--></script>x",
	"<script>\"<!--<script></script>-->\"</>\"x\""},
    {"<style><!--</style>x-->", "<style>\"<!--\"</>\"x-->\""},
    {"<title>a<b>&amp;</title>b", "<title>\"a<b>&\"</>\"b\""},
    {"<xmp><b></xmp><plaintext></p>", "<xmp>\"<b>\"</><plaintext>\"</p>\"</>"},
    {"<!--a--!>b<!-->c<!--->d<!--e", "\"bcd\""},
    {"<\077x\077>a</>b</ c>d<!doctype e>f<", "\"abdf<\""},
    {"<p =a b= c d='e' D=f g=\"&lt\" h=\077i&copy=j>",
	"<p =a='' b='c' d='e' g='<' h='\077i&copy=j'></>"},
    {"<svg><p>x", "<svg svg></><p>\"x\"</>"},
    {"<svg><desc><p>x</p></desc><style><b>",
	"<svg svg><svg desc><p>\"x\"</></><svg style></></><b></>"},
    {"<svg><title><b>x</svg>y", "<svg svg><svg title><b>\"xy\"</></></>"},
    {"<math><mi><b>x</b></mi><mglyph></math>",
	"<math math><math mi><b>\"x\"</></><math mglyph></></>"},
    {"<math><annotation-xml encoding=TEXT/html><p>x",
	"<math math><math annotation-xml encoding='TEXT/html'><p>\"x\"</></></>"},
    {"<math><annotation-xml><p>x",
	"<math math><math annotation-xml></></><p>\"x\"</>"},
    {"<svg><![CDATA[<p>]]></svg><![CDATA[x]]>", "<svg svg>\"<p>\"</>"},
    {"<svg><font face=x>y<font>z",
	"<svg svg></><font face='x'>\"y\"<font>\"z\"</></>"},
    {"<template><td>x</td><p>y</template>z",
	"<template><td>\"x\"</><p>\"y\"</></>\"z\""},
    {"<form><div><form></form>x</div>y", "<form><div>\"x\"</></>\"y\""},
    {"<table><form><input type=hidden><input><td>x",
	"<input></><table><form></><input type='hidden'></><tbody><tr><td>\"x\"</></></></>"},
    {"<table><caption>a<td>b<caption>c",
	"<table><caption>\"a\"</><tbody><tr><td>\"b\"</></></><caption>\"c\"</></>"},
    {"<table><col>a<colgroup> b<tbody></table>",
	"\"ab\"<table><colgroup><col></></><colgroup>\" \"</><tbody></></>"},
    {"<table><tr><table><td>x",
	"<table><tbody><tr></></></><table><tbody><tr><td>\"x\"</></></></>"},
    {"<object><b></object>x", "<object><b></></>\"x\""},
    {"<nobr>a<nobr>b", "<nobr>\"a\"</><nobr>\"b\"</>"},
    {"<ruby>a<rp>b<rt>c<rb>d<rtc>e<rt>f",
	"<ruby>\"a\"<rp>\"b\"</><rt>\"c\"</><rb>\"d\"</><rtc>\"e\"<rt>\"f\"</></></>"},
    {"<b><b><b><b>a<p>b</b></b></b></b>c",
	"<b><b><b><b>\"a\"</></></><p><b><b><b>\"b\"</></></>\"c\"</></>"},
    {"<image src=x>", "<img src='x'></>"},
    {"<html a=b><head><link><body>x<frameset>y", "<link></>\"xy\""},
    {"<noscript><b></noscript>x", "<noscript>\"<b>\"</>\"x\""},
    {"<p><table><p>x", "<p></><p>\"x\"</><table></>"},
    {"<b><table><td></b><i></table>x",
	"<b><table><tbody><tr><td><i></></></></></>\"x\"</>"},
    {"<p><svg/>x<math/>y", "<p><svg svg></>\"x\"<math math></>\"y\"</>"},
    {"<P TITLE=A>x</P\n>", "<p title='A'>\"x\"</>"},
    {"<option>a<option>b<optgroup>c",
	"<option>\"a\"</><option>\"b\"</><optgroup>\"c\"</>"},
    {"<marquee><b>a</marquee>b", "<marquee><b>\"a\"</></>\"b\""},
};

static void
show(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\n')
			buf_addz(b, "\\n");
		else
			buf_addc(b, s.p[i]);
}

static int
by_name(const void *a, const void *b)
{
	return str_cmp(((const struct html_attr *)a)->name,
	    ((const struct html_attr *)b)->name);
}

static void
show_start(struct buf *b, const struct html_node *n)
{
	if (n->n_attrs > 0)
		qsort(n->attrs, n->n_attrs, sizeof(n->attrs[0]), by_name);
	buf_fmt(b, "<%s%.*s",
	    n->ns == NS_SVG    ? "svg "
	    : n->ns == NS_MATH ? "math "
			       : "",
	    STR_ARG(n->text));
	for (size_t i = 0; i < n->n_attrs; i++) {
		buf_addc(b, ' ');
		show(b, n->attrs[i].name);
		buf_addz(b, "='");
		show(b, n->attrs[i].value);
		buf_addc(b, '\'');
	}
	buf_addc(b, '>');
}

static void
show_tree(struct buf *b, const struct html_node *root)
{
	const struct html_node *n = root->first;

	while (n) {
		if (n->is_text) {
			if (!n->prev || !n->prev->is_text)
				buf_addc(b, '"');
			show(b, n->text);
			if (!n->next || !n->next->is_text)
				buf_addc(b, '"');
		} else {
			show_start(b, n);
		}
		if (n->first) {
			n = n->first;
			continue;
		}
		for (; n != root; n = n->parent) {
			if (!n->is_text)
				buf_addz(b, "</>");
			if (n->next)
				break;
		}
		n = n == root ? NULL : n->next;
	}
}

static void
trees(void **)
{
	struct arena *a = arena_new(16 * MIB);
	struct buf b = BUF(MIB);
	int bad = 0;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct html h;
		struct err e;

		arena_reset(a);
		buf_clear(&b);
		assert_int_equal(html_parse(a, str_of(ROWS[i].in), &h, &e), OK);
		assert_false(h.cut);
		show_tree(&b, h.root);
		buf_addc(&b, '\0');
		if (strcmp(b.p, ROWS[i].tree) == 0)
			continue;
		bad++;
		print_error("%s\n  gave %s\n  not  %s\n", ROWS[i].in, b.p,
		    ROWS[i].tree);
	}
	buf_done(&b);
	arena_free(a);
	assert_int_equal(bad, 0);
}

/* A tree that does not fit is cut, and said to be. */
static void
cut(void **)
{
	struct arena *a = arena_new(64 * KIB);
	struct buf b = BUF(MIB);
	struct html h;
	struct err e;
	size_t n = 0;

	while (b.n < 20000)
		buf_addz(&b, "<p>x");
	assert_int_equal(html_parse(a, buf_str(&b), &h, &e), OK);
	assert_true(h.cut);
	for (const struct html_node *at = h.root; at;
	     at = html_next(h.root, at, false))
		n++;
	assert_true(n > 10 && n < 10000);
	while (b.n < 100000)
		buf_addz(&b, "<p>x");
	arena_reset(a);
	assert_int_equal(html_parse(a, buf_str(&b), &h, &e), ERR_LIMIT);
	buf_done(&b);
	arena_free(a);
}

/* No deeper than it should be; what comes later is still there. */
static void
depth(void **)
{
	struct arena *a = arena_new(16 * MIB);
	struct buf b = BUF(MIB);
	struct html h;
	struct err e;
	size_t n = 0, most = 0, texts = 0;

	for (int i = 0; i < 5000; i++)
		buf_addz(&b, "<div><table><td><b>x");
	assert_int_equal(html_parse(a, buf_str(&b), &h, &e), OK);
	for (const struct html_node *at = h.root; at;
	     at = html_next(h.root, at, false)) {
		n = 0;
		for (const struct html_node *up = at; up; up = up->parent)
			n++;
		most = n > most ? n : most;
		texts += at->is_text;
	}
	assert_true(most <= HTML_DEPTH_MAX + 2);
	assert_int_equal(texts, 5000);
	buf_done(&b);
	arena_free(a);
}

static void
names(void **)
{
	for (int t = T_OTHER + 1; t < T_COUNT; t++)
		assert_int_equal(
		    html_tag_find(str_of(html_tag_name((enum html_tag)t))), t);
	assert_int_equal(html_tag_find(STR("no-such")), T_OTHER);
	assert_int_equal(html_tag_find(STR("")), T_OTHER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trees),
	    cmocka_unit_test(cut),
	    cmocka_unit_test(depth),
	    cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
