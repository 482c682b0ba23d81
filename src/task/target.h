/*
 * target.h - who is told of a task: its callback URL, or the configurations of
 * its key.
 *
 * Both are subscriptions with preset `task`, `managedBy` "task" and the key as
 * owner; they get what an event names them for (deliver/engine/letter.h) and nothing
 * else. That of a callback URL is made when a key first uses the URL and signs
 * with the key's own secret; a configuration is made by hand, once for each
 * URL, and says which events, how long, how often and with which headers.
 *
 * A configuration stands in two rows of the same uid: the subscription has
 * what sending needs, task_config the rest. config_read() reads a request's
 * JSON into a struct config and into the JSON of the subscription.
 */
#ifndef TASK_TARGET_H
#define TASK_TARGET_H

#include "base/base.h"
#include "base/uuid.h"
#include "task/task.h"

struct sub_conf;

/* The subscription of (key, URL); 0: none yet. */
int callback_find(struct db *db, int64_t owner, struct str url, int64_t *ret,
    struct err *e) MUST_CHECK;
/* ERR_CONFLICT: somebody else was faster. */
int callback_add(struct db *db, int64_t owner, struct str url, struct uuid uid,
    struct err *e) MUST_CHECK;
/* JSON of such a subscription, for sub_read(). */
int callback_json(struct arena *a, struct str url, struct str secret,
    struct str *ret, struct err *e) MUST_CHECK;

/* Who is told of the status that the task has: up to TASK_CONFIGS_MAX. */
int targets_find(struct db *db, const struct task *t, int64_t *ret,
    size_t *ret_n, struct err *e) MUST_CHECK;

struct config {
	int64_t sub, version; /* of its subscription */
	struct uuid uid;
	int64_t owner;
	struct str url;
	unsigned events; /* bits 1 << status */
	bool active, retry_enabled;
	int64_t timeout_ms, max_retries;
	struct str description; /* .p NULL: none */
	int64_t created_us, changed_us;
	struct str stored; /* the subscription's conf */
};

/*
 * POST (old NULL) or PATCH; *ret_sub is JSON for sub_read(), with `secret` when
 * the request has one or, in a POST without, the key's own.
 */
int config_read(struct arena *a, struct str body, const struct config *old,
    struct str key_secret, struct config *ret, struct str *ret_sub,
    struct err *e) MUST_CHECK;
/* With *uid that one alone: ERR_ABSENT. In the order they were made. */
int config_list(struct db *db, int64_t owner, const struct uuid *uid,
    int64_t after, size_t most, struct arena *a, struct config **ret,
    size_t *ret_n, struct err *e) MUST_CHECK;
/* Inside the transaction. ERR_CONFLICT: the key has that URL already. */
int config_add(struct db *db, const struct config *c, int64_t now_us,
    struct err *e) MUST_CHECK;
int config_set(struct db *db, const struct config *c, int64_t now_us,
    struct err *e) MUST_CHECK;
/* What is under way to it counts as failed. */
int config_del(struct db *db, const struct config *c, struct err *e) MUST_CHECK;
/* As the API shows it; `once`: with the secret, as a 201 has it. */
void config_show(
    const struct config *c, const struct sub_conf *s, bool once, struct buf *b);

#endif
