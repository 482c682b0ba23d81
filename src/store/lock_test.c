#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* these before */
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/lock.h"

static void
one_at_a_time(void **state)
{
	char root[] = "/tmp/hk-test-XXXXXX";
	char dir[64], file[80], deep[80];
	struct stat st;
	struct err e;
	int fd, other;

	(void)state;
	assert_non_null(mkdtemp(root));
	(void)snprintf(dir, sizeof(dir), "%s/data", root);
	(void)snprintf(file, sizeof(file), "%s/lock", dir);
	(void)snprintf(deep, sizeof(deep), "%s/no/data", root);

	assert_int_equal(store_lock(dir, &fd, &e), OK);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(store_lock(dir, &other, &e), ERR_BUSY);
	assert_non_null(strstr(e.text, "another hikyaku"));
	assert_non_null(strstr(e.text, dir));
	(void)close(fd);
	assert_int_equal(store_lock(dir, &fd, &e), OK);
	(void)close(fd);
	assert_int_equal(store_lock(deep, &fd, &e), ERR_IO);

	(void)unlink(file);
	(void)rmdir(dir);
	(void)rmdir(root);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time)};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
