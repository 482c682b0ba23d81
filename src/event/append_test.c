#include "event/append.h"

#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/test.h"
#include "loop/thread.h"
#include "seal/digest.h"
#include "sql.h"
#include "store/fixture_test.h"

/* A job that a test waits for. */
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

static int
run_job(struct append *a, struct waited *w)
{
	struct err e = {0};

	assert_int_equal(sem_init(&w->over, 0, 0), 0);
	w->job.done = done;
	assert_int_equal(append_post(a, &w->job, &e), OK);
	assert_int_equal(sem_wait(&w->over), 0);
	assert_int_equal(sem_destroy(&w->over), 0);
	return w->job.err.code;
}

static struct entry
entry(const char *key, unsigned char hash)
{
	struct entry en = {
	    .event_id = uuid_v4(),
	    .type = STR("order.paid"),
	    .key = {key, strlen(key)},
	    .body = STR("{\"payload\":{}}"),
	};

	memset(en.hash, hash, sizeof(en.hash));
	return en;
}

static struct append *
start(struct fixture *t, int64_t keep_us)
{
	struct append_opts o = {.store = t->store, .keep = {.us = keep_us}};
	struct append *a = NULL;
	struct err e = {0};

	if (append_start(&o, &a, &e) < 0)
		fail_msg("%s", e.text);
	return a;
}

static void
check_states(struct fixture *t)
{
	struct append *a = start(t, 0);
	struct entry first = entry("k", 1);
	struct entry v[] = {first, first, entry("k", 1), first};
	struct waited one = {.job = {.entries = &first, .n = 1}};
	struct waited many = {.job = {.entries = v, .n = 4}};
	int64_t seq;

	v[0].event_id = uuid_v4(); /* new */
	v[1].hash[0] = 9;          /* the same id, other bytes */
	v[3].tenant.b[0] = 1;      /* another tenant's: new */
	assert_int_equal(run_job(a, &one), OK);
	assert_int_equal(first.state, ENTRY_NEW);
	seq = first.seq;
	assert_int_equal(append_last_seq(a), seq);
	assert_int_equal(run_job(a, &one), OK);
	assert_int_equal(first.state, ENTRY_SAME);
	assert_int_equal(first.seq, seq);
	assert_int_equal(run_job(a, &many), OK);
	assert_int_equal(v[0].state, ENTRY_NEW);
	assert_int_equal(v[1].state, ENTRY_DIFFERS);
	assert_int_equal(v[1].seq, seq);
	assert_int_equal(v[2].state, ENTRY_NEW);
	assert_int_equal(v[3].state, ENTRY_NEW);
	assert_true(v[0].seq > seq && v[2].seq > v[0].seq);
	append_stop(a);

	a = start(t, 0); /* known after a restart too */
	assert_int_equal(run_job(a, &one), OK);
	assert_int_equal(first.state, ENTRY_SAME);
	assert_int_equal(first.seq, seq);
	append_stop(a);
}

/* Within one batch: the first is new, its equals are the same. */
static void
check_repeats(struct fixture *t)
{
	struct append *a = start(t, 0);
	struct entry en = entry("k", 1);
	struct entry v[] = {en, en, en};
	struct waited w = {.job = {.entries = v, .n = 3}};

	v[2].hash[3] = 7;
	assert_int_equal(run_job(a, &w), OK);
	assert_int_equal(v[0].state, ENTRY_NEW);
	assert_int_equal(v[1].state, ENTRY_SAME);
	assert_int_equal(v[1].seq, v[0].seq);
	assert_int_equal(v[2].state, ENTRY_DIFFERS);
	append_stop(a);
}

/* Bodies that are what was received are told apart without a hash of theirs,
 * also from one that has it. */
