#include "reader/item_cursor.h"

#include "base/test.h"

static void
test_cursors(void **)
{
	static const struct item_place ROWS[] = {{0, 0}, {1, 2},
	    {INT64_MAX, INT64_MAX}, {-62135596800000000, 5},
	    {1770000000000000, 123456}};
	char token[ITEM_CURSOR_LEN + 1];
	struct item_place p;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		item_cursor_format(ITEM_BY_DATE, ROWS[i], token);
		assert_int_equal(strlen(token), ITEM_CURSOR_LEN);
		assert_int_equal(
		    item_cursor_parse(str_of(token), ITEM_BY_DATE, &p, &e), OK);
		assert_int_equal(p.at, ROWS[i].at);
		assert_int_equal(p.id, ROWS[i].id);
		assert_int_equal(
		    item_cursor_parse(str_of(token), ITEM_BY_ID, &p, &e),
		    ERR_INVALID);
		/* No character of it may be another. */
		for (size_t k = 0; k < ITEM_CURSOR_LEN; k++) {
			char was = token[k];

			token[k] = was == 'A' ? 'B' : 'A';
			assert_int_equal(item_cursor_parse(str_of(token),
					     ITEM_BY_DATE, &p, &e),
			    ERR_INVALID);
			token[k] = was;
		}
	}
	assert_int_equal(
	    item_cursor_parse(STR_EMPTY, ITEM_BY_DATE, &p, &e), ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cursors)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
