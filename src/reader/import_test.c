#include "reader/import.h"

#include "base/conf/conf.h"
#include "base/test.h"
#include "feed/opml.h"
#include "http/client/guard.h"
#include "reader/limits.h"
#include "reader/sync.h"
#include "sql.h"
#include "store/fixture_test.h"

#define MAX 7 /* feeds that anna may have, where it matters */
#define NOW (INT64_C(1770000000) * US_PER_S) /* 2026-02-02T02:40:00Z */

static enum store_engine engine;
static struct err e;

struct world {
	struct fixture f;
	struct db *db;
	struct arena *a;
	struct guard *guard;
	struct import_rules rules;
	int64_t user;
	/* what is done next */
	const char *body;
	struct import_result got;
	const char *url, *title;
	int64_t feed;
};

static void
must(int rc)
{
	if (rc < 0)
		fail_msg("%s", e.text);
}

static int
fill(struct db *db, void *ctx, struct err *err)
{
	struct world *w = ctx;
	struct uuid uid = uuid_v7(NOW);
	struct rows *rows = NULL;
	int rc = sql_user_add(db, &rows, err, .uid = uuid_str(&uid),
	    .email = STR_EMPTY, .name = STR("anna"), .now = NOW);

	if (rc == OK && rows_next(rows, err) > 0)
		w->user = rows_int(rows, 0);
	rows_close(rows);
	return rc;
}

static void
world_open(struct world *w)
{
	struct conf c;

	*w = (struct world){.user = 0};
	must(conf_init(&c, &e));
	must(guard_new(&c, &w->guard, &e));
	w->rules = (struct import_rules){w->guard, c.reader_feeds_max};
	conf_done(&c);
	fixture_open(&w->f, engine, NULL);
	w->a = arena_new(64 * MIB);
	assert_non_null(w->a);
	must(db_open(w->f.store, DB_WRITE, &w->db, &e));
	must(db_tx(w->db, fill, w, &e));
	assert_true(w->user > 0);
}

static void
world_close(struct world *w)
{
	db_close(w->db);
	guard_free(w->guard);
	arena_free(w->a);
	fixture_close(&w->f);
}

static int
do_import(struct db *db, void *ctx, struct err *err)
{
	struct world *w = ctx;
	struct str text = arena_fmt(w->a,
	    "<opml version=\"2.0\"><head/><body>%s</body></opml>", w->body);
	struct opml *list = NULL;
	int rc = opml_parse(w->a, text, STR("text/xml"), &list, err);

	return rc < 0 ? rc
		      : import_opml(&(struct sync){db, w->user, w->a},
			    &w->rules, list, NOW, &w->got, err);
}

static int
do_one(struct db *db, void *ctx, struct err *err)
{
	struct world *w = ctx;

	return import_one(&(struct sync){db, w->user, w->a}, &w->rules,
	    str_of(w->url), str_of(w->title), NOW, &w->feed, err);
}

/* "title|url|category" of each, with blanks between. */
static struct str
feeds(struct world *w)
{
	struct sync_feeds list = {0};
	struct str s = STR_EMPTY;

	must(
	    sync_feeds(&(struct sync){w->db, w->user, w->a}, false, &list, &e));
	for (size_t i = 0; i < list.n; i++)
		s = arena_fmt(w->a, "%.*s%s%.*s|%.*s|%.*s", STR_ARG(s),
		    i ? " " : "", STR_ARG(list.v[i].title),
		    STR_ARG(list.v[i].url), STR_ARG(list.v[i].category_title));
	return s;
}

/* One list after the other into the same store. */
static void
test_lists(void **)
{
	static const struct {
		const char *name, *body;
		size_t added, known, refused;
		const char *feeds;
	} rows[] = {
	    {"one", "<outline text=\"A\" xmlUrl=\"https://e.x/a\"/>", 1, 0, 0,
		"A|https://e.x/a|"},
	    {"again, in a folder: stays as it is",
		"<outline text=\"F\">"
		"<outline text=\"Z\" xmlUrl=\"https://e.x/a\"/></outline>",
		0, 1, 0, "A|https://e.x/a|"},
	    {"a folder, and twice in one list",
		"<outline text=\"F\">"
		"<outline text=\"B\" xmlUrl=\"https://e.x/b\"/>"
		"<outline text=\"B2\" xmlUrl=\"https://e.x/b\"/></outline>",
		1, 1, 0, "A|https://e.x/a| B|https://e.x/b|F"},
	    {"some can't be taken, the rest is",
		"<outline text=\"P\" xmlUrl=\"http://10.0.0.1/\"/>"
		"<outline text=\"Q\" xmlUrl=\"ftp://e.x/\"/>"
		"<outline text=\"F\">"
		"<outline text=\"C\" xmlUrl=\"https://e.x/c\"/></outline>",
		1, 0, 2,
		"A|https://e.x/a| B|https://e.x/b|F C|https://e.x/c|F"},
	};
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str has;

		w.body = rows[i].body;
		must(db_tx(w.db, do_import, &w, &e));
		has = feeds(&w);
		if (w.got.added != rows[i].added ||
		    w.got.known != rows[i].known ||
		    w.got.refused != rows[i].refused ||
		    !str_eq(has, str_of(rows[i].feeds)))
			fail_msg("%s: %zu %zu %zu %.*s", rows[i].name,
			    w.got.added, w.got.known, w.got.refused,
			    STR_ARG(has));
		for (size_t k = 0; k < w.got.n; k++)
			if (w.got.lines[k].outcome == IMPORT_REFUSED) {
				assert_string_equal(
				    w.got.lines[k].word, "URL_REFUSED");
				assert_true(w.got.lines[k].reason.n > 0);
			}
	}
	world_close(&w);
}

