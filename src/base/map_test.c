#include "base/map.h"

#include "base/test.h"

#define KEYS ((size_t)5000)

static struct item {
	char key[16];
	bool in;
} items[KEYS];

static void
name_items(void)
{
	for (size_t i = 0; i < KEYS; i++) {
		(void)snprintf(items[i].key, sizeof(items[i].key), "k%zu", i);
		items[i].in = false;
	}
}

static struct str
key(size_t i)
{
	return str_of(items[i].key);
}

/* Puts and takes in a fixed disorder, against a model that can't be wrong. */
static void
agrees_with_a_model(void **)
{
	struct map *m = map_new(KEYS);
	uint32_t dice = 1;
	size_t count = 0;
	struct err e;

	name_items();
	for (int step = 0; step < 200000; step++) {
		size_t i;

		dice = dice * 1664525u + 1013904223u;
		i = (dice >> 8) % (step < 100000 ? KEYS : KEYS / 50);
		if (dice >> 31) {
			void *old = NULL;

			assert_int_equal(
			    map_put(m, key(i), &items[i], &old, &e), OK);
			assert_ptr_equal(old, items[i].in ? &items[i] : NULL);
			count += !items[i].in;
			items[i].in = true;
		} else {
			assert_ptr_equal(map_take(m, key(i)),
			    items[i].in ? &items[i] : NULL);
			count -= items[i].in;
			items[i].in = false;
		}
		assert_int_equal(map_count(m), count);
	}
	for (size_t i = 0; i < KEYS; i++)
		assert_ptr_equal(
		    map_find(m, key(i)), items[i].in ? &items[i] : NULL);
	map_free(m);
}

static void
walks_each_once(void **)
{
	struct map *m = map_new(KEYS);
	size_t at = 0, seen = 0;
	struct item *it;
	struct err e;

	name_items();
	assert_null(map_each(m, &at));
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(map_put(m, key(i), &items[i], NULL, &e), OK);
	for (at = 0; (it = map_each(m, &at)); seen++) {
		assert_false(it->in);
		it->in = true;
	}
	assert_int_equal(seen, 100);
	map_free(m);
}

static void
keeps_its_limit(void **)
{
	struct map *m = map_new(2);
	struct err e;

	name_items();
	assert_null(map_find(m, STR("k0")));
	assert_null(map_take(m, STR("k0")));
	assert_int_equal(map_put(m, key(0), &items[0], NULL, &e), OK);
	assert_int_equal(map_put(m, key(1), &items[1], NULL, &e), OK);
	assert_int_equal(map_put(m, key(2), &items[2], NULL, &e), ERR_LIMIT);
	assert_int_equal(map_put(m, key(1), &items[3], NULL, &e), OK);
	assert_ptr_equal(map_find(m, key(1)), &items[3]);
	assert_ptr_equal(map_take(m, key(0)), &items[0]);
	assert_int_equal(map_put(m, key(2), &items[2], NULL, &e), OK);
	map_free(m);
	map_free(NULL);
}

/* Keys of every length up to two words, and one with zeros in it. */
static void
tells_keys_apart(void **)
{
	static const char ZEROS[20];
	static char values[20];
	struct map *m = map_new(100);
	struct err e;

	for (size_t n = 0; n < sizeof(values); n++)
		assert_int_equal(
		    map_put(m, (struct str){ZEROS, n}, &values[n], NULL, &e),
		    OK);
	assert_int_equal(map_count(m), sizeof(values));
	for (size_t n = 0; n < sizeof(values); n++)
		assert_ptr_equal(
		    map_find(m, (struct str){ZEROS, n}), &values[n]);
	map_free(m);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(agrees_with_a_model),
	    cmocka_unit_test(walks_each_once),
	    cmocka_unit_test(keeps_its_limit),
	    cmocka_unit_test(tells_keys_apart),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
