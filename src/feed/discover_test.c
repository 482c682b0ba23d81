#include "feed/discover.h"

#include "base/test.h"

#define URL "https://www.example/blog/index.html"

static void
look(struct arena *a, struct str page, const char *type, struct discover *d)
{
	struct feed_from from = {STR(URL), str_of(type), STR_EMPTY};
	struct err e = {0};

	if (discover(a, page, &from, d, &e) < 0)
		fail_msg("%s", e.text);
}

/* "kind url title;" for each feed. */
static const struct {
	const char *page, *feeds;
} ROWS[] = {
    {"", ""},
    {"<p>no feed here</p>", ""},
    /* 2.2: each type */
    {"<link rel=alternate type=application/rss+xml href=/rss>",
	"rss https://www.example/rss ;"},
    {"<link rel=alternate type=application/atom+xml href=atom.xml title=' A \n b '>",
	"atom https://www.example/blog/atom.xml A b;"},
    {"<link rel=alternate type=application/feed+json href=f.json>",
	"json https://www.example/blog/f.json ;"},
    {"<link rel=alternate type=application/rdf+xml href=x>",
	"rss https://www.example/blog/x ;"},
    {"<LINK REL='nofollow ALTERNATE' TYPE='Application/RSS+xml; charset=x' HREF=x>",
	"rss https://www.example/blog/x ;"},
    {"<link rel=alternate type=application/xml title='RSS of it' href=x>",
	"xml https://www.example/blog/x RSS of it;"},
    {"<link rel=alternate type=text/xml href=/feed/>",
	"xml https://www.example/feed/ ;"},
    {"<link rel=alternate type=application/json title='JSON Feed' href=x>",
	"json https://www.example/blog/x JSON Feed;"},
    {"<link rel=feed href=x>", "xml https://www.example/blog/x ;"},
    /* none of them is a feed */
    {"<link rel=alternate type=application/xml title=Sitemap href=x>", ""},
    {"<link rel=alternate type=application/json href=/wp-json/1>", ""},
    {"<link rel=alternate hreflang=de href=/de>", ""},
    {"<link rel='alternate stylesheet' type=application/rss+xml href=x>", ""},
    {"<link rel=stylesheet type=application/rss+xml href=x>", ""},
    {"<link type=application/rss+xml href=x>", ""},
    {"<link rel=alternate type=application/rss+xml>", ""},
    {"<link rel=alternate type=application/rss+xml href=''>", ""},
    {"<link rel=alternate type=application/rss+xml href=javascript:x>", ""},
    {"<link rel=alternate type=application/rss+xml href=file:///etc/passwd>",
	""},
    {"<!--<link rel=alternate type=application/rss+xml href=x>-->", ""},
    {"<script>'<link rel=alternate type=application/rss+xml href=x>'</script>",
	""},
    {"<template><link rel=alternate type=application/rss+xml href=x></template>",
	""},
    {"<svg><link rel=alternate type=application/rss+xml href=x></svg>", ""},
    {"<meta http-equiv=refresh content='0;url=/feed'>", ""},
    {"<a rel=alternate type=application/rss+xml href=x>RSS</a>", ""},
    /* 2.3: same host, then Atom, then RSS, then the first */
    {"<link rel=alternate type=application/rss+xml href=/1>"
     "<link rel=alternate type=application/atom+xml href=/2>"
     "<link rel=alternate type=application/rss+xml href=/3>",
	"atom https://www.example/2 ;rss https://www.example/1 ;"
	"rss https://www.example/3 ;"},
    {"<link rel=alternate type=application/atom+xml href=//feeds.example/1>"
     "<link rel=alternate type=application/feed+json href=/2>"
     "<link rel=alternate type=application/rss+xml href=/3>",
	"rss https://www.example/3 ;json https://www.example/2 ;"
	"atom https://feeds.example/1 ;"},
    {"<link rel=alternate type=application/rss+xml href=/1>"
     "<link rel=alternate type=application/rss+xml href=/1 title=again>",
	"rss https://www.example/1 ;"},
    /* where it stands */
    {"<!doctype html><html><head><title>x</title><link rel=alternate "
     "type=application/rss+xml href=1></head><body>",
	"rss https://www.example/blog/1 ;"},
    {"<body><table><td><link rel=alternate type=application/rss+xml href=1>",
	"rss https://www.example/blog/1 ;"},
    {"<link rel=alternate type=application/rss+xml href=1>"
     "<base href=//cdn.example/a/><base href=/b/>",
	"rss https://cdn.example/a/1 ;"},
    {"<base href=/c/d><link rel=alternate type=application/rss+xml href=1>",
	"rss https://www.example/c/1 ;"},
    {"<base href=javascript:x><link rel=alternate type=application/rss+xml href=1>",
	"rss https://www.example/blog/1 ;"},
};

