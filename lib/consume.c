#include "hk_priv.h"

/*
 * begin -> judge -> handler -> commit -> acknowledge. Whatever ends the process
 * before the commit leaves nothing; after it, the event comes again and is
 * HK_SEEN. Which of the two it was is the database's to know.
 */

/* A commit that fails again and again is the event's fault, not the weather. */
#define TRIES_MAX 3
#define PAUSE_MS  200 /* between looks of a consumer that may not wait */

/* From judge to commit, in a transaction that is open; it never stays so. */
static int
apply_begun(struct hk_db *db, const struct hk_event *ev, hk_handler handler,
    void *ctx, enum hk_verdict *ret, struct hk_error *e)
{
	int rc = db->judge(db, ev, ret, e);

	if (rc == HK_OK && *ret == HK_APPLY) {
		(void)hk_fail(e, HK_RETRY, "the handler failed");
		rc = handler(ctx, db, ev, e);
		if (rc != HK_OK && rc != HK_DEAD)
			rc = HK_RETRY;
	}
	if (rc == HK_OK)
		rc = db->commit(db, e);
	if (rc == HK_OK)
		memset(e, 0, sizeof(*e));
	else
		db->rollback(db);
	e->code = rc;
	return rc;
}

int
hk_apply(struct hk_db *db, const struct hk_event *ev, hk_handler handler,
    void *ctx, enum hk_verdict *ret, struct hk_error *e)
{
	enum hk_verdict verdict = HK_SEEN;
	int rc;
	LIB_ERROR(e);

	rc = db->begin(db, e);
	if (rc < 0) {
		db->rollback(db);
		return rc;
	}
	rc = apply_begun(db, ev, handler, ctx, &verdict, e);
	if (rc == HK_OK)
		*ret = verdict;
	return rc;
}

/* Waits for the database, for as long as it takes. */
static int
begin(struct hk_client *client, struct hk_db *db, struct hk_error *e)
{
	for (unsigned n = 1;; n++) {
		int rc = db->begin(db, e), stop;
		struct hk_error why;

		if (rc == HK_OK)
			return HK_OK;
		db->rollback(db);
		stop = lib_wait(client, lib_backoff_ms(client, n, e), &why);
		if (stop < 0)
			return stop;
	}
}

static int
settle(struct hk_consumer *c, const struct hk_event *ev, int result,
    enum hk_verdict verdict, struct hk_error *e)
{
	struct hk_consumer_counts *n = lib_consumer_counts(c);
	struct hk_error said;

	if (result == HK_OK) {
		n->applied += verdict == HK_APPLY;
		n->seen += verdict == HK_SEEN;
		n->stale += verdict == HK_STALE;
		return hk_consumer_ack(c, ev, e);
	}
	if (result == HK_DEAD) {
		said = *e;
		n->dead++;
		return hk_consumer_dead(c, ev, said.text, e);
	}
	n->failed++;
	return hk_consumer_nack(c, ev, -1, e);
}

static int
consume_one(struct hk_consumer *c, struct hk_db *db, hk_handler handler,
    void *ctx, const struct hk_event *ev, struct hk_error *e)
{
	struct hk_client *client = lib_consumer_client(c);
	enum hk_verdict verdict = HK_SEEN;
	int rc = HK_DB;

	for (unsigned n = 1; rc == HK_DB && n <= TRIES_MAX; n++) {
		rc = begin(client, db, e);
		if (rc < 0)
			return rc;
		rc = apply_begun(db, ev, handler, ctx, &verdict, e);
		if (rc == HK_DB && n < TRIES_MAX) {
			struct hk_error why;
			int stop = lib_wait(
			    client, lib_backoff_ms(client, n, e), &why);

			if (stop < 0)
				return stop;
		}
	}
	return settle(c, ev, rc, verdict, e);
}

/* Has the time come to go? A page that is here is finished first. */
static bool
over(const struct hk_consumer *c, int64_t for_ms, int64_t end_ms, bool asked)
{
	if (lib_consumer_ready(c))
		return false;
	if (for_ms == 0)
		return asked;
	return for_ms > 0 && clock_mono_ms() >= end_ms;
}

int
hk_consume(struct hk_consumer *c, struct hk_db *db, hk_handler handler,
    void *ctx, int64_t for_ms, struct hk_error *e)
{
	struct hk_client *client = lib_consumer_client(c);
	int64_t end_ms = clock_mono_ms() + for_ms;
	bool asked = false;
	int rc = HK_OK;
	LIB_ERROR(e);

	while (rc == HK_OK && !over(c, for_ms, end_ms, asked)) {
		const struct hk_event *ev;
		bool ready = lib_consumer_ready(c);

		rc = lib_wait(client, 0, e); /* only to ask stop() */
		if (rc < 0)
			break;
		rc = hk_consumer_next(c, &ev, e);
		asked |= !ready;
		/* No event at all: its lease ends, and at last it is dead. */
		if (rc == HK_INVALID) {
			lib_consumer_counts(c)->failed++;
			rc = HK_OK;
			continue;
		}
		if (rc == HK_OK)
			rc = consume_one(c, db, handler, ctx, ev, e);
		else if (rc == HK_EMPTY)
			rc = over(c, for_ms, end_ms, asked)
				 ? HK_OK
				 : lib_wait(client, PAUSE_MS, e);
	}
	if (rc == HK_OK)
		return hk_consumer_flush(c, e);
	return rc;
}
