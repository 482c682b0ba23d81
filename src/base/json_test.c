#include "base/json.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* wants the others first */
/* clang-format on */

static struct arena *arena;
static struct err e;

static struct json *
parse(struct str text)
{
	struct json *j = NULL;

	if (json_parse(arena, text, &j, &e) < 0)
		fail_msg("%.*s: %s", STR_ARG(text), e.text);
	return j;
}

static struct json *
parse_z(const char *z)
{
	return parse(str_of(z));
}

static const struct {
	struct str text;
	const char *what;
	size_t at, line, column;
} BAD[] = {
    {STR(""), "the document is empty", 0, 1, 1},
    {STR(" \n "), "the document is empty", 3, 2, 2},
    {STR("\xef\xbb\xbf{}"), "a byte order mark is not allowed", 0, 1, 1},
    {STR("{"), "the document ends too early", 1, 1, 2},
    {STR("{\"a\""), "the document ends too early", 4, 1, 5},
    {STR("{\"a\":1,"), "the document ends too early", 7, 1, 8},
    {STR("\"abc"), "the document ends too early", 4, 1, 5},
    {STR("\"abc\\"), "the document ends too early", 5, 1, 6},
    {STR("\"\\u12"), "the document ends too early", 5, 1, 6},
    {STR("tru"), "the document ends too early", 3, 1, 4},
    {STR("-"), "the document ends too early", 1, 1, 2},
    {STR("1e"), "the document ends too early", 2, 1, 3},
    {STR("1."), "the document ends too early", 2, 1, 3},
    {STR("{} x"), "text after the end of the document", 3, 1, 4},
    {STR("{}{}"), "text after the end of the document", 2, 1, 3},
    {STR("{} ,"), "text after the end of the document", 3, 1, 4},
    {STR("1 \"abc\""), "text after the end of the document", 2, 1, 3},
    {STR("01"), "text after the end of the document", 1, 1, 2},
    {STR("{}\0"), "text after the end of the document", 2, 1, 3},
    {STR("[01]"), "a comma or ] was expected", 2, 1, 3},
    {STR("[-01]"), "a comma or ] was expected", 3, 1, 4},
    {STR("[1 2]"), "a comma or ] was expected", 3, 1, 4},
    {STR("[1}"), "a comma or ] was expected", 2, 1, 3},
    {STR("{\"a\":1 \"b\":2}"), "a comma or } was expected", 7, 1, 8},
    {STR("{\"a\":1]"), "a comma or } was expected", 6, 1, 7},
    {STR("{\"a\":1 {tr,"), "a comma or } was expected", 7, 1, 8},
    {STR("{\"a\" tru"), "the document ends too early", 8, 1, 9},
    {STR("{\"a\" \"\\x\"}"), "unknown escape", 7, 1, 8},
    {STR("[1 @"), "unexpected character", 3, 1, 4},
    {STR("{0"), "a key in quotes was expected", 1, 1, 2},
    {STR("1\n\n/"), "text after the end of the document", 3, 3, 1},
    {STR("[\"1234567\x01\"]"), "control character in a string", 9, 1, 10},
    {STR("[\"123456\x01\x80"), "no valid UTF-8", 9, 1, 10},
    {STR("@ \xff"), "no valid UTF-8", 2, 1, 3},
    {STR("{\"a\" 1}"), "a colon was expected after the key", 5, 1, 6},
    {STR("{\"a\",1}"), "a colon was expected after the key", 4, 1, 5},
    {STR("{1:2}"), "a key in quotes was expected", 1, 1, 2},
    {STR("{\"a\":1,}"), "a key in quotes was expected", 7, 1, 8},
    {STR("{a:1}"), "unexpected character", 1, 1, 2},
    {STR("{'a':1}"), "unexpected character", 1, 1, 2},
    {STR("{,}"), "a key in quotes was expected", 1, 1, 2},
    {STR("{\"a\":}"), "unexpected character", 5, 1, 6},
    {STR("[1,,2]"), "unexpected character", 3, 1, 4},
    {STR("[1,]"), "unexpected character", 3, 1, 4},
    {STR("[,]"), "unexpected character", 1, 1, 2},
    {STR("]"), "unexpected character", 0, 1, 1},
    {STR(":1"), "unexpected character", 0, 1, 1},
    {STR("+1"), "unexpected character", 0, 1, 1},
    {STR("[.5]"), "unexpected character", 1, 1, 2},
    {STR("NaN"), "unexpected character", 0, 1, 1},
    {STR("[Infinity]"), "unexpected character", 1, 1, 2},
    {STR("[1,\n  @]"), "unexpected character", 6, 2, 3},
    {STR("{\"\xc3\xa9\":@}"), "unexpected character", 6, 1, 6},
    {STR("// no\n1"), "unexpected character", 0, 1, 1},
    {STR("/* no */1"), "unexpected character", 0, 1, 1},
    {STR("[\f1]"), "unexpected character", 1, 1, 2},
    {STR("[1,\v2]"), "unexpected character", 3, 1, 4},
    {STR("[\v]"), "unexpected character", 1, 1, 2},
    {STR("{\f}"), "unexpected character", 1, 1, 2},
    {STR("{\f\"a\":1}"), "unexpected character", 1, 1, 2},
    {STR("1\f"), "text after the end of the document", 1, 1, 2},
    {STR("{\0}"), "unexpected character", 1, 1, 2},
    {STR("\0"), "unexpected character", 0, 1, 1},
    {STR("[nul]"), "unknown word", 4, 1, 5},
    {STR("[True]"), "unexpected character", 1, 1, 2},
    {STR("[-]"), "a digit must follow the minus sign", 2, 1, 3},
    {STR("[1.]"), "a digit must follow the decimal point", 3, 1, 4},
    {STR("[1.e5]"), "a digit must follow the decimal point", 3, 1, 4},
    {STR("[1e+]"), "a digit must follow the exponent", 4, 1, 5},
    {STR("[\"a\nb\"]"), "control character in a string", 3, 1, 4},
    {STR("[\"a\0b\"]"), "control character in a string", 3, 1, 4},
    {STR("[\"\x1f\"]"), "control character in a string", 2, 1, 3},
    {STR("[\"\\x\"]"), "unknown escape", 3, 1, 4},
    {STR("[\"\\u12g4\"]"), "\\u wants four hexadecimal digits", 6, 1, 7},
    {STR("[\"\\ud800\"]"), "half of a surrogate pair", 2, 1, 3},
    {STR("[\"x\\udc00\"]"), "half of a surrogate pair", 3, 1, 4},
    {STR("[\"\\udc00\\udc00\"]"), "half of a surrogate pair", 2, 1, 3},
    {STR("[\"\\ud800x\"]"), "half of a surrogate pair", 2, 1, 3},
    {STR("[\"\\ud800\\n\"]"), "half of a surrogate pair", 2, 1, 3},
    {STR("[\"\\uD83D\\uD83D\"]"), "half of a surrogate pair", 2, 1, 3},
    {STR("{\"\\udfff\":1}"), "half of a surrogate pair", 2, 1, 3},
    {STR("[\"\xff\"]"), "no valid UTF-8", 2, 1, 3},
    {STR("[\"\xc0\x80\"]"), "no valid UTF-8", 2, 1, 3},
    {STR("[\"\xed\xa0\x80\"]"), "no valid UTF-8", 2, 1, 3},
    {STR("[\"\xf4\x90\x80\x80\"]"), "no valid UTF-8", 2, 1, 3},
    {STR("[\"\xe3\x81\"]"), "no valid UTF-8", 2, 1, 3},
    {STR("[\"12345678\x80\"]"), "no valid UTF-8", 10, 1, 11},
    {STR("{\"a\":1,\"a\":2}"), "duplicate key", 7, 1, 8},
    {STR("{\"a\":1, \"\\u0061\":2}"), "duplicate key", 8, 1, 9},
    {STR("[{\"\":1,\n\"\":2}]"), "duplicate key", 8, 2, 1},
    {STR("{\"b\":{},\"a\":1,\"a\":{\"c\":1,\"c\":2}}"), "duplicate key", 25, 1,
	26},
};

