#include "api/v1/log_page.h"

#include <semaphore.h>

#include "base/log/log.h"
#include "base/test.h"
#include "event/append.h"
#include "event/cursor.h"
#include "event/limits.h"
#include "http/server/limits.h"
#include "http/server/req.h"
#include "seal/keyring.h"
#include "store/fixture_test.h"

#define T(n) "00000000-0000-4000-8000-00000000000" #n

/* The log, from seq 1 on. */
static const struct {
	const char *type, *key;
	unsigned char tenant;
} LOG[] = {
    {"order.paid", "a", 1},
    {"order.paid", "b", 2},
    {"order.sent", "a", 1},
    {"orders.paid", "c", 3},
    {"order", "a", 2},
    {"Order.paid", "a", 1},
    {"order.paid.twice", "d", 2},
};

static struct uuid
tenant(unsigned char n)
{
	struct uuid u = {{0}};

	u.b[6] = 0x40;
	u.b[8] = 0x80;
	u.b[15] = n;
	return u;
}

/* Appending, as one job that is waited for. */

struct waited {
	struct append_job job;
	sem_t over;
};

static void
done(struct append_job *job)
{
	assert_int_equal(sem_post(&MAIL_OF(job, struct waited, job)->over), 0);
}

static void
append(struct append *a, struct entry *entries, size_t n)
{
	struct waited w = {.job = {.entries = entries, .n = n, .done = done}};
	struct err e;

	assert_int_equal(sem_init(&w.over, 0, 0), 0);
	assert_int_equal(append_post(a, &w.job, &e), OK);
	assert_int_equal(sem_wait(&w.over), 0);
	assert_int_equal(w.job.err.code, OK);
}

static void
fill(struct store *s)
{
	struct append_opts o = {.store = s};
	struct entry v[COUNT_OF(LOG)];
	struct append *a;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(LOG); i++)
		v[i] = (struct entry){.event_id = uuid_v4(),
		    .tenant = tenant(LOG[i].tenant),
		    .type = str_of(LOG[i].type),
		    .key = str_of(LOG[i].key),
		    .body = STR("{}")};
	assert_int_equal(append_start(&o, &a, &e), OK);
	append(a, v, COUNT_OF(v));
	assert_int_equal(v[0].seq, 1);
	append_stop(a);
}

static void
show(struct buf *b, struct str body, int64_t seq, int64_t received_us,
    size_t nth)
{
	assert_str(body, "{}");
	assert_true(received_us > 0);
	buf_fmt(b, "%s%lld", nth ? " " : "", (long long)seq);
}

static const struct {
	struct log_words words;
	const char *tenants; /* the caller's, as digits; "": all */
	int64_t after, limit;
	const char *shown;
	int64_t next;
} ROWS[] = {
    {{{0}, {0}, {0}}, "", 0, 50, "1 2 3 4 5 6 7", 7},
    {{{0}, {0}, {0}}, "", 3, 2, "4 5", 5},
    {{{0}, {0}, {0}}, "", 7, 50, "", 7},
    {{{0}, {0}, {0}}, "", 99, 50, "", 99}, /* not there yet */
    /* a type is exactly that; name.* is all below it, not itself */
    {{STR("order.paid"), {0}, {0}}, "", 0, 50, "1 2", 7},
    {{STR("order.paid"), {0}, {0}}, "", 0, 1, "1", 1},
    {{STR("order.*"), {0}, {0}}, "", 0, 50, "1 2 3 7", 7},
    {{STR("order.paid.*"), {0}, {0}}, "", 0, 50, "7", 7},
    {{STR("*"), {0}, {0}}, "", 0, 50, "", 7},
    {{{0}, STR("a"), {0}}, "", 0, 50, "1 3 5 6", 7},
    {{STR("order.*"), STR("a"), {0}}, "", 0, 50, "1 3", 7},
    {{{0}, {0}, STR(T(2))}, "", 0, 50, "2 5 7", 7},
    {{STR("none"), {0}, {0}}, "", 0, 50, "", 7},
    /* what the caller may not see is passed over, and not counted */
    {{{0}, {0}, {0}}, "13", 0, 50, "1 3 4 6", 7},
    {{{0}, {0}, {0}}, "13", 0, 2, "1 3", 3},
    {{{0}, {0}, {0}}, "13", 3, 2, "4 6", 6},
    {{{0}, {0}, {0}}, "9", 0, 50, "", 7},
    {{STR("order.*"), {0}, {0}}, "2", 0, 50, "2 7", 7},
};

