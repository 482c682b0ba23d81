/*
 * control.h - making, changing and ending subscriptions and presets, with
 * their place in the log.
 *
 * Each change is one transaction: the row, an entry of the log by which
 * dispatch learns of it in order, perhaps an event that tells others, and the
 * audit's row.
 *
 * LIFE. A change belongs to the commit thread from control_post() until its
 * job.done(); what it borrows must live as long.
 */
#pragma once

#include "audit/audit.h"
#include "event/append.h"

struct db;
struct wish;

enum sub_change_kind {
	SUB_MAKE,   /* id comes back */
	SUB_CHANGE, /* all of it, when it still has `version` */
	SUB_SWITCH, /* enabled and why alone; enabled, it is not held either */
	SUB_HOLD,   /* it is held, if it still has `version` */
	SUB_FINISH, /* it is gone */
};

struct sub_change {
	struct append_job job; /* done() is the caller's; err the answer */
	struct entry entries[2];
	bool has_event; /* entries[1] is one: control_event() */
	enum sub_change_kind kind;
	int64_t id, version;
	struct uuid uid;
	struct str name, url, preset;
	struct str conf; /* stored form; made by fill() when secrets are new */
	struct str tenants; /* JSON array; .p NULL: all */
	bool enabled;
	struct str why;        /* it is disabled; empty: nobody said */
	struct str held;       /* CHANGE, HOLD: why it is; .p NULL: it is not */
	struct str managed_by; /* .p NULL: nobody */
	int64_t owner;         /* an API key; 0: none */
	bool reads;            /* MAKE: it begins with a reader, at from_seq */
	int64_t from_seq;      /* … or from now on, which is what -1 says */
	int64_t now_us;
	int was_kind; /* CHANGE: enum wish_kind before it; -1: the same */
	struct audit_row audit; /* at_us 0: none */
	/* First of all, inside the transaction: secrets are sealed there. */
	int (*fill)(struct db *db, struct sub_change *c, struct err *e);
	void *arg;
};

/* ERR_AWAY when too much waits. Its own errors: ERR_CONFLICT, ERR_ABSENT. */
int control_post(
    struct append *append, struct sub_change *c, struct err *e) MUST_CHECK;

/* A preset is stored, or with conf.p NULL removed. As above. */
struct preset_change {
	struct append_job job;
	struct entry entry;
	struct str name, conf;
	int64_t now_us;
	struct audit_row audit;
};

/* ERR_CONFLICT while a subscription uses what is to be removed; ERR_ABSENT. */
int control_preset(
    struct append *append, struct preset_change *c, struct err *e) MUST_CHECK;

/* A place in the log for a change that dispatch hears of; its `to_sub` is the
 * caller's to set. */
void control_entry(struct entry *en, const char *type);
/* An event of our own, as an entry; the payload is JSON text. */
int control_event(struct arena *a, const char *type, struct str key,
    struct str payload, int64_t now_us, struct entry *ret,
    struct err *e) MUST_CHECK;
/* The same about a subscription, on its own; a failure is logged alone. */
void control_tell(struct append *append, const char *type, struct str payload,
    int64_t now_us);
/* A receiver said that it is gone for good: its subscription is disabled. A
 * failure is logged, and the next answer of the receiver tries again. */
void control_gone(
    struct append *append, const struct wish *w, bool tell, int64_t now);