static void
bad_is_refused_with_its_place(void **)
{
	for (size_t i = 0; i < COUNT_OF(BAD); i++) {
		struct json *j = NULL;
		char want[256];

		(void)snprintf(want, sizeof(want),
		    "%s at byte %zu (line %zu, column %zu)", BAD[i].what,
		    BAD[i].at, BAD[i].line, BAD[i].column);
		if (json_parse(arena, BAD[i].text, &j, &e) != ERR_SYNTAX || j)
			fail_msg("row %zu was taken", i);
		if (strcmp(e.text, want) != 0)
			fail_msg(
			    "row %zu: \"%s\", want \"%s\"", i, e.text, want);
		assert_string_equal(e.at, "");
	}
}

static void
numbers_are_kept_as_written(void **)
{
	static const char *const N[] = {"0", "-0", "0.1", "1e400", "1E+2",
	    "12345678901234567890", "-0.0e-0", "3.0000000000000000000001"};

	for (size_t i = 0; i < COUNT_OF(N); i++) {
		char text[64];
		struct json *j = parse_z(N[i]); /* ends with the input */

		assert_int_equal(j->type, JSON_NUMBER);
		assert_true(str_eq(j->raw, str_of(N[i])));
		(void)snprintf(text, sizeof(text), "\t[ %s\n, 1 ] ", N[i]);
		j = parse_z(text);
		assert_true(str_eq(j->child->raw, str_of(N[i])));
		assert_int_equal(j->n, 2);
	}
}