static void
check_unhashed(struct fixture *t)
{
	struct append *a = start(t, 0);
	struct entry en = entry("k", 0);
	struct entry v[] = {en, en, en};
	struct entry again, other = en, hashed = en;
	struct waited w = {.job = {.entries = v, .n = 3}};
	struct waited one = {.job = {.entries = &again, .n = 1}};

	for (int i = 0; i < 3; i++)
		v[i].unhashed = true;
	other.unhashed = true;
	other.body = v[2].body = STR("{\"payload\":{ }}");
	digest_short(en.body, hashed.hash);
	again = v[0];
	assert_int_equal(run_job(a, &one), OK); /* alone: stays unhashed */
	assert_int_equal(again.state, ENTRY_NEW);
	assert_int_equal(run_job(a, &w), OK);
	assert_int_equal(v[0].state, ENTRY_SAME);
	assert_int_equal(v[1].state, ENTRY_SAME);
	assert_int_equal(v[2].state, ENTRY_DIFFERS);
	again = other;
	assert_int_equal(run_job(a, &one), OK);
	assert_int_equal(again.state, ENTRY_DIFFERS);
	again = hashed;
	assert_int_equal(run_job(a, &one), OK);
	assert_int_equal(again.state, ENTRY_SAME);
	again = hashed;
	again.event_id = uuid_v4();
	other = again;
	assert_int_equal(run_job(a, &one), OK);
	assert_int_equal(again.state, ENTRY_NEW);
	again = other; /* the hash is there, and now it is not */
	again.unhashed = true;
	assert_int_equal(run_job(a, &one), OK);
	assert_int_equal(again.state, ENTRY_SAME);
	append_stop(a);
}

static void
check_find(struct fixture *t)
{
	struct append *a = start(t, 0);
	struct entry en = entry("k", 1);
	struct waited w = {.job = {.entries = &en, .n = 1}};
	struct append_find f = {.event_id = en.event_id};
	struct waited q = {.job = {.find = &f}};

	assert_int_equal(run_job(a, &w), OK);
	assert_int_equal(run_job(a, &q), OK);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.seqs[0], en.seq);
	f.event_id = uuid_v4();
	assert_int_equal(run_job(a, &q), OK);
	assert_int_equal(f.n, 0);
	append_stop(a);
}

/* Posters on several threads, a few of them repeating themselves. */
enum { POSTERS = 4, EACH = 200 };

struct poster {
	struct append *a;
	struct entry v[EACH];
	struct thread *thread;
};

static void
post_all(void *arg)
{
	struct poster *p = arg;

	for (int i = 0; i < EACH; i++) {
		struct waited w = {.job = {.entries = &p->v[i], .n = 1}};

		p->v[i] = i % 10 == 9 ? p->v[i - 1] : entry("k", 1);
		(void)run_job(p->a, &w);
	}
}

static void
check_threads(struct fixture *t)
{
	static struct poster posters[POSTERS];
	struct append *a = start(t, 0);
	int64_t before = append_last_seq(a);
	struct err e = {0};

	for (int i = 0; i < POSTERS; i++) {
		posters[i].a = a;
		assert_int_equal(thread_start("poster", post_all, &posters[i],
				     &posters[i].thread, &e),
		    OK);
	}
	for (int i = 0; i < POSTERS; i++)
		thread_join(posters[i].thread);
	for (int i = 0; i < POSTERS; i++)
		for (int k = 0; k < EACH; k++) {
			bool repeat = k % 10 == 9;

			assert_int_equal(posters[i].v[k].state,
			    repeat ? ENTRY_SAME : ENTRY_NEW);
			if (k > 0 && !repeat) /* a poster's own order */
				assert_true(posters[i].v[k].seq >
					    posters[i].v[k - 1].seq);
		}
	assert_int_equal(
	    append_last_seq(a) - before, POSTERS * (EACH - EACH / 10));
	append_stop(a);
}

static int64_t
count_log(struct store *s)
{
	struct rows *rows = NULL;
	struct db *db = NULL;
	struct err e = {0};
	int64_t n = 0;

	assert_int_equal(db_open(s, DB_READ, &db, &e), OK);
	assert_int_equal(
	    sql_log_page(db, &rows, &e, .after = 0, .upto = INT64_MAX,
		.type = (struct str){0}, .prefix = (struct str){0},
		.pkey = (struct str){0}, .tenant = (struct str){0},
		.low = (struct str){0}, .up = (struct str){0}, .most = 1000000),
	    OK);
	while (rows_next(rows, &e) > 0)
		n++;
	rows_close(rows);
	db_close(db);
	return n;
}

