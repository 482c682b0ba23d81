#include "account/tokens.h"

#include "account/limits.h"
#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"

#define NOW (INT64_C(1770000000) * US_PER_S) /* 2026-02-02T02:40:00Z */

static enum store_engine engine;
static struct err e;

static void
test_form(void **)
{
	static const struct {
		const char *text;
		bool formed;
	} rows[] = {
	    {"abcdef-ghjkmn-pqrstu-vwxyz2", true},
	    {"222222-333333-444444-555555", true},
	    {"", false},
	    {"abcdef-ghjkmn-pqrstu-vwxyz", false},
	    {"abcdef-ghjkmn-pqrstu-vwxyz22", false},
	    {"abcdefg-hjkmn-pqrstu-vwxyz2", false},
	    {"ABCDEF-ghjkmn-pqrstu-vwxyz2", false},
	    {"abcdef-ghjkmn-pqrstu-vwxyz1", false}, /* 1 is like l */
	    {"abcdef-ghjkmn-pqrstu-vwxyzl", false},
	    {"abcdef ghjkmn pqrstu vwxyz2", false},
	    {"hk_aaaaaaaaaaaaaaaaaaaaaaaa", false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (token_app_formed(str_of(rows[i].text)) != rows[i].formed)
			fail_msg("%s", rows[i].text);
	assert_false(
	    token_app_formed((struct str){"abcdef-ghjkmn-pqrstu-vwxyz\0", 27}));
}

struct world {
	struct fixture f;
	struct db *db;
	struct arena *a;
	int64_t user, other;
	char text[APP_TOKEN_LEN + 1];
	struct app_token t;
	int n; /* more to make */
};

static void
must(int rc)
{
	if (rc < 0)
		fail_msg("%s", e.text);
}

static int64_t
person(struct db *db, const char *email, const char *name)
{
	struct uuid uid = uuid_v7(NOW);
	struct rows *rows = NULL;
	int64_t id = 0;

	must(sql_user_add(db, &rows, &e, .uid = uuid_str(&uid),
	    .email = str_of(email), .name = str_of(name), .now = NOW));
	if (rows_next(rows, &e) > 0)
		id = rows_int(rows, 0);
	rows_close(rows);
	return id;
}

static int
fill(struct db *db, void *ctx, struct err *err)
{
	struct world *w = ctx;

	w->user = person(db, "anna@e.x", "Anna");
	w->other = person(db, "", "ben");
	w->t = (struct app_token){.user = w->user, .name = STR("phone")};
	return tokens_add(db, &w->t, NOW, w->a, w->text, err);
}

static void
world_open(struct world *w)
{
	*w = (struct world){.n = 0};
	fixture_open(&w->f, engine, NULL);
	w->a = arena_new(MIB);
	assert_non_null(w->a);
	must(db_open(w->f.store, DB_WRITE, &w->db, &e));
	must(db_tx(w->db, fill, w, &e));
}

static void
world_close(struct world *w)
{
	db_close(w->db);
	arena_free(w->a);
	fixture_close(&w->f);
}

/* By itself, and by what Fever makes of it; nothing else is it. */
static void
test_finding(void **)
{
	struct world w;
	struct {
		const char *what;
		struct str text;
		bool fever;
		int rc;
	} rows[4];
	char hex[FEVER_KEY_LEN + 1] = "";
	unsigned char md5[DIGEST_MD5_LEN], hash[DIGEST_LEN];

	world_open(&w);
	assert_true(token_app_formed(str_of(w.text)));
	assert_str(w.t.login, "anna@e.x");
	assert_true(digest_md5(arena_fmt(w.a, "anna@e.x:%s", w.text), md5));
	for (size_t i = 0; i < sizeof(md5); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", md5[i]);
	rows[0].what = "itself";
	rows[0].text = str_of(w.text);
	rows[0].fever = false;
	rows[0].rc = OK;
	rows[1].what = "Fever's";
	rows[1].text = str_of(hex);
	rows[1].fever = true;
	rows[1].rc = OK;
	rows[2] = rows[0];
	rows[2].what = "itself as Fever's";
	rows[2].fever = true;
	rows[2].rc = ERR_ABSENT;
	rows[3] = rows[0];
	rows[3].what = "another";
	rows[3].text = STR("abcdef-ghjkmn-pqrstu-vwxyz2");
	rows[3].rc = ERR_ABSENT;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct app_token t = {0};

		digest_sha256(rows[i].text, hash);
		if (tokens_find(w.db, hash, rows[i].fever, w.a, &t, &e) !=
		    rows[i].rc)
			fail_msg("%s", rows[i].what);
		if (rows[i].rc != OK)
			continue;
		assert_int_equal(t.user, w.user);
		assert_str(t.name, "phone");
		assert_true(
		    str_eq(t.shown, (struct str){w.text, APP_SHOWN_LEN}));
	}
	world_close(&w);
}

static int
add_more(struct db *db, void *ctx, struct err *err)
{
	struct world *w = ctx;
	char text[APP_TOKEN_LEN + 1];
	struct app_token t = {.user = w->user, .name = STR("more")};
	int rc = OK;

	for (int i = 0; i < w->n && rc == OK; i++)
		rc = tokens_add(db, &t, NOW, w->a, text, err);
	return rc;
}

static int
add_nobodys(struct db *db, void *ctx, struct err *err)
{
	struct world *w = ctx;
	char text[APP_TOKEN_LEN + 1];
	struct app_token t = {.user = 999, .name = STR("x")};

	return tokens_add(db, &t, NOW, w->a, text, err);
}

static int
remove_theirs(struct db *db, void *ctx, struct err *err)
{
	const struct world *w = ctx;

	return tokens_remove(db, w->other, w->t.uid, err);
}

static int
remove_mine(struct db *db, void *ctx, struct err *err)
{
	const struct world *w = ctx;

	return tokens_remove(db, w->user, w->t.uid, err);
}

static int
touch(struct db *db, void *ctx, struct err *err)
{
	const struct world *w = ctx;

	return tokens_touch(db, w->t.id, NOW + US_PER_S, err);
}

static void
test_how_many(void **)
{
	struct app_token *list = NULL;
	struct world w;
	size_t n = 0;

	world_open(&w);
	must(tokens_list(w.db, w.user, w.a, &list, &n, &e));
	assert_int_equal(n, 1);
	assert_int_equal(list[0].last_used_us, 0);
	w.t.id = list[0].id;
	must(db_tx(w.db, touch, &w, &e));
	must(tokens_list(w.db, w.user, w.a, &list, &n, &e));
	assert_int_equal(list[0].last_used_us, NOW + US_PER_S);
	must(tokens_list(w.db, w.other, w.a, &list, &n, &e));
	assert_int_equal(n, 0);
	w.n = APP_TOKENS_MAX - 1;
	must(db_tx(w.db, add_more, &w, &e));
	w.n = 1;
	assert_int_equal(db_tx(w.db, add_more, &w, &e), ERR_CONFLICT);
	assert_int_equal(db_tx(w.db, add_nobodys, &w, &e), ERR_ABSENT);
	assert_int_equal(db_tx(w.db, remove_theirs, &w, &e), ERR_ABSENT);
	must(db_tx(w.db, remove_mine, &w, &e));
	assert_int_equal(db_tx(w.db, remove_mine, &w, &e), ERR_ABSENT);
	must(db_tx(w.db, add_more, &w, &e));
	must(tokens_list(w.db, w.user, w.a, &list, &n, &e));
	assert_int_equal(n, APP_TOKENS_MAX);
	world_close(&w);
}

static void
test_whose(void **)
{
	static const struct {
		const char *login;
		int rc;
	} rows[] = {
	    {"anna@e.x", OK}, {"Anna", ERR_ABSENT}, /* a name is no login */
	    {"ben", ERR_ABSENT},
	    {"", ERR_ABSENT}, /* an address that nobody gave */
	};
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t user = 0;

		if (tokens_user(w.db, str_of(rows[i].login), &user, &e) !=
			rows[i].rc ||
		    user != (rows[i].rc == OK ? w.user : 0))
			fail_msg("'%s'", rows[i].login);
	}
	world_close(&w);
}

/* The password is shown once. */
static void
test_json(void **)
{
	struct app_token t = {.name = STR("a \"b\""),
	    .login = STR("anna"),
	    .shown = STR("abcdef"),
	    .created_us = NOW};
	struct buf b = BUF(4096);

	token_json(&t, "abcdef-x", &b);
	assert_str(buf_str(&b),
	    "{\"id\":\"00000000-0000-0000-0000-000000000000\","
	    "\"name\":\"a \\\"b\\\"\",\"login\":\"anna\",\"token\":\"abcdef-x\","
	    "\"prefix\":\"abcdef\",\"created_at\":\"2026-02-02T02:40:00.000Z\","
	    "\"last_used_at\":null}");
	buf_clear(&b);
	t.last_used_us = NOW;
	token_json(&t, NULL, &b);
	assert_str(buf_str(&b),
	    "{\"id\":\"00000000-0000-0000-0000-000000000000\","
	    "\"name\":\"a \\\"b\\\"\",\"login\":\"anna\","
	    "\"prefix\":\"abcdef\",\"created_at\":\"2026-02-02T02:40:00.000Z\","
	    "\"last_used_at\":\"2026-02-02T02:40:00.000Z\"}");
	buf_done(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_form),
	    cmocka_unit_test(test_finding),
	    cmocka_unit_test(test_how_many),
	    cmocka_unit_test(test_whose),
	    cmocka_unit_test(test_json),
	};
	int failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);

	if (fixture_postgres()) {
		engine = STORE_POSTGRES;
		failed +=
		    cmocka_run_group_tests_name("postgres", tests, NULL, NULL);
	}
	return failed;
}
