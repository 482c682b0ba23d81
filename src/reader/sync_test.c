#include "reader/sync.h"

#include "base/test.h"
#include "doc/caged.h"
#include "doc/child.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "reader/category.h"
#include "reader/feeds.h"
#include "reader/items.h"
#include "reader/limits.h"
#include "reader/lists.h"
#include "reader/subscription.h"
#include "sql.h"
#include "store/fixture_test.h"

#define NOW (INT64_C(1770000000) * US_PER_S) /* 2026-02-02T02:40:00Z */
#define DAY (INT64_C(86400) * US_PER_S)

static struct caged *caged;
static enum store_engine engine;
static struct err e;

/*
 * Anna has two feeds, in none and in a category; Ben has a third one. Ids of
 * articles grow from feed to feed; those of the second are older all the same.
 */
struct world {
	struct fixture f;
	struct db *db;
	struct arena *a;
	int64_t anna, ben, feeds[3], category;
	struct uuid uids[3];
	int64_t ids[3][3];
};

static void
must(int rc)
{
	if (rc < 0)
		fail_msg("%s", e.text);
}

static int64_t
person(struct db *db, const char *name)
{
	struct uuid uid = uuid_v7(NOW);
	struct rows *rows = NULL;
	int64_t id = 0;

	must(sql_user_add(db, &rows, &e, .uid = uuid_str(&uid),
	    .email = STR_EMPTY, .name = str_of(name), .now = NOW));
	if (rows_next(rows, &e) > 0)
		id = rows_int(rows, 0);
	rows_close(rows);
	assert_true(id > 0);
	return id;
}

static int
write_plan(struct db *db, void *ctx, struct err *err)
{
	return items_write(db, ctx, err);
}

static void
articles(struct world *w, int feed)
{
	static const char *const ITEMS[] = {
	    "{\"id\":\"a\",\"title\":\"One\",\"content_html\":\"red\","
	    "\"date_published\":\"2026-01-01T00:00:00Z\"},"
	    "{\"id\":\"b\",\"title\":\"Two\",\"content_html\":\"green\","
	    "\"date_published\":\"2026-01-02T00:00:00Z\"},"
	    "{\"id\":\"c\",\"title\":\"Three\",\"content_html\":\"red\","
	    "\"date_published\":\"2026-01-03T00:00:00Z\"}",
	    "{\"id\":\"d\",\"title\":\"Four\",\"content_html\":\"blue\","
	    "\"date_published\":\"2025-12-31T00:00:00Z\"}",
	    "{\"id\":\"e\",\"title\":\"Five\",\"content_html\":\"red\","
	    "\"date_published\":\"2025-12-30T00:00:00Z\"}"};
	struct str text = arena_fmt(w->a,
	    "{\"version\":\"https://jsonfeed.org/version/1.1\","
	    "\"title\":\"T\",\"items\":[%s]}",
	    ITEMS[feed]);
	struct feed_from from = {
	    STR("https://e.x/f"), STR("application/feed+json")};
	struct items_from in = {.feed = w->feeds[feed],
	    .feed_uid = STR("x"),
	    .feed_url = from.url,
	    .caged = caged,
	    .now_us = NOW + feed * DAY};
	struct items_plan plan = {.feed = 0};
	struct feed *parsed = NULL;

	must(feed_parse(w->a, text, &from, &parsed, &e));
	in.parsed = parsed;
	must(items_plan(w->db, w->a, &in, &plan, &e));
	must(db_tx(w->db, write_plan, &plan, &e));
}

static int
fill(struct db *db, void *ctx, struct err *err)
{
	struct world *w = ctx;
	struct uuid sub[3], news;
	struct subscription_patch p = {
	    .set_category = true, .has_category = true};
	char url[64];

	w->anna = person(db, "anna");
	w->ben = person(db, "ben");
	for (int i = 0; i < 3; i++) {
		struct feed_new f = {.title = STR("T"), .next_fetch_us = NOW};

		(void)snprintf(url, sizeof(url), "https://e.x/%d", i);
		f.url = str_of(url);
		must(feeds_add(db, &f, NOW, &w->feeds[i], &w->uids[i], err));
		must(subscription_add(db, i == 2 ? w->ben : w->anna,
		    w->feeds[i], READER_FEEDS_MAX, NOW, &sub[i], err));
	}
	must(category_add(db, w->anna, STR("News"), NOW, &news, err));
	p.category = news;
	must(subscription_patch(db, w->anna, sub[1], &p, NOW, err));
	return OK;
}

#define WHO(w, who) (&(struct sync){(w)->db, who, (w)->a})

