#include "account/users.h"

#include "account/limits.h"
#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"

#define NOW (INT64_C(1770000000) * US_PER_S)
#define WAY STR("https://id.example")

static enum store_engine engine;
static struct err e;

struct world {
	struct fixture f;
	struct db *db;
	struct arena *a;
	int64_t anna, bert;
};

static struct user_new
at(const char *provider, const char *subject)
{
	return (struct user_new){.provider = str_of(provider),
	    .subject = str_of(subject),
	    .email = STR("x@y.example"),
	    .name = STR("X")};
}

static int
begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct user_new anna = at("local", "anna"), bert = at(WAY.p, "b-1");

	fixture_open(&w->f, engine, NULL);
	assert_int_equal(db_open(w->f.store, DB_WRITE, &w->db, &e), OK);
	assert_int_equal(db_begin(w->db, &e), OK);
	w->a = arena_new(4 * MIB);
	assert_int_equal(users_add(w->db, &anna, NOW, &w->anna, &e), OK);
	assert_int_equal(users_add(w->db, &bert, NOW, &w->bert, &e), OK);
	*state = w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	db_rollback(w->db);
	db_close(w->db);
	arena_free(w->a);
	fixture_close(&w->f);
	free(w);
	return 0;
}

static int64_t
id_of(struct world *w, int64_t user, const char *subject)
{
	struct identity *list = NULL;
	size_t n = 0;

	assert_int_equal(
	    users_identities(w->db, user, w->a, &list, &n, &e), OK);
	for (size_t i = 0; i < n; i++)
		if (str_eq(list[i].subject, str_of(subject)))
			return list[i].id;
	return 0;
}

/* An identity is one person's, and is not moved. */
static void
test_link(void **state)
{
	static const struct {
		const char *provider, *subject;
		int rc;
		bool is_new;
	} rows[] = {
	    {"https://id.example", "a-1", OK, true},
	    {"https://id.example", "a-1", OK, false},
	    {"https://id.example", "b-1", ERR_CONFLICT, false},
	    {"https://other.example", "b-1", OK, true},
	};
	struct world *w = *state;
	struct user_new u;
	struct user who;
	int64_t found = 0;
	char subject[32];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool fresh = false;

		u = at(rows[i].provider, rows[i].subject);
		if (users_link(w->db, w->anna, &u, NOW, &fresh, &e) !=
			rows[i].rc ||
		    fresh != rows[i].is_new)
			fail_msg("row %zu", i);
	}
	assert_int_equal(users_find(w->db, WAY, STR("b-1"), &found, &e), OK);
	assert_int_equal(found, w->bert);
	/* What the oldest identity says is the person's name and address. */
	u = at(WAY.p, "a-1");
	u.name = STR("Somebody");
	assert_int_equal(users_login(w->db, &u, NOW, &found, NULL, &e), OK);
	assert_int_equal(found, w->anna);
	assert_int_equal(users_get(w->db, w->anna, w->a, &who, &e), OK);
	assert_str(who.name, "X");
	u = at(WAY.p, "b-1");
	u.name = STR("Bert");
	assert_int_equal(users_login(w->db, &u, NOW, &found, NULL, &e), OK);
	assert_int_equal(users_get(w->db, w->bert, w->a, &who, &e), OK);
	assert_str(who.name, "Bert");
	for (int i = 3; i < IDENTITIES_MAX; i++) {
		bool fresh;

		(void)snprintf(subject, sizeof(subject), "more-%d", i);
		u = at(WAY.p, subject);
		assert_int_equal(
		    users_link(w->db, w->anna, &u, NOW, &fresh, &e), OK);
	}
	u = at(WAY.p, "one-too-many");
	assert_int_equal(
	    users_link(w->db, w->anna, &u, NOW, &(bool){false}, &e), ERR_LIMIT);
}

/* The last that one can log in with now stays; so does an account. */
static void
test_unlink(void **state)
{
	struct world *w = *state;
	struct user_new u = at("https://gone.example", "b-0");
	struct identity gone;
	bool fresh;

	assert_int_equal(users_link(w->db, w->bert, &u, NOW, &fresh, &e), OK);
	assert_int_equal(users_unlink(w->db, w->bert, id_of(w, w->bert, "b-1"),
			     WAY, w->a, &gone, &e),
	    ERR_CONFLICT);
	assert_string_equal(e.word, "LAST_IDENTITY");
	assert_int_equal(users_unlink(w->db, w->anna, id_of(w, w->anna, "anna"),
			     WAY, w->a, &gone, &e),
	    ERR_CONFLICT);
	assert_string_equal(e.word, "OWN_ACCOUNT");
	/* somebody else's is not there */
	assert_int_equal(users_unlink(w->db, w->anna, id_of(w, w->bert, "b-1"),
			     WAY, w->a, &gone, &e),
	    ERR_ABSENT);
	/* one that leads nowhere now may go */
	assert_int_equal(users_unlink(w->db, w->bert, id_of(w, w->bert, "b-0"),
			     WAY, w->a, &gone, &e),
	    OK);
	assert_str(gone.provider, "https://gone.example");
	u = at(WAY.p, "b-2");
	assert_int_equal(users_link(w->db, w->bert, &u, NOW, &fresh, &e), OK);
	assert_int_equal(users_unlink(w->db, w->bert, id_of(w, w->bert, "b-1"),
			     WAY, w->a, &gone, &e),
	    OK);
	assert_int_equal(id_of(w, w->bert, "b-1"), 0);
	assert_int_equal(users_unlink(w->db, w->bert, id_of(w, w->bert, "b-2"),
			     WAY, w->a, &gone, &e),
	    ERR_CONFLICT);
}

#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WITH_STORE(test_link),
	    WITH_STORE(test_unlink),
	};
	int failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);

	if (fixture_postgres()) {
		engine = STORE_POSTGRES;
		failed +=
		    cmocka_run_group_tests_name("postgres", tests, NULL, NULL);
	}
	return failed;
}