static void
check_rows(struct db *db)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct log_filter f = {
		    .after = ROWS[i].after, .limit = ROWS[i].limit};
		struct principal who = {.kind = WHO_KEY};
		struct buf out = BUF(KIB);
		struct uuid may[4];
		struct log_page page;
		struct err e;

		for (const char *p = ROWS[i].tenants; *p; p++)
			may[who.n_tenants++] =
			    tenant((unsigned char)(*p - '0'));
		who.tenants = who.n_tenants ? may : NULL;
		assert_int_equal(log_filter_set(&f, &ROWS[i].words, &e), OK);
		assert_int_equal(
		    log_page_read(db, &(struct log_view){NULL, &who, &f, show},
			&out, &page, &e),
		    OK);
		if (!str_eq(buf_str(&out), str_of(ROWS[i].shown)) ||
		    page.next != ROWS[i].next ||
		    page.at_end != (page.next >= (int64_t)COUNT_OF(LOG)))
			fail_msg("row %zu: %.*s, next %lld", i,
			    STR_ARG(buf_str(&out)), (long long)page.next);
		buf_done(&out);
	}
}

static void
test_filters(void **)
{
	static const enum store_engine ENGINES[] = {
	    STORE_SQLITE, STORE_POSTGRES};

	for (size_t i = 0; i < COUNT_OF(ENGINES); i++) {
		struct fixture f;
		struct db *db;
		struct err e;

		if (ENGINES[i] == STORE_POSTGRES && !fixture_postgres())
			continue;
		fixture_open(&f, ENGINES[i], NULL);
		fill(f.store);
		assert_int_equal(db_open(f.store, DB_READ, &db, &e), OK);
		check_rows(db);
		db_close(db);
		fixture_close(&f);
	}
}

static void
show_body(struct buf *b, struct str body, int64_t, int64_t, size_t)
{
	buf_add(b, body);
}

/* However much there is, a page looks at PAGE_SCAN entries and shows little
 * more than PAGE_BYTES. */
static void
test_bounds(void **)
{
	enum { BIG = 64 * KIB, SMALL = PAGE_SCAN + 500 };
	static struct entry v[500];
	static char body[BIG];
	struct append_opts o = {0};
	struct principal all = {.kind = WHO_LOCAL};
	struct log_filter f = {.limit = PAGE_MAX, .type = STR("none")};
	struct buf out = BUF(8 * PAGE_BYTES);
	struct log_page page;
	struct fixture fix;
	struct append *a;
	struct db *db;
	struct err e;

	memset(body, ' ', sizeof(body));
	fixture_open(&fix, STORE_SQLITE, NULL);
	o.store = fix.store;
	assert_int_equal(append_start(&o, &a, &e), OK);
	for (size_t n = 0; n < SMALL; n += COUNT_OF(v)) {
		for (size_t i = 0; i < COUNT_OF(v); i++)
			v[i] = (struct entry){.event_id = uuid_v4(),
			    .type = STR("small"),
			    .key = STR("k"),
			    .body = STR("{}")};
		append(a, v, COUNT_OF(v));
	}
	for (size_t i = 0; i < 100; i++)
		v[i] = (struct entry){.event_id = uuid_v4(),
		    .type = STR("big"),
		    .key = STR("k"),
		    .body = {body, BIG}};
	append(a, v, 100);
	append_stop(a);

	assert_int_equal(db_open(fix.store, DB_READ, &db, &e), OK);
	assert_int_equal(
	    log_page_read(db, &(struct log_view){NULL, &all, &f, show_body},
		&out, &page, &e),
	    OK);
	assert_int_equal(page.shown, 0);
	assert_int_equal(page.next, PAGE_SCAN);
	assert_false(page.at_end);
	f.after = page.next;
	assert_int_equal(
	    log_page_read(db, &(struct log_view){NULL, &all, &f, show_body},
		&out, &page, &e),
	    OK);
	assert_int_equal(page.next, SMALL + 100);
	assert_true(page.at_end);

	f = (struct log_filter){.limit = PAGE_MAX, .after = SMALL};
	assert_int_equal(
	    log_page_read(db, &(struct log_view){NULL, &all, &f, show_body},
		&out, &page, &e),
	    OK);
	assert_int_equal(page.shown, PAGE_BYTES / BIG + 1);
	assert_int_equal(page.next, SMALL + (int64_t)page.shown);
	assert_false(page.at_end);
	buf_done(&out);
	db_close(db);
	fixture_close(&fix);
}

