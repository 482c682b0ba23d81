#include "sink/file/file.h"

#include "base/conf/conf.h"
#include "base/test.h"
#include "contract/sub.h"
#include "sink/sink_driver.h"

static const struct {
	const char *url, *name;
} ROWS[] = {
    {"file:orders", "orders"},
    {"file:a.b-c_9", "a.b-c_9"},
    {"file:", ""},
    {"file:..", ""},
    {"file:.hidden", ""},
    {"file:a/b", ""},
    {"file:a b", ""},
    {"file:0123456789012345678901234567890123456789012345678901234567890123",
	"0123456789012345678901234567890123456789012345678901234567890123"},
    {"file:01234567890123456789012345678901234567890123456789012345678901234",
	""},
};

static void
test_names(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		if (!str_eq(
			file_name(str_of(ROWS[i].url)), str_of(ROWS[i].name)))
			fail_msg("%s", ROWS[i].url);
}

/* Which sink takes which URL: 1, 0 nobody, < 0 wrong. */
static void
test_check(void **)
{
	static const struct {
		const char *url;
		int64_t ack_wait_s;
		const char *folder;
		enum sink_kind kind;
		int rc;
	} rows[] = {
	    {"https://example.com/x", 0, "", SINK_KIND_HTTP, 0},
	    {"example.com", 0, "", SINK_KIND_HTTP, 0},
	    {"ftp:x", 0, "", SINK_KIND_HTTP, 0},
	    {"consumer:orders", 30, "", SINK_KIND_PULL, 1},
	    {"consumer:orders", 0, "", SINK_KIND_PULL, 0},
	    {"file:orders", 0, "", SINK_KIND_FILE, 0},
	    {"file:orders", 0, "/tmp", SINK_KIND_FILE, 1},
	    {"file:a/b", 0, "/tmp", SINK_KIND_FILE, ERR_INVALID},
	};

	sink_drivers_check();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sub_conf s = {.url = str_of(rows[i].url),
		    .managed.ack_wait_s = rows[i].ack_wait_s};
		char folder[8];
		struct conf c = {.sink_file_folder = folder};
		struct err e;

		(void)snprintf(folder, sizeof(folder), "%s", rows[i].folder);
		if (sink_of(s.url) != rows[i].kind ||
		    sink_check(&s, &c, &e) != rows[i].rc)
			fail_msg("%zu: %s", i, rows[i].url);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