static void
feeds(void **)
{
	struct arena *a = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct discover d;
		struct buf b = BUF(MIB);

		arena_reset(a);
		look(a, str_of(ROWS[i].page), "text/html", &d);
		assert_false(d.is_feed);
		for (size_t k = 0; k < d.n_feeds; k++)
			buf_fmt(&b, "%s %.*s %.*s;",
			    discover_kind_name(d.feeds[k].kind),
			    STR_ARG(d.feeds[k].url), STR_ARG(d.feeds[k].title));
		buf_addc(&b, '\0');
		if (strcmp(b.p, ROWS[i].feeds) != 0)
			fail_msg("%s\n  gave %s\n  not  %s", ROWS[i].page, b.p,
			    ROWS[i].feeds);
		buf_done(&b);
	}
	arena_free(a);
}

/* 2.5 */
static void
icons(void **)
{
	static const char PAGE[] =
	    "<link rel=apple-touch-icon sizes=180x180 href=/touch.png>"
	    "<link rel=icon type=image/svg+xml href=/i.svg sizes=any>"
	    "<link rel='shortcut icon' href=/old.ico>"
	    "<link rel=icon sizes='16x16' href=/16.png>"
	    "<link rel=icon sizes='192X192 48x48' href=/48.png>"
	    "<link rel=icon sizes='32x32' href=/32.png>"
	    "<link rel=icon href='data:image/png;base64,AAAA'>"
	    "<link rel=mask-icon href=/mask.svg>";
	static const char *const WANT[] = {"32.png", "48.png", "old.ico",
	    "16.png", "touch.png", "i.svg", "favicon.ico"};
	struct arena *a = arena_new(MIB);
	struct discover d;

	look(a, STR(PAGE), "", &d);
	assert_int_equal(d.n_icons, COUNT_OF(WANT));
	for (size_t i = 0; i < COUNT_OF(WANT); i++)
		if (!str_ends(d.icons[i].url, str_of(WANT[i])))
			fail_msg("%zu is %.*s", i, STR_ARG(d.icons[i].url));
	assert_int_equal(d.icons[1].pixels, 48);
	look(a, STR("<link rel=icon href=/favicon.ico>"), "", &d);
	assert_int_equal(d.n_icons, 1);
	assert_str(d.icons[0].url, "https://www.example/favicon.ico");
	arena_free(a);
}

/* 2.1: the bytes tell, the Content-Type may lie. */
static void
feed_itself(void **)
{
	static const struct {
		const char *text;
		bool is;
	} FEEDS[] = {
	    {"<rss version='2.0'>", true},
	    {"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- x > y --><feed xmlns='x'>",
		true},
	    {" \n<rdf:RDF xmlns:rdf='x'>", true},
	    {"<?xml-stylesheet href='x'?><atom:feed>", true},
	    {"{\"version\": \"https://jsonfeed.org/version/1.1\"}", true},
	    {"{\"version\":\"https:\\/\\/jsonfeed.org\\/version\\/1\"}", true},
	    {"<!doctype html><rss version='2.0'>", true},
	    {"<!DOCTYPE rss [<!ENTITY a '>'>]><RSS>", true},
	    {"<!doctype html><html><rss>", false},
	    {"<html><body><rss>", false},
	    {"{\"a\":1}", false},
	    {"<?xml version='1.0'?><urlset>", false},
	    {"<?xml", false},
	    {"<", false},
	    {"", false},
	    {"rss", false},
	};
	struct arena *a = arena_new(MIB);
	struct discover d;

	for (size_t i = 0; i < COUNT_OF(FEEDS); i++) {
		look(a, str_of(FEEDS[i].text), "text/html", &d);
		if (d.is_feed != FEEDS[i].is)
			fail_msg("%s", FEEDS[i].text);
	}
	arena_free(a);
}

