#include "base/conf/conf.h"

#include <unistd.h>

#include "base/test.h"

static char *const NO_ENV[] = {NULL};

static void
begins_with_defaults(void **)
{
	struct conf c;
	struct err e;

	assert_int_equal(conf_load(&c, NULL, NO_ENV, &e), OK);
	assert_int_equal(c.server_port, 8080);
	assert_int_equal(c.event_retention_ms, INT64_C(30) * 86400000);
	assert_int_equal(c.event_dedupe_ms, INT64_C(7) * 86400000);
	assert_int_equal(c.webhook_max_payload_size, 1048576);
	assert_int_equal(c.http_body_max, 8 * MIB);
	assert_int_equal(c.http_idle_timeout_ms, 60000);
	assert_int_equal(c.login_lock_ms, 15 * 60 * 1000);
	assert_int_equal(c.time_scale, 1);
	assert_string_equal(c.event_schema_mode, "open");
	assert_string_equal(c.database_url, "");
	assert_string_equal(c.data, "data");
	conf_done(&c);
}

static void
reads_a_file(void **)
{
	static const char TEXT[] =
	    "# a comment\n"
	    "\n"
	    "server.port=9000\r\n"
	    "  log.level =  warn   # why not\n"
	    "admin.password = \"a # \\\"b\\\\\"  # quoted\n"
	    "event.mask = *:/a, x:/b#c\n"
	    "base.url = http://h/#frag";
	struct conf c;
	struct err e;

	assert_int_equal(conf_init(&c, &e), OK);
	assert_int_equal(conf_read(&c, "f", str_of(TEXT), &e), OK);
	assert_int_equal(c.server_port, 9000);
	assert_string_equal(c.log_level, "warn");
	assert_string_equal(c.admin_password, "a # \"b\\");
	assert_string_equal(c.event_mask, "*:/a,x:/b#c");
	assert_string_equal(c.base_url, "http://h/#frag");
	assert_int_equal(c.origin[CONF_ID_server_port].source, CONF_FILE);
	assert_int_equal(c.origin[CONF_ID_server_port].line, 3);
	assert_int_equal(c.origin[CONF_ID_http_threads].source, CONF_DEFAULT);
	conf_done(&c);
}

static void
names_what_is_wrong(void **)
{
	static const struct {
		const char *text, *want;
	} ROWS[] = {
	    {"server.port = 8080\nserver.port = 70000",
		"f:2: server.port is set already, in line 1"},
	    {"\n\nserver.port = 70000",
		"f:3: server.port must be a whole number from 0 to 65535, "
		"not \"70000\""},
	    {"sever.port = 1",
		"f:1: unknown key sever.port; did you mean server.port?"},
	    {"event.retention.day = 1",
		"f:1: unknown key event.retention.day; did you mean "
		"event.retention.days?"},
	    {"zzz = 1",
		"f:1: unknown key zzz; docs/settings.md lists all keys"},
	    {"= 1", "f:1: unknown key ; docs/settings.md lists all keys"},
	    {"server.port", "f:1: expected `key = value`"},
	    {"data = \"x", "f:1: the closing quote is missing"},
	    {"data = \"x\\\"", "f:1: the closing quote is missing"},
	    {"data = \"x\" y", "f:1: something stands behind the closing "
			       "quote"},
	    {"data =", "f:1: data must be a path of 1 to 4096 bytes, not \"\""},
	    {"http.idle.timeout = 2h",
		"f:1: http.idle.timeout must be a duration from 1s to 1h, such "
		"as 500ms, 10s, 5m or a number of s, not \"2h\""},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct conf c;
		struct err e;

		assert_int_equal(conf_init(&c, &e), OK);
		assert_true(conf_read(&c, "f", str_of(ROWS[i].text), &e) < 0);
		assert_string_equal(e.text, ROWS[i].want);
		conf_done(&c);
	}
}

static int
write_file(char *path, const char *text)
{
	int fd = mkstemp(path);
	size_t n = strlen(text);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	return close(fd);
}

