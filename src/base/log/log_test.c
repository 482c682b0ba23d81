#include "base/log/log.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/test.h"

static int fd;
static char text[1 << 20];

static int
open_fd(void **)
{
	fd = memfd_create("log", MFD_CLOEXEC);
	return fd < 0;
}

static int
close_fd(void **)
{
	log_setup(LOG_INFO, LOG_JSON, STDERR_FILENO);
	return close(fd);
}

/* All that was logged since the last call, with the time cut off each line. */
static const char *
logged(void)
{
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return text;
}

static void
writes_json(void **)
{
	struct log_line l;
	const char *line;

	log_setup(LOG_DEBUG, LOG_JSON, fd);
	log_begin(&l, LOG_WARN, "thing \"done\"");
	log_str(&l, "who", STR("a\n\xe9\xa3\x9b"));
	log_int(&l, "n", INT64_MIN);
	log_end(&l);
	line = logged();
	assert_memory_equal(line, "{\"time\":\"2", 10);
	assert_string_equal(line + 33,
	    "\",\"level\":\"warn\",\"msg\":\"thing \\\"done\\\"\","
	    "\"who\":\"a\\n\xe9\xa3\x9b\",\"n\":-9223372036854775808}\n");
}

static void
writes_text(void **)
{
	struct err e;
	struct log_line l;

	log_setup(LOG_DEBUG, LOG_TEXT, fd);
	log_begin(&l, LOG_INFO, "started");
	log_int(&l, "port", 8080);
	log_str(&l, "store", STR("SQLite x"));
	log_end(&l);
	assert_string_equal(
	    logged() + 24, " info  started port=8080 store=\"SQLite x\"\n");
	(void)err_set(&e, ERR_IO, "no \"such\" file");
	log_err(LOG_ERROR, "failed", &e);
	assert_string_equal(
	    logged() + 24, " error failed error=\"no \\\"such\\\" file\"\n");
	log_err(LOG_ERROR, "failed", NULL);
	assert_string_equal(logged() + 24, " error failed\n");
	log_fmt(LOG_INFO, "ran", "%d of %d", 1, 2);
	assert_string_equal(logged() + 24, " info  ran detail=\"1 of 2\"\n");
}

static void
obeys_the_level(void **)
{
	struct log_line l;

	log_setup(LOG_WARN, LOG_JSON, fd);
	assert_false(log_on(LOG_INFO));
	assert_true(log_on(LOG_WARN));
	log_begin(&l, LOG_INFO, "quiet");
	log_str(&l, "a", STR("b"));
	log_end(&l);
	log_fmt(LOG_DEBUG, "quiet", "%s", "x");
	log_err(LOG_INFO, "quiet", NULL);
	assert_string_equal(logged(), "");
}

/* However long a value: one line, its end in place, and the cut shows. */
static void
cuts_visibly(void **)
{
	static char big[10000];

	memset(big, 'x', sizeof(big));
	for (int form = LOG_JSON; form <= LOG_TEXT; form++) {
		log_setup(LOG_INFO, (enum log_form)form, fd);
		for (size_t n = 1900; n < 2200; n++) {
			struct log_line l;
			const char *line;
			size_t len;

			log_begin(&l, LOG_INFO, "m");
			log_str(&l, "v", (struct str){big, n});
			log_str(&l, "w", STR("more"));
			log_int(&l, "i", 123456789);
			log_end(&l);
			line = logged();
			len = strlen(line);
			assert_true(len < sizeof(l.text));
			assert_ptr_equal(strchr(line, '\n'), line + len - 1);
			if (form == LOG_JSON)
				assert_string_equal(line + len - 2, "}\n");
			assert_true(n < 2010 || strstr(line, "x~\""));
		}
	}
}

