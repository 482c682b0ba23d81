#include "base/test.h"
#include "match/limits.h"
#include "match/table.h"

static const struct row {
	int64_t sub;
	const char *object, *type; /* NULL: all */
	bool children;
	int depth;
} WATCHES[] = {
    {1, "root", NULL, true, 2},
    {2, "root", "CREATED", true, 50},
    {3, "docs", NULL, false, 50},
    {4, "docs", "UPDATED", true, 0},
    {5, "docs", NULL, true, 1},
    {6, "file", NULL, false, 0},
    {7, "other", NULL, true, 50},
};

static int
watch(struct match_table *t, const struct row *r, struct err *e)
{
	struct str type = str_of(r->type);
	struct match_watch w = {.sub = r->sub,
	    .object = str_of(r->object),
	    .types = &type,
	    .n_types = r->type != NULL,
	    .include_children = r->children,
	    .max_depth = r->depth};

	return match_add_object(t, &w, e);
}

static struct match_table *
filled(void)
{
	struct match_table *t = match_new();
	struct err e;

	for (size_t i = 0; i < COUNT_OF(WATCHES); i++)
		assert_int_equal(watch(t, &WATCHES[i], &e), OK);
	return t;
}

/* path is "file docs root". */
static void
expect(
    struct match_table *t, const char *type, const char *path, const char *want)
{
	struct str parts[300], rest = str_of(path);
	struct match_hits h = {.n = 0};
	char got[256] = "";
	size_t n = 0, at = 0;
	struct err e;

	while (rest.n > 0)
		parts[n++] = str_cut(&rest, ' ');
	assert_int_equal(
	    match_find_objects(t, str_of(type), parts, n, &h, &e), OK);
	for (size_t i = 0; i < h.n; i++)
		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%d",
		    i ? " " : "", (int)h.subs[i]);
	if (strcmp(got, want) != 0)
		fail_msg("%s %s: [%s], not [%s]", type, path, got, want);
	match_hits_done(&h);
}

static void
finds(void **state)
{
	static const struct {
		const char *type, *path, *want;
	} ROWS[] = {
	    {"UPDATED", "file docs root", "1 4 5 6"},
	    {"CREATED", "file docs root", "1 2 5 6"},
	    {"UPDATED", "docs root", "1 3 4 5"},
	    {"UPDATED", "root", "1"},
	    {"CREATED", "root", "1 2"},
	    {"CREATED", "x sub docs root", "2"},
	    {"UPDATED", "x docs root", "1 4 5"},
	    {"UPDATED", "x", ""},
	    {"UPDATED", "", ""},
	    /* raised on the folder itself: the caller shows no more */
	    {"CHILD_CREATED", "docs", "3 5"},
	};
	struct match_table *t = filled();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		expect(t, ROWS[i].type, ROWS[i].path, ROWS[i].want);
	match_free(t);
}

static void
replaces_and_drops(void **state)
{
	static const struct row MOVED = {5, "root", "UPDATED", true, 1};
	struct match_table *t = filled();
	struct err e;

	(void)state;
	assert_int_equal(watch(t, &MOVED, &e), OK);
	expect(t, "UPDATED", "x docs root", "1 4");
	expect(t, "UPDATED", "docs root", "1 3 4 5");
	match_drop(t, 4);
	match_drop(t, 3);
	match_drop(t, 3);
	expect(t, "UPDATED", "docs root", "1 5");
	assert_int_equal(match_count(t), COUNT_OF(WATCHES) - 2);
	for (int64_t i = 1; i <= 7; i++)
		match_drop(t, i);
	assert_int_equal(match_count(t), 0);
	expect(t, "UPDATED", "file docs root", "");
	match_free(t);
}

static void
refuses(void **state)
{
	static const struct {
		struct row row;
		const char *at;
	} ROWS[] = {
	    {{1, "", NULL, true, 1}, "/object"},
	    {{1, "x", "a*b", true, 1}, "/types/0"},
	    {{1, "x", NULL, true, -1}, "/maxDepth"},
	    {{1, "x", NULL, true, MATCH_DEPTH_MAX + 1}, "/maxDepth"},
	};
	struct match_table *t = filled();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct err e;

		assert_int_equal(watch(t, &ROWS[i].row, &e), ERR_INVALID);
		assert_string_equal(e.at, ROWS[i].at);
	}
	expect(t, "UPDATED", "file docs root", "1 4 5 6");
	match_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds),
	    cmocka_unit_test(replaces_and_drops),
	    cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
