/* Keys of a store: the right ones, the wrong ones, and moving on. */
#include "ops/reseal.h"

#include <unistd.h>

#include "base/conf/conf.h"
#include "base/test.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "event/append.h"
#include "ops/limits.h"
#include "ops/sealing.h"
#include "seal/keyring.h"
#include "sql.h"
#include "store/fixture_test.h"

#define COLUMN "api_key.webhook_secret"
#define NAME   "HK_T_RESEAL"
#define A_KEY  "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define B_KEY  "//ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

struct world {
	struct fixture f;
	struct db *db;
	struct arena *a;
	struct conf conf;
	struct keyring *k;
	struct err e;
	struct reseal at, next;
	bool made;
};

static int
begin_on(void **state, enum store_engine engine)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	fixture_open(&w->f, engine, NULL);
	assert_int_equal(db_open(w->f.store, DB_WRITE, &w->db, &w->e), OK);
	w->a = arena_new(16 * MIB);
	assert_non_null(w->a);
	assert_int_equal(conf_init(&w->conf, &w->e), OK);
	w->conf.data = w->f.dir;
	w->conf.webhook_encryption_key_env_name = NAME;
	(void)unsetenv(NAME);
	(void)unsetenv(NAME "_OLD");
	*state = w;
	return 0;
}

static int
begin_sqlite(void **state)
{
	return begin_on(state, STORE_SQLITE);
}

static int
begin_postgres(void **state)
{
	return begin_on(state, STORE_POSTGRES);
}

static int
end(void **state)
{
	struct world *w = *state;

	keyring_close(w->k);
	db_close(w->db);
	arena_free(w->a);
	fixture_close(&w->f);
	conf_done(&w->conf);
	free(w);
	return 0;
}

static int
reopen(struct world *w)
{
	keyring_close(w->k);
	w->k = NULL;
	return sealing_open(w->db, &w->conf, &w->k, &w->e);
}

static struct uuid
id_of(int i)
{
	struct uuid id = {{0}};

	memcpy(id.b, &i, sizeof(i));
	return id;
}

/* n values, each "secret I". */
static void
fill(struct world *w, int n)
{
	for (int i = 0; i < n; i++) {
		struct uuid id = id_of(i);
		struct str sealed, plain = arena_fmt(w->a, "secret %d", i);

		assert_int_equal(
		    keyring_seal(w->k, w->a, keyring_where(w->a, COLUMN, id),
			plain, &sealed, &w->e),
		    OK);
		assert_int_equal(
		    sql_key_add(w->db, &w->e, .public_id = uuid_str(&id),
			.name = STR("k"), .hash = uuid_str(&id),
			.shown = STR("hk_"), .scopes = STR("read"),
			.tenants = (struct str){NULL, 0}, .rate = NULL,
			.now = 1, .created_by = STR("local"),
			.expires_at = NULL, .webhook_secret = sealed),
		    1);
	}
}

/* Every value is readable; how many by the active key. */
static int
readable(struct world *w, int n)
{
	int active = 0;

	for (int i = 0; i < n; i++) {
		struct uuid id = id_of(i);
		struct rows *rows = NULL;
		struct str sealed, plain, kid;

		assert_int_equal(sql_key_secret(w->db, &rows, &w->e,
				     .public_id = uuid_str(&id)),
		    OK);
		assert_int_equal(rows_next(rows, &w->e), 1);
		sealed = arena_dup(w->a, rows_str(rows, 0));
		rows_close(rows);
		if (keyring_unseal(w->k, w->a, keyring_where(w->a, COLUMN, id),
			sealed, &plain, &w->e) < 0)
			fail_msg("%d: %s", i, w->e.text);
		assert_true(str_eq(plain, arena_fmt(w->a, "secret %d", i)));
		assert_int_equal(keyring_id_of(w->a, sealed, &kid, &w->e), OK);
		active += str_eq(kid, str_of(keyring_id(w->k, 0)));
	}
	return active;
}

static int
rotate_fn(struct db *db, void *ctx, struct err *e)
{
	struct world *w = ctx;

	return sealing_rotate(db, w->k, w->a, STR("local"), &w->made, e);
}

static int
step_fn(struct db *db, void *ctx, struct err *e)
{
	struct world *w = ctx;

	w->next = w->at;
	return reseal_step(db, w->k, &w->conf, &w->next, e);
}

static void
steps(struct world *w, int most)
{
	for (int i = 0; i < most && !w->at.done; i++) {
		if (db_tx(w->db, step_fn, w, &w->e) < 0)
			fail_msg("%s", w->e.text);
		w->at = w->next;
	}
}

static bool
stale(struct world *w)
{
	bool is = false;

	assert_int_equal(sealing_stale(w->db, w->k, w->a, &is, &w->e), OK);
	return is;
}

