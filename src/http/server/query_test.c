#include "http/server/query.h"

#include "base/test.h"
#include "http/server/limits.h"

/* Pairs are written back as "name=value;" */
static const struct {
	const char *query;
	int rc;
	const char *pairs;
} ROWS[] = {
    {"", OK, ""},
    {"a=1", OK, "a=1;"},
    {"a=1&b=2", OK, "a=1;b=2;"},
    {"a", OK, "a=;"},
    {"a=", OK, "a=;"},
    {"=a", OK, "=a;"},
    {"a=b=c", OK, "a=b=c;"},
    {"&&a=1&", OK, "a=1;"},
    {"a+b=c+d", OK, "a b=c d;"},
    {"a%2Bb=%26%3d", OK, "a+b=&=;"},
    {"%C3%A9=%e2%82%ac", OK, "\xc3\xa9=\xe2\x82\xac;"},
    {"a=%", ERR_SYNTAX, NULL},
    {"a=%1", ERR_SYNTAX, NULL},
    {"a=%1x", ERR_SYNTAX, NULL},
    {"%xx=a", ERR_SYNTAX, NULL},
    {"a=%00", ERR_SYNTAX, NULL},
    {"a=%80", ERR_SYNTAX, NULL},
    {"a=\xff", ERR_SYNTAX, NULL},
    {"a=%ed%a0%80", ERR_SYNTAX, NULL},
};

static void
test_parse(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct arena *a = arena_new(KIB);
		const struct str_pair *v = NULL;
		struct buf b = BUF(KIB);
		struct err e = {0};
		size_t n = 0;
		int rc = query_parse(a, str_of(ROWS[i].query), &v, &n, &e);

		assert_int_equal(rc, ROWS[i].rc);
		for (size_t k = 0; k < n; k++) {
			buf_add(&b, v[k].name);
			buf_addc(&b, '=');
			buf_add(&b, v[k].value);
			buf_addc(&b, ';');
		}
		assert_true(str_eq(buf_str(&b), str_of(ROWS[i].pairs)));
		buf_done(&b);
		arena_free(a);
	}
}

static void
test_bounds(void **)
{
	struct arena *a = arena_new(64 * KIB);
	const struct str_pair *v = NULL;
	struct buf b = BUF(KIB);
	struct err e = {0};
	size_t n = 0;

	for (int i = 0; i < HTTP_QUERY_MAX; i++)
		buf_addz(&b, "a&");
	assert_int_equal(query_parse(a, buf_str(&b), &v, &n, &e), OK);
	assert_int_equal(n, HTTP_QUERY_MAX);
	buf_addc(&b, 'b');
	assert_int_equal(query_parse(a, buf_str(&b), &v, &n, &e), ERR_LIMIT);
	buf_done(&b);
	arena_free(a);
}

static void
test_lookup(void **)
{
	static const struct str_pair PAIRS[] = {
	    {STR("a"), STR("1")}, {STR("b"), STR("x")}, {STR("c"), STR("-5")}};
	struct req r = {.query = PAIRS, .n_query = COUNT_OF(PAIRS)};
	struct form f = {PAIRS, COUNT_OF(PAIRS)};
	struct err e = {0};
	struct str s;
	int64_t v = 77;

	assert_true(req_query(&r, "b", &s) && str_eq(s, STR("x")));
	assert_false(req_query(&r, "d", &s));
	assert_int_equal(form_int(&f, "a", 1, 9, 5, &v, &e), OK);
	assert_int_equal(v, 1);
	assert_int_equal(form_int(&f, "d", 1, 9, 5, &v, &e), OK);
	assert_int_equal(v, 5);
	assert_int_equal(form_int(&f, "c", -5, 9, 5, &v, &e), OK);
	assert_int_equal(v, -5);
	assert_int_equal(form_int(&f, "a", 2, 9, 5, &v, &e), ERR_INVALID);
	assert_int_equal(form_int(&f, "b", 2, 9, 5, &v, &e), ERR_INVALID);
	assert_non_null(strstr(e.text, "parameter b"));
	assert_int_equal(v, -5);
}

static struct req
request(struct arena *a, const char *query, const char *body)
{
	struct req r = {.arena = a, .body = str_of(body)};
	struct err e;

	assert_int_equal(
	    query_parse(a, str_of(query), &r.query, &r.n_query, &e), OK);
	return r;
}

static void
test_both(void **)
{
	struct arena *a = arena_new(MIB);
	struct req r = request(a, "api&i=4&n=7", "i=1&i=2%2F3&x=a+b&&y");
	struct form f;
	struct err e;
	struct str s;
	size_t at = 0;
	int64_t n;

	assert_int_equal(form_read(&r, &f, &e), OK);
	assert_true(form_has(&f, "api"));
	assert_true(form_has(&f, "y"));
	assert_false(form_has(&f, "z"));
	assert_true(str_eq(form_get(&f, "x"), STR("a b")));
	assert_true(str_eq(form_get(&f, "z"), STR_EMPTY));
	assert_true(form_each(&f, "i", &at, &s) && str_eq(s, STR("1")));
	assert_true(form_each(&f, "i", &at, &s) && str_eq(s, STR("2/3")));
	assert_true(form_each(&f, "i", &at, &s) && str_eq(s, STR("4")));
	assert_false(form_each(&f, "i", &at, &s));
	assert_int_equal(form_int(&f, "n", 0, 9, 1, &n, &e), OK);
	assert_int_equal(n, 7);
	assert_int_equal(form_int(&f, "m", 0, 9, 1, &n, &e), OK);
	assert_int_equal(n, 1);
	assert_int_equal(form_int(&f, "n", 0, 6, 1, &n, &e), ERR_INVALID);
	assert_int_equal(form_int(&f, "x", 0, 6, 1, &n, &e), ERR_INVALID);
	arena_free(a);
}

static void
test_bad(void **)
{
	static const struct {
		const char *body;
		int rc;
	} rows[] = {{"a=%zz", ERR_SYNTAX}, {"a=%ff", ERR_SYNTAX},
	    {"a=%00", ERR_SYNTAX}, {"%=1", ERR_SYNTAX}, {"", OK}, {"&&", OK}};
	struct arena *a = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct req r = request(a, "", rows[i].body);
		struct form f;
		struct err e;

		assert_int_equal(form_read(&r, &f, &e), rows[i].rc);
	}
	arena_free(a);
}

static void
test_many(void **)
{
	static char body[2 * (FORM_PAIRS_MAX + 1) + 1];
	struct arena *a = arena_new(4 * MIB);
	struct form f;
	struct req r;
	struct err e;

	for (size_t i = 0; i <= FORM_PAIRS_MAX; i++)
		memcpy(body + 2 * i, "i&", 2);
	r = request(a, "", body);
	assert_int_equal(form_read(&r, &f, &e), ERR_LIMIT);
	r.body.n -= 2;
	assert_int_equal(form_read(&r, &f, &e), OK);
	assert_int_equal(f.n, FORM_PAIRS_MAX);
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_lookup),
	    cmocka_unit_test(test_both),
	    cmocka_unit_test(test_bad),
	    cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
