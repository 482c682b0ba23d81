#include "node/errand.h"

#include "base/test.h"
#include "node/limits.h"

/* A node that takes over finds the row of one that died, and has time to begin. */
static void
test_bounds(void **)
{
	assert_true(ERRAND_WAIT_US > LEASE_US + 2 * LEASE_RENEW_US);
	assert_true(ERRAND_HURRY_US < ERRAND_WAIT_US);
	assert_true(ERRAND_LOOK_MS < ERRAND_REST_MS);
	errands_hurry(NULL);
	errands_stop(NULL);
	errands_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