/* What one sees of all, by id. */
static void
learn(struct world *w, int64_t user, int feed)
{
	struct sync_filter f = SYNC_ALL;
	struct sync_ids ids = {0};

	f.feed = w->feeds[feed];
	f.most = 10;
	must(sync_ids(WHO(w, user), &f, &ids, &e));
	assert_true(ids.n <= 3);
	for (size_t i = 0; i < ids.n; i++)
		w->ids[feed][i] = ids.v[i].id;
}

static void
world_open(struct world *w)
{
	struct sync_categories list = {0};

	*w = (struct world){.anna = 0};
	fixture_open(&w->f, engine, NULL);
	w->a = arena_new(FEED_ARENA_MAX);
	assert_non_null(w->a);
	must(db_open(w->f.store, DB_WRITE, &w->db, &e));
	must(db_tx(w->db, fill, w, &e));
	for (int i = 0; i < 3; i++)
		articles(w, i);
	must(sync_categories(WHO(w, w->anna), &list, &e));
	assert_int_equal(list.n, 1);
	w->category = list.v[0].id;
	learn(w, w->anna, 0);
	learn(w, w->anna, 1);
	learn(w, w->ben, 2);
}

static void
world_close(struct world *w)
{
	db_close(w->db);
	arena_free(w->a);
	fixture_close(&w->f);
}

/* The titles of a page: "One Two". */
static struct str
titles(struct world *w, int64_t user, const struct sync_filter *f)
{
	struct sync_items items = {0};
	struct str s = STR_EMPTY;
	struct sync_ids ids;
	int64_t total = 0;

	must(sync_page(WHO(w, user), f, &items, &e));
	for (size_t i = 0; i < items.n; i++)
		s = arena_fmt(w->a, "%.*s%s%.*s", STR_ARG(s), i ? " " : "",
		    STR_ARG(items.v[i].title));
	must(sync_count(WHO(w, user), f, &ids, &total, &e));
	assert_int_equal(ids.n, items.n);
	if (f->skip == 0 && f->most >= 10)
		assert_int_equal(total, items.n);
	return s;
}

static void
test_filters(void **)
{
	struct world w;
	struct {
		const char *want;
		struct sync_filter f;
	} rows[] = {
	    {"One Two Three Four", {.order = SYNC_ID_UP}},
	    {"Four Three Two One", {.order = SYNC_ID_DOWN}},
	    {"Four One Two Three", {.order = SYNC_DATE_UP}},
	    {"Three Two One Four", {.order = SYNC_DATE_DOWN}},
	    {"Two Three", {.most = 2, .skip = 1}},
	    {"One Two Three", {.category = SYNC_NO_CATEGORY}},
	    {"", {.category = 12345}},
	    {"Three", {.since_us = INT64_C(1767398400) * US_PER_S}},
	    {"One Two Four", {.until_us = INT64_C(1767398400) * US_PER_S}},
	    {"Four", {.crawled_since_us = NOW + 1}},
	    {"One Two Three", {.crawled_until_us = NOW + 1}},
	    {"Four", {.changed_after_us = NOW}},
	    {"One Two Three", {.changed_before_us = NOW + 1}},
	    {"One Three", {.search = STR("RED")}},
	    {"Three", {.search = STR("thr* red")}},
	    {"", {.search = STR("red green")}},
	    {"", {.search = STR("five")}}, /* is Ben's */
	};

	world_open(&w);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sync_filter f = rows[i].f;
		struct str got;

		f.read = f.starred = -1;
		f.most = f.most ? f.most : 10;
		got = titles(&w, w.anna, &f);
		if (!str_eq(got, str_of(rows[i].want)))
			fail_msg("row %zu: %.*s, not %s", i, STR_ARG(got),
			    rows[i].want);
	}
	world_close(&w);
}

static void
test_what_is_mine(void **)
{
	struct sync_filter f = SYNC_ALL;
	struct sync_feeds feeds = {0};
	struct sync_feed one;
	struct sync_items items = {0};
	struct sync_id theirs[2];
	struct world w;

	world_open(&w);
	f.most = 10;
	f.feed = w.feeds[2];
	assert_str(titles(&w, w.anna, &f), "");
	assert_str(titles(&w, w.ben, &f), "Five");
	must(sync_feeds(WHO(&w, w.anna), true, &feeds, &e));
	assert_int_equal(feeds.n, 2);
	assert_int_equal(feeds.v[0].unread, 3);
	assert_int_equal(feeds.v[0].category, SYNC_NO_CATEGORY);
	assert_int_equal(feeds.v[1].category, w.category);
	assert_int_equal(
	    sync_feed(WHO(&w, w.anna), w.feeds[2], &one, &e), ERR_ABSENT);
	theirs[0].id = w.ids[2][0];
	theirs[1].id = w.ids[0][1];
	must(sync_items(
	    WHO(&w, w.anna), &(struct sync_ids){theirs, 2}, &items, &e));
	assert_int_equal(items.n, 1);
	assert_str(items.v[0].title, "Two");
	assert_int_equal(
	    sync_items(WHO(&w, w.anna),
		&(struct sync_ids){theirs, SYNC_IDS_MAX + 1}, &items, &e),
	    ERR_LIMIT);
	world_close(&w);
}

