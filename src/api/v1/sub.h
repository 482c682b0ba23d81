/*
 * sub.h - subscriptions and presets over HTTP.
 *
 * The routes stand in api/routes.tbl. A PATCH is RFC 7396, and may name the
 * `version` that it changes.
 *
 * A CHANGE goes three ways: it is read and checked on the check thread (a jq
 * program takes up to 45 ms to compile, and the row is read there; a change that
 * has no program is checked on a read thread), posted by the http thread to the
 * commit thread, which seals its secrets inside the transaction, and answered by
 * the http thread.
 *
 *   http ──check──▶ check ──wake──▶ http ──control_post──▶ commit ──wake──▶ http
 *                                    │▲
 *                                  caller: what the names of new URLs lead to
 *
 * WHO SEES WHAT. A key that is limited to tenants sees and makes only
 * subscriptions whose tenants are within its own; presets, which are for all,
 * it only sees.
 * What another part of the program manages is read here and changed there.
 */
#pragma once

#include "api/handlers.h"
#include "contract/sub.h"
#include "deliver/engine/control.h"
#include "deliver/engine/deliver.h"
#include "deliver/engine/wish.h"
#include "http/client/caller.h"

struct api;
struct jq;
struct presets;
struct rows;
struct sub_conf;
struct sub_managed;

/* The check thread's; enter() takes the struct api. */
void *api_checker_enter(void *api);
void api_checker_leave(void *checker);
/* As api_read(), on the check thread; there its jq may be used. */
int api_check(struct req *r, handler_fn fn, struct err *e) MUST_CHECK;
struct jq *api_jq(const struct req *r);

/* A subscription as its row has it. */
struct sub_seen {
	int64_t id, version;
	struct uuid uid;
	struct sub_conf *conf; /* whose holds it: sub_seen_done() */
	bool enabled, managed;
	enum wish_kind kind; /* as it is stored, until the change is made */
	bool closed;         /* its secrets can't be read: the key is gone */
	struct str why;
	struct str held; /* why it is; .p NULL: it is not */
	int64_t created_us, changed_us;
	bool behind; /* a reader stands at pos */
	int64_t pos, open_until, not_before;
};
/* The one that the path names; ERR_ABSENT also when it may not be seen. */
int sub_seen_get(struct req *r, struct db *db, const struct presets *presets,
    struct sub_seen *ret, struct err *e) MUST_CHECK;
/* A pull consumer, by its name. 1, 0 when there is none, < 0; also those that
 * the caller may not see. */
int sub_seen_consumer(struct req *r, struct db *db,
    const struct presets *presets, struct str name, struct sub_seen *ret,
    struct err *e) MUST_CHECK;
/* Of a statement with the rows of sub_seen: 1 and one for sub_seen_done(), 0,
 * < 0. */
int sub_seen_next(struct req *r, struct db *db, const struct presets *presets,
    struct rows *rows, struct sub_seen *ret, struct err *e) MUST_CHECK;
bool sub_seen_may(const struct req *r, const struct sub_seen *s);
void sub_seen_done(struct sub_seen *s);
void sub_seen_show(
    const struct api *api, const struct sub_seen *s, bool once, struct buf *b);

/* URLs that a change brings: what their names lead to is asked before it is
 * written. */
#define SUB_NAMES_MAX 3
struct sub_names {
	struct call call;
	struct client_look looks[SUB_NAMES_MAX];
	const char *at[SUB_NAMES_MAX]; /* the members that have them */
	size_t n, left;                /* … to be told of */
	struct err err;
};

/* One request's change, in its arena; freed with the request. */
struct sub_op {
	struct req *r;
	struct presets *presets;
	struct sub_seen seen; /* as it is; then as it will be */
	struct sub_change change;
	struct ask_test ask; /* for what is no test its head */
	struct sub_names names;
	unsigned try_slot; /* + 1: counted in api.tries; 0: not */
	bool skip;         /* enable: from now */
	bool same;         /* it is as it should be: nothing to write */
	bool once;         /* the answer shows the secret */
	bool switches;     /* on or off alone: also one that a task has */
	int status;        /* of the answer: */
	/* not of 204; NULL: sub_seen_show() */
	void (*show)(const struct sub_op *op, struct buf *b);
	void *more; /* of whoever began it */
};
/* Begins one, on the check thread; one that needs no jq on a read thread. */
int sub_op_new(struct req *r, struct db *db, struct sub_op **ret,
    struct err *e) MUST_CHECK;
/* On the check thread: a subscription as it was written, within the tenants of
 * the caller. */
int sub_op_read(struct sub_op *op, struct str json, const struct sub_conf *old,
    const struct sub_managed *managed, struct sub_conf **ret,
    struct err *e) MUST_CHECK;
/* Notes the names of those of its URLs that `old` (or NULL) does not have;
 * at_url is the member that has its own. */
void sub_op_names(struct sub_op *op, const struct sub_conf *s,
    const struct sub_conf *old, const char *at_url);
/* On the http thread: `next`, unless a name is known to lead where nobody may
 * go (ERR_INVALID). The calling thread does not wait. */
int sub_op_look(struct sub_op *op, int (*next)(struct req *r, struct err *e),
    struct err *e) MUST_CHECK;
/* Fills `seen` and refuses what is not to be changed here. */
int sub_op_find(struct sub_op *op, struct db *db, struct err *e) MUST_CHECK;
/* The change, its row and its audit, from `seen`. */
void sub_op_fill(
    struct sub_op *op, enum sub_change_kind kind, enum audit_category category);
/* The row alone, into change.audit, at change.now_us. */
void sub_op_audit(struct sub_op *op, enum audit_category category);
/* What is asked of the engine, as soon as it has read what the log has now. */
void sub_op_behind(struct sub_op *op, enum deliver_ask_kind kind);
void sub_try_done(struct sub_op *op);
/* A sub_change's fill(): its secrets are sealed into its conf. */
int sub_op_seal(struct db *db, struct sub_change *c, struct err *e) MUST_CHECK;
/* The change goes to the commit thread; the rest as with api_write(). */
int sub_op_post(struct sub_op *op, struct err *e) MUST_CHECK;
/* After the check: it is posted, and answered with the subscription. */
int sub_op_commit(struct req *r, struct err *e);
/* The same, once its names are looked up. */
int sub_op_save(struct req *r, struct err *e);
