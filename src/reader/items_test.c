#include "reader/items.h"

#include <sqlite3.h>

#include "base/test.h"
#include "doc/caged.h"
#include "doc/child.h"
#include "event/append.h"
#include "event/envelope.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "reader/feeds.h"
#include "reader/items_priv.h"
#include "reader/limits.h"
#include "reader/same.h"
#include "sql.h"
#include "store/fixture_test.h"

#define NOW (INT64_C(1770000000) * US_PER_S) /* 2026-02-02T02:40:00Z */

static struct caged *caged;
static enum store_engine engine;

struct place {
	struct fixture f;
	struct db *db;
	int64_t feed, user;
	struct uuid feed_uid;
	struct arena *a;
};

static struct err e;

static int
make_feed(struct db *db, void *ctx, struct err *err)
{
	struct place *p = ctx;
	struct feed_new f = {.url = STR("https://example.com/feed"),
	    .title = STR("Example"),
	    .next_fetch_us = NOW};

	return feeds_add(db, &f, NOW, &p->feed, &p->feed_uid, err);
}

static void
place_open(struct place *p)
{
	*p = (struct place){.feed = 0};
	fixture_open(&p->f, engine, NULL);
	p->a = arena_new(FEED_ARENA_MAX);
	assert_non_null(p->a);
	assert_int_equal(db_open(p->f.store, DB_WRITE, &p->db, &e), OK);
	if (db_tx(p->db, make_feed, p, &e) < 0)
		fail_msg("%s", e.text);
}

static void
place_close(struct place *p)
{
	db_close(p->db);
	arena_free(p->a);
	fixture_close(&p->f);
}

static int
do_write(struct db *db, void *ctx, struct err *err)
{
	return items_write(db, ctx, err);
}

static const struct feed *
parse(struct place *p, const char *items)
{
	struct str text = arena_fmt(p->a,
	    "{\"version\":\"https://jsonfeed.org/version/1.1\","
	    "\"title\":\"T\",\"items\":[%s]}",
	    items);
	struct feed_from from = {
	    STR("https://example.com/feed"), STR("application/feed+json")};
	struct feed *f = NULL;

	if (feed_parse(p->a, text, &from, &f, &e) < 0)
		fail_msg("%s", e.text);
	return f;
}

static void
plan(struct place *p, const struct feed *f, int64_t now_us, size_t done,
    struct items_plan *ret)
{
	char uid[UUID_LEN + 1];
	struct items_from from = {.feed = p->feed,
	    .feed_url = STR("https://example.com/feed"),
	    .parsed = f,
	    .caged = caged,
	    .now_us = now_us,
	    .done = done,
	    .doc = done ? ret->doc : NULL};

	uuid_format(p->feed_uid, uid);
	from.feed_uid = arena_dup(p->a, str_of(uid));
	if (items_plan(p->db, p->a, &from, ret, &e) < 0)
		fail_msg("%s", e.text);
}

static struct items_plan
fetch(struct place *p, const char *items, int64_t now_us)
{
	struct items_plan ret;

	plan(p, parse(p, items), now_us, 0, &ret);
	assert_false(ret.more);
	if (db_tx(p->db, do_write, &ret, &e) < 0)
		fail_msg("%s", e.text);
	return ret;
}

