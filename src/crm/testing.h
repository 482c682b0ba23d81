/*
 * testing.h - the company with all its services in one thread, and the log
 * between them an array: what is in the outboxes is handed over in whatever
 * order a test wants. For the tests of src/crm: include base/test.h before.
 */
#ifndef CRM_TESTING_H
#define CRM_TESTING_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "crm/check.h"
#include "crm/story.h"
#include "crm_sql.h"
#include "event/catalog.h"

struct world {
	char dir[64];
	struct story story;
	struct taker takers[CRM_SERVICES];
	struct arena *arena, *words;
	int64_t after[4]; /* rows of each outbox that were gathered */
	struct str events[8192];
	size_t n;
	int results[5]; /* by enum crm_result */
};

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s", #call, e.text);                     \
	} while (0)

static inline int
fetch(void *arg, struct str object, struct str id, struct arena *a,
    struct crm_record *ret, struct err *e)
{
	struct world *w = arg;

	return core_read(w->story.core.db, object, id, a, ret, e);
}

static inline void
make(struct world **ret)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err e;
	char path[128];

	assert_non_null(w);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/hk-crm-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->arena = arena_new(4 * MIB);
	w->words = arena_new(64 * MIB);
	MUST(story_open(&w->story, w->dir, &e));
	for (int i = 0; i < CRM_SERVICES; i++) {
		struct taker *t = &w->takers[i];

		*t = (struct taker){.service = CRM_ALL[i],
		    .arena = w->arena,
		    .tenant = w->story.tenant,
		    .fetch = {fetch, w}};
		(void)snprintf(
		    path, sizeof(path), "%s/%s", w->dir, t->service->file);
		MUST(lite_open(path, t->service->schemas, t->service->n_schemas,
		    &t->db, &e));
	}
	*ret = w;
}

static inline void
drop(struct world *w)
{
	static const char *const FILES[] = {"core", "sharing", "search",
	    "reporting", "automation", "approval", "metadata"};
	static const char *const ENDS[] = {"", "-wal", "-shm"};
	char path[128];

	for (int i = 0; i < CRM_SERVICES; i++)
		lite_close(w->takers[i].db);
	story_close(&w->story);
	for (size_t i = 0; i < COUNT_OF(FILES); i++)
		for (size_t k = 0; k < COUNT_OF(ENDS); k++) {
			(void)snprintf(path, sizeof(path), "%s/%s.db%s", w->dir,
			    FILES[i], ENDS[k]);
			(void)unlink(path);
		}
	(void)rmdir(w->dir);
	arena_free(w->arena);
	arena_free(w->words);
	free(w);
}

static inline struct taker *
taker(struct world *w, const struct crm_service *s)
{
	int i = 0;

	while (i < CRM_SERVICES - 1 && w->takers[i].service != s)
		i++;
	assert_ptr_equal(w->takers[i].service, s);
	return &w->takers[i];
}

static inline int
take_number(void *arg, int n, char **values, char **names)
{
	(void)n;
	(void)names;
	*(int64_t *)arg = strtoll(values[0] ? values[0] : "-1", NULL, 10);
	return 0;
}

/* What a query of the test's own says, as a number. */
static inline int64_t
number(struct world *w, const struct crm_service *s, const char *sql)
{
	char path[128];
	sqlite3 *h = NULL;
	int64_t n = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", w->dir, s->file);
	assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
	if (sqlite3_exec(h, sql, take_number, &n, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(h));
	(void)sqlite3_close(h);
	return n;
}

static inline void
add_event(struct world *w, struct str text)
{
	assert_true(w->n < COUNT_OF(w->events));
	w->events[w->n++] = arena_dup(w->words, text);
}

/* The outboxes' new rows become events; how many. */
static inline size_t
gather(struct world *w)
{
	struct lite *const all[] = {w->story.core.db, w->story.metadata,
	    w->story.sharing, w->story.approval};
	size_t before = w->n;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		struct crm_outbox_all_row r;
		struct lite_rows *rows = NULL;
		int rc = crm_outbox_all(all[i], w->after[i], 10000, &rows, &e);

		while (rc >= 0 && (rc = lite_next(rows, &e)) == 1) {
			crm_outbox_all_get(rows, &r);
			w->after[i] = r.id;
			add_event(w,
			    arena_fmt(w->words,
				"{\"eventId\":\"%.*s\",\"schemaVersion\":1,\"eventType\":\"%.*s\",\"tenantId\":\"%.*s\",\"occurredAt\":\"%.*s\",\"payload\":%.*s}",
				STR_ARG(r.event_id), STR_ARG(r.event_type),
				STR_ARG(r.tenant_id), STR_ARG(r.occurred_at),
				STR_ARG(r.payload)));
		}
		assert_int_equal(rc, 0);
		lite_done(rows);
	}
	return w->n - before;
}

static inline int
give(struct world *w, struct taker *t, struct str text,
    enum crm_result *ret_result, struct err *e)
{
	struct crm_event ev;
	struct json *j = NULL;
	int rc = json_parse(w->arena, text, &j, e);

	if (rc == OK)
		rc = crm_event_read(j, w->arena, &ev, e);
	if (rc == OK && !crm_wants(t->service, ev.type)) {
		*ret_result = CRM_FOREIGN;
		return OK;
	}
	if (rc == OK)
		rc = crm_take(t, &ev, ret_result, e);
	if (rc == OK)
		w->results[*ret_result]++;
	arena_reset(w->arena);
	return rc;
}

/* One event, as text, to one service. */
static inline enum crm_result
one(struct world *w, const struct crm_service *s, struct str text)
{
	enum crm_result result = CRM_FOREIGN;
	struct err e;

	MUST(give(w, taker(w, s), text, &result, &e));
	return result;
}

static inline void
deliver(struct world *w, size_t from, size_t n)
{
	enum crm_result result;
	struct err e;

	for (size_t i = from; i < from + n; i++)
		for (int k = 0; k < CRM_SERVICES; k++)
			MUST(give(w, &w->takers[k], w->events[i], &result, &e));
}

static inline void
differs(void *arg, const struct crm_service *s, const char *what, int64_t n)
{
	(void)arg;
	print_message(
	    "%s: %s differ in %lld rows\n", s->name, what, (long long)n);
}

static inline int64_t
differences(struct world *w)
{
	int64_t n = 0, all = 0;
	struct err e;

	for (int i = 0; i < CRM_SERVICES; i++) {
		MUST(crm_check(w->dir, CRM_ALL[i], differs, NULL, &n, &e));
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
		size_t from = w->n - n, all = n;

		for (size_t i = 0; i < n; i++)
			for (uint32_t k = next_random(seed) % 3; k > 0; k--) {
				add_event(w, w->events[from + i]);
				all++;
			}
		for (size_t i = all - 1; i > 0; i--) {
			size_t k = next_random(seed) % (i + 1);
			struct str s = w->events[from + i];

			w->events[from + i] = w->events[from + k];
			w->events[from + k] = s;
		}
		deliver(w, from, all);
		w->n = from; /* they need not be kept */
	}
}

#endif
