#include "base/base.h"
#include "base/test.h"

static void
says_what_and_where(void **)
{
	struct err e;

	assert_int_equal(
	    err_at(&e, ERR_INVALID, "/a/0", "must be %d", 3), ERR_INVALID);
	assert_int_equal(e.code, ERR_INVALID);
	assert_string_equal(e.text, "must be 3");
	assert_string_equal(e.at, "/a/0");
	e.retry_after_s = 9;
	assert_int_equal(err_set(&e, ERR_BUSY, "later"), ERR_BUSY);
	assert_string_equal(e.text, "later");
	assert_string_equal(e.at, "");
	assert_int_equal(e.retry_after_s, 0);
}

static void
cuts_what_is_too_long(void **)
{
	char big[1000];
	struct err e;

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	(void)err_at(&e, ERR_IO, big, "%s", big);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(strlen(e.at), sizeof(e.at) - 1);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(says_what_and_where),
	    cmocka_unit_test(cuts_what_is_too_long),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
