#include "reader/fetch/hatebu.h"

#include "base/test.h"
#include "reader/limits.h"

static void
test_pauses(void **)
{
	static const struct {
		int64_t failures, minutes;
	} ROWS[] = {{0, 0}, {1, 0}, {2, 0}, {3, 30}, {4, 30}, {5, 60}, {9, 60},
	    {10, 360}, {11, 360}, {100000, 360}};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_int_equal(
		    hatebu_pause_ms(ROWS[i].failures), ROWS[i].minutes * 60000);
}

static void
test_query(void **)
{
	struct buf b = BUF(HATEBU_QUERY_MAX + 64);
	char big[6000];
	int n = 0;

	assert_true(
	    hatebu_add_url(&b, STR("https://a.example/x?y=1&z=\xe3\x81\x82")));
	assert_true(hatebu_add_url(&b, STR("http://b/~c-d_e.f")));
	assert_str(buf_str(&b),
	    "url=https%3A%2F%2Fa.example%2Fx%3Fy%3D1%26z%3D%E3%81%82"
	    "&url=http%3A%2F%2Fb%2F~c-d_e.f");
	memset(big, 'a', sizeof(big));
	assert_false(hatebu_add_url(&b, (struct str){big, sizeof(big)}));
	while (hatebu_add_url(&b, STR("http://example.com/0123456789")))
		n++;
	assert_in_range(n, 100, 1000);
	assert_true(b.n <= HATEBU_QUERY_MAX);
	buf_done(&b);
}

static void
test_answers(void **)
{
	static const struct {
		const char *text;
		int rc;
		int64_t a, b;
	} ROWS[] = {
	    {"{\"http://a/\":5,\"http://b/\":0}", OK, 5, 0},
	    {"{\"http://b/\":7}", OK, 0, 7},
	    {"{}", OK, 0, 0},
	    {"{\"http:\\/\\/a\\/\":12}", OK, 12, 0},
	    {"{\"http://a/\":\"5\"}", ERR_INVALID, 0, 0},
	    {"{\"http://a/\":-1}", ERR_INVALID, 0, 0},
	    {"{\"http://a/\":99999999999}", ERR_INVALID, 0, 0},
	    {"[]", ERR_INVALID, 0, 0},
	    {"<html>", ERR_SYNTAX, 0, 0},
	    {"", ERR_SYNTAX, 0, 0},
	};
	const struct str links[] = {STR("http://a/"), STR("http://b/")};
	struct arena *a = arena_new(1 << 20);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int64_t counts[2] = {-1, -1};
		struct err e;

		assert_int_equal(hatebu_counts(a, str_of(ROWS[i].text), links,
				     2, counts, &e),
		    ROWS[i].rc);
		if (ROWS[i].rc == OK) {
			assert_int_equal(counts[0], ROWS[i].a);
			assert_int_equal(counts[1], ROWS[i].b);
		}
	}
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pauses),
	    cmocka_unit_test(test_query),
	    cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
