#include "base/log/log_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

#define DAY_US (86400 * US_PER_S)
#define NOW    (INT64_C(1794700800) * US_PER_S) /* 2026-11-15T00:00:00Z */

static char dir[64];

static int
begin(void **)
{
	(void)snprintf(dir, sizeof(dir), "/tmp/log-folder-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return 0;
}

static void
path_of(const char *name, char ret[128])
{
	(void)snprintf(ret, 128, "%s/%s", dir, name);
}

static bool
there(const char *name)
{
	char path[128];

	path_of(name, path);
	return access(path, F_OK) == 0;
}

static void
plant(const char *name)
{
	char path[128];
	int fd;

	path_of(name, path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void
holds(const char *name, const char *want)
{
	char path[128], text[64] = "";
	ssize_t n;
	int fd;

	path_of(name, path);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	assert_true(n >= 0);
	assert_string_equal(text, want);
}

static int
end(void **)
{
	static const char *const NAMES[] = {"hikyaku-2026-11-01.log",
	    "hikyaku-2026-11-14.log", "hikyaku-2026-11-15.log",
	    "hikyaku-2026-11-16.log", "hikyaku-2026-10-99x.log", "notes.log",
	    "hikyaku-2026-10-31.log"};
	char path[128];

	for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
		path_of(NAMES[i], path);
		(void)unlink(path);
	}
	return rmdir(dir);
}

static void
test_days(void **)
{
	struct log_folder *f = NULL;
	struct err e;
	int fd = -1;

	assert_int_equal(
	    log_folder_open(dir, 14 * DAY_US, NOW, &f, &fd, &e), OK);
	assert_int_equal(write(fd, "one\n", 4), 4);
	assert_int_equal(log_folder_turn(f, NOW + DAY_US - 1, &e), OK);
	assert_int_equal(write(fd, "two\n", 4), 4);
	assert_int_equal(log_folder_turn(f, NOW + DAY_US, &e), OK);
	assert_int_equal(write(fd, "three\n", 6), 6);
	log_folder_close(f);
	holds("hikyaku-2026-11-15.log", "one\ntwo\n");
	holds("hikyaku-2026-11-16.log", "three\n");
	/* A restart goes on in the file. */
	assert_int_equal(
	    log_folder_open(dir, 14 * DAY_US, NOW, &f, &fd, &e), OK);
	assert_int_equal(write(fd, "four\n", 5), 5);
	log_folder_close(f);
	holds("hikyaku-2026-11-15.log", "one\ntwo\nfour\n");
}

static void
test_old_go(void **)
{
	struct log_folder *f = NULL;
	struct err e;
	int fd = -1;

	plant("hikyaku-2026-10-31.log");
	plant("hikyaku-2026-11-01.log");
	plant("hikyaku-2026-10-99x.log");
	plant("notes.log");
	assert_int_equal(
	    log_folder_open(dir, 14 * DAY_US, NOW, &f, &fd, &e), OK);
	assert_false(there("hikyaku-2026-10-31.log"));
	assert_true(there("hikyaku-2026-11-01.log"));
	assert_int_equal(log_folder_turn(f, NOW + DAY_US, &e), OK);
	assert_false(there("hikyaku-2026-11-01.log"));
	/* what is not ours stays */
	assert_true(there("hikyaku-2026-10-99x.log"));
	assert_true(there("notes.log"));
	log_folder_close(f);
}

static void
test_no_folder(void **)
{
	struct log_folder *f = NULL;
	struct err e;
	int fd = -1;

	assert_int_equal(
	    log_folder_open("/proc/nothing/here", DAY_US, NOW, &f, &fd, &e),
	    ERR_IO);
	assert_non_null(strstr(e.text, "/proc/nothing/here"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_days, begin, end),
	    cmocka_unit_test_setup_teardown(test_old_go, begin, end),
	    cmocka_unit_test(test_no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
