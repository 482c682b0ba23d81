/*
 * target.h - who is told of a task: its callback URL, or the configurations of
 * its key.
 *
 * Both are subscriptions with preset `task`, `managedBy` "task" and the key as
 * owner; they get what an event names them for (deliver/engine/letter.h) and nothing
 * else. That of a callback URL is made when a key first uses the URL and signs
 * with the key's own secret; configurations are those of config.h, which sign
 * with the key's secret unless they were given one.
 *
 * THE END OF A CALLBACK. Its tasks are done for a while (task.callback.keep),
 * nothing is under way and no dead letter waits: then its subscription ends, so
 * that URLs which are used once don't pile up. What was delivered stays to be
 * read, and a task that names the URL again makes another. One that somebody
 * switched off stays, and stays off.
 *
 * INVARIANTS
 *   1. A task that is not done and names a URL has a callback.
 *   2. A subscription that signs with its key's secret has the newest one:
 *      replacing it and target_resecret() are one transaction.
 */
#pragma once

#include "task/task.h"

struct append;
struct entry;
struct keyring;
struct presets;

/* The subscription of (key, URL); 0: none yet. */
int target_callback_find(struct db *db, int64_t owner, struct str url,
    int64_t *ret, struct err *e) MUST_CHECK;
/* ERR_CONFLICT: somebody else was faster. */
int target_callback_add(struct db *db, int64_t owner, struct str url,
    struct uuid uid, struct err *e) MUST_CHECK;
/* JSON of such a subscription, for sub_read(). */
struct str target_callback_json(
    struct arena *a, struct str url, struct str secret);

/* Who is told of the status that the task has: up to TASK_CONFIGS_MAX. */
int targets_find(struct db *db, const struct task *t, int64_t *ret,
    size_t *ret_n, struct err *e) MUST_CHECK;

/* Ends callbacks whose tasks were done before the cut, on the commit thread:
 * returns how many it asked for, up to TASK_IDLE_STEP. On any thread, with its
 * connection. */
int target_end_idle(struct append *append, struct db *db, int64_t cut_us,
    struct err *e) MUST_CHECK;

/* The key's secret was replaced: so is it in all that sign with it. */
struct target_secret {
	struct keyring *ring;
	const struct presets *presets;
	int64_t owner, now_us;
	struct str was, is;
};
/* In the transaction that replaces it, which has target_entry() for the log. */
int target_resecret(
    struct db *db, const struct target_secret *t, struct err *e) MUST_CHECK;
void target_entry(struct entry *ret);
