#include "match/table.h"

#include <malloc.h>

#include "base/test.h"
#include "match/types.h"

static struct uuid
tenant(unsigned n)
{
	struct uuid u = {{0}};

	memcpy(u.b, &n, sizeof(n));
	return u;
}

static void
add_or_drop(struct match_table *t, bool drop, int64_t sub, const char *type,
    unsigned ten)
{
	struct str s = str_of(type);
	struct uuid u = tenant(ten);
	struct match_want w = {.sub = sub,
	    .types = &s,
	    .n_types = type != NULL,
	    .tenants = &u,
	    .n_tenants = ten > 0};
	struct err e;

	if (drop)
		match_drop(t, &w);
	else
		assert_int_equal(match_add(t, &w, &e), OK);
}

static void
add(struct match_table *t, int64_t sub, const char *type, unsigned ten)
{
	add_or_drop(t, false, sub, type, ten);
}

static void
drop(struct match_table *t, int64_t sub, const char *type, unsigned ten)
{
	add_or_drop(t, true, sub, type, ten);
}

/* The hits as "1 2 5". */
static void
expect(struct match_table *t, const char *type, unsigned ten, const char *want)
{
	struct match_hits h = {.n = 0};
	struct uuid u = tenant(ten);
	char got[256] = "";
	size_t at = 0;
	struct err e;

	assert_int_equal(
	    match_find(t, str_of(type), ten ? &u : NULL, &h, &e), OK);
	for (size_t i = 0; i < h.n; i++)
		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s%d",
		    i ? " " : "", (int)h.subs[i]);
	if (strcmp(got, want) != 0)
		fail_msg("%s of %u: [%s], not [%s]", type, ten, got, want);
	match_hits_done(&h);
}

static void
finds(void **)
{
	static const struct {
		const char *type;
		unsigned ten;
		const char *want;
	} ROWS[] = {
	    {"feed.item.added", 0, "1 3 4 5"},
	    {"feed.item.added", 1, "1 2 3 4 5"},
	    {"feed.item.added", 2, "1 3 4 5 7"},
	    {"feed.item.a.b", 0, "1 3 4"},
	    {"feed.item", 0, "1 4"},
	    {"feed", 0, "1"},
	    {"feed", 1, "1 2"},
	    {"feeds.item.added", 0, "1"},
	    {"shop.order", 0, "1 6"},
	    {"shop.order", 3, "1 6"},
	};
	struct match_table *t = match_new();

	add(t, 7, "feed.item.added", 2);
	add(t, 6, "shop.order", 0);
	add(t, 5, "feed.item.added", 0);
	add(t, 4, "feed.*", 0);
	add(t, 3, "feed.item.*", 0);
	add(t, 2, NULL, 1);
	add(t, 1, "*", 0);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		expect(t, ROWS[i].type, ROWS[i].ten, ROWS[i].want);
	match_free(t);
}

static void
replaces_and_drops(void **)
{
	struct match_table *t = match_new();
	struct str twice[] = {STR("a.*"), STR("a.b"), STR("a.b"), STR("*")};
	struct uuid both[] = {tenant(1), tenant(1), tenant(2)};
	struct match_want w = {.sub = 3,
	    .types = twice,
	    .n_types = 4,
	    .tenants = both,
	    .n_tenants = 3};
	struct err e;

	add(t, 3, "a.b", 0);
	expect(t, "a.b", 3, "3");
	drop(t, 3, "a.b", 0);
	assert_int_equal(match_add(t, &w, &e), OK);
	assert_int_equal(match_count(t), 1);
	expect(t, "a.b", 0, "");
	expect(t, "a.b", 1, "3");
	expect(t, "c", 2, "3");
	expect(t, "a.b", 3, "");
	add(t, 4, "a.b", 1);
	expect(t, "a.b", 1, "3 4");
	expect(t, "a.b", 2, "3");
	match_drop(t, &w);
	expect(t, "a.b", 1, "4");
	drop(t, 4, "a.b", 1);
	expect(t, "a.b", 1, "");
	assert_int_equal(match_count(t), 0);
	match_free(t);
}

/* What is refused leaves the table as it was. */
static void
refuses(void **)
{
	static const struct {
		size_t n_types, n_tenants;
		const char *last; /* type */
		int code;
		const char *at;
	} ROWS[] = {
	    {64, 16, "t", OK, ""},
	    {65, 0, "t", ERR_LIMIT, "/types"},
	    {1, 65, "t", ERR_LIMIT, "/tenants"},
	    {64, 17, "t", ERR_LIMIT, "/tenants"},
	    {3, 1, "a*", ERR_INVALID, "/types/2"},
	};
	struct str types[65];
	struct uuid tenants[65];

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct match_table *t = match_new();
		struct match_want w = {.sub = 1,
		    .types = types,
		    .n_types = ROWS[i].n_types,
		    .tenants = tenants,
		    .n_tenants = ROWS[i].n_tenants};
		struct err e = {.at = ""};

		for (size_t k = 0; k < 65; k++) {
			types[k] = STR("t");
			tenants[k] = tenant((unsigned)k + 1);
		}
		types[w.n_types - 1] = str_of(ROWS[i].last);
		add(t, 2, "before", 0);
		assert_int_equal(match_add(t, &w, &e), ROWS[i].code);
		assert_string_equal(e.at, ROWS[i].at);
		assert_int_equal(match_count(t), ROWS[i].code == OK ? 2 : 1);
		expect(t, "before", 0, "2");
		expect(t, "t", 1, ROWS[i].code == OK ? "1" : "");
		match_free(t);
	}
}

