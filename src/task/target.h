/*
 * target.h - who is told of a task: its callback URL, or the configurations of
 * its key.
 *
 * Both are subscriptions with preset `task`, `managedBy` "task" and the key as
 * owner; they get what an event names them for (deliver/engine/letter.h) and nothing
 * else. That of a callback URL is made when a key first uses the URL and signs
 * with the key's own secret; configurations are those of config.h.
 */
#pragma once

#include "task/task.h"

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
