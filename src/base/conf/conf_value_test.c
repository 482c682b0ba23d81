#include "base/conf/conf_value.h"

#include "base/test.h"

static const struct conf_key INT = {
    .name = "n", .type = CONF_INT, .least = -5, .most = 100, .of = ""};
static const struct conf_key SPAN = {.name = "span",
    .type = CONF_DURATION,
    .least = 0,
    .most = INT64_MAX,
    .of = "s"};
static const struct conf_key SIZE = {
    .name = "size", .type = CONF_SIZE, .least = 1, .most = INT64_MAX, .of = ""};
static const struct conf_key BOOL = {.name = "b", .type = CONF_BOOL, .of = ""};
static const struct conf_key WORD = {
    .name = "mode", .type = CONF_CHOICE, .of = "open|strict|off"};
static const struct conf_key TEXT = {
    .name = "t", .type = CONF_TEXT, .least = 1, .most = 10, .of = ""};
static const struct conf_key LIST = {
    .name = "l", .type = CONF_LIST, .most = 100, .of = ""};
static const struct conf_key LINK = {
    .name = "link", .type = CONF_URL, .most = 200, .of = "postgres|postgresql"};
static const struct conf_key SECRET = {
    .name = "s", .type = CONF_SECRET, .most = 10, .of = ""};

union field {
	int64_t i;
	bool b;
	const char *z;
};

/* What a value looks like when written again; NULL when it is refused. */
static const struct {
	const struct conf_key *key;
	const char *text, *want;
} ROWS[] = {
    {&INT, "0", "0"},
    {&INT, "-5", "-5"},
    {&INT, "100", "100"},
    {&INT, "101", NULL},
    {&INT, "-6", NULL},
    {&INT, "1.0", NULL},
    {&INT, "5 ", NULL},
    {&INT, "", NULL},
    {&INT, "99999999999999999999", NULL},

    {&SPAN, "0", "0s"},
    {&SPAN, "90", "90s"},
    {&SPAN, "500ms", "500ms"},
    {&SPAN, "1000ms", "1s"},
    {&SPAN, "10s", "10s"},
    {&SPAN, "300s", "5m"},
    {&SPAN, "5M", "5m"},
    {&SPAN, "24h", "1d"},
    {&SPAN, "30d", "30d"},
    {&SPAN, "5 m", NULL},
    {&SPAN, "m", NULL},
    {&SPAN, "-1s", NULL},
    {&SPAN, "1w", NULL},
    {&SPAN, "1.5s", NULL},
    {&SPAN, "9223372036854775807d", NULL},

    {&SIZE, "1048576", "1MiB"},
    {&SIZE, "1000", "1000"},
    {&SIZE, "7B", "7"},
    {&SIZE, "5MB", "5000000"},
    {&SIZE, "1MiB", "1MiB"},
    {&SIZE, "1mib", "1MiB"},
    {&SIZE, "3KiB", "3KiB"},
    {&SIZE, "2GiB", "2GiB"},
    {&SIZE, "1TiB", "1TiB"},
    {&SIZE, "0", NULL},
    {&SIZE, "1M", NULL},
    {&SIZE, "MB", NULL},
    {&SIZE, "9999999999TiB", NULL},

    {&BOOL, "true", "true"},
    {&BOOL, "Yes", "true"},
    {&BOOL, "on", "true"},
    {&BOOL, "1", "true"},
    {&BOOL, "FALSE", "false"},
    {&BOOL, "no", "false"},
    {&BOOL, "off", "false"},
    {&BOOL, "0", "false"},
    {&BOOL, "2", NULL},
    {&BOOL, "", NULL},

    {&WORD, "open", "open"},
    {&WORD, "off", "off"},
    {&WORD, "Open", NULL},
    {&WORD, "open|strict", NULL},
    {&WORD, "", NULL},

    {&TEXT, "a b", "a b"},
    {&TEXT, " a ", "\" a \""},
    {&TEXT, "a\"\\b", "\"a\\\"\\\\b\""},
    {&TEXT, "a\\b", "a\\b"},
    {&TEXT, "a#b", "\"a#b\""},
    {&TEXT, "\xe9\xa3\x9b", "\xe9\xa3\x9b"},
    {&TEXT, "", NULL},
    {&TEXT, "12345678901", NULL},
    {&TEXT, "a\nb", NULL},
    {&TEXT, "a\x7f", NULL},
    {&TEXT, "a\xff", NULL},

    {&LIST, "", "\"\""},
    {&LIST, "a", "a"},
    {&LIST, " a , b,c ", "a,b,c"},
    {&LIST, "a,", NULL},
    {&LIST, ",a", NULL},
    {&LIST, "a, ,b", NULL},

    {&LINK, "", "\"\""},
    {&LINK, "postgres:///db", "postgres:///db"},
    {&LINK, "postgresql://u@h/db", "postgresql://u@h/db"},
    {&LINK, "postgres://u:pw@h/db", "postgres://u:********@h/db"},
    {&LINK, "postgres://u:p@w:x@h/d", "postgres://u:********@h/d"},
    {&LINK, "postgres://u:pw@h", "postgres://u:********@h"},
    {&LINK, "postgres://u@h/d?password=pw&a=b",
	"postgres://u@h/d?password=********&a=b"},
    {&LINK, "postgres://u:pw@h/d?a=b&password=pw&sslpassword=pw",
	"postgres://u:********@h/d?a=b&password=********&sslpassword=********"},
    {&LINK, "postgres://h:5432/db", "postgres://h:5432/db"},
    {&LINK, "postgres://h/d@x:y", "postgres://h/d@x:y"},
    {&LINK, "mysql://h/db", NULL},
    {&LINK, "postgres:/h", NULL},
    {&LINK, "postgres://", NULL},
    {&LINK, "postgres://h/a b", NULL},
    {&LINK, "h/db", NULL},

    {&SECRET, "", "\"\""},
    {&SECRET, "pw", "********"},
    {&SECRET, "12345678901", NULL},
};

