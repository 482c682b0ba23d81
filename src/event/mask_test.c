#include "event/mask.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* wants the others first */
/* clang-format on */

#include "event/limits.h"

static struct arena *arena;
static struct err e;

static const struct {
	const char *mask, *type, *event, *want; /* NULL: the same bytes */
} CASES[] = {
    {"", "T", "{\"payload\":{\"a\":1}}", NULL},
    {" ,\n", "T", "{\"payload\":{\"a\":1}}", NULL},
    {"T:/payload/a", "T", "{\"payload\":{\"a\":1}}",
	"{\"payload\":{\"a\":\"***\"}}"},
    {"T:/payload/a", "T", "{ \"payload\" : { \"a\" : null , \"b\":2 } }",
	"{ \"payload\" : { \"a\" : \"***\" , \"b\":2 } }"},
    {"T:/payload/a", "U", "{\"payload\":{\"a\":1}}", NULL},
    {"T:/payload/a", "T.a", "{\"payload\":{\"a\":1}}", NULL},
    {"T:/payload/b", "T", "{\"payload\":{\"a\":1}}", NULL},
    {"T:/payload/b", "T", "{\"b\":1,\"payload\":{},\"x\":{\"b\":1}}", NULL},
    {"*:/payload/a", "any.type", "{\"payload\":{\"a\":\"x\"}}",
	"{\"payload\":{\"a\":\"***\"}}"},
    {"feed.item.*:/payload/a", "feed.item.created", "{\"payload\":{\"a\":1}}",
	"{\"payload\":{\"a\":\"***\"}}"},
    {"feed.item.*:/payload/a", "feed.item", "{\"payload\":{\"a\":1}}", NULL},
    {"feed.item.*:/payload/a", "feed.items.x", "{\"payload\":{\"a\":1}}", NULL},
    /* several, in any order of rules */
    {"T:/payload/c,T:/payload/a T:/payload/b/0", "T",
	"{\"payload\":{\"a\":[1,2],\"b\":[3,4],\"c\":{\"d\":5}}}",
	"{\"payload\":{\"a\":\"***\",\"b\":[\"***\",4],\"c\":\"***\"}}"},
    /* one inside another, both ways round, and twice the same */
    {"T:/payload/a/b,T:/payload/a", "T", "{\"payload\":{\"a\":{\"b\":1}}}",
	"{\"payload\":{\"a\":\"***\"}}"},
    {"T:/payload/a T:/payload/a/b *:/payload/a", "T",
	"{\"payload\":{\"a\":{\"b\":1}}}", "{\"payload\":{\"a\":\"***\"}}"},
    {"T:/payload/a/b/c,T:/payload/a/b,T:/payload/a/d", "T",
	"{\"payload\":{\"a\":{\"b\":{\"c\":1},\"d\":2,\"e\":3}}}",
	"{\"payload\":{\"a\":{\"b\":\"***\",\"d\":\"***\",\"e\":3}}}"},
    /* arrays and every one */
    {"T:/payload/a/1", "T", "{\"payload\":{\"a\":[1, 2 ,3]}}",
	"{\"payload\":{\"a\":[1, \"***\" ,3]}}"},
    {"T:/payload/a/01", "T", "{\"payload\":{\"a\":[1,2]}}", NULL},
    {"T:/payload/a/*", "T", "{\"payload\":{\"a\":[1,[],{}]}}",
	"{\"payload\":{\"a\":[\"***\",\"***\",\"***\"]}}"},
    {"T:/payload/*", "T", "{\"payload\":{\"a\":1,\"*\":2},\"x\":3}",
	"{\"payload\":{\"a\":\"***\",\"*\":\"***\"},\"x\":3}"},
    {"T:/payload/*", "T", "{\"payload\":{}}", NULL},
    {"T:/payload/*/phone", "T",
	"{\"payload\":{\"a\":{\"phone\":1},\"b\":[{\"phone\":2}],\"c\":"
	"{\"phone\":\"\\\"\"}}}",
	"{\"payload\":{\"a\":{\"phone\":\"***\"},\"b\":[{\"phone\":2}],\"c\":"
	"{\"phone\":\"***\"}}}"},
    {"T:/payload/*/*/phone", "T", "{\"payload\":{\"b\":[{\"phone\":2},3]}}",
	"{\"payload\":{\"b\":[{\"phone\":\"***\"},3]}}"},
    /* keys as RFC 6901 writes them */
    {"T:/payload/a~1b~0", "T", "{\"payload\":{\"a/b~\":1}}",
	"{\"payload\":{\"a/b~\":\"***\"}}"},
    {"T:/payload/", "T", "{\"payload\":{\"\":1,\"a\":2}}",
	"{\"payload\":{\"\":\"***\",\"a\":2}}"},
    {"T:/payload/a/", "T", "{\"payload\":{\"a\":{\"\":1}}}",
	"{\"payload\":{\"a\":{\"\":\"***\"}}}"},
    {"T:/payload/\xe9\x9b\xbb\xe8\xa9\xb1", "T",
	"{\"payload\":{\"\\u96fb\\u8a71\":\"090\"}}",
	"{\"payload\":{\"\\u96fb\\u8a71\":\"***\"}}"},
    {"T:/payload/a:b", "T", "{\"payload\":{\"a:b\":0.10}}",
	"{\"payload\":{\"a:b\":\"***\"}}"},
};