/* Broken off at every step, and taken up by a program that starts anew. */
static void
test_rotate(void **state)
{
	/* Two pages of keys, then one each: hubs, logins of feeds, sources,
	 * session secret, sessions, subscriptions; the end. */
	enum { N = RESEAL_STEP + 50, ROUNDS = 9 };
	struct world *w = *state;
	struct buf b = BUF(4 * KIB);
	struct reseal_state none = {0};

	assert_int_equal(reopen(w), OK);
	fill(w, N);
	assert_false(stale(w));
	for (int broken_off = 0; broken_off <= ROUNDS; broken_off++) {
		assert_int_equal(db_tx(w->db, rotate_fn, w, &w->e), OK);
		assert_true(w->made);
		w->at = (struct reseal){0};
		steps(w, broken_off);
		assert_int_equal(reopen(w), OK);
		(void)readable(w, N);
		assert_int_equal(stale(w), broken_off < ROUNDS);
		if (broken_off == ROUNDS)
			break;
		assert_int_equal(db_tx(w->db, rotate_fn, w, &w->e), OK);
		assert_false(w->made);
		w->at = (struct reseal){0};
		steps(w, 10);
		assert_int_equal(readable(w, N), N);
		assert_false(stale(w));
	}
	assert_int_equal(w->at.seen, N);
	assert_int_equal(w->at.changed, N);
	assert_int_equal(
	    reseal_show(w->db, w->k, &w->conf, &none, &b, &w->e), OK);
	buf_addc(&b, '\0');
	assert_non_null(
	    strstr(b.p, "\"active\":true,\"values\":250,\"log\":null}"));
	assert_non_null(
	    strstr(b.p, "\"active\":false,\"values\":0,\"log\":null}"));
	assert_non_null(strstr(b.p, "\"missing\":0"));
	buf_done(&b);
}

/* A value that was changed is told and stays; the others move on. */
static void
test_broken_value(void **state)
{
	struct world *w = *state;
	struct rows *rows = NULL;
	struct str was;
	int64_t id;

	assert_int_equal(reopen(w), OK);
	fill(w, 3);
	assert_int_equal(
	    sql_seal_api_key_page(w->db, &rows, &w->e, .after = 0, .most = 1),
	    OK);
	assert_int_equal(rows_next(rows, &w->e), 1);
	id = rows_int(rows, 0);
	was = arena_dup(w->a, rows_str(rows, 2));
	rows_close(rows);
	assert_int_equal(sql_seal_api_key_put(w->db, &w->e, .id = id,
			     .was = was, .sealed = STR("{}")),
	    1);
	/* … and not over what it no longer is. */
	assert_int_equal(sql_seal_api_key_put(w->db, &w->e, .id = id,
			     .was = was, .sealed = STR("x")),
	    0);
	assert_int_equal(db_tx(w->db, rotate_fn, w, &w->e), OK);
	steps(w, 10);
	assert_true(w->at.done);
	assert_int_equal(w->at.broken, 1);
	assert_int_equal(w->at.changed, 2);
}

/* A subscription's secrets lie within its text, among others. */

static int
insert_sub(struct db *db, void *ctx, struct err *e)
{
	static const char TEXT[] =
	    "{\"name\":\"{\\\"v\\\":1,\\\"kid\\\":\\\"x\\\"}\","
	    "\"url\":\"https://h.example/\","
	    "\"headers\":{\"X-K\":{\"value\":\"a\",\"secret\":true}},"
	    "\"auth\":{\"type\":\"bearer\",\"token\":\"b\"}}";
	struct world *w = ctx;
	struct uuid id = id_of(7);
	struct sub_seal by = sub_seal_by(w->k, w->a, id);
	struct sub_rules rules = {.conf = &w->conf};
	struct presets *presets = NULL;
	struct rows *rows = NULL;
	struct sub_conf *s = NULL;
	struct str text;
	int rc = presets_open(db, &w->conf, &presets, e);

	rules.presets = presets;
	if (rc == OK)
		rc = sub_read(STR(TEXT), NULL, &rules, &s, e);
	if (rc == OK)
		rc = sub_store(s, &by, w->a, &text, e);
	if (rc == OK)
		rc = sql_sub_insert(db, &rows, e, .uid = uuid_str(&id),
		    .name = STR("n"), .url = STR("u"),
		    .preset = STR("standard"), .conf = text, .enabled = 1,
		    .managed_by = (struct str){NULL, 0}, .owner = NULL,
		    .tenants = (struct str){NULL, 0}, .now = 1);
	if (rc == OK)
		rc = rows_next(rows, e);
	rows_close(rows);
	sub_free(s);
	presets_free(presets);
	return rc < 0 ? rc : OK;
}