static void
ints_are_strict(void **)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t v;
	} T[] = {
	    {"0", true, 0},
	    {"-0", true, 0},
	    {"-12", true, -12},
	    {"9223372036854775807", true, INT64_MAX},
	    {"-9223372036854775808", true, INT64_MIN},
	    {"9223372036854775808", false, 0},
	    {"1.0", false, 0},
	    {"1e2", false, 0},
	    {"\"1\"", false, 0},
	    {"true", false, 0},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		int64_t v = 77;

		assert_int_equal(json_int(parse_z(T[i].text), &v), T[i].ok);
		assert_int_equal(v, T[i].ok ? T[i].v : 77);
	}
	assert_false(json_int(NULL, &(int64_t){0}));
}

static void
strings_are_decoded(void **)
{
	static const struct {
		struct str raw, text;
	} T[] = {
	    {STR("\"\""), STR("")},
	    {STR("\"abc\""), STR("abc")},
	    {STR("\"\xf0\x9f\x98\x80\""), STR("\xf0\x9f\x98\x80")},
	    {STR("\"\\ud83d\\ude00\""), STR("\xf0\x9f\x98\x80")},
	    {STR("\"\\uD834\\udd1E!\""), STR("\xf0\x9d\x84\x9e!")},
	    {STR("\"\\u0000x\""), STR("\0x")},
	    {STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), STR("\"\\/\b\f\n\r\t")},
	    {STR("\"\\\\ud800\""), STR("\\ud800")},
	    {STR("\"\\u00e9\\u3042\""), STR("\xc3\xa9\xe3\x81\x82")},
	    {STR("\"\x7f\""), STR("\x7f")},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct json *j = parse(T[i].raw);

		assert_int_equal(j->type, JSON_STRING);
		assert_true(str_eq(j->raw, T[i].raw));
		assert_true(str_eq(j->text, T[i].text));
		/* No copy where there is no escape. */
		if (!str_has(T[i].raw, '\\'))
			assert_ptr_equal(j->text.p, T[i].raw.p + 1);
	}
}

static void
spans_are_exact(void **)
{
	static const char TEXT[] = " { \"a\" : [ 1 , {\"\":null} ,\"x\" ]\n,"
				   "\"b\":true, \"c\" :false,\"d\":{ } } ";
	struct json *j = parse_z(TEXT);

	assert_true(str_eq(j->raw, str_trim(STR(TEXT))));
	assert_int_equal(j->n, 4);
	assert_true(
	    str_eq(json_get(j, "a")->raw, STR("[ 1 , {\"\":null} ,\"x\" ]")));
	assert_true(str_eq(json_at(j, STR("/a/1"))->raw, STR("{\"\":null}")));
	assert_true(json_is(json_at(j, STR("/a/1/")), JSON_NULL));
	assert_true(json_is(json_get(j, "b"), JSON_TRUE));
	assert_true(json_is_bool(json_get(j, "c")));
	assert_false(json_is_bool(json_get(j, "d")));
	assert_true(str_eq(json_get(j, "d")->raw, STR("{ }")));
	assert_null(json_get(j, "e"));
	assert_null(json_get(json_get(j, "a"), "0"));
	assert_null(json_get(NULL, "a"));
}

