/*
 * stale.h - dropStale: the last version of each record that was handed over.
 *
 * A subscription with dropStale gets nothing older than what it got before of
 * the same record: an event that is strictly older is settled without a call
 * (CORE_DROP, reason STALE). Equal versions are never stale: one save makes
 * several events. A deletion is a version like any other, so nothing older
 * brings a record back. Without a version nothing is checked.
 *
 *   core_next_send ─▶ stale_look ─┬─ SEND ─▶ handed over ─▶ stale_handed
 *                         ▲       ├─ DROP ─▶ core_result(CORE_DROP)
 *            stale_learn ─┴─ ASK ◀┘              │ with the next flush
 *       the store's, read by the fetch thread    ▼ version, stale_written
 *
 * It does not matter how something is handed over: whoever takes a send from
 * the core looks here first.
 *
 * WHY NOTHING OLDER COMES LATER. The core has one of a record under way at a
 * time (core_sub.alone), whatever the order, so between look and success no
 * other success can come. Success notes the version here at once and in the
 * store with the attempt, in one transaction. After a crash what was not
 * written is not known: then, as ever, a record may go back by what was not
 * written, and comes forward again by itself.
 *
 * Replays and what a person asked for are not checked, yet they count: what was
 * handed over was handed over.
 *
 * HOW LONG. A version is kept as long as the log keeps its event. After that
 * nothing older is in the log either; what a row has kept of it holds the
 * version (sql tidy_versions). Only a publisher who is late by a whole
 * retention gets an old version past us.
 *
 * MEMORY. The VERSIONS_MAX used last; one that is not written yet stays.
 *
 * LIFE. The deliver thread's.
 */
#pragma once

#include "deliver/core/core.h"

struct stale;

struct stale *stale_new(void);
void stale_free(struct stale *t); /* NULL is fine */
void stale_forget_all(struct stale *t);

enum stale_look { STALE_SEND, STALE_DROP, STALE_ASK };
/* rec and rv are of its letter: letter_record(). */
enum stale_look stale_look(struct stale *t, const struct core_send *s,
    const struct core_rec *rec, int64_t rv);
/* What the store has; CORE_NO_RV: nothing. */
void stale_learn(
    struct stale *t, uint32_t sub, const struct core_rec *rec, int64_t rv);
/* With success, before r goes to the core. It stays in memory until
 * stale_written() has its attempt. */
void stale_handed(struct stale *t, uint32_t sub, const struct core_rec *rec,
    int64_t rv, struct core_result *r);
void stale_written(struct stale *t, const struct core_attempt *a);
