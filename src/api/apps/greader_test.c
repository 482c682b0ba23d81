#include "api/apps/greader.h"

#include "base/test.h"

static void
test_streams(void **)
{
	static const struct {
		const char *text;
		enum greader_kind kind;
		const char *rest;
	} rows[] = {
	    {"feed/7", GR_FEED, "7"},
	    {"feed/http://a/b?c", GR_FEED, "http://a/b?c"},
	    {"user/-/label/News", GR_NAMED, "News"},
	    {"user/1234/label/A/B", GR_NAMED, "A/B"},
	    {"user/-/label/", GR_NONE, ""},
	    {"user/-/state/com.google/reading-list", GR_ALL, ""},
	    {"user/9/state/com.google/read", GR_READ, ""},
	    {"user/-/state/com.google/starred", GR_STARRED, ""},
	    {"user/-/state/com.google/kept-unread", GR_KEPT, ""},
	    {"user/-/state/com.google/tracking-kept-unread", GR_NONE, ""},
	    {"user/-/state/com.other/read", GR_NONE, ""},
	    {"user/-", GR_NONE, ""},
	    {"user/", GR_NONE, ""},
	    {"", GR_NONE, ""},
	    {"x", GR_NONE, ""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct greader_stream g = greader_stream(str_of(rows[i].text));

		if (g.kind != rows[i].kind ||
		    !str_eq(g.rest, str_of(rows[i].rest)))
			fail_msg("%s: %d %.*s", rows[i].text, (int)g.kind,
			    STR_ARG(g.rest));
	}
}

static void
test_ids(void **)
{
	static const struct {
		const char *text;
		int64_t id; /* -1: it is none */
	} rows[] = {
	    {"tag:google.com,2005:reader/item/000000000000001f", 31},
	    {"tag:google.com,2005:reader/item/000000000000001F", 31},
	    {"tag:google.com,2005:reader/item/1f", 31},
	    {"tag:google.com,2005:reader/item/", -1},
	    {"tag:google.com,2005:reader/item/xyz", -1},
	    {"tag:google.com,2005:reader/item/ffffffffffffffff", -1},
	    {"tag:google.com,2005:reader/item/00000000000000001", -1},
	    {"000000000000001f", 31},
	    {"0000000000000010", 16},
	    {"31", 31},
	    {"0", 0},
	    {"-1", -1},
	    {"1f", -1},
	    {"", -1},
	    {"99999999999999999999", -1},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t id = -1;
		bool good = greader_item_id(str_of(rows[i].text), &id);

		if (good != (rows[i].id >= 0) || (good && id != rows[i].id))
			fail_msg(
			    "%s: %d %lld", rows[i].text, good, (long long)id);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_streams),
	    cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