static void
pointers_follow_rfc6901(void **)
{
	/* The RFC's own document, and what must not be found in it. */
	static const char TEXT[] =
	    "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,"
	    "\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}";
	static const struct {
		const char *at, *raw;
	} T[] = {
	    {"/foo", "[\"bar\",\"baz\"]"},
	    {"/foo/0", "\"bar\""},
	    {"/foo/1", "\"baz\""},
	    {"/", "0"},
	    {"/a~1b", "1"},
	    {"/c%d", "2"},
	    {"/e^f", "3"},
	    {"/g|h", "4"},
	    {"/i\\j", "5"},
	    {"/k\"l", "6"},
	    {"/ ", "7"},
	    {"/m~0n", "8"},
	    {"/foo/2", NULL},
	    {"/foo/01", NULL},
	    {"/foo/-0", NULL},
	    {"/foo/-", NULL},
	    {"/foo/", NULL},
	    {"/foo/0/x", NULL},
	    {"/foo/99999999999999999999", NULL},
	    {"/m~n", NULL},
	    {"/m~2n", NULL},
	    {"/m~", NULL},
	    {"/a~1", NULL},
	    {"/a~1bc", NULL},
	    {"/foo~0", NULL},
	    {"/foo/~0", NULL},
	    {"foo", NULL},
	    {"//", NULL},
	};
	struct json *j = parse_z(TEXT);

	assert_ptr_equal(json_at(j, STR("")), j);
	assert_null(json_at(NULL, STR("/a")));
	for (size_t i = 0; i < COUNT_OF(T); i++) {
		const struct json *got = json_at(j, str_of(T[i].at));

		if (!got != !T[i].raw ||
		    (got && !str_eq(got->raw, str_of(T[i].raw))))
			fail_msg("%s", T[i].at);
	}
}

static void
depth_has_a_bound(void **)
{
	char text[2 * JSON_DEPTH_MAX + 2];
	struct json *j = NULL;

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	j = parse((struct str){text, 2 * (size_t)JSON_DEPTH_MAX});
	assert_int_equal(j->raw.n, 2 * JSON_DEPTH_MAX);
	memset(text, '[', sizeof(text));
	assert_int_equal(
	    json_parse(arena, (struct str){text, sizeof(text)}, &j, &e),
	    ERR_SYNTAX);
	assert_string_equal(
	    e.text, "nested too deeply at byte 64 (line 1, column 65)");
}

static void
values_have_a_bound(void **)
{
	struct arena *big = arena_new(64 * MIB);
	struct buf b = BUF(2 * MIB);
	struct json *j = NULL;

	buf_addc(&b, '[');
	for (size_t i = 1; i < JSON_NODES_MAX; i++)
		buf_addz(&b, i == 1 ? "1" : ",1");
	buf_addc(&b, ']');
	assert_int_equal(json_parse(big, buf_str(&b), &j, &e), OK);
	assert_int_equal(j->n, JSON_NODES_MAX - 1);
	b.n--;
	buf_addz(&b, ",1]");
	arena_reset(big);
	assert_int_equal(json_parse(big, buf_str(&b), &j, &e), ERR_LIMIT);
	assert_non_null(strstr(e.text, "too many values at byte 524287"));
	buf_done(&b);
	arena_free(big);
}

static void
many_keys_are_compared_too(void **)
{
	struct buf b = BUF(MIB);
	struct json *j = NULL;
	size_t at;

	for (int n = 2; n < 3000; n = n * 3 / 2 + 1) {
		buf_clear(&b);
		for (int i = 0; i < n; i++)
			buf_fmt(
			    &b, "%s\"key number %d\":%d", i ? "," : "{", i, i);
		buf_addc(&b, '}');
		assert_int_equal(parse(buf_str(&b))->n, n);
		b.n--;
		at = b.n + 1;
		buf_fmt(&b, ",\"key numbe\\u0072 %d\":0}", n / 2);
		assert_int_equal(
		    json_parse(arena, buf_str(&b), &j, &e), ERR_SYNTAX);
		assert_non_null(strstr(e.text, "duplicate key at byte "));
		assert_int_equal(
		    strtoul(strstr(e.text, "byte ") + 5, NULL, 10), at);
	}
	buf_done(&b);
}