static void
reads_and_writes(void **)
{
	struct arena *a = arena_new(MIB);
	struct buf b = BUF(KIB);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		union field f = {.i = 0}, again = {.i = 0};
		const struct conf_key *k = ROWS[i].key;
		struct err e;
		int rc = conf_value_read(k, str_of(ROWS[i].text), a, &f, &e);

		if (!ROWS[i].want) {
			assert_int_equal(rc, ERR_INVALID);
			assert_non_null(strstr(e.text, " must be "));
			assert_int_equal(f.i, 0);
			continue;
		}
		assert_int_equal(rc, OK);
		buf_clear(&b);
		conf_value_write(k, &f, &b);
		assert_false(b.failed);
		buf_addc(&b, '\0');
		assert_string_equal(b.p, ROWS[i].want);
		assert_int_equal(conf_value_masked(k, &f),
		    strstr(ROWS[i].want, "****") != NULL);
		if (b.p[0] == '"' || conf_value_masked(k, &f))
			continue;
		rc = conf_value_read(k, str_of(b.p), a, &again, &e);
		assert_int_equal(rc, OK);
	}
	buf_done(&b);
	arena_free(a);
}

static void
says_what_is_allowed(void **)
{
	static const struct {
		const struct conf_key *key;
		const char *text, *want;
	} SAY[] = {
	    {&INT, "x", "n must be a whole number from -5 to 100, not \"x\""},
	    {&WORD, "no", "mode must be open, strict or off, not \"no\""},
	    {&BOOL, "maybe", "b must be true or false, not \"maybe\""},
	    {&TEXT, "", "t must be text of 1 to 10 bytes, not \"\""},
	    {&TEXT, "a\n", "t must be text of 1 to 10 bytes"},
	    {&LINK, "mysql://u:pw@h",
		"link must be a URL beginning with postgres:// or postgresql://"},
	    {&SECRET, "12345678901", "s must be text of 0 to 10 bytes"},
	};
	struct arena *a = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(SAY); i++) {
		union field f;
		struct err e;

		assert_int_equal(
		    conf_value_read(SAY[i].key, str_of(SAY[i].text), a, &f, &e),
		    ERR_INVALID);
		assert_string_equal(e.text, SAY[i].want);
	}
	arena_free(a);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(reads_and_writes),
	    cmocka_unit_test(says_what_is_allowed),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