/* Changes: in a transaction, as the commit thread has it. */
struct act {
	struct world *w;
	int what;
};

static int
do_act(struct db *db, void *ctx, struct err *err)
{
	const struct act *c = ctx;
	struct world *w = c->w;
	struct sync_id v[] = {
	    {.id = w->ids[0][0]}, {.id = w->ids[2][0]}, {.id = 999999}};
	struct sync_ids ids = {v, COUNT_OF(v)};
	struct sync anna = {db, w->anna, w->a};

	if (c->what == 0)
		return sync_set(&anna, &ids, SYNC_READ, true, NOW, err);
	if (c->what == 1)
		return sync_set(&anna, &ids, SYNC_READ, false, NOW, err);
	if (c->what == 2)
		return sync_set(&anna, &ids, SYNC_STARRED, true, NOW, err);
	if (c->what == 3)
		return sync_turn_star(&anna, w->ids[0][0], NOW, err);
	return sync_turn_star(&anna, w->ids[2][0], NOW, err);
}

static void
test_states(void **)
{
	static const struct {
		int what, rc;
		const char *unread, *starred;
	} rows[] = {
	    {0, OK, "Two Three Four", ""},
	    {0, OK, "Two Three Four", ""},
	    {2, OK, "Two Three Four", "One"},
	    {1, OK, "One Two Three Four", "One"},
	    {3, OK, "One Two Three Four", ""},
	    {3, OK, "One Two Three Four", "One"},
	    {4, ERR_ABSENT, "One Two Three Four", "One"},
	};
	struct sync_filter unread = SYNC_ALL, starred = SYNC_ALL;
	struct world w;

	world_open(&w);
	unread.most = starred.most = 10;
	unread.read = 0;
	starred.starred = 1;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct act c = {&w, rows[i].what};

		if (db_tx(w.db, do_act, &c, &e) != rows[i].rc ||
		    !str_eq(
			titles(&w, w.anna, &unread), str_of(rows[i].unread)) ||
		    !str_eq(
			titles(&w, w.anna, &starred), str_of(rows[i].starred)))
			fail_msg("row %zu", i);
		assert_str(titles(&w, w.ben, &unread), "Five");
	}
	world_close(&w);
}

/* All of what one asks for, up to a time, each article once. */
static void
test_reading(void **)
{
	struct world w;
	struct {
		int feed; /* -1: all */
		bool category;
		int64_t before_us;
		size_t n;
	} rows[] = {
	    {-1, false, NOW + DAY, 4},
	    {-1, false, NOW + DAY - 1, 3},
	    {-1, false, NOW - 1, 0},
	    {-1, false, INT64_MAX, 4},
	    {0, false, NOW, 3},
	    {1, false, NOW, 0},
	    {2, false, INT64_MAX, 0}, /* is Ben's */
	    {-1, true, INT64_MAX, 1},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct list_read q = {.upto = INT64_MAX,
		    .before_us = rows[i].before_us,
		    .now_us = NOW + DAY};
		int n;

		world_open(&w);
		q.user = w.anna;
		q.feed = rows[i].feed < 0 ? 0 : w.feeds[rows[i].feed];
		q.category = rows[i].category ? w.category : 0;
		n = list_read_step(w.db, &q, &e);
		if (n != (int)rows[i].n)
			fail_msg("row %zu: %d", i, n);
		assert_int_equal(list_read_step(w.db, &q, &e), 0);
		world_close(&w);
	}
}

int
main(int argc, char **argv)
{
	const struct cage_kind *const kinds[] = {&DOC_CHILD, NULL};
	int status = cage_main(kinds, argc, argv);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_filters),
	    cmocka_unit_test(test_what_is_mine),
	    cmocka_unit_test(test_states),
	    cmocka_unit_test(test_reading),
	};
	int failed;

	if (status >= 0)
		return status;
	if (caged_new("/proc/self/exe", NULL, &caged, &e) < 0)
		return 1;
	failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);

	if (fixture_postgres()) {
		engine = STORE_POSTGRES;
		failed +=
		    cmocka_run_group_tests_name("postgres", tests, NULL, NULL);
	}
	caged_free(caged);
	return failed;
}