static void
later_places_win(void **)
{
	char port[] = "SERVER_PORT=3", level[] = "LOG_LEVEL=debug";
	char other[] = "SERVER_PORTS=9", lower[] = "http_threads=9";
	char *const env[] = {other, lower, port, level, NULL};
	char path[] = "/tmp/conf_test_XXXXXX";
	struct conf c;
	struct err e;

	assert_int_equal(write_file(path, "server.port = 2\nhttp.threads = 3\n"
					  "data = here\n"),
	    0);
	assert_int_equal(conf_load(&c, path, env, &e), OK);
	assert_int_equal(c.server_port, 3);
	assert_int_equal(c.http_threads, 3);
	assert_string_equal(c.log_level, "debug");
	assert_int_equal(
	    conf_set(&c, STR("data"), STR("there"), CONF_FLAG, &e), OK);
	assert_string_equal(c.data, "there");
	assert_int_equal(
	    conf_set(&c, STR("data"), STR(""), CONF_FLAG, &e), ERR_INVALID);
	assert_string_equal(c.data, "there");
	assert_int_equal(
	    conf_set(&c, STR("dat"), STR("x"), CONF_FLAG, &e), ERR_INVALID);
	assert_int_equal(c.origin[CONF_ID_server_port].source, CONF_ENV);
	assert_int_equal(c.origin[CONF_ID_http_threads].source, CONF_FILE);
	assert_int_equal(c.origin[CONF_ID_data].source, CONF_FLAG);
	conf_done(&c);
	(void)unlink(path);
}

/* outbox.NAME.x: the settings of a name, in the same places. */
static void
groups_have_names(void **)
{
	char file[] = "OUTBOX_SHOP_BATCH=7", ours[] = "HIKYAKU_OUTBOX_A_B_URL=";
	char none[] = "OUTBOX_SHOP=1", plain[] = "OUTBOX_BATCH=5";
	char other[] = "MY_OUTBOX_SHOP_BATCH=9", odd[] = "OUTBOX__URL=x";
	char *const env[] = {file, ours, none, plain, other, odd, NULL};
	static const char *const BAD[] = {"outbox.shop.x", "outbox.Shop.url",
	    "outbox.-a.url", "outbox..url", "outbox.a.b.url", "http.a.threads",
	    "outbox.a12345678901234567890123456789012.url"};
	struct buf b = BUF(MIB);
	struct conf c;
	struct err e;

	assert_int_equal(conf_init(&c, &e), OK);
	assert_int_equal(conf_read(&c, "f",
			     STR("outbox.batch = 3\noutbox.shop.batch = 4\n"
				 "outbox.shop.poll = 20ms\n"),
			     &e),
	    OK);
	assert_int_equal(conf_env(&c, env, &e), OK);
	assert_int_equal(c.outbox_batch, 5);
	assert_int_equal(c.n_named, 2);
	assert_string_equal(c.named[0].name, "shop");
	assert_int_equal(c.named[0].own->outbox_batch, 7);
	assert_int_equal(c.named[0].own->outbox_poll_ms, 20);
	assert_string_equal(c.named[0].own->outbox_table, "outbox_events");
	assert_string_equal(c.named[1].name, "a-b");
	conf_print(&c, &b);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.p, "outbox.batch = 5  # env\n"));
	assert_non_null(strstr(b.p, "outbox.shop.batch = 7  # env\n"));
	assert_non_null(
	    strstr(b.p, "outbox.shop.poll = 20ms  # file line 3\n"));
	for (size_t i = 0; i < COUNT_OF(BAD); i++)
		assert_int_equal(conf_set(&c, str_of(BAD[i]),
				     STR("sqlite:///x"), CONF_FLAG, &e),
		    ERR_INVALID);
	buf_done(&b);
	conf_done(&c);
}

static void
refuses_to_start(void **)
{
	char bad[] = "SERVER_PORT=x", pw[] = "DATABASE_URL=mysql://u:hide@h";
	char *const env[] = {bad, NULL};
	char *const secret[] = {pw, NULL};
	struct conf c;
	struct err e;

	assert_int_equal(conf_load(&c, NULL, env, &e), ERR_INVALID);
	assert_string_equal(e.text,
	    "environment variable SERVER_PORT: server.port must be a whole "
	    "number from 0 to 65535, not \"x\"");
	assert_int_equal(conf_load(&c, NULL, secret, &e), ERR_INVALID);
	assert_null(strstr(e.text, "hide"));
	assert_int_equal(conf_load(&c, "/nowhere/f", NO_ENV, &e), ERR_IO);
	assert_non_null(strstr(e.text, "/nowhere/f: No such file"));
	assert_int_equal(conf_load(&c, "/", NO_ENV, &e), ERR_IO);
	assert_int_equal(conf_load(&c, "/dev/zero", NO_ENV, &e), ERR_LIMIT);
}