/* Link headers: what stands there, and the feeds that it names. */
static void
headers(void **)
{
#define RSS "rel=alternate; type=application/rss+xml"
	static const struct {
		const char *links, *feeds;
	} LINKS[] = {
	    {"", ""},
	    {"</rss>; " RSS, "rss https://www.example/rss ;"},
	    {"<f.json>; rel=\"alternate\"; type=\"application/feed+json\"",
		"json https://www.example/blog/f.json ;"},
	    {"<//x.example/a>;REL=Alternate;TYPE=application/atom+xml;title=\"A; b, c\"",
		"atom https://x.example/a A; b, c;"},
	    {"</wp-json/>; rel=\"https://api.w.org/\", </1>; rel=shortlink, </2>; " RSS,
		"rss https://www.example/2 ;"},
	    {"</1>; " RSS ", </2>; rel=alternate; type=application/atom+xml",
		"atom https://www.example/2 ;rss https://www.example/1 ;"},
	    {"</1>; rel=\"self alternate\" ; type = \"application/rss+xml\" ,",
		"rss https://www.example/1 ;"},
	    {"</x>; rel=feed", "xml https://www.example/x ;"},
	    /* none */
	    {"</1>; type=application/rss+xml", ""},
	    {"</1>; rel=alternate; hreflang=de", ""},
	    {"<javascript:x>; " RSS, ""},
	    {"<>; " RSS, ""},
	    {"</1; " RSS, ""},
	    {"/1; " RSS, ""},
	    {"</1>; rel=alternate; type=\"application/rss+xml",
		"rss https://www.example/1 ;"},
	    {"<", ""},
	    {"<>;;;=;\"", ""},
	};
	struct arena *a = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(LINKS); i++) {
		/* Its <base> is none for headers. */
		static const char PAGE[] = "<base href=//no.example/>";
		struct feed_from from = {
		    STR(URL), STR("text/html"), str_of(LINKS[i].links)};
		struct buf b = BUF(MIB);
		struct discover d;
		struct err e = {0};

		assert_int_equal(discover(a, STR(PAGE), &from, &d, &e), OK);
		for (size_t k = 0; k < d.n_feeds; k++)
			buf_fmt(&b, "%s %.*s %.*s;",
			    discover_kind_name(d.feeds[k].kind),
			    STR_ARG(d.feeds[k].url), STR_ARG(d.feeds[k].title));
		buf_addc(&b, '\0');
		if (strcmp(b.p, LINKS[i].feeds) != 0)
			fail_msg("%s\n  gave %s\n  not  %s", LINKS[i].links,
			    b.p, LINKS[i].feeds);
		buf_done(&b);
	}
	arena_free(a);
}

