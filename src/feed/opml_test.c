#include "feed/opml.h"

#include "base/test.h"
#include "feed/limits.h"

#define BODY(x)                                                                \
	"<?xml version=\"1.0\"?>\n<opml version=\"1.0\"><head><title>My "      \
	"feeds</title></head><body>" x "</body></opml>"

/* category|title|url|site, one a line. */
static struct str
lines(struct arena *a, const struct opml *o)
{
	struct buf b = BUF(MIB);
	struct str s;

	for (const struct opml_feed *f = o->feeds; f; f = f->next)
		buf_fmt(&b, "%.*s|%.*s|%.*s|%.*s\n", STR_ARG(f->category),
		    STR_ARG(f->title), STR_ARG(f->url), STR_ARG(f->site));
	s = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return s;
}

static const struct row {
	const char *what, *xml, *want;
	bool repaired;
} ROWS[] = {
    {"a feed",
	BODY(
	    "<outline type='rss' text='A' xmlUrl='http://a/f' htmlUrl='http://a/'/>"),
	"|A|http://a/f|http://a/\n", false},
    {"title before text",
	BODY("<outline text='t' title='T' xmlUrl='http://a/'/>"),
	"|T|http://a/|\n", false},
    {"no name", BODY("<outline xmlUrl='http://a/'/>"), "||http://a/|\n", false},
    {"folders",
	BODY("<outline text='News'><outline xmlUrl='http://a/' text='A'/>"
	     "<outline text='Local'><outline xmlUrl='http://b/' text='B'/>"
	     "</outline></outline><outline xmlUrl='http://c/' text='C'/>"),
	"News|A|http://a/|\nNews / Local|B|http://b/|\n|C|http://c/|\n", false},
    {"a category of its own",
	BODY("<outline xmlUrl='http://a/' text='A' category='/x/y,/z'/>"),
	"x / y|A|http://a/|\n", false},
    {"the folder wins",
	BODY("<outline text='F'><outline xmlUrl='http://a/' category='x'/>"
	     "</outline>"),
	"F||http://a/|\n", false},
    {"other case",
	"<OPML><BODY><OUTLINE TEXT='A' XMLURL='http://a/'/></BODY></OPML>",
	"|A|http://a/|\n", false},
    {"url by its type", BODY("<outline type='rss' url='http://a/' text='A'/>"),
	"|A|http://a/|\n", false},
    {"a link is no feed", BODY("<outline type='link' url='http://a/'/>"), "",
	false},
    {"feed:",
	BODY(
	    "<outline xmlUrl='feed://a/'/><outline xmlUrl='feed:https://b/'/>"),
	"||http://a/|\n||https://b/|\n", false},
    {"feed: twice", BODY("<outline xmlUrl='feed:feed://a/'/>"),
	"||http://a/|\n", false},
    {"feed: alone", BODY("<outline xmlUrl='feed:'/>"), "", false},
    {"blanks", BODY("<outline text=' a \n  b ' xmlUrl=' http://a/&#9;x '/>"),
	"|a b|http://a/x|\n", false},
    {"references",
	BODY(
	    "<outline text='R&amp;D &lt;3 &#x263a;' xmlUrl='http://a/?x=1&amp;y=2'/>"),
	"|R&D <3 \xe2\x98\xba|http://a/?x=1&y=2|\n", false},
    {"a stray &", BODY("<outline text='R&D' xmlUrl='http://a/?x=1&y=2'/>"),
	"|R&D|http://a/?x=1&y=2|\n", true},
    {"names of HTML", BODY("<outline text='caf&eacute;' xmlUrl='http://a/'/>"),
	"|caf\xc3\xa9|http://a/|\n", true},
    {"no quotes", BODY("<outline text=A xmlUrl=http://a/ />"),
	"|A|http://a/|\n", true},
    {"cut off",
	"<opml><body><outline text='F'><outline xmlUrl='http://a/' text='A'/>"
	"<outline xmlUrl='htt",
	"F|A|http://a/|\n", true},
    {"a DTD",
	"<!DOCTYPE opml [<!ENTITY x 'y'>]><opml><body><outline "
	"text='&x;' xmlUrl='http://a/'/></body></opml>",
	"|&x;|http://a/|\n", true},
    {"junk before it",
	"warning: x\n<opml><body><outline xmlUrl='http://a/'/></body></opml>",
	"||http://a/|\n", false},
    {"no root", "<outline text='A' xmlUrl='http://a/'/>", "|A|http://a/|\n",
	false},
    {"latin 1",
	"<?xml version='1.0' encoding='iso-8859-1'?><opml><body>"
	"<outline text='caf\xe9' xmlUrl='http://a/'/></body></opml>",
	"|caf\xc3\xa9|http://a/|\n", false},
    {"nothing in it", BODY(""), "", false},
};