/* Old entries go while new ones come; the newest stays and seq counts on. */
static void
check_retention(struct fixture *t)
{
	struct append *a = start(t, 1);
	int64_t last = append_last_seq(a), until = clock_mono_ms() + 10000;
	struct entry en;

	for (int i = 0; i < 1200; i++) {
		struct waited w = {.job = {.entries = &en, .n = 1}};

		en = entry("k", 1);
		assert_int_equal(run_job(a, &w), OK);
		assert_true(en.seq > last);
		last = en.seq;
	}
	while (count_log(t->store) > 1 && clock_mono_ms() < until)
		(void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(count_log(t->store), 1);
	append_stop(a);
	a = start(t, 1);
	assert_int_equal(append_last_seq(a), last);
	append_stop(a);
}

static void
each(void (*check)(struct fixture *t))
{
	static const enum store_engine ENGINES[] = {
	    STORE_SQLITE, STORE_POSTGRES};

	for (size_t i = 0; i < COUNT_OF(ENGINES); i++) {
		struct fixture t;

		if (ENGINES[i] == STORE_POSTGRES && !fixture_postgres())
			continue;
		fixture_open(&t, ENGINES[i], NULL);
		check(&t);
		fixture_close(&t);
	}
}

/* Where the commit fails, and what the caller must then hear. */
static void
test_faults(void **)
{
	static const struct {
		const char *fault;
		int want;
	} ROWS[] = {
	    {"commit-before:2", ERR_STORE}, {"full:2", ERR_FULL},
	    {"commit-after:2", OK}, /* run again, found, counted as new */
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct fixture t;
		struct entry one = entry("k", 1), two = entry("k", 1);
		struct waited w1 = {.job = {.entries = &one, .n = 1}};
		struct waited w2 = {.job = {.entries = &two, .n = 1}};
		struct append *a;

		fixture_open(&t, STORE_SQLITE, ROWS[i].fault);
		a = start(&t, 0);
		assert_int_equal(run_job(a, &w1), OK);
		assert_int_equal(run_job(a, &w2), ROWS[i].want);
		if (ROWS[i].want != OK) /* and the next try is well again */
			assert_int_equal(run_job(a, &w2), OK);
		assert_int_equal(two.state, ENTRY_NEW);
		append_stop(a);
		assert_int_equal(count_log(t.store), 2);
		fixture_close(&t);
	}
}

static void
test_states(void **)
{
	each(check_states);
}

static void
test_repeats(void **)
{
	each(check_repeats);
}

static void
test_unhashed(void **)
{
	each(check_unhashed);
}

static void
test_find(void **)
{
	each(check_find);
}

static void
test_threads(void **)
{
	each(check_threads);
}

static void
test_retention(void **)
{
	each(check_retention);
}

/* Each id once, and in a line only with what it has in common with others. */
static void
test_tell(void **)
{
	struct entry v[44];
	struct append_job job = {.entries = v, .n = 44};
	char text[8192];
	int fd = memfd_create("log", MFD_CLOEXEC);
	size_t lines = 0;
	ssize_t n;

	assert_true(fd >= 0);
	for (int i = 0; i < 44; i++) {
		v[i] = entry("k", 0);
		v[i].seq = 100 + i;
	}
	v[1].kind = ENTRY_CONFIG;
	v[2].state = ENTRY_SAME;
	v[3].correlation = v[4].correlation = uuid_v4();
	v[5].type = STR("order.made");
	v[6].seq = 7;
	log_setup(LOG_INFO, LOG_JSON, fd);
	entry_tell(job.entries, job.n);
	log_setup(LOG_ERROR, LOG_TEXT, 2);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	for (char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	/* 0 | 2 | 3 4 | 5 | 6 | 7 to 38 | 39 to 43 */
	assert_int_equal(lines, 7);
	for (int i = 0; i < 44; i++) {
		char id[UUID_LEN + 1], *p;

		uuid_format(v[i].event_id, id);
		id[UUID_LEN] = '\0';
		p = strstr(text, id);
		assert_true(i == 1 ? !p : p && !strstr(p + 1, id));
	}
	assert_non_null(strstr(text, "\"event known\""));
	assert_non_null(strstr(text, "\"seq\":103,\"eventIds\":["));
	assert_non_null(strstr(text, "\"seq\":139,\"eventIds\":["));
	assert_int_equal(close(fd), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_states),
	    cmocka_unit_test(test_repeats),
	    cmocka_unit_test(test_unhashed),
	    cmocka_unit_test(test_find),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_tell),
	    cmocka_unit_test(test_retention),
	    cmocka_unit_test(test_faults),
	};

	log_setup(LOG_ERROR, LOG_TEXT, 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