static void
refresh(void **)
{
#define META(content) "<meta http-equiv=refresh content=\"" content "\">"
	static const struct {
		const char *page, *to;
	} PAGES[] = {
	    {META("0;url=/feed"), "https://www.example/feed"},
	    {META("5; URL='new/'"), "https://www.example/blog/new/"},
	    {META("0, url = https://x.example/a"), "https://x.example/a"},
	    {META("0; url=https://x.example/a;b"), "https://x.example/a;b"},
	    {"<base href=/c/>" META("0; url=d"), "https://www.example/c/d"},
	    {"<META HTTP-EQUIV=' Refresh ' CONTENT='1;URL=//x.example'>",
		"https://x.example/"},
	    {META("3") META("0;url=/2"), "https://www.example/2"},
	    {"<html><head>" META("0;url=/?a=1&amp;b=2"),
		"https://www.example/?a=1&b=2"},
	    /* nowhere */
	    {META("30"), ""},
	    {META("0; url="), ""},
	    {META("0; url=javascript:x"), ""},
	    {META("0; url=index.html"), ""},
	    {META("0; uri=/x"), ""},
	    {"<meta http-equiv=content-type content='0;url=/x'>", ""},
	    {"<!--" META("0;url=/x") "-->", ""},
	    {"<template>" META("0;url=/x") "</template>", ""},
	};
	struct arena *a = arena_new(MIB);
	struct discover d;

	for (size_t i = 0; i < COUNT_OF(PAGES); i++) {
		look(a, str_of(PAGES[i].page), "text/html", &d);
		if (!str_eq(d.refresh, str_of(PAGES[i].to)))
			fail_msg("%s leads to %.*s", PAGES[i].page,
			    STR_ARG(d.refresh));
	}
	arena_free(a);
}

static void
charsets(void **)
{
#define LINK "<link rel=alternate type=application/rss+xml href=x title='"
	static const struct {
		struct str page;
		const char *type;
	} PAGES[] = {
	    {STR(LINK "\xe3\x81\x82'>"), ""},
	    {STR(LINK "\x82\xa0'>"), "text/html; charset=Shift_JIS"},
	    {STR("<meta charset=\"euc-jp\">" LINK "\xa4\xa2'>"), "text/html"},
	    {STR("<meta http-equiv=content-type content='text/html; "
		 "charset=x-sjis'>" LINK "\x82\xa0'>"),
		""},
	    {STR("<meta charset=iso-2022-jp>" LINK "\x1b$B$\"\x1b(B'>"), ""},
	};
	struct arena *a = arena_new(MIB);
	struct discover d;

	for (size_t i = 0; i < COUNT_OF(PAGES); i++) {
		look(a, PAGES[i].page, PAGES[i].type, &d);
		assert_int_equal(d.n_feeds, 1);
		assert_str(d.feeds[0].title, "\xe3\x81\x82");
	}
	look(a, STR(LINK "\xff'>"), "text/html; charset=no-such", &d);
	assert_str(d.feeds[0].title, "\xc3\xbf"); /* windows-1252 */
	arena_free(a);
}

static void
bounds(void **)
{
	struct buf b = BUF(2 * DISCOVER_IN_MAX);
	struct arena *a = arena_new(4 * MIB);
	struct feed_from from = {.url = STR(URL)};
	struct discover d;
	struct err e = {0};

	for (int i = 0; i < 1000; i++)
		buf_fmt(&b,
		    "<link rel=alternate type=application/rss+xml href=%d>"
		    "<link rel=icon href=%d.png>",
		    i, i);
	look(a, buf_str(&b), "", &d);
	assert_int_equal(d.n_feeds, DISCOVER_FEEDS_MAX);
	assert_int_equal(d.n_icons, DISCOVER_ICONS_MAX + 1);
	buf_clear(&b);
	while (b.n <= DISCOVER_IN_MAX)
		buf_addz(&b, "<div><link rel=icon href=x>");
	assert_int_equal(discover(a, buf_str(&b), &from, &d, &e), ERR_LIMIT);
	look(a, (struct str){b.p, DISCOVER_IN_MAX}, "", &d);
	assert_int_equal(d.n_icons, 2);
	from.url = STR("ftp://x.example/");
	assert_int_equal(discover(a, STR("x"), &from, &d, &e), ERR_INVALID);
	for (size_t i = 0; DISCOVER_PATHS[i]; i++)
		assert_int_equal(DISCOVER_PATHS[i][0], '/');
	buf_done(&b);
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(feeds),
	    cmocka_unit_test(icons),
	    cmocka_unit_test(feed_itself),
	    cmocka_unit_test(headers),
	    cmocka_unit_test(refresh),
	    cmocka_unit_test(charsets),
	    cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
