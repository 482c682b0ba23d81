/*
 * config.h - a configuration of a key: a URL that is told of its tasks.
 *
 * It is made by hand, once for each URL, and says which events, how long, how
 * often and with which headers. It stands in two rows of the same uid: the
 * subscription (target.h) has what sending needs, task_config the rest.
 * config_read() reads a request's JSON into a struct config and into the JSON
 * of the subscription.
 */
#pragma once

#include "contract/member.h"

struct db;
struct sub_conf;

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
	bool own_secret;   /* read: one was given, it is not the key's */
};

extern const struct member CONFIG_BODY[]; /* what may be said of one */

/*
 * POST (old NULL) or PATCH; *ret_sub is JSON for sub_read(), with `secret` when
 * the request has one or, in a POST without, the key's own.
 */
int config_read(struct arena *a, struct str body, const struct config *old,
    struct str key_secret, struct config *ret, struct str *ret_sub,
    struct err *e) MUST_CHECK;
/* ERR_ABSENT: the key has no such one. */
int config_get(struct db *db, int64_t owner, struct uuid uid, struct arena *a,
    struct config *ret, struct err *e) MUST_CHECK;
/* Up to TASK_CONFIGS_MAX, in the order they were made. */
int config_list(struct db *db, int64_t owner, struct arena *a,
    struct config **ret, size_t *ret_n, struct err *e) MUST_CHECK;
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
