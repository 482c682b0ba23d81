/*
 * testing.h - the company with all its services in one thread, and the log
 * between them an array: what is in the outboxes is handed over in whatever
 * order a test wants.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka wants the four above first. */
#include <cmocka.h>

#include "company.h"
#include "story.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

struct world {
	char dir[64], tenant[HK_ID_LEN + 1];
	struct story story;
	struct taker takers[CONSUMERS];
	char *events[8192];
	size_t n;
	int verdicts[HK_STALE + 1], foreign;
};

/* Core, asked without the way over HTTP. */
static inline int
ask(void *ctx, const char *object, const char *record, char **ret,
    struct hk_error *e)
{
	struct world *w = ctx;

	return db_text(w->story.db[CORE], CRM_CORE, "read",
	    ARGS(ARG_TEXT("object", object), ARG_TEXT("record", record)), ret,
	    e);
}

static inline struct world *
make(void)
{
	struct world *w = calloc(1, sizeof(*w));
	struct hk_error e = {0};
	int rc;

	assert_non_null(w);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/hk-crm-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	rc = company_make(w->dir, w->tenant, &e);
	if (rc == HK_OK)
		rc = story_open(&w->story, w->dir, &e);
	for (enum service_id i = 0; rc == HK_OK && i < CONSUMERS; i++) {
		rc = taker_open(&w->takers[i], w->dir, i, w->tenant, &e);
		w->takers[i].ask = ask;
		w->takers[i].ctx = w;
	}
	if (rc < 0)
		fail_msg("%s", e.text);
	return w;
}

static inline void
drop(struct world *w)
{
	static const char *const ENDS[] = {"", "-wal", "-shm"};
	char path[128], file[160];

	for (enum service_id i = 0; i < CONSUMERS; i++)
		taker_close(&w->takers[i]);
	story_close(&w->story);
	for (enum service_id i = 0; i < SERVICES; i++)
		for (size_t k = 0; k < COUNT_OF(ENDS); k++) {
			service_path(w->dir, i, path, sizeof(path));
			(void)snprintf(
			    file, sizeof(file), "%s%s", path, ENDS[k]);
			(void)unlink(file);
		}
	(void)rmdir(w->dir);
	for (size_t i = 0; i < w->n; i++)
		free(w->events[i]);
	free(w);
}

static inline void
keep_int(void *ctx, sqlite3_stmt *row)
{
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
}

/* Statements of the test's own; what the last row says, as a number. */
static inline int
try_sql(sqlite3 *db, const char *sql, int64_t *ret, struct hk_error *e)
{
	struct script s = {.text = sql, .n = strlen(sql)};

	*ret = -1;
	return db_run(db, &s, NO_ARGS, keep_int, ret, e);
}

static inline int64_t
number(struct world *w, enum service_id id, const char *sql)
{
	sqlite3 *db = id == METADATA ? w->story.db[id] : w->takers[id].db;
	struct hk_error e;
	int64_t n;

	if (try_sql(db, sql, &n, &e) < 0)
		fail_msg("%s: %s", sql, e.text);
	return n;
}

static inline void
add_event(struct world *w, const char *text)
{
	assert_true(w->n < COUNT_OF(w->events));
	w->events[w->n++] = strdup(text);
}

static inline void
gather_row(void *ctx, sqlite3_stmt *row)
{
	add_event(ctx, (const char *)sqlite3_column_text(row, 1));
}

/* The outboxes' new rows become events; how many. */
static inline size_t
gather(struct world *w)
{
	size_t before = w->n;
	struct hk_error e;

	for (enum service_id i = 0; i < SERVICES; i++) {
		sqlite3 *db = w->story.db[i];
		size_t n = w->n;
		int64_t at;

		if (!db)
			continue;
		do {
			n = w->n;
			if (db_each(db, CRM_COMMON, "unpublished", NO_ARGS,
				gather_row, w, &e) < 0 ||
			    try_sql(db,
				"UPDATE outbox_events SET published_at = 'now' WHERE id IN (SELECT id FROM outbox_events WHERE published_at IS NULL ORDER BY id LIMIT 200)",
				&at, &e) < 0)
				fail_msg("%s", e.text);
		} while (w->n > n);
	}
	return w->n - before;
}

static inline int
give(struct world *w, enum service_id id, const char *text,
    enum hk_verdict *ret, bool *ret_foreign, struct hk_error *e)
{
	struct hk_event *ev = NULL;
	int rc = hk_event_read(text, strlen(text), &ev, e);

	if (rc == HK_OK)
		rc = taker_take(&w->takers[id], ev, ret, ret_foreign, e);
	hk_event_free(ev);
	if (rc == HK_OK && *ret_foreign)
		w->foreign++;
	else if (rc == HK_OK)
		w->verdicts[*ret]++;
	return rc;
}

/* One event, as text, to one service, which must take it. */
static inline enum hk_verdict
one(struct world *w, enum service_id id, const char *text)
{
	enum hk_verdict verdict = HK_SEEN;
	struct hk_error e = {0};
	bool foreign = false;

	if (give(w, id, text, &verdict, &foreign, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	assert_false(foreign);
	return verdict;
}

static inline void
deliver(struct world *w, size_t from, size_t n)
{
	enum hk_verdict verdict;
	struct hk_error e = {0};
	bool foreign;

	for (size_t i = from; i < from + n; i++)
		for (enum service_id k = 0; k < CONSUMERS; k++)
			if (give(w, k, w->events[i], &verdict, &foreign, &e) <
			    0)
				fail_msg("%s: %s", w->events[i], e.text);
}

static inline void
differs(void *ctx, enum service_id id, const char *what, int64_t n)
{
	(void)ctx;
	print_message("%s: %s differ in %lld rows\n", SERVICE[id].name, what,
	    (long long)n);
}

static inline int64_t
differences(struct world *w)
{
	int64_t n = 0, all = 0;
	struct hk_error e = {0};

	for (enum service_id i = 0; i < CONSUMERS; i++) {
		sqlite3 *look = NULL;

		if (service_look(w->dir, i, &look, &e) < 0 ||
		    service_check(look, i, differs, NULL, &n, &e) < 0)
			fail_msg("%s", e.text);
		(void)sqlite3_close(look);
		all += n;
	}
	return all;
}

static inline uint32_t
next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Any order, some of them two or three times, and what comes of it likewise. */
static inline void
deliver_shuffled(struct world *w, uint32_t *seed)
{
	size_t n;

	while ((n = gather(w)) > 0) {
		size_t from = w->n - n;

		for (size_t i = 0; i < n; i++)
			for (uint32_t k = next_random(seed) % 3; k > 0; k--)
				add_event(w, w->events[from + i]);
		for (size_t i = w->n - from - 1; i > 0; i--) {
			size_t k = next_random(seed) % (i + 1);
			char *s = w->events[from + i];

			w->events[from + i] = w->events[from + k];
			w->events[from + k] = s;
		}
		deliver(w, from, w->n - from);
		while (w->n > from) /* they need not be kept */
			free(w->events[--w->n]);
	}
}
