#include "base/heap.h"

#include "base/test.h"

#define NODES ((size_t)500)

static struct heap_node nodes[NODES];

static uint32_t
roll(void)
{
	static uint32_t dice = 7;

	dice = dice * 1664525u + 1013904223u;
	return dice >> 8;
}

static int64_t
least_due(void)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < NODES; i++)
		if (nodes[i].at > 0 && nodes[i].due < least)
			least = nodes[i].due;
	return least;
}

/* Adds, moves and removes; the first is always the one due first. */
static void
agrees_with_a_search(void **)
{
	struct heap h = {.v = NULL};

	memset(nodes, 0, sizeof(nodes));
	for (int step = 0; step < 20000; step++) {
		struct heap_node *n = &nodes[roll() % NODES];
		int64_t due = roll() % 1000;

		if (n->at == 0) {
			n->due = due;
			heap_add(&h, n);
		} else if (roll() % 3) {
			heap_move(&h, n, due);
		} else {
			heap_remove(&h, n);
			heap_remove(&h, n);
			assert_int_equal(n->at, 0);
		}
		if (h.n > 0)
			assert_int_equal(heap_first(&h)->due, least_due());
	}
	heap_done(&h);
}

static void
comes_out_sorted(void **)
{
	struct heap h = {.v = NULL};
	int64_t last = INT64_MIN;
	struct heap_node *n;
	size_t seen = 0;

	memset(nodes, 0, sizeof(nodes));
	assert_null(heap_first(&h));
	for (size_t i = 0; i < NODES; i++) {
		nodes[i].due = (int64_t)roll() - 8000000;
		heap_add(&h, &nodes[i]);
	}
	for (; (n = heap_first(&h)); seen++) {
		assert_true(n->due >= last);
		last = n->due;
		heap_remove(&h, n);
	}
	assert_int_equal(seen, NODES);
	heap_done(&h);
	assert_null(heap_first(&h));
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(agrees_with_a_search),
	    cmocka_unit_test(comes_out_sorted),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
