#include "deliver/engine/wish.h"

#include "base/conf/conf.h"
#include "base/test.h"
#include "sql.h"

/* A stored subscription of the preset; `more` are members with a comma before. */
static struct wish *
wish_of(const struct presets *ps, const char *preset, const char *more)
{
	struct buf b = BUF(4 * KIB);
	struct wish *w = NULL;
	struct err e;

	buf_fmt(&b,
	    "{\"name\":\"n\",\"url\":\"https://h/x\",\"preset\":\"%s\"%s}",
	    preset, more);
	if (wish_new(&(struct sql_subs_page_row){.id = 7,
			 .conf = buf_str(&b),
			 .enabled = true,
			 .uid = STR_EMPTY},
		NULL, 0, ps, 1, &w, &e) != OK)
		fail_msg("%s %s: %s", preset, more, e.text);
	buf_done(&b);
	return w;
}

/* A copy of a preset under another name makes the same of a subscription. */
static void
test_copies(void **)
{
	static const char *const more[] = {"",
	    ",\"batch\":{\"mode\":\"batched\"}",
	    ",\"managed\":{\"by\":\"task\"}"};
	const struct preset *p, *all[16];
	struct presets *ps = NULL;
	struct conf conf;
	size_t at = 0, n = 0;
	struct err e;

	assert_int_equal(conf_init(&conf, &e), OK);
	ps = presets_load(&conf);
	while ((p = presets_each(ps, &at)))
		all[n++] = p;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(
		    preset_parse(STR("copy"), all[i]->json, &conf, &p, &e), OK);
		assert_int_equal(presets_put(ps, p, &e), OK);
		for (size_t k = 0; k < COUNT_OF(more); k++) {
			struct wish *a = wish_of(ps, all[i]->name.p, more[k]);
			struct wish *b = wish_of(ps, "copy", more[k]);

			assert_memory_equal(
			    &a->core, &b->core, sizeof(a->core));
			assert_int_equal(a->key, b->key);
			assert_int_equal(a->kind, b->kind);
			assert_int_equal(a->spaced, b->spaced);
			assert_int_equal(a->picky, b->picky);
			assert_int_equal(a->directed, b->directed);
			assert_int_equal(a->checked, b->checked);
			assert_int_equal(a->window_us, b->window_us);
			wish_unref(a);
			wish_unref(b);
		}
	}
	presets_free(ps);
	conf_done(&conf);
}

static void
test_kinds(void **)
{
	static const struct {
		const char *preset, *more;
		enum wish_kind kind;
		enum wish_key key;
		bool directed;
	} rows[] = {
	    {"standard", "", WISH_PLAIN, WISH_KEY_EVENT, false},
	    {"standard", ",\"batch\":{\"mode\":\"summary\"}", WISH_ALL,
		WISH_KEY_EVENT, false},
	    {"repository", "", WISH_CHILD, WISH_KEY_EVENT, false},
	    {"hub", "", WISH_PLAIN, WISH_KEY_PRESET, false},
	    {"task", "", WISH_PLAIN, WISH_KEY_EVENT, false},
	    /* As stores have them. */
	    {"task", ",\"managed\":{\"by\":\"task\"}", WISH_PLAIN,
		WISH_KEY_EVENT, true},
	    {"standard",
		",\"managed\":{\"by\":\"consumer\",\"ackWaitSeconds\":9}",
		WISH_PLAIN, WISH_KEY_EVENT, false},
	};
	struct presets *ps = NULL;
	struct conf conf;
	struct err e;

	assert_int_equal(conf_init(&conf, &e), OK);
	ps = presets_load(&conf);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct wish *w = wish_of(ps, rows[i].preset, rows[i].more);

		assert_int_equal(w->kind, rows[i].kind);
		assert_int_equal(w->key, rows[i].key);
		assert_int_equal(w->directed, rows[i].directed);
		wish_unref(w);
	}
	presets_free(ps);
	conf_done(&conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_copies),
	    cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