static void
test_parse(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct arena *a = arena_new(16 * MIB);
		struct opml *o = NULL;
		struct err e;
		struct str got;

		if (opml_parse(a, str_of(ROWS[i].xml), STR_EMPTY, &o, &e) < 0)
			fail_msg("%s: %s", ROWS[i].what, e.text);
		got = lines(a, o);
		if (!str_eq(got, str_of(ROWS[i].want)))
			fail_msg("%s: %.*s", ROWS[i].what, STR_ARG(got));
		if (o->repaired != ROWS[i].repaired)
			fail_msg(
			    "%s: repaired is %d", ROWS[i].what, o->repaired);
		arena_free(a);
	}
}

static void
test_round(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct arena *a = arena_new(16 * MIB);
		struct opml *one = NULL, *two = NULL;
		struct buf b = BUF(MIB);
		struct err e;

		assert_int_equal(
		    opml_parse(a, str_of(ROWS[i].xml), STR_EMPTY, &one, &e),
		    OK);
		for (struct opml_feed *f = one->feeds; f; f = f->next)
			if (f->title.n == 0)
				f->title = f->url;
		opml_write(one, 1000 * US_PER_S, &b);
		assert_false(b.failed);
		assert_int_equal(
		    opml_parse(a, buf_str(&b), STR_EMPTY, &two, &e), OK);
		assert_false(two->repaired);
		if (!str_eq(lines(a, one), lines(a, two)) ||
		    !str_eq(one->title, two->title))
			fail_msg(
			    "%s: %.*s", ROWS[i].what, STR_ARG(buf_str(&b)));
		buf_done(&b);
		arena_free(a);
	}
}

static void
test_refused(void **)
{
	static const char *const bad[] = {"", "hello", "{\"a\":1}",
	    "<rss><channel/></rss>", "<html><body>opml</body></html>", "<",
	    "<opm"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct arena *a = arena_new(MIB);
		struct opml *o = NULL;
		struct err e;

		assert_int_equal(
		    opml_parse(a, str_of(bad[i]), STR_EMPTY, &o, &e),
		    ERR_INVALID);
		assert_true(e.text[0] != '\0');
		arena_free(a);
	}
}

/* Deep, and more than we take: bounded, and what was read is kept. */
static void
test_bounds(void **)
{
	struct arena *a = arena_new(64 * MIB);
	struct buf b = BUF(OPML_BYTES_MAX + MIB);
	struct opml *o = NULL;
	struct err e;

	buf_addz(&b, "<opml><body>");
	for (int i = 0; i < OPML_FEEDS_MAX + 5; i++)
		buf_fmt(&b, "<outline xmlUrl='http://a/%d'/>", i);
	buf_addz(&b, "</body></opml>");
	assert_int_equal(opml_parse(a, buf_str(&b), STR_EMPTY, &o, &e), OK);
	assert_int_equal(o->n_feeds, OPML_FEEDS_MAX);
	assert_true(o->cut);
	buf_clear(&b);
	buf_addz(&b, "<opml><body>");
	for (int i = 0; i < 5000; i++)
		buf_addz(&b, "<outline text='x'>");
	assert_int_equal(opml_parse(a, buf_str(&b), STR_EMPTY, &o, &e), OK);
	assert_int_equal(o->n_feeds, 0);
	buf_clear(&b);
	while (b.n <= OPML_BYTES_MAX)
		buf_addz(&b, "<opml>                                       ");
	assert_int_equal(
	    opml_parse(a, buf_str(&b), STR_EMPTY, &o, &e), ERR_LIMIT);
	buf_done(&b);
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_round),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