/* One that no key opens is told of; the others are shown. */
static void
test_shut(void **)
{
	struct keyring_opts ko = {.source = "env",
	    .dir = "/nonexistent",
	    .file = "",
	    .env_name = "HK_L_KEY",
	    .kms = {"aws", "", "", ""}};
	struct log_filter f = {.limit = PAGE_MAX};
	struct principal all = {.kind = WHO_LOCAL};
	struct buf out = BUF(64 * KIB);
	struct append_opts o = {0};
	struct keyring *k[2] = {NULL, NULL};
	struct log_page page;
	struct fixture fix;
	struct append *a;
	struct entry v;
	struct db *db;
	struct err e;

	fixture_open(&fix, STORE_SQLITE, NULL);
	o.store = fix.store;
	for (int i = 0; i < 2; i++) {
		(void)setenv("HK_L_KEY",
		    i ? "b:AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="
		      : "a:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
		    1);
		assert_int_equal(keyring_open(&ko, &k[i], &e), OK);
		o.seal = k[i];
		v = (struct entry){.event_id = uuid_v4(),
		    .type = STR("order.paid"),
		    .key = STR("k"),
		    .body = i ? STR("{\"mine\":1}") : STR("{\"theirs\":1}")};
		assert_int_equal(append_start(&o, &a, &e), OK);
		append(a, &v, 1);
		append_stop(a);
	}
	assert_int_equal(db_open(fix.store, DB_READ, &db, &e), OK);
	assert_int_equal(
	    log_page_read(db, &(struct log_view){k[1], &all, &f, show_body},
		&out, &page, &e),
	    OK);
	assert_int_equal(page.shown, 2);
	assert_null(memmem(out.p, out.n, "theirs", 6));
	assert_non_null(memmem(out.p, out.n, "\"code\":\"SEALED\"", 15));
	assert_non_null(memmem(out.p, out.n, "the key a,", 10));
	assert_non_null(memmem(out.p, out.n, "{\"mine\":1}", 10));
	buf_done(&out);
	db_close(db);
	fixture_close(&fix);
	keyring_close(k[0]);
	keyring_close(k[1]);
}

static void
test_words(void **)
{
	static char long_type[EVENT_TYPE_MAX + 2], long_key[EVENT_KEY_MAX + 2];
	const struct {
		struct log_words words;
		const char *at; /* NULL: fine */
	} rows[] = {
	    {{{long_type, EVENT_TYPE_MAX}, {0}, {0}}, NULL},
	    {{{long_type, EVENT_TYPE_MAX + 1}, {0}, {0}}, "type"},
	    {{{0}, {long_key, EVENT_KEY_MAX}, {0}}, NULL},
	    {{{0}, {long_key, EVENT_KEY_MAX + 1}, {0}}, "key"},
	    {{{0}, {0}, STR(T(1))}, NULL},
	    {{{0}, {0}, STR("1 1")}, "tenant"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct log_filter f = {0};
		struct err e = {0};
		int rc = log_filter_set(&f, &rows[i].words, &e);

		assert_int_equal(rc, rows[i].at ? ERR_INVALID : OK);
		assert_string_equal(e.at, rows[i].at ? rows[i].at : "");
	}
}

static void
test_cursor(void **)
{
	char text[CURSOR_LEN + 1];
	int64_t seq = -1;
	struct err e = {0};

	cursor_format(42, text);
	assert_int_equal(log_cursor_read(str_of(text), "after", &seq, &e), OK);
	assert_int_equal(seq, 42);
	assert_int_equal(
	    log_cursor_read(STR("42"), "after", &seq, &e), ERR_INVALID);
	assert_string_equal(e.at, "after");
	assert_int_equal(seq, 42);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_filters),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_shut),
	    cmocka_unit_test(test_words),
	    cmocka_unit_test(test_cursor),
	};

	log_setup(LOG_ERROR, LOG_TEXT, 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
