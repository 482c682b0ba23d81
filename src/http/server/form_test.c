#include "http/server/form.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/test.h"
#include "http/server/limits.h"
#include "http/server/query.h"

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
test_both(void **state)
{
	struct arena *a = arena_new(MIB);
	struct req r = request(a, "api&i=4&n=7", "i=1&i=2%2F3&x=a+b&&y");
	struct form f;
	struct err e;
	struct str s;
	size_t at = 0;
	int64_t n;

	(void)state;
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
test_bad(void **state)
{
	static const struct {
		const char *body;
		int rc;
	} rows[] = {{"a=%zz", ERR_SYNTAX}, {"a=%ff", ERR_SYNTAX},
	    {"a=%00", ERR_SYNTAX}, {"%=1", ERR_SYNTAX}, {"", OK}, {"&&", OK}};
	struct arena *a = arena_new(MIB);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct req r = request(a, "", rows[i].body);
		struct form f;
		struct err e;

		assert_int_equal(form_read(&r, &f, &e), rows[i].rc);
	}
	arena_free(a);
}

static void
test_many(void **state)
{
	static char body[2 * (FORM_PAIRS_MAX + 1) + 1];
	struct arena *a = arena_new(4 * MIB);
	struct form f;
	struct req r;
	struct err e;

	(void)state;
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
	    cmocka_unit_test(test_both),
	    cmocka_unit_test(test_bad),
	    cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