static void
test_subscription(void **state)
{
	struct world *w = *state;
	struct buf b = BUF(4 * KIB);
	struct reseal_state none = {0};

	assert_int_equal(reopen(w), OK);
	if (db_tx(w->db, insert_sub, w, &w->e) < 0)
		fail_msg("%s", w->e.text);
	assert_int_equal(db_tx(w->db, rotate_fn, w, &w->e), OK);
	for (int again = 0; again < 2; again++) {
		w->at = (struct reseal){0};
		steps(w, 10);
		assert_int_equal(w->at.broken, 0);
		assert_int_equal(w->at.seen, 1);
		assert_int_equal(w->at.changed, again ? 0 : 1);
	}
	/* secret, header and token; the name only looks like one. */
	assert_int_equal(
	    reseal_show(w->db, w->k, &w->conf, &none, &b, &w->e), OK);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.p, "\"active\":true,\"values\":3,"));
	assert_non_null(strstr(b.p, "\"active\":false,\"values\":0,"));
	assert_non_null(strstr(b.p, "\"missing\":0"));
	buf_done(&b);
}

/* What is wrong is told at the start, and nothing is made over it. */
static void
test_wrong_keys(void **state)
{
	struct world *w = *state;
	char path[128];

	assert_int_equal(reopen(w), OK);
	(void)snprintf(path, sizeof(path), "%s/seal.key", w->f.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(reopen(w), ERR_ABSENT);
	assert_non_null(strstr(w->e.text, "put back"));
	assert_int_equal(access(path, F_OK), -1);
	w->conf.webhook_encryption_key_source = "env";
	assert_int_equal(reopen(w), ERR_ABSENT);
	(void)setenv(NAME, A_KEY, 1);
	assert_int_equal(reopen(w), ERR_INVALID);
	assert_non_null(strstr(w->e.text, "wrong key"));
	w->conf.webhook_encryption_enabled = false;
	assert_int_equal(reopen(w), ERR_INVALID);
	assert_non_null(strstr(w->e.text, "always sealed"));
}

/* The environment's new key, with the old one beside it. */
static void
test_env(void **state)
{
	struct world *w = *state;

	w->conf.webhook_encryption_key_source = "env";
	(void)setenv(NAME, A_KEY, 1);
	assert_int_equal(reopen(w), OK);
	fill(w, 5);
	(void)setenv(NAME, "new:" B_KEY, 1);
	assert_int_equal(reopen(w), ERR_INVALID);
	(void)setenv(NAME "_OLD", "env:" A_KEY, 1);
	assert_int_equal(reopen(w), OK);
	assert_true(stale(w));
	assert_int_equal(readable(w, 5), 0);
	steps(w, 10);
	assert_int_equal(readable(w, 5), 5);
	(void)unsetenv(NAME "_OLD");
	assert_int_equal(reopen(w), OK);
	assert_int_equal(readable(w, 5), 5);
	assert_int_equal(db_tx(w->db, rotate_fn, w, &w->e), ERR_CONFLICT);
}

/* A server does it by itself, between what else is written. */
static void
test_resealer(void **state)
{
	struct world *w = *state;
	struct append_opts ao = {.store = w->f.store};
	struct append *append = NULL;
	struct resealer *x;
	struct reseal_state s = {.running = true};

	assert_int_equal(reopen(w), OK);
	fill(w, 30);
	assert_int_equal(db_tx(w->db, rotate_fn, w, &w->e), OK);
	assert_int_equal(append_start(&ao, &append, &w->e), OK);
	x = resealer_new(append, w->k, &w->conf);
	assert_non_null(x);
	assert_int_equal(resealer_start(x, &w->e), OK);
	assert_int_equal(resealer_start(x, &w->e), OK);
	for (int i = 0; i < 1000 && s.running; i++) {
		(void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		resealer_state(x, &s);
	}
	assert_false(s.running || s.failed);
	assert_int_equal(s.changed, 30);
	resealer_end(x);
	append_stop(append);
	resealer_free(x);
	assert_int_equal(readable(w, 30), 30);
	assert_false(stale(w));
}

int
main(void)
{
#define ALL(T)                                                                 \
	T(test_rotate), T(test_broken_value), T(test_wrong_keys), T(test_env), \
	    T(test_subscription), T(test_resealer)
#define ON_SQLITE(f)   cmocka_unit_test_setup_teardown(f, begin_sqlite, end)
#define ON_POSTGRES(f) cmocka_unit_test_setup_teardown(f, begin_postgres, end)
	const struct CMUnitTest sqlite[] = {ALL(ON_SQLITE)};
	const struct CMUnitTest postgres[] = {ALL(ON_POSTGRES)};
	int failed = cmocka_run_group_tests(sqlite, NULL, NULL);

	if (fixture_postgres())
		failed += cmocka_run_group_tests(postgres, NULL, NULL);
	return failed;
}
