#include "doc/pack.h"

#include "base/test.h"
#include "doc/shapes.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "feed/limits.h"

static struct arena *arena;

static int
set_up(void **)
{
	arena = arena_new(4 * MIB);
	return arena ? 0 : -1;
}

static int
take_down(void **)
{
	arena_free(arena);
	return 0;
}

static struct feed
some_feed(void)
{
	static struct feed_text second = {.text = {"b", 1}};
	static struct feed_text first = {.text = {"a", 1}, .next = &second};
	static struct feed_enclosure enclosure = {
	    .url = {"https://e.x/a", 13}, .type = {"", 0}, .length = -1};
	static struct feed_item two = {.id = {"2", 1},
	    .title = {"", 0},
	    .link = {"", 0},
	    .content = {"", 0},
	    .summary = {"", 0},
	    .author = {"", 0},
	    .base = {"", 0},
	    .published_us = FEED_NO_DATE,
	    .updated_us = 5,
	    .enclosures = &enclosure};
	static struct feed_item one;

	one = two;
	one.id = STR("1");
	one.title = STR("T\xc3\xa9");
	one.categories = &first;
	one.enclosures = NULL;
	one.next = &two;
	return (struct feed){.format = FEED_ATOM1,
	    .repaired = true,
	    .title = STR("t"),
	    .link = STR_EMPTY,
	    .description = STR_EMPTY,
	    .language = STR_EMPTY,
	    .self = STR_EMPTY,
	    .hub = STR_EMPTY,
	    .updated_us = FEED_NO_DATE,
	    .items = &one,
	    .n_items = 2};
}

static void
goes_round(void **)
{
	struct feed f = some_feed(), got = {.n_items = 0};
	struct buf b = BUF(MIB), json = BUF(MIB), again = BUF(MIB);
	struct str rest;
	struct err e = {.text = ""};

	pack_put(&b, &DOC_FEED_SHAPE, &f);
	rest = buf_str(&b);
	if (pack_get(arena, &rest, &DOC_FEED_SHAPE, &got, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(rest.n, 0);
	feed_write(&f, &json);
	feed_write(&got, &again);
	assert_true(str_eq(buf_str(&json), buf_str(&again)));
	assert_true(got.repaired);
	assert_int_equal(got.n_items, 2);
	assert_int_equal(got.items->next->enclosures->length, -1);
	buf_done(&b);
	buf_done(&json);
	buf_done(&again);
}

static void
rows_go_round(void **)
{
	struct discover d = {.n_feeds = 1, .n_icons = 2}, got = {.n_feeds = 0};
	struct buf b = BUF(MIB);
	struct str rest;
	struct err e = {.text = ""};

	d.feeds[0] = (struct discover_feed){
	    .url = STR("https://e.x/f"), .title = STR_EMPTY, .same_host = true};
	d.icons[0] =
	    (struct discover_icon){.url = STR("https://e.x/1"), .pixels = 16};
	d.icons[1] =
	    (struct discover_icon){.url = STR("https://e.x/2"), .svg = true};
	pack_put(&b, &DOC_PAGE_SHAPE, &d);
	rest = buf_str(&b);
	if (pack_get(arena, &rest, &DOC_PAGE_SHAPE, &got, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(got.n_feeds, 1);
	assert_int_equal(got.n_icons, 2);
	assert_true(got.feeds[0].same_host);
	assert_int_equal(got.icons[0].pixels, 16);
	assert_true(got.icons[1].svg);
	buf_done(&b);
}

/* Cut anywhere it is none, and no byte of it is trusted: whatever one is
 * changed to, it is read as something else or refused. */
static void
trusts_nothing(void **)
{
	struct feed f = some_feed();
	struct buf b = BUF(MIB);

	pack_put(&b, &DOC_FEED_SHAPE, &f);
	for (size_t n = 0; n < b.n; n++) {
		struct feed got = {.n_items = 0};
		char *copy = malloc(n + 1); /* so that ASan sees its end */
		struct str rest = {copy, n};
		struct err e;

		memcpy(copy, b.p, n);
		assert_int_equal(
		    pack_get(arena, &rest, &DOC_FEED_SHAPE, &got, &e),
		    ERR_SYNTAX);
		free(copy);
	}
	for (size_t i = 0; i < b.n; i++)
		for (int v = 0; v < 256; v += 51) {
			struct feed got = {.n_items = 0};
			struct str rest = buf_str(&b);
			char was = b.p[i];
			struct err e;

			arena_reset(arena);
			b.p[i] = (char)v;
			if (pack_get(arena, &rest, &DOC_FEED_SHAPE, &got, &e) ==
			    OK)
				assert_true(got.n_items <= FEED_ITEMS_MAX);
			b.p[i] = was;
		}
	buf_done(&b);
}

/* One field each; what is wrong with it. */
static void
refuses(void **)
{
	static const struct {
		const char *bytes;
		size_t n;
		int rc;
	} ROWS[] = {
	    {"\0\0\0\0"
	     "\1\0\0\0x",
		9, OK},
	    {"\0\0\0\0"
	     "\0\0\0\0",
		8, OK},
	    {"\0\0\0\0"
	     "\2\0\0\0x",
		9, ERR_SYNTAX}, /* longer than all */
	    {"\0\0\0\0"
	     "\377\377\377\377",
		8, ERR_SYNTAX}, /* may not be absent */
	    {"\0\0\0\0"
	     "\1\0\0\0\0",
		9, ERR_SYNTAX}, /* a NUL */
	    {"\0\0\0\0"
	     "\1\0\0\0\300",
		9, ERR_SYNTAX}, /* no UTF-8 */
	    {"\1\0\0\0"
	     "\0\0\0\0",
		8, ERR_SYNTAX}, /* no code of ours */
	    {"\373\377\377\377"
	     "\0\0\0\0",
		8, ERR_SYNTAX},
	    {"\377\377\377\377"
	     "\0\0\0\0",
		8, OK},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str rest = {ROWS[i].bytes, ROWS[i].n};
		struct doc_result said = {.code = OK};
		struct err e;
		int rc = pack_get(arena, &rest, &DOC_RESULT, &said, &e);

		if (rc != ROWS[i].rc)
			fail_msg("row %zu: %d", i, rc);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(goes_round, set_up, take_down),
	    cmocka_unit_test_setup_teardown(rows_go_round, set_up, take_down),
	    cmocka_unit_test_setup_teardown(trusts_nothing, set_up, take_down),
	    cmocka_unit_test_setup_teardown(refuses, set_up, take_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
