/*
 * hook_store.h - sources of incoming hooks, in the store and in memory.
 *
 * IN MEMORY. The thread that takes hooks keeps all of them (HOOKS_MAX), with
 * their secrets open and their templates known to its jq: so a stranger who
 * asks for names that don't exist costs no look into the store, and learns
 * nothing from the time it takes. A change is seen at once on the node it was
 * made on (hooks_changed()), on others within HOOK_FRESH_MS.
 *
 * LIFE. A struct hooks is one thread's; hooks_changed() may be called by any.
 */
#pragma once

#include "source/hook.h"

struct conf;
struct db;
struct keyring;

/* ERR_ABSENT; one whose secrets can't be opened is `closed`. */
int hook_find(struct db *db, struct keyring *k, const struct hook_rules *rules,
    struct str name, struct hook **ret, struct err *e) MUST_CHECK;
/* What is called with each after this name, by name; it returns < 0 to end,
 * and owns the source. */
struct hook_each {
	struct str after;
	size_t most;
	int (*fn)(void *ctx, struct hook *h, struct err *e);
	void *ctx;
};
int hook_walk(struct db *db, struct keyring *k, const struct hook_rules *rules,
    const struct hook_each *each, struct err *e) MUST_CHECK;

/*
 * Inside a write transaction. `was` is the version it had, 0: it is new.
 * ERR_CONFLICT when somebody was faster, ERR_LIMIT past HOOKS_MAX.
 */
int hook_put(struct db *db, struct keyring *k, struct arena *a, struct hook *h,
    int64_t was, struct err *e) MUST_CHECK;
int hook_remove(struct db *db, struct str name, struct err *e) MUST_CHECK;

struct hooks;

struct hooks *hooks_new(const struct conf *conf, struct keyring *k);
void hooks_free(struct hooks *hs); /* NULL is fine */
struct jq *hooks_jq(struct hooks *hs);
/* Looks for changes when it is time. */
int hooks_refresh(struct hooks *hs, struct db *db, struct err *e) MUST_CHECK;
const struct hook *hooks_find(const struct hooks *hs, struct str name);

/* After the commit of a change. */
void hooks_changed(void);
