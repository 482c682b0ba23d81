#include "cli/files.h"

#include "base/test.h"
#include "cli/limits.h"
#include "http/server/limits.h"

#define OWN (FILES_OWN + HTTP_LOCAL_EXTRA + HTTP_LINGER_MAX)

static const struct {
	uint64_t limit;
	int wanted, others, fit;
} ROWS[] = {
    {65536, 4096, 100, 4096},
    {4096 + OWN + 100, 4096, 100, 4096},
    {4096 + OWN + 99, 4096, 100, 4095},
    {1024, 4096, 100, 1024 - OWN - 100},
    {64, 4096, 100, 1},
    {UINT64_MAX, 65536, 100, HTTP_FDS_MAX - OWN - 100},
};

static void
test_fit(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_int_equal(
		    files_fit(ROWS[i].limit, ROWS[i].wanted, ROWS[i].others),
		    ROWS[i].fit);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