static void
lists_ids(void **)
{
	struct uuid v[100] = {{{0}}};
	struct log_line l;
	const char *line;
	size_t n = 0;

	log_setup(LOG_INFO, LOG_JSON, fd);
	v[1].b[0] = 0x7f;
	log_begin(&l, LOG_INFO, "m");
	log_uuids(&l, "none", v, 0);
	log_uuids(&l, "two", v, 2);
	log_end(&l);
	assert_non_null(strstr(logged(),
	    "\"m\",\"none\":[],\"two\":[\"00000000-0000-0000-0000-000000000000\","
	    "\"7f000000-0000-0000-0000-000000000000\"]}\n"));
	log_begin(&l, LOG_INFO, "m");
	log_uuids(&l, "v", v, 100);
	log_int(&l, "i", 7);
	log_end(&l);
	line = logged();
	assert_non_null(strstr(line, "0\"]"));
	assert_string_equal(line + strlen(line) - 2, "}\n");
	for (const char *p = line; (p = strstr(p, "-000000000000")); p++)
		n++;
	assert_in_range(n, 49, 51);
}

/* In memory of the caller's it has room, held back or not. */
static void
long_line(void **)
{
	static char big[20000], mem[24000];
	struct log_line l;

	log_setup(LOG_INFO, LOG_JSON, fd);
	memset(big, 'x', sizeof(big));
	for (int hold = 0; hold < 2; hold++) {
		const char *line;

		if (hold) {
			log_hold();
			log_err(LOG_INFO, "before", NULL);
		}
		log_begin_long(&l, LOG_INFO, "m", mem, sizeof(mem));
		log_str(&l, "v", (struct str){big, sizeof(big)});
		log_int(&l, "i", 7);
		log_end(&l);
		log_release();
		line = logged();
		assert_true(strlen(line) > sizeof(big));
		assert_non_null(strstr(line, "x\",\"i\":7}\n"));
		assert_true(
		    !hold || strstr(line, "before") < strstr(line, "xx"));
	}
	log_begin_long(&l, LOG_INFO, "m", mem, 400);
	log_str(&l, "v", (struct str){big, sizeof(big)});
	log_end(&l);
	assert_non_null(strstr(logged(), "x~\"}\n"));
}

static void
stays_utf8(void **)
{
	static char wide[3 * 1000];
	struct log_line l;
	const char *line;

	log_setup(LOG_INFO, LOG_JSON, fd);
	log_begin(&l, LOG_INFO, "m");
	log_str(&l, "bad",
	    STR("ab\xff"
		"cd"));
	log_end(&l);
	assert_non_null(strstr(logged(), "\"bad\":\"ab~\""));
	for (size_t i = 0; i < sizeof(wide); i += 3)
		memcpy(wide + i, "\xe9\xa3\x9b", 3);
	for (size_t n = 2000; n < 2100; n++) {
		log_begin(&l, LOG_INFO, "m");
		log_str(&l, "v", (struct str){wide, n});
		log_end(&l);
		line = logged();
		assert_int_equal(str_utf8_bad(str_of(line)), strlen(line));
	}
}

static void
holds_and_releases(void **)
{
	log_setup(LOG_INFO, LOG_TEXT, fd);
	log_hold();
	log_err(LOG_INFO, "one", NULL);
	log_err(LOG_INFO, "two", NULL);
	assert_string_equal(logged(), "");
	log_release();
	assert_non_null(strstr(logged(), "two\n"));
	/* More than it holds comes out by itself, and nothing is lost. */
	log_hold();
	for (int i = 0; i < 10000; i++)
		log_fmt(LOG_INFO, "many", "%d", i);
	log_release();
	(void)logged();
	for (int i = 0, at = 0; i < 10000; i++) {
		char want[32];
		char *p;

		(void)snprintf(want, sizeof(want), "detail=\"%d\"\n", i);
		p = strstr(text + at, want);
		assert_non_null(p);
		at = (int)(p - text) + 1;
	}
	log_err(LOG_INFO, "after", NULL);
	assert_non_null(strstr(logged(), "after\n"));
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test_setup_teardown(writes_json, open_fd, close_fd),
	    cmocka_unit_test_setup_teardown(writes_text, open_fd, close_fd),
	    cmocka_unit_test_setup_teardown(obeys_the_level, open_fd, close_fd),
	    cmocka_unit_test_setup_teardown(cuts_visibly, open_fd, close_fd),
	    cmocka_unit_test_setup_teardown(lists_ids, open_fd, close_fd),
	    cmocka_unit_test_setup_teardown(long_line, open_fd, close_fd),
	    cmocka_unit_test_setup_teardown(stays_utf8, open_fd, close_fd),
	    cmocka_unit_test_setup_teardown(
		holds_and_releases, open_fd, close_fd),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