/* Each with each would be five thousand million comparisons. */
static void
very_many_keys_take_linear_time(void **)
{
	struct buf b = BUF(4 * MIB);
	clock_t began;

	for (int i = 0; i < 100000; i++)
		buf_fmt(&b, "%s\"key %06d\":0", i ? "," : "{", i);
	buf_addc(&b, '}');
	began = clock();
	assert_int_equal(parse(buf_str(&b))->n, 100000);
	assert_true(clock() - began < 3 * CLOCKS_PER_SEC);
	arena_reset(arena);
	buf_done(&b);
}

/* Every limit from too little to enough. */
static void
a_small_arena_is_an_error(void **)
{
	static const char TEXT[] =
	    "{\"a\\n\":[1,2,3,\"\\u0041\\u0042\"],\"b\":{\"c\":\"d\\te\"}}";
	bool fitted = false;

	for (size_t limit = 0; !fitted; limit += 8) {
		struct arena *a = arena_new(limit);
		struct json *j = NULL;
		int rc = json_parse(a, STR(TEXT), &j, &e);

		assert_true(limit < 64 * KIB);
		fitted = rc == OK;
		assert_int_equal(!j, !fitted);
		if (!fitted)
			assert_int_equal(rc, ERR_LIMIT);
		arena_free(a);
	}
}

static void
unknown_members_are_named(void **)
{
	static const char *const NAMES[] = {"url", "name", NULL};
	static const struct {
		const char *text, *at, *want_at;
	} T[] = {
	    {"{}", "", NULL},
	    {"{\"name\":1,\"url\":2}", "", NULL},
	    {"{\"name\":1,\"urls\":2,\"x\":3}", "", "/urls"},
	    {"{\"ur\":1}", "/retry", "/retry/ur"},
	    {"{\"a/b~\":1}", "", "/a~1b~0"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		int rc = json_known(parse_z(T[i].text), T[i].at, NAMES, &e);

		assert_int_equal(rc, T[i].want_at ? ERR_INVALID : OK);
		if (T[i].want_at)
			assert_string_equal(e.at, T[i].want_at);
	}
	assert_string_equal(e.text, "a~1b~0 is not a known field");
}

static void
long_pointers_are_cut_between_characters(void **)
{
	char at[JSON_POINTER_MAX + 1];

	for (size_t lead = 100; lead <= JSON_POINTER_MAX; lead++) {
		memset(at, 'x', lead);
		at[lead] = '\0';
		json_point(at, STR("\xf0\x9f\x98\x80~\xe3\x81\x82/\xc3\xa9"));
		assert_true(strlen(at) <= JSON_POINTER_MAX);
		assert_true(strlen(at) >= lead);
		assert_int_equal(str_utf8_bad(str_of(at)), strlen(at));
	}
	at[0] = '\0';
	json_point(at, STR("a~/"));
	json_point(at, STR(""));
	assert_string_equal(at, "/a~0~1/");
}

static void
lines_are_split(void **)
{
	struct str rest = STR("\n {\"a\":1} \r\n\n\t\n2\n3"), line;
	static const char *const WANT[] = {"{\"a\":1}", "2", "3"};

	for (size_t i = 0; i < COUNT_OF(WANT); i++) {
		assert_true(json_line(&rest, &line));
		assert_true(str_eq(line, str_of(WANT[i])));
	}
	assert_false(json_line(&rest, &line));
}

/* json_each(): what was handed over, each with a blank behind it. */
struct heard {
	struct buf all;
	int refuse_at; /* the element, from 1, that `hear` says no to */
	int n;
};

static int
hear(void *ctx, struct json *element, struct err *err)
{
	struct heard *h = ctx;

	assert_null(element->next);
	buf_add(&h->all, element->raw);
	buf_addc(&h->all, ' ');
	if (++h->n == h->refuse_at)
		return err_set(err, ERR_DENIED, "not this one");
	return OK;
}

static const struct {
	const char *text;
	int refuse_at, rc;
	const char *heard, *says;
} EACH[] = {
    {"[]", 0, OK, "", ""},
    {" [ ] ", 0, OK, "", ""},
    {"[1]", 0, OK, "1 ", ""},
    {"[1, \"a\" ,null,true,false,-0.5e3]", 0, OK,
	"1 \"a\" null true false -0.5e3 ", ""},
    {"[{\"a\":[1,{\"b\":2}]},[],[[3]],{}]", 0, OK,
	"{\"a\":[1,{\"b\":2}]} [] [[3]] {} ", ""},
    {"[\"\\u0041\"]", 0, OK, "\"\\u0041\" ", ""},
    /* a key may come again in the next element, not in the same */
    {"[{\"a\":1},{\"a\":1}]", 0, OK, "{\"a\":1} {\"a\":1} ", ""},
    {"[{},{\"a\":1,\"a\":1},{}]", 0, ERR_SYNTAX, "{} ", "duplicate key"},
    {"[1,2,3]", 2, ERR_DENIED, "1 2 ", "not this one"},
    {"[1,{\"a\":[2]},3]", 2, ERR_DENIED, "1 {\"a\":[2]} ", "not this one"},
    {"[1,2", 0, ERR_SYNTAX, "1 2 ", "ends too early at byte 4"},
    {"[1,2}", 0, ERR_SYNTAX, "1 2 ", "at byte 4"},
    {"[1] 2", 0, ERR_SYNTAX, "1 ", "text after the end of the document"},
    {"[1][2]", 0, ERR_SYNTAX, "1 ", "text after the end of the document"},
    {"[\"\xff\"]", 0, ERR_SYNTAX, "", "no valid UTF-8 at byte 2"},
    {"{\"a\":[1]}", 0, ERR_INVALID, "", "an array was expected"},
    {"1", 0, ERR_INVALID, "", "an array was expected"},
    {"", 0, ERR_INVALID, "", "an array was expected"},
};

static void
elements_come_one_by_one(void **)
{
	struct arena *scratch = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(EACH); i++) {
		struct heard h = {
		    .all = BUF(KIB), .refuse_at = EACH[i].refuse_at};
		int rc = json_each(
		    arena, scratch, str_of(EACH[i].text), hear, &h, &e);

		if (rc != EACH[i].rc ||
		    !str_eq(buf_str(&h.all), str_of(EACH[i].heard)) ||
		    (rc < 0 && !strstr(e.text, EACH[i].says)))
			fail_msg("%s: %d %.*s: %s", EACH[i].text, rc,
			    STR_ARG(buf_str(&h.all)), e.text);
		buf_done(&h.all);
	}
	arena_free(scratch);
}

