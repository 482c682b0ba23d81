/* Sealed bodies through the commit thread, on both engines. */
#include "event/sealed.h"

#include <semaphore.h>

#include "base/log/log.h"
#include "base/test.h"
#include "event/append.h"
#include "seal/keyring.h"
#include "sql.h"
#include "store/fixture_test.h"

#define ONES   "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
#define THREES "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="
#define BODY   "{\"payload\":{\"secret\":\"swordfish\"}}"

struct waited {
	struct append_job job;
	sem_t over;
};

static void
done(struct append_job *job)
{
	struct waited *w = MAIL_OF(job, struct waited, job);

	assert_int_equal(sem_post(&w->over), 0);
}

static struct keyring *
ring(const char *key, const char *old)
{
	struct keyring_opts o = {.source = "env",
	    .dir = "/nonexistent",
	    .file = "",
	    .env_name = "HK_S_KEY",
	    .kms = {"aws", "", "", ""}};
	struct keyring *k = NULL;
	struct err e;

	(void)setenv("HK_S_KEY", key, 1);
	if (old)
		(void)setenv("HK_S_KEY_OLD", old, 1);
	else
		(void)unsetenv("HK_S_KEY_OLD");
	assert_int_equal(keyring_open(&o, &k, &e), OK);
	return k;
}

/* Two events and a config entry between them; the seq of the first. */
static int64_t
append_three(struct fixture *t, struct keyring *k, struct entry v[3])
{
	struct append_opts o = {.store = t->store, .seal = k};
	struct waited w = {.job = {.entries = v, .n = 3, .done = done}};
	struct append *a = NULL;
	struct err e = {0};

	for (int i = 0; i < 3; i++)
		v[i] = (struct entry){.event_id = uuid_v4(),
		    .tenant = uuid_v4(),
		    .type = STR("order.paid"),
		    .key = STR("k"),
		    .body = STR(BODY)};
	v[1].kind = ENTRY_CONFIG;
	assert_int_equal(append_start(&o, &a, &e), OK);
	assert_int_equal(sem_init(&w.over, 0, 0), 0);
	assert_int_equal(append_post(a, &w.job, &e), OK);
	assert_int_equal(sem_wait(&w.over), 0);
	assert_int_equal(w.job.err.code, OK);
	append_stop(a);
	return v[0].seq;
}

/* The row at seq, opened with k: OK or why not. */
static int
look(struct db *db, int64_t seq, struct keyring *k, bool *ret_sealed,
    struct err *e)
{
	struct sql_log_get_row row;
	struct rows *rows = NULL;
	char to[512];
	struct str body;
	int rc;

	assert_int_equal(sql_log_get(db, &rows, e, .seq = seq), OK);
	assert_int_equal(rows_next(rows, e), 1);
	sql_log_get_get(rows, &row);
	assert_true(row.body.n <= sizeof(to));
	*ret_sealed = sealed_is(row.body);
	if (*ret_sealed)
		assert_null(memmem(row.body.p, row.body.n, "swordfish", 9));
	rc = sealed_open(k, row.tenant, row.event_id, row.body, to, &body, e);
	if (rc == OK)
		assert_str(body, BODY);
	/* not at the place of another event */
	if (*ret_sealed) {
		struct uuid other = uuid_v4();

		assert_int_equal(sealed_open(k, row.tenant, uuid_str(&other),
				     row.body, to, &body, e),
		    ERR_SEALED);
	}
	rows_close(rows);
	return rc;
}

struct seen {
	int n;
	char ids[4][16];
	int64_t first[4];
};

static int
see(void *arg, const struct sealed_key *key, struct err *)
{
	struct seen *s = arg;
	int64_t now = clock_now_us();

	assert_true(s->n < 4);
	(void)snprintf(s->ids[s->n], 16, "%.*s", STR_ARG(key->id));
	assert_true(key->first_us <= now && key->last_us > key->first_us);
	s->first[s->n++] = key->first_seq;
	return OK;
}

static void
check_engine(struct fixture *t)
{
	struct keyring *a = ring("a:" ONES, NULL);
	struct keyring *both = ring("b:" THREES, "a:" ONES);
	struct keyring *b = ring("b:" THREES, NULL);
	struct entry v[3];
	struct seen s = {0};
	struct db *db = NULL;
	struct err e = {0};
	int64_t plain = append_three(t, NULL, v);
	int64_t old = append_three(t, a, v);
	int64_t new = append_three(t, both, v);
	bool sealed;

	assert_int_equal(db_open(t->store, DB_WRITE, &db, &e), OK);
	assert_int_equal(look(db, plain, b, &sealed, &e), OK);
	assert_false(sealed);
	assert_int_equal(look(db, old, both, &sealed, &e), OK);
	assert_true(sealed);
	assert_int_equal(look(db, old + 1, both, &sealed, &e), OK);
	assert_false(sealed); /* no event */
	assert_int_equal(look(db, new, b, &sealed, &e), OK);
	assert_true(sealed);
	assert_int_equal(look(db, old, b, &sealed, &e), ERR_SEALED);

	/* which keys the log needs, and that retention ends it */
	assert_int_equal(sealed_keys(db, see, &s, &e), OK);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.ids[0], "a");
	assert_int_equal(s.first[0], old);
	assert_string_equal(s.ids[1], "b");
	assert_int_equal(s.first[1], new);
	assert_true(
	    sql_retain_log_key(db, &e, .hour = INT64_MAX, .seq = new) == 1);
	s.n = 0;
	assert_int_equal(sealed_keys(db, see, &s, &e), OK);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.ids[0], "b");
	db_close(db);
	keyring_close(a);
	keyring_close(b);
	keyring_close(both);
}

static void
test_engines(void **)
{
	static const enum store_engine ENGINES[] = {
	    STORE_SQLITE, STORE_POSTGRES};

	for (size_t i = 0; i < COUNT_OF(ENGINES); i++) {
		struct fixture t;

		if (ENGINES[i] == STORE_POSTGRES && !fixture_postgres())
			continue;
		fixture_open(&t, ENGINES[i], NULL);
		check_engine(&t);
		fixture_close(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_engines),
	};

	log_setup(LOG_ERROR, LOG_TEXT, 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