static void
values_are_replaced_in_place(void **)
{
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct str got, event = str_of(CASES[i].event);
		struct mask *m = NULL;
		struct json *j = NULL;

		if (mask_parse(arena, str_of(CASES[i].mask), &m, &e) < 0)
			fail_msg("%s: %s", CASES[i].mask, e.text);
		assert_int_equal(json_parse(arena, event, &j, &e), OK);
		assert_int_equal(
		    mask_apply(arena, m, str_of(CASES[i].type), j, &got, &e),
		    OK);
		if (!CASES[i].want)
			assert_ptr_equal(got.p, event.p);
		else if (!str_eq(got, str_of(CASES[i].want)))
			fail_msg("%s: %.*s", CASES[i].mask, STR_ARG(got));
	}
}

static void
wrong_masks_are_named(void **)
{
	static const struct {
		const char *mask, *why;
	} T[] = {
	    {"/payload/a", "\"/payload/a\": a mask is Type:/payload/pointer"},
	    {"T:/payload/a, oops", "\"oops\": a mask is"},
	    {"T:", "\"T:\": the pointer must begin with /payload/"},
	    {"T:/payload", "must begin with /payload/"},
	    {"T:/tenantId", "must begin with /payload/"},
	    {"T:/payloads/a", "must begin with /payload/"},
	    {"T:payload/a", "must begin with /payload/"},
	    {":/payload/a", "the event type is not one"},
	    {"1T:/payload/a", "the event type is not one"},
	    {"a*:/payload/a", "the event type is not one"},
	    {"a.*.b:/payload/a", "the event type is not one"},
	    {".*:/payload/a", "the event type is not one"},
	    {"**:/payload/a", "the event type is not one"},
	    {"T:/payload/a~", "~ must be written as ~0"},
	    {"T:/payload/a~2", "~ must be written as ~0"},
	    {"T:/payload/\xff", "no valid UTF-8"},
	};
	struct mask *m = NULL;

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		assert_int_equal(
		    mask_parse(arena, str_of(T[i].mask), &m, &e), ERR_INVALID);
		if (!strstr(e.text, T[i].why))
			fail_msg("%s: %s", T[i].mask, e.text);
		assert_int_equal(str_utf8_bad(str_of(e.text)), strlen(e.text));
	}
	assert_null(m);
}

static void
masks_have_bounds(void **)
{
	struct buf b = BUF(64 * KIB);
	struct mask *m = NULL;

	for (int i = 0; i < MASK_RULES_MAX; i++)
		buf_fmt(&b, "T:/payload/%d,", i);
	assert_int_equal(mask_parse(arena, buf_str(&b), &m, &e), OK);
	buf_addz(&b, "T:/payload/more");
	assert_int_equal(mask_parse(arena, buf_str(&b), &m, &e), ERR_LIMIT);
	buf_clear(&b);
	buf_addz(&b, "T:/payload");
	for (int i = 0; i <= JSON_DEPTH_MAX; i++)
		buf_addz(&b, "/a");
	assert_int_equal(mask_parse(arena, buf_str(&b), &m, &e), ERR_INVALID);
	buf_done(&b);
}

/* Values shorter than what replaces them: the result is longer. */
static void
many_small_values_fit(void **)
{
	struct buf b = BUF(64 * KIB);
	struct mask *m = NULL;
	struct json *j = NULL;
	struct str got;

	buf_addz(&b, "{\"payload\":{\"a\":[0");
	for (int i = 1; i < 1000; i++)
		buf_addz(&b, ",0");
	buf_addz(&b, "]}}");
	assert_int_equal(mask_parse(arena, STR("*:/payload/a/*"), &m, &e), OK);
	assert_int_equal(json_parse(arena, buf_str(&b), &j, &e), OK);
	assert_int_equal(mask_apply(arena, m, STR("T"), j, &got, &e), OK);
	assert_int_equal(got.n, b.n + 4000);
	assert_int_equal(json_parse(arena, got, &j, &e), OK);
	assert_int_equal(json_at(j, STR("/payload/a"))->n, 1000);
	buf_done(&b);
}

static int
setup(void **)
{
	arena = arena_new(16 * MIB);
	return !arena;
}

static int
teardown(void **)
{
	arena_free(arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values_are_replaced_in_place),
	    cmocka_unit_test(wrong_masks_are_named),
	    cmocka_unit_test(masks_have_bounds),
	    cmocka_unit_test(many_small_values_fit),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