/* Against one that can't be wrong. */
#define MODEL_SUBS 60
static const char *const NAMES[] = {"a", "b", "a.b", "a.b.c", "a.b.c.d", "b.a",
    "ab", "ab.c", "a.*", "a.b.*", "b.*", "*", "a.b.c.*", "ab.*"};
static struct {
	struct str types[4];
	struct uuid tenants[3];
	size_t n_types, n_tenants;
	bool in;
} model[MODEL_SUBS];

static uint32_t dice;

static uint32_t
roll(uint32_t n)
{
	dice = dice * 1664525u + 1013904223u;
	return (dice >> 8) % n;
}

static bool
model_wants(size_t i, struct str type, struct uuid ten)
{
	bool by_type = model[i].n_types == 0, by_ten = model[i].n_tenants == 0;

	for (size_t k = 0; k < model[i].n_types; k++)
		by_type |=
		    match_types_fit(match_types_key(model[i].types[k]), type);
	for (size_t k = 0; k < model[i].n_tenants; k++)
		by_ten |= uuid_eq(model[i].tenants[k], ten);
	return model[i].in && by_type && by_ten;
}

static void
change(struct match_table *t, size_t i)
{
	struct match_want w = {.sub = (int64_t)i + 1,
	    .types = model[i].types,
	    .n_types = model[i].n_types,
	    .tenants = model[i].tenants,
	    .n_tenants = model[i].n_tenants};
	struct err e;

	if (model[i].in)
		match_drop(t, &w);
	model[i].in = roll(3) > 0;
	if (!model[i].in)
		return;
	w.n_types = model[i].n_types = roll(5);
	w.n_tenants = model[i].n_tenants = roll(4);
	for (size_t k = 0; k < 4; k++)
		model[i].types[k] = str_of(NAMES[roll(COUNT_OF(NAMES))]);
	for (size_t k = 0; k < 3; k++)
		model[i].tenants[k] = tenant(1 + roll(5));
	assert_int_equal(match_add(t, &w, &e), OK);
}

static void
agrees_with_a_model(void **)
{
	struct match_table *t = match_new();
	struct match_hits h = {.n = 0};

	dice = 7;
	for (int step = 0; step < 40000; step++) {
		struct str type = str_of(NAMES[roll(8)]);
		struct uuid ten = tenant(1 + roll(6));
		size_t at = 0;
		struct err e;

		change(t, roll(MODEL_SUBS));
		h.n = 0;
		assert_int_equal(match_find(t, type, &ten, &h, &e), OK);
		/* Once more: a list that has something is added to. */
		assert_int_equal(match_find(t, type, &ten, &h, &e), OK);
		assert_int_equal(h.n % 2, 0);
		h.n /= 2;
		for (size_t i = 0; i < MODEL_SUBS; i++)
			if (model_wants(i, type, ten)) {
				assert_true(at < h.n);
				assert_int_equal(h.subs[at], i + 1);
				assert_int_equal(h.subs[h.n + at], i + 1);
				at++;
			}
		assert_int_equal(at, h.n);
	}
	match_hits_done(&h);
	match_free(t);
}

#define MANY 100000

static void
one_of_many(struct match_table *t, bool go, unsigned i, int by)
{
	char type[32] = "feed.item.added";

	if (by == 2)
		(void)snprintf(type, sizeof(type), "feed.t%u", i);
	add_or_drop(t, go, i, type, by == 1 ? i : by == 0 ? 1 : 0);
}

/* A hundred thousand that are equal, that differ by tenant, by type. */
static void
many(void **)
{
	static const char *const LAST[] = {
	    "feed.item.added", "feed.item.added", "feed.t100000"};

	for (int by = 0; by < 3; by++) {
		struct match_table *t = match_new();
		struct match_hits h = {.n = 0};
		size_t before = mallinfo2().uordblks;
		struct uuid u = tenant(by == 0 ? 1 : MANY);
		struct err e;

		for (unsigned i = 1; i <= MANY; i++)
			one_of_many(t, false, i, by);
#ifndef __SANITIZE_ADDRESS__
		assert_true(mallinfo2().uordblks - before <= 20 * MIB);
#else
		(void)before;
#endif
		assert_int_equal(
		    match_find(t, str_of(LAST[by]), &u, &h, &e), OK);
		assert_int_equal(h.n, by == 0 ? MANY : 1);
		assert_int_equal(h.subs[h.n - 1], MANY);
		/* Of equals the last first: the others behind it move. */
		for (unsigned i = MANY - 1; i > 0; i--)
			one_of_many(t, true, i, by);
		h.n = 0;
		assert_int_equal(
		    match_find(t, str_of(LAST[by]), &u, &h, &e), OK);
		assert_int_equal(h.n, 1);
		assert_int_equal(match_count(t), 1);
		match_hits_done(&h);
		match_free(t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds),
	    cmocka_unit_test(replaces_and_drops),
	    cmocka_unit_test(refuses),
	    cmocka_unit_test(agrees_with_a_model),
	    cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