static int
count(void *ctx, struct json *element, struct err *)
{
	size_t *n = ctx;

	assert_int_equal(json_get(element, "n")->raw.n, 1);
	++*n;
	return OK;
}

/* Neither memory nor the bound on values is that of the whole array. */
static void
a_long_array_needs_little(void **)
{
	const size_t total = JSON_NODES_MAX;
	struct arena *a = arena_new(64 * KIB), *scratch = arena_new(64 * KIB);
	struct buf text = BUF(64 * MIB);
	size_t n = 0;

	for (size_t i = 0; i < total; i++)
		buf_addz(&text, i ? ",{\"n\":1}" : "[{\"n\":1}");
	buf_addc(&text, ']');
	if (json_each(a, scratch, buf_str(&text), count, &n, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(n, total);
	/* An element too large for it is told, not swallowed. */
	buf_clear(&text);
	buf_addz(&text, "[[1");
	for (size_t i = 0; i < 10000; i++)
		buf_addz(&text, ",1");
	buf_addz(&text, "]]");
	assert_int_equal(
	    json_each(a, scratch, buf_str(&text), count, &n, &e), ERR_LIMIT);
	buf_done(&text);
	arena_free(a);
	arena_free(scratch);
}

static int
setup(void **)
{
	arena = arena_new(64 * MIB);
	return !arena;
}

static int
teardown(void **)
{
	arena_free(arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bad_is_refused_with_its_place),
	    cmocka_unit_test(numbers_are_kept_as_written),
	    cmocka_unit_test(ints_are_strict),
	    cmocka_unit_test(strings_are_decoded),
	    cmocka_unit_test(spans_are_exact),
	    cmocka_unit_test(pointers_follow_rfc6901),
	    cmocka_unit_test(depth_has_a_bound),
	    cmocka_unit_test(values_have_a_bound),
	    cmocka_unit_test(many_keys_are_compared_too),
	    cmocka_unit_test(very_many_keys_take_linear_time),
	    cmocka_unit_test(a_small_arena_is_an_error),
	    cmocka_unit_test(unknown_members_are_named),
	    cmocka_unit_test(long_pointers_are_cut_between_characters),
	    cmocka_unit_test(lines_are_split),
	    cmocka_unit_test(elements_come_one_by_one),
	    cmocka_unit_test(a_long_array_needs_little),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
