#include "markup/text.h"

#include "base/test.h"
#include "markup/charset.h"

struct row {
	const char *in, *want;
};

static void
check(const struct row *rows, size_t n,
    struct str (*f)(struct arena *a, struct str s))
{
	for (size_t i = 0; i < n; i++) {
		struct arena *a = arena_new(1 << 16);
		struct str got = f(a, str_of(rows[i].in));

		if (!str_eq(got, str_of(rows[i].want)))
			fail_msg("\"%s\": \"%.*s\"", rows[i].in, STR_ARG(got));
		arena_free(a);
	}
}

static void
reads_titles(void **)
{
	static const struct row TITLES[] = {
	    {"plain", "plain"},
	    {"  a \n b ", "a b"},
	    {"AT&T", "AT&T"},
	    {"AT&amp;T", "AT&T"},
	    {"a &#8217; b", "a \xe2\x80\x99 b"},
	    {"<b>bold</b> x", "bold x"},
	    {"The <b> tag", "The <b> tag"},
	    {"1 < 2 </ 3", "1 < 2 </ 3"},
	    {"", ""},
	};
	static const struct row HTML[] = {
	    {"a<br>b", "a b"},
	    {"<P>a</P><p>b", "a b"},
	    {"a<b>b</b><basefont>c", "abc"},
	    {"<ul><li>a<li>b</ul>", "a b"},
	    {"<p>x</p>", "x"},
	    {"1 < 2", "1 < 2"},
	    {"x <y", "x <y"},
	    {"&lt;b&gt;", "<b>"},
	};
	static const struct row PLAIN[] = {
	    {"a<b>&c", "a&lt;b&gt;&amp;c"},
	    {"abc", "abc"},
	};
	static const struct row BASE64[] = {
	    {"PHA+eDwvcD4=", "<p>x</p>"},
	    {"PHA+\n eDwvcD4=", "<p>x</p>"},
	    {"!!", ""},
	    {"//8=", ""},
	    {"", ""},
	};

	check(TITLES, COUNT_OF(TITLES), text_title);
	check(HTML, COUNT_OF(HTML), text_of_html);
	check(PLAIN, COUNT_OF(PLAIN), text_escape);
	check(BASE64, COUNT_OF(BASE64), text_base64);
}

static struct str
person(struct arena *a, struct str s)
{
	bool named;

	return text_person(a, s, &named);
}

static void
reads_people(void **)
{
	static const struct row ROWS[] = {
	    {"Ann", "Ann"},
	    {"ann@example.com (Ann A.)", "Ann A."},
	    {"Ann A. <ann@example.com>", "Ann A."},
	    {"\"Ann A.\" <ann@example.com>", "Ann A."},
	    {"<ann@example.com>", "ann@example.com"},
	    {"ann@example.com", "ann@example.com"},
	    {"mailto:ann@example.com", "ann@example.com"},
	    {"Ann (editor)", "Ann (editor)"},
	    {"ann@example.com ()", "ann@example.com ()"},
	    {"", ""},
	};

	check(ROWS, COUNT_OF(ROWS), person);
}

static void
decodes(void **)
{
	static const struct {
		struct str bytes, type;
		const char *want;
	} ROWS[] = {
	    {STR("<a>\xc3\xa9</a>"), STR(""), "<a>é</a>"},
	    {STR("\xef\xbb\xbf<a/>"), STR(""), "<a/>"},
	    {STR("\xff\xfe<\0a\0"), STR(""), "<a"},
	    {STR("\xfe\xff\0<\0a"), STR(""), "<a"},
	    {STR("<\0a\0"), STR(""), "<a"},
	    {STR("\0<\0a"), STR(""), "<a"},
	    {STR("<\0\0\0a\0\0\0"), STR(""), "<a"},
	    {STR("<a>\xe9</a>"), STR(""), "<a>é</a>"},
	    {STR("<a>\xe6\x97\xa5\xe6\x97\xa5\xe6\x9c"), STR(""), "<a>日日"},
	    {STR("<?xml encoding=\"utf-8\"?>"
		 "\xa5\xd5\xa5\xa3\xa1\xbc\xa5\xc9\xa4\xce"),
		STR(""), "<?xml encoding=\"utf-8\"?>フィードの"},
	    {STR("<a>\xe9 \xc3\xa9</a>"), STR(""), "<a>é é</a>"},
	    {STR("<a>\x93x\x94</a>"), STR("text/xml; charset=iso-8859-1"),
		"<a>“x”</a>"},
	    {STR("<a>\xc3\xa9</a>"), STR("text/xml; charset=iso-8859-1"),
		"<a>é</a>"},
	    {STR("<a>\xf0\xd2</a>"), STR("text/xml;charset=\"KOI8-R\""),
		"<a>Пр</a>"},
	    {STR("<?xml encoding='windows-1251'?>\xcf\xf0"), STR(""),
		"<?xml encoding='windows-1251'?>Пр"},
	    {STR("<?xml encoding=\"Shift_JIS\"?>\x93\xfa\x96\x7b"), STR(""),
		"<?xml encoding=\"Shift_JIS\"?>日本"},
	    {STR("<?xml encoding=\"EUC-JP\"?>\xc6\xfc\xcb\xdc"),
		STR("text/xml"), "<?xml encoding=\"EUC-JP\"?>日本"},
	    {STR("<a>\xe9</a>"), STR("text/xml; charset=no-such-thing"),
		"<a>é</a>"},
	    {STR("<?xml encoding=\"utf-16\"?><a>\xc3\xa9"), STR(""),
		"<?xml encoding=\"utf-16\"?><a>é"},
	    {STR("\xa5\xd5\xa5\xa3\xa1\xbc\xa5\xc9\xa4\xce\xa4\xb3\xa4\xc8"),
		STR(""), "フィードのこと"},
	    {STR("\x83\x74\x83\x42\x81\x5b\x83\x68\x82\xcc\x82\xb1\x82\xc6"),
		STR(""), "フィードのこと"},
	    {STR("\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0"), STR(""),
		"Привет мир"},
	    {STR("\xf0\xd2\xc9\xd7\xc5\xd4 \xcd\xc9\xd2"), STR(""),
		"Привет мир"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct buf b = BUF(MIB);
		struct str got = STR_EMPTY;
		struct err e;

		assert_int_equal(
		    charset_decode(ROWS[i].bytes, ROWS[i].type, &b, &got, &e),
		    OK);
		if (!str_eq(got, str_of(ROWS[i].want)))
			fail_msg("%zu: %.*s", i, STR_ARG(got));
		buf_done(&b);
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(reads_titles),
	    cmocka_unit_test(reads_people),
	    cmocka_unit_test(decodes),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
