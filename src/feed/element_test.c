#include "feed/element.h"

#include "base/test.h"

/* Looking up halves the table, so each row must be found, whatever its place. */
static void
finds_each_row(void **)
{
	static const struct {
		enum element_family family;
		const char *name;
		enum element_where where;
		enum element_kind kind;
	} ROWS[] = {
#define ELEMENT(family, name, where, kind, field, rank)                        \
	{FAMILY_##family, name, IN_##where, KIND_##kind},
#include "feed/elements.tbl"
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const struct element *e = element_find(
		    ROWS[i].family, str_of(ROWS[i].name), ROWS[i].where);

		if (!e || e->kind != ROWS[i].kind)
			fail_msg("%s is not found", ROWS[i].name);
	}
	assert_null(element_find(FAMILY_RSS, STR("nothing"), IN_ANY));
	assert_null(
	    element_find(FAMILY_RSS, STR("aVeryLongNameIndeed"), IN_ANY));
	assert_null(element_find(FAMILY_RSS, STR("title"), IN_AUTHOR));
	assert_non_null(element_find(FAMILY_RSS, STR("pubDate"), IN_ITEM));
	assert_non_null(element_find(FAMILY_RSS, STR("PUBDATE"), IN_FEED));
}

static void
knows_spaces(void **)
{
	static const struct {
		const char *uri, *prefix;
		enum element_family want;
	} ROWS[] = {
	    {NULL, NULL, FAMILY_RSS},
	    {"http://www.w3.org/2005/Atom", NULL, FAMILY_ATOM},
	    {"https://www.w3.org/2005/Atom/", "x", FAMILY_ATOM},
	    {"http://purl.org/atom/ns#", NULL, FAMILY_ATOM},
	    {"http://purl.org/rss/1.0/", NULL, FAMILY_RSS},
	    {"http://my.own/rss", NULL, FAMILY_RSS},
	    {"http://my.own/rss", "x", FAMILY_OTHER},
	    {NULL, "dc", FAMILY_DC},
	    {"http://wrong", "DC", FAMILY_DC},
	    {"http://search.yahoo.com/mrss", "m", FAMILY_MEDIA},
	    {"http://search.yahoo.com/mrss/", "m", FAMILY_MEDIA},
	    {"HTTP://WWW.ITUNES.COM/DTDs/Podcast-1.0.dtd", "i", FAMILY_ITUNES},
	    {"", NULL, FAMILY_RSS},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_int_equal(
		    element_family(str_of(ROWS[i].uri), str_of(ROWS[i].prefix)),
		    ROWS[i].want);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(finds_each_row),
	    cmocka_unit_test(knows_spaces),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
