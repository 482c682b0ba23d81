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
one_at_a_time(void **)
{
	static const mode_t WRITABLE[] = {0770, 0707, 0777, 0720, 01777};
	char root[] = "/tmp/hk-test-XXXXXX";
	char dir[64], file[80], deep[80];
	struct stat st;
	struct err e;
	int fd, other;

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

	/* Others may look, or write. */
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(store_lock(dir, &fd, &e), OK);
	(void)close(fd);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	for (size_t i = 0; i < COUNT_OF(WRITABLE); i++) {
		assert_int_equal(chmod(dir, WRITABLE[i]), 0);
		assert_int_equal(store_lock(dir, &fd, &e), ERR_DENIED);
		assert_non_null(strstr(e.text, "chmod 700"));
	}
	assert_int_equal(chmod(dir, 0700), 0);

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
