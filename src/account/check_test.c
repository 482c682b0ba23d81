#include "account/check.h"

#include "account/limits.h"
#include "base/test.h"
#include "seal/password.h"

static const struct lockout_opts OPTS = {
    .failures_max = 2,
    .window_us = 100 * US_PER_S,
    .first_us = 10 * US_PER_S,
    .lock_us = 40 * US_PER_S,
};

static void
test_check(void **)
{
	static const struct {
		const char *name, *password, *peer;
		int64_t at_s;
		bool there; /* such an account */
		int want, retry_s;
	} rows[] = {
	    {"ann", "wrong one", "192.0.2.1", 0, true, ERR_UNKNOWN, 0},
	    {"ann", "right one", "192.0.2.2", 0, true, OK, 0},
	    {"ann", "wrong two", "192.0.2.1", 1, true, ERR_UNKNOWN, 0},
	    /* locked, for a right one too unless it was verified lately */
	    {"ann", "wrong one", "192.0.2.1", 2, true, ERR_BUSY, 9},
	    {"ann", "right one", "192.0.2.1", 2, true, OK, 0},
	    {"ann", "right one", "192.0.2.9", 2, true, OK, 0},
	    {"bob", "right one", "192.0.2.1", 2, true, OK, 0},
	    /* … which ends */
	    {"ann", "wrong one", "192.0.2.1", 12, true, ERR_UNKNOWN, 0},
	    {"ann", "right one", "192.0.2.1", 12, true, OK, 0},
	    {"ann", "right one", "192.0.2.1", AUTH_VERIFIED_S - 1, true, OK, 0},
	    /* no such account: the same words and the same lock */
	    {"eve", "right one", "192.0.2.1", 400, false, ERR_UNKNOWN, 0},
	    {"eve", "right one", "192.0.2.1", 400, false, ERR_UNKNOWN, 0},
	    {"eve", "right one", "192.0.2.1", 400, false, ERR_BUSY, 10},
	    /* what was verified is forgotten by then: a lock holds */
	    {"ann", "wrong one", "192.0.2.1", 500, true, ERR_UNKNOWN, 0},
	    {"ann", "wrong one", "192.0.2.1", 500, true, ERR_UNKNOWN, 0},
	    {"ann", "right one", "192.0.2.1", 501, true, ERR_BUSY, 9},
	    {"ann", "right one", "192.0.2.1", 510, true, OK, 0},
	};
	struct check *c = check_new(&OPTS);
	char hash[PASSWORD_HASH_SIZE], other[PASSWORD_HASH_SIZE];
	int64_t until = 0, base = 1000 * US_PER_S;
	struct err e;

	assert_int_equal(password_hash(STR("right one"), hash, &e), OK);
	assert_int_equal(password_hash(STR("another"), other, &e), OK);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str h =
		    rows[i].there ? str_of(hash) : (struct str){NULL, 0};
		struct check_ask q = {.name = str_of(rows[i].name),
		    .password = str_of(rows[i].password),
		    .hash = h,
		    .peer = rows[i].peer};
		int rc = check_password(
		    c, &q, base + rows[i].at_s * US_PER_S, &until, &e);

		if (rc != rows[i].want)
			fail_msg("row %zu: %d", i, rc);
		if (rc == ERR_BUSY)
			assert_int_equal(e.retry_after_s, rows[i].retry_s);
	}
	/* What was verified was verified against that hash alone. */
	assert_int_equal(check_password(c,
			     &(struct check_ask){.name = STR("ann"),
				 .password = STR("right one"),
				 .hash = str_of(other),
				 .peer = "192.0.2.1"},
			     base + 511 * US_PER_S, &until, &e),
	    ERR_UNKNOWN);
	assert_int_equal(until, base + (510 + AUTH_VERIFIED_S) * US_PER_S);
	check_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