/* One number, behind the store's back. */
static long
number(struct place *p, const char *sql)
{
	char text[512], path[128];
	sqlite3_stmt *st = NULL;
	sqlite3 *h = NULL;
	long n;

	if (engine == STORE_POSTGRES) {
		(void)snprintf(text, sizeof(text),
		    "SET search_path = \"%s\"; %s", p->f.schema, sql);
		return fixture_admin(text);
	}
	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", p->f.dir);
	assert_int_equal(
	    sqlite3_open_v2(path, &h, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(h, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = (long)sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(h);
	return n;
}

/* Identity: what the second document makes of the first -------------------------- */

static const struct {
	const char *name, *first, *second;
	size_t inserted1, inserted2, updated2, same2;
} ROWS[] = {
    {"nothing changed", "{\"id\":\"a\",\"title\":\"x\"}",
	"{\"id\":\"a\",\"title\":\"x\"}", 1, 0, 0, 1},
    {"by guid", "{\"id\":\"a\",\"title\":\"x\"}",
	"{\"id\":\"a\",\"title\":\"y\"}", 1, 0, 1, 0},
    {"guid before link",
	"{\"id\":\"a\",\"url\":\"https://e.x/1\"},"
	"{\"id\":\"b\",\"url\":\"https://e.x/2\"}",
	"{\"id\":\"b\",\"url\":\"https://e.x/1\"}", 2, 0, 1, 0},
    {"by link when the guid is new",
	"{\"id\":\"a\",\"url\":\"https://e.x/1\",\"title\":\"x\"}",
	"{\"id\":\"b\",\"url\":\"https://e.x/1\",\"title\":\"x\"}", 1, 0, 1, 0},
    {"by link when there is no guid",
	"{\"url\":\"https://e.x/1\",\"title\":\"x\"}",
	"{\"url\":\"https://e.x/1\",\"title\":\"y\"}", 1, 0, 1, 0},
    {"by hash when guid and link are new",
	"{\"id\":\"a\",\"url\":\"http://e.x/1\",\"title\":\"x\","
	"\"summary\":\"s\",\"date_published\":\"2026-01-01T00:00:00Z\"}",
	"{\"id\":\"b\",\"url\":\"https://e.x/1\",\"title\":\"x\","
	"\"summary\":\"s\",\"date_published\":\"2026-01-01T00:00:00Z\"}",
	1, 0, 1, 0},
    {"by hash when there is nothing else",
	"{\"title\":\"x\",\"summary\":\"s\"}",
	"{\"title\":\"x\",\"summary\":\"s\"}", 1, 0, 0, 1},
    {"another text without guid or link is another",
	"{\"title\":\"x\",\"summary\":\"s\"}",
	"{\"title\":\"xs\",\"summary\":\"\"}", 1, 1, 0, 0},
    {"a title alone is no hash",
	"{\"id\":\"a\",\"url\":\"https://e.x/1\",\"title\":\"Untitled\"}",
	"{\"id\":\"b\",\"url\":\"https://e.x/2\",\"title\":\"Untitled\"}", 1, 1,
	0, 0},
    {"duplicates by guid",
	"{\"id\":\"a\",\"title\":\"x\"},"
	"{\"id\":\"a\",\"title\":\"x\"}",
	"{\"id\":\"a\",\"title\":\"x\"}", 1, 0, 0, 1},
    {"a guid that collides: the first, both times",
	"{\"id\":\"a\",\"title\":\"x\"},{\"id\":\"a\",\"title\":\"y\"}",
	"{\"id\":\"a\",\"title\":\"x\"},{\"id\":\"a\",\"title\":\"y\"}", 1, 0,
	0, 1},
    {"a guid that collides: the newer",
	"{\"id\":\"a\",\"title\":\"x\","
	"\"date_published\":\"2026-01-01T00:00:00Z\"},"
	"{\"id\":\"a\",\"title\":\"y\","
	"\"date_published\":\"2026-01-02T00:00:00Z\"}",
	"{\"id\":\"a\",\"title\":\"y\","
	"\"date_published\":\"2026-01-02T00:00:00Z\"}",
	1, 0, 0, 1},
    {"duplicates by link without guid",
	"{\"url\":\"https://e.x/1\",\"title\":\"x\"},"
	"{\"url\":\"https://e.x/1\",\"title\":\"x\"}",
	"{\"url\":\"https://e.x/1\",\"title\":\"x\"}", 1, 0, 0, 1},
    {"duplicates by link, one with a guid",
	"{\"url\":\"https://e.x/1\",\"title\":\"x\"},"
	"{\"id\":\"a\",\"url\":\"https://e.x/1\",\"title\":\"x\"}",
	"{\"id\":\"a\",\"url\":\"https://e.x/1\",\"title\":\"x\"}", 1, 0, 0, 1},
    {"duplicates by hash",
	"{\"title\":\"x\",\"summary\":\"s\"},"
	"{\"title\":\"x\",\"summary\":\"s\"}",
	"{\"title\":\"x\",\"summary\":\"s\"}", 1, 0, 0, 1},
    {"guids that share a link are articles",
	"{\"id\":\"a\",\"url\":\"https://e.x/\",\"title\":\"1\"},"
	"{\"id\":\"b\",\"url\":\"https://e.x/\",\"title\":\"2\"}",
	"{\"id\":\"c\",\"url\":\"https://e.x/\",\"title\":\"3\"},"
	"{\"id\":\"b\",\"url\":\"https://e.x/\",\"title\":\"2\"}",
	2, 1, 0, 1},
    {"… also one by one, once there are two",
	"{\"id\":\"a\",\"url\":\"https://e.x/\",\"title\":\"1\"},"
	"{\"id\":\"b\",\"url\":\"https://e.x/\",\"title\":\"2\"}",
	"{\"id\":\"c\",\"url\":\"https://e.x/\",\"title\":\"3\"}", 2, 1, 0, 0},
    {"an article whose guid is still there keeps its link",
	"{\"id\":\"a\",\"url\":\"https://e.x/1\",\"title\":\"1\"}",
	"{\"id\":\"b\",\"url\":\"https://e.x/1\",\"title\":\"2\"},"
	"{\"id\":\"a\",\"url\":\"https://e.x/9\",\"title\":\"1\"}",
	1, 1, 1, 0},
    {"author, categories and content are looked at",
	"{\"id\":\"a\",\"tags\":[\"x\"],\"content_html\":\"<p>1\"}",
	"{\"id\":\"a\",\"tags\":[\"y\"],\"content_html\":\"<p>1\"}", 1, 0, 1,
	0},
    {"an empty feed", "{\"id\":\"a\"}", "", 1, 0, 0, 0},
};

static void
test_7_1_identity(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct place p;
		struct items_plan x;
		long total;

		place_open(&p);
		x = fetch(&p, ROWS[i].first, NOW);
		if (x.inserted != ROWS[i].inserted1 || x.updated)
			fail_msg("%s: first %zu %zu", ROWS[i].name, x.inserted,
			    x.updated);
		x = fetch(&p, ROWS[i].second, NOW + US_PER_S);
		if (x.inserted != ROWS[i].inserted2 ||
		    x.updated != ROWS[i].updated2 || x.same != ROWS[i].same2)
			fail_msg("%s: second %zu %zu %zu", ROWS[i].name,
			    x.inserted, x.updated, x.same);
		assert_int_equal(x.n_entries, x.inserted + x.updated);
		total = number(&p, "SELECT count(*) FROM feed_item");
		if (total != (long)(ROWS[i].inserted1 + ROWS[i].inserted2) ||
		    total != number(&p, "SELECT items FROM feed"))
			fail_msg("%s: %ld", ROWS[i].name, total);
		place_close(&p);
	}
}

static void
test_7_2_overwrites(void **)
{
	struct place p;
	struct items_plan x;

	place_open(&p);
	(void)fetch(&p,
	    "{\"id\":\"a\",\"url\":\"https://e.x/1\",\"title\":\"old\","
	    "\"content_html\":\"<p onclick='x'>old</p><script>1</script>\"}",
	    NOW);
	assert_int_equal(number(&p, "SELECT count(*) FROM feed_item WHERE "
				    "content = '<p>old</p>'"),
	    1);
	x = fetch(&p, "{\"id\":\"a\",\"title\":\"new\",\"summary\":\"s\"}",
	    NOW + US_PER_DAY);
	assert_int_equal(x.updated, 1);
	/* The link was not told again; the rest is as it is now. */
	assert_int_equal(
	    number(&p, "SELECT count(*) FROM feed_item WHERE title = 'new' "
		       "AND content IS NULL AND summary = 's' AND link = "
		       "'https://e.x/1' AND updated_at > created_at"),
	    1);
	assert_int_equal(number(&p, "SELECT count(*) FROM feed_item"), 1);
	place_close(&p);
}

/* Dates ---------------------------------------------------------------------------- */

static void
test_4_2_dates(void **)
{
	const int64_t now = NOW;
	const struct item_known sure = {.row = {.published_at = 5}},
				guess = {.row = {.published_at = 7,
					     .is_date_estimated = 1}};
	const struct {
		int64_t date;
		const struct item_known *known;
		int64_t want;
		bool estimated;
	} rows[] = {
	    {now - 5, NULL, now - 5, false},
	    {FEED_NO_DATE, NULL, now, true},
	    {now + US_PER_DAY, NULL, now + US_PER_DAY, false},
	    {now + US_PER_DAY + 1, NULL, now, true},
	    {INT64_MIN + 1, NULL, now, true},
	    {INT64_MAX, NULL, now, true},
	    {FEED_NO_DATE, &guess, 7, true},
	    {now + 2 * US_PER_DAY, &guess, 7, true},
	    {FEED_NO_DATE, &sure, 5, false},
	    {now - 9, &guess, now - 9, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool estimated = false;
		int64_t got =
		    item_date(rows[i].date, rows[i].known, now, &estimated);

		if (got != rows[i].want || estimated != rows[i].estimated)
			fail_msg(
			    "row %zu: %lld %d", i, (long long)got, estimated);
	}
}

static void
test_4_2_first_estimate_stays(void **)
{
	struct place p;

	place_open(&p);
	(void)fetch(&p, "{\"id\":\"a\",\"title\":\"x\"}", NOW);
	(void)fetch(&p, "{\"id\":\"a\",\"title\":\"y\"}", NOW + US_PER_DAY);
	assert_int_equal(
	    number(&p, "SELECT count(*) FROM feed_item WHERE published_at = "
		       "created_at AND is_date_estimated = 1 AND "
		       "fetched_at > created_at"),
	    1);
	place_close(&p);
}

/* Bounds ------------------------------------------------------------------------------ */

static void
test_long_texts(void **)
{
	struct place p;
	struct items_plan x;
	struct str guid, doc;
	char *big;

	place_open(&p);
	big = arena_alloc(p.a, 3001);
	memset(big, 'g', 3000);
	guid = (struct str){big, ITEM_GUID_MAX};
	/* 2,000 stay, 2,001 are their hash; both are found again. */
	doc = arena_fmt(p.a,
	    "{\"id\":\"%.*s\",\"title\":\"%s\"},{\"id\":\"%.*sx\"}",
	    STR_ARG(guid), big, STR_ARG(guid));
	x = fetch(&p, doc.p, NOW);
	assert_int_equal(x.inserted, 2);
	x = fetch(&p, doc.p, NOW + 1);
	assert_int_equal(x.same, 2);
	assert_int_equal(number(&p, "SELECT count(*) FROM feed_item WHERE "
				    "length(guid_or_id) = 2000 AND "
				    "length(title) = 1000"),
	    1);
	assert_int_equal(number(&p, "SELECT count(*) FROM feed_item WHERE "
				    "guid_or_id LIKE 'sha256:%'"),
	    1);
	place_close(&p);
}

/* A link that is longer than PostgreSQL's index takes, and does not compress. */
static void
test_long_links(void **)
{
	struct place p;
	struct items_plan x;
	struct str doc;
	char *big;

	place_open(&p);
	big = arena_alloc(p.a, 8001);
	for (size_t i = 0; i < 8000; i++) {
		unsigned char c;

		rand_bytes(&c, 1);
		big[i] = (char)('a' + c % 26);
	}
	doc = arena_fmt(p.a, "{\"url\":\"https://e.x/%s\"}", big);
	x = fetch(&p, doc.p, NOW);
	assert_int_equal(x.inserted, 1);
	x = fetch(&p, doc.p, NOW + 1);
	assert_int_equal(x.same, 1);
	place_close(&p);
}

static const struct feed *
large(struct place *p, size_t n)
{
	struct feed *f = arena_alloc(p->a, sizeof(*f));
	struct feed_item *v = arena_array(p->a, n, sizeof(*v));

	f->items = v;
	f->n_items = n;
	for (size_t i = 0; i < n; i++) {
		v[i] = (struct feed_item){.id = arena_fmt(p->a, "id%zu", i),
		    .title = arena_fmt(p->a, "title %zu", i),
		    .link = arena_fmt(p->a, "https://e.x/%zu", i),
		    .content = STR("<p>text</p>"),
		    .published_us = NOW - (int64_t)i * US_PER_S,
		    .updated_us = FEED_NO_DATE,
		    .next = i + 1 < n ? &v[i + 1] : NULL};
		/* Twins that are far apart. */
		if (i == n - 1)
			v[i].id = v[0].id;
	}
	return f;
}

static void
test_parts(void **)
{
	const size_t n = 2 * ITEMS_PLAN_MAX + 10;
	struct place p;
	struct items_plan x = {.more = true};
	const struct feed *f;
	size_t inserted = 0, parts = 0;

	place_open(&p);
	f = large(&p, n);
	while (x.more) {
		plan(&p, f, NOW, x.done, &x);
		assert_true(x.n_entries <= ITEMS_PLAN_MAX);
		assert_int_equal(db_tx(p.db, do_write, &x, &e), OK);
		inserted += x.inserted;
		parts++;
	}
	assert_int_equal(parts, 3);
	assert_int_equal(inserted, n - 1);
	/* The oldest has the lowest id. */
	assert_int_equal(
	    number(&p, "SELECT count(*) FROM feed_item a JOIN feed_item b ON "
		       "b.id = a.id + 1 WHERE b.published_at < "
		       "a.published_at"),
	    0);
	x = (struct items_plan){.more = false};
	plan(&p, f, NOW + 1, 0, &x);
	assert_int_equal(x.same, n - 1);
	assert_false(x.more);
	place_close(&p);
}

/* Whoever comes second finds the version moved. */
static void
test_conflict(void **)
{
	struct place p;
	struct items_plan x, y;
	const struct feed *f;

	place_open(&p);
	f = parse(&p, "{\"id\":\"a\"}");
	plan(&p, f, NOW, 0, &x);
	plan(&p, f, NOW, 0, &y);
	assert_int_equal(db_tx(p.db, do_write, &x, &e), OK);
	assert_int_equal(db_tx(p.db, do_write, &y, &e), ERR_CONFLICT);
	plan(&p, f, NOW, 0, &y);
	assert_int_equal(y.same, 1);
	assert_int_equal(number(&p, "SELECT count(*) FROM feed_item"), 1);
	place_close(&p);
}

/* Events ------------------------------------------------------------------------------ */

/* It is what would be read of its body. */
static void
check_entry(struct place *p, const struct entry *en)
{
	struct envelope_opts o = {.now_us = NOW, .own = true};
	struct event ev;
	struct entry read;

	if (envelope_parse(p->a, en->body, &o, &ev, &e) < 0)
		fail_msg("%s %s", e.at, e.text);
	entry_fill(&read, &ev, en->body);
	assert_memory_equal(read.tenant.b, en->tenant.b, 16);
	assert_memory_equal(read.event_id.b, en->event_id.b, 16);
	assert_memory_equal(read.correlation.b, en->correlation.b, 16);
	assert_true(str_eq(read.type, en->type));
	assert_true(str_eq(read.key, en->key));
	assert_true(str_eq(read.body, en->body));
	assert_int_equal(read.rv_us, en->rv_us);
	assert_true(read.has_rv && en->has_rv && read.unhashed && en->unhashed);
}

static void
test_events(void **)
{
	struct place p;
	struct items_plan x;
	const char *body;

	place_open(&p);
	x = fetch(&p,
	    "{\"id\":\"a\",\"url\":\"https://e.x/1\",\"title\":\"\\u00e9\\\"\","
	    "\"content_html\":\"<p>one</p><p>two &amp; 3</p>\","
	    "\"date_published\":\"2026-01-01T00:00:00Z\",\"tags\":[\"t\"]}",
	    NOW);
	assert_int_equal(x.n_entries, 1);
	assert_str(x.entries[0].type, "feed.item.created");
	assert_int_equal(x.entries[0].key.n, UUID_LEN);
	assert_true(x.entries[0].has_rv);
	assert_int_equal(x.entries[0].rv_us, NOW);
	body = arena_z(p.a, x.entries[0].body);
	assert_non_null(strstr(body, "\"title\":\"Example\""));
	assert_non_null(strstr(body, "\"guid\":\"a\""));
	assert_non_null(strstr(body, "\"categories\":[\"t\"]"));
	assert_non_null(
	    strstr(body, "\"published_at\":\"2026-01-01T00:00:00.000Z\""));
	assert_non_null(strstr(body, "two & 3\""));
	x = fetch(&p, "{\"id\":\"a\",\"title\":\"n\"}", NOW + 1);
	assert_str(x.entries[0].type, "feed.item.updated");
	check_entry(&p, &x.entries[0]);
	place_close(&p);
}

/* Links -------------------------------------------------------------------------------- */

static void
test_same_links(void **)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
	    {"https://e.x/a", "http://www.E.x/a/", true},
	    {"https://e.x/a?utm_source=rss&x=1", "https://e.x/a?x=1", true},
	    {"https://e.x/a?x=1&fbclid=2", "https://e.x:443/a?x=1", true},
	    {"https://e.x/a#1", "https://e.x/a#2", false},
	    {"https://e.x/a", "https://e.x/A", false},
	    {"https://e.x/a?x=1", "https://e.x/a?x=2", false},
	    {"https://e.x", "https://e.x/", true},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		unsigned char a[DIGEST_SHORT_LEN], b[DIGEST_SHORT_LEN];

		assert_true(same_hash(str_of(rows[i].a), a));
		assert_true(same_hash(str_of(rows[i].b), b));
		if ((memcmp(a, b, sizeof(a)) == 0) != rows[i].same)
			fail_msg("%s %s", rows[i].a, rows[i].b);
	}
	assert_false(same_hash(STR("mailto:a@e.x"), (unsigned char[16]){0}));
	assert_false(same_hash(STR("https://"), (unsigned char[16]){0}));
}

int
main(int argc, char **argv)
{
	const struct cage_kind *const kinds[] = {&DOC_CHILD, NULL};
	int status = cage_main(kinds, argc, argv);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_7_1_identity),
	    cmocka_unit_test(test_7_2_overwrites),
	    cmocka_unit_test(test_4_2_dates),
	    cmocka_unit_test(test_4_2_first_estimate_stays),
	    cmocka_unit_test(test_long_texts),
	    cmocka_unit_test(test_long_links),
	    cmocka_unit_test(test_parts),
	    cmocka_unit_test(test_conflict),
	    cmocka_unit_test(test_events),
	    cmocka_unit_test(test_same_links),
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
