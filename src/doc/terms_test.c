#include "doc/terms.h"

#include "base/test.h"
#include "doc/limits.h"

static void
test_texts(void **)
{
	static const struct {
		const char *text, *want;
	} ROWS[] = {
	    {"", ""},
	    {"The Quick-brown fox", "the quick brown fox"},
	    {"don't", "don t"},
	    {"a1b2 3,4", "a1b2 3 4"},
	    {"École ÉCOLE E\xcc\x81"
	     "cole",
		"ecole ecole ecole"},
	    {"ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ"},
	    {"Ἀθῆναι", "αθηναι"},
	    {"Привет ЁЖ", "привет еж"},
	    {"Йод", "иод"},
	    {"Việt Nam Ångström Łódź", "viet nam angstrom łodz"},
	    {"straße ÆØ", "straße æø"},
	    {"x² ③ H₂O ﬁn", "x2 3 h2o fin"},
	    {"ŽLUŤOUČKÝ Ÿ", "zlutoucky y"},
	    {"東京都", "東京 京都 都"},
	    {"東", "東"},
	    {"東京、大阪", "東京 京 大阪 阪"},
	    {"東京tower", "東京 京 tower"},
	    {"tower東京", "tower 東京 京"},
	    {"コーヒー・豆", "コー ーヒ ヒー ー 豆"},
	    {"한국어", "한국 국어 어"},
	    {"ＡＢＣ１２", "abc12"},
	    {"ｶﾞﾊﾟ ガパ", "ガパ パ ガパ パ"},
	    {"か\xe3\x82\x99 が", "が が"},
	    {"ウ\xe3\x82\x99", "ヴ"},
	    {"soft\xc2\xadhyphen zero\xe2\x80\x8bwidth",
		"softhyphen zerowidth"},
	    {"\xff\xfe bad \xc3", "bad"},
	    {"tab\there\nline", "tab here line"},
	    {"emoji 😀 x", "emoji x"},
	    {"々ノ", "々ノ ノ"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct buf b = BUF(64 * KIB);
		struct terms t = {.engine = STORE_SQLITE, .out = &b};

		terms_add(&t, str_of(ROWS[i].text));
		if (!str_eq(buf_str(&b), str_of(ROWS[i].want)))
			fail_msg(
			    "%s: %.*s", ROWS[i].text, STR_ARG(buf_str(&b)));
		buf_done(&b);
	}
}

static void
test_html(void **)
{
	static const struct {
		const char *html, *want;
	} ROWS[] = {
	    {"<p>one</p><p>two</p>", "one two"},
	    {"foo<em>bar</em> baz", "foobar baz"},
	    {"<a href=\"https://hidden.example/\" title=\"a > b\">seen</a>",
		"seen"},
	    {"a&amp;b &lt;script&gt;", "a b script"},
	    {"AT&T", "at t"},
	    {"x<br>y", "x y"},
	    {"東<strong>京</strong>", "東京 京"},
	    {"<", ""},
	    {"a<b", "a"},
	    {"a&", "a"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct buf b = BUF(64 * KIB);
		struct terms t = {.engine = STORE_SQLITE, .out = &b};

		terms_add_html(&t, str_of(ROWS[i].html));
		if (!str_eq(buf_str(&b), str_of(ROWS[i].want)))
			fail_msg(
			    "%s: %.*s", ROWS[i].html, STR_ARG(buf_str(&b)));
		buf_done(&b);
	}
}

/* Texts of one article are apart; PostgreSQL is told the places. */
static void
test_places(void **)
{
	struct buf b = BUF(64 * KIB);
	struct terms t = {.engine = STORE_POSTGRES, .out = &b};

	terms_begin(&t);
	terms_add(&t, STR("a b"));
	terms_add(&t, STR_EMPTY);
	terms_add(&t, STR("c"));
	assert_str(
	    buf_str(&b), "'\xe2\x90\x80':1 'a':2 'b':3 '\xe2\x90\x80':4 'c':5");
	buf_done(&b);
}

static void
test_bounds(void **)
{
	struct buf text = BUF(1 * MIB), b = BUF(1 * MIB);
	struct terms t = {.engine = STORE_SQLITE, .out = &b};

	for (int i = 0; i < 100; i++)
		buf_addz(&text, "0123456789");
	terms_add(&t, buf_str(&text));
	assert_int_equal(b.n, TERM_BYTES);
	buf_clear(&text);
	buf_clear(&b);
	t.n = 0;
	for (int i = 0; i < 2 * TERMS_MAX; i++)
		buf_addz(&text, "word ");
	terms_add(&t, buf_str(&text));
	assert_int_equal(t.n, TERMS_MAX);
	assert_false(b.failed);
	buf_done(&b);
	buf_done(&text);
}

static void
test_queries(void **)
{
	static const struct {
		const char *query, *sqlite, *postgres; /* NULL: refused */
	} ROWS[] = {
	    {"a", "\"a\"", "('a')"},
	    {"a b", "\"a\" AND \"b\"", "('a') & ('b')"},
	    {"\"a b\"", "\"a b\"", "('a' <-> 'b')"},
	    {"a-b", "\"a b\"", "('a' <-> 'b')"},
	    {"pre*", "\"pre\"*", "('pre':*)"},
	    {"\"a b\"* c", "\"a b\"* AND \"c\"", "('a' <-> 'b':*) & ('c')"},
	    {"東", "\"東\"*", "('東':*)"},
	    {"東京", "\"東京\"", "('東京')"},
	    {"東京都*", "\"東京 京都\"", "('東京' <-> '京都')"},
	    {"東京tower", "\"東京 京 tower\"", "('東京' <-> '京' <-> 'tower')"},
	    {"\"x", "\"x\"", "('x')"},
	    {"\"\" x", "\"x\"", "('x')"},
	    {"x\"y", "\"x\" AND \"y\"", "('x') & ('y')"},
	    {"'; DROP -- OR", "\"drop\" AND \"or\"", "('drop') & ('or')"},
	    {"a -b", "\"a\" NOT (\"b\")", "('a') & !(('b'))"},
	    {"-\"b c\" a -d*", "\"a\" NOT (\"b c\" OR \"d\"*)",
		"('a') & !(('b' <-> 'c') | ('d':*))"},
	    {"-b", "\xe2\x90\x80 NOT (\"b\")", "'\xe2\x90\x80' & !(('b'))"},
	    {"a - b", "\"a\" AND \"b\"", "('a') & ('b')"},
	    {"Café", "\"cafe\"", "('cafe')"},
	    {"NOT a", "\"not\" AND \"a\"", "('not') & ('a')"},
	    {"", NULL, NULL},
	    {"\"\"", NULL, NULL},
	    {"*", NULL, NULL},
	    {"- ( ) !", NULL, NULL},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		for (int pg = 0; pg < 2; pg++) {
			const char *want =
			    pg ? ROWS[i].postgres : ROWS[i].sqlite;
			struct buf b = BUF(64 * KIB);
			struct err e = {.code = OK};
			int rc = terms_query(pg ? STORE_POSTGRES : STORE_SQLITE,
			    str_of(ROWS[i].query), &b, &e);

			if (!want)
				assert_int_equal(rc, ERR_INVALID);
			else if (rc < 0 || !str_eq(buf_str(&b), str_of(want)))
				fail_msg("%s: %d %.*s", ROWS[i].query, rc,
				    STR_ARG(buf_str(&b)));
			buf_done(&b);
		}
}

static void
test_too_many(void **)
{
	struct buf q = BUF(4 * KIB), b = BUF(64 * KIB);
	struct err e = {.code = OK};

	for (int i = 0; i < TERMS_QUERY_MAX; i++)
		buf_fmt(&q, "w%d ", i);
	assert_int_equal(terms_query(STORE_SQLITE, buf_str(&q), &b, &e), OK);
	buf_addz(&q, "more");
	assert_int_equal(
	    terms_query(STORE_SQLITE, buf_str(&q), &b, &e), ERR_INVALID);
	assert_string_equal(e.at, "/search");
	buf_done(&q);
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_html),
	    cmocka_unit_test(test_places),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_queries),
	    cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