/* What is printed reads back to the same, and shows no secret. */
static void
prints_what_it_reads(void **)
{
	char port[] = "SERVER_PORT=3";
	char pw[] = "ADMIN_PASSWORD=s3cret";
	char url[] = "DATABASE_URL=postgres://u:s3cret@h/db";
	char *const env[] = {port, pw, url, NULL};
	struct buf first = BUF(MIB), second = BUF(MIB);
	struct conf c, d;
	struct err e;

	assert_int_equal(conf_load(&c, NULL, env, &e), OK);
	assert_int_equal(conf_set(&c, STR("server.listen"), STR("[::1]:4 #x"),
			     CONF_FLAG, &e),
	    OK);
	conf_print(&c, &first);
	buf_addc(&first, '\0');
	assert_null(strstr(first.p, "s3cret"));
	assert_non_null(strstr(first.p, "server.port = 3  # env\n"));
	assert_non_null(
	    strstr(first.p, "# admin.password = ********  # env\n"));
	assert_non_null(strstr(
	    first.p, "# database.url = postgres://u:********@h/db  # env\n"));
	assert_non_null(
	    strstr(first.p, "server.listen = \"[::1]:4 #x\"  # flag\n"));
	assert_non_null(strstr(first.p, "http.body.max = 8MiB  # default\n"));

	assert_int_equal(conf_init(&d, &e), OK);
	assert_int_equal(conf_read(&d, "printed", str_of(first.p), &e), OK);
	assert_string_equal(d.server_listen, "[::1]:4 #x");
	assert_string_equal(d.admin_password, "");
	assert_int_equal(d.server_port, 3);
	conf_print(&d, &second);
	buf_addc(&second, '\0');
	assert_non_null(strstr(second.p, "server.port = 3  # file line"));
	buf_done(&first);
	buf_done(&second);
	conf_done(&c);
	conf_done(&d);
}

/* Keys of a room stand together, and each says what it is. */
static void
documents_each_key(void **)
{
	for (size_t i = 0; i < CONF_COUNT; i++) {
		const struct conf_key *k = &CONF_KEYS[i];
		bool same = i > 0 && strcmp(k[-1].part, k->part) == 0;

		assert_true(k->help[0] && k->since[0] && k->part[0]);
		for (size_t past = 0; past < i && !same; past++)
			assert_string_not_equal(CONF_KEYS[past].part, k->part);
		for (size_t past = 0; past < i; past++)
			assert_string_not_equal(CONF_KEYS[past].name, k->name);
	}
}

/* Names of the specifications stand for ours, in the file and outside. */
static void
knows_other_names(void **)
{
	static const char TEXT[] = "webhook.default.retry.count = 7\n"
				   "webhooks-user-path = /u\n";
	char base[] = "WEBHOOK_RETRY_BACKOFF_BASE=250";
	char path[] = "WEBHOOKS_ORGANIZATION_PATH=/o";
	char *const env[] = {base, path, NULL};
	struct conf c;
	struct err e;

	assert_int_equal(conf_init(&c, &e), OK);
	assert_int_equal(conf_read(&c, "f", str_of(TEXT), &e), OK);
	assert_int_equal(conf_env(&c, env, &e), OK);
	assert_int_equal(c.webhook_retry_default_count, 7);
	assert_string_equal(c.webhooks_user_path, "/u");
	assert_int_equal(c.webhook_retry_backoff_base_ms, 250);
	assert_string_equal(c.webhooks_organization_path, "/o");
	assert_int_equal(
	    conf_read(&c, "f", STR("webhook.retry.default.count = 1"), &e),
	    ERR_INVALID);
	conf_done(&c);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(begins_with_defaults),
	    cmocka_unit_test(reads_a_file),
	    cmocka_unit_test(names_what_is_wrong),
	    cmocka_unit_test(later_places_win),
	    cmocka_unit_test(groups_have_names),
	    cmocka_unit_test(refuses_to_start),
	    cmocka_unit_test(prints_what_it_reads),
	    cmocka_unit_test(documents_each_key),
	    cmocka_unit_test(knows_other_names),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