/* One may have so many; the others are told so. */
static void
test_too_many(void **)
{
	struct buf b = BUF(MIB), json = BUF(MIB);
	struct world w;

	world_open(&w);
	assert_int_equal(w.rules.feeds_max, 100);
	w.rules.feeds_max = MAX;
	for (int i = 0; i < MAX + 2; i++)
		buf_fmt(
		    &b, "<outline text=\"T\" xmlUrl=\"https://e.x/%d\"/>", i);
	buf_addc(&b, '\0');
	w.body = b.p;
	must(db_tx(w.db, do_import, &w, &e));
	assert_int_equal(w.got.added, MAX);
	assert_int_equal(w.got.refused, 2);
	assert_string_equal(w.got.lines[MAX].word, "SUBSCRIPTION_LIMIT");
	import_json(&w.got, &json);
	assert_non_null(strstr(
	    arena_z(w.a, buf_str(&json)), "\"code\":\"SUBSCRIPTION_LIMIT\""));
	buf_done(&b);
	buf_done(&json);
	world_close(&w);
}

static void
test_one(void **)
{
	static const struct {
		const char *url, *title;
		int rc;
		const char *word;
	} rows[] = {
	    {"https://e.x/a", "Mine", OK, NULL},
	    {"https://e.x/b", "", OK, NULL},
	    {"https://e.x/a", "", ERR_CONFLICT, "ALREADY_SUBSCRIBED"},
	    {"http://127.0.0.1/", "", ERR_DENIED, "URL_REFUSED"},
	    {"nonsense", "", ERR_INVALID, "URL_REFUSED"},
	};
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int rc;

		w.url = rows[i].url;
		w.title = rows[i].title;
		e = (struct err){.code = OK};
		rc = db_tx(w.db, do_one, &w, &e);
		if (rc != rows[i].rc ||
		    (rows[i].word &&
			(!e.word || strcmp(e.word, rows[i].word) != 0)))
			fail_msg("row %zu: %d %s", i, rc, e.text);
	}
	assert_str(
	    feeds(&w), "Mine|https://e.x/a| https://e.x/b|https://e.x/b|");
	world_close(&w);
}

/* What goes out comes in again. */
static void
test_round_trip(void **)
{
	struct buf out = BUF(MIB);
	struct opml *list = NULL;
	struct world w;

	world_open(&w);
	w.body = "<outline text=\"A &amp; B\" xmlUrl=\"https://e.x/a?b&amp;c\" "
		 "htmlUrl=\"https://e.x/\"/><outline text=\"F &lt;\">"
		 "<outline text=\"B\" xmlUrl=\"https://e.x/b\"/></outline>";
	must(db_tx(w.db, do_import, &w, &e));
	must(import_export(&(struct sync){w.db, w.user, w.a}, NOW, &out, &e));
	must(opml_parse(w.a, buf_str(&out), STR("text/x-opml"), &list, &e));
	assert_int_equal(list->n_feeds, 2);
	assert_false(list->repaired);
	assert_str(list->feeds->title, "A & B");
	assert_str(list->feeds->url, "https://e.x/a?b&c");
	assert_str(list->feeds->site, "https://e.x/");
	assert_int_equal(list->feeds->category.n, 0);
	assert_str(list->feeds->next->category, "F <");
	buf_done(&out);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_too_many),
	    cmocka_unit_test(test_one),
	    cmocka_unit_test(test_round_trip),
	};
	int failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);

	if (fixture_postgres()) {
		engine = STORE_POSTGRES;
		failed +=
		    cmocka_run_group_tests_name("postgres", tests, NULL, NULL);
	}
	return failed;
}
