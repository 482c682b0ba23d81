/*
 * entry.h - one entry for the log: what is to be appended, and what became of
 * it.
 *
 * Whoever appends fills it (entry_fill() from an event) and keeps what it
 * borrows until the job is done; the commit thread answers in `state` and
 * `seq`.
 */
#pragma once

#include "base/base.h"

enum entry_state { ENTRY_NEW, ENTRY_SAME, ENTRY_DIFFERS };
/* An event, or the place where a subscription was made, changed or ended. */
enum entry_kind { ENTRY_EVENT, ENTRY_CONFIG };

#define ENTRY_HASH_LEN 16

struct entry {
	struct uuid tenant, event_id, correlation;
	unsigned char hash[ENTRY_HASH_LEN]; /* of the bytes received; … */
	bool unhashed; /* … not made yet: body is what was received */
	struct str type, key;
	struct str tenant_name; /* empty: the tenant is its UUID */
	struct str body;        /* plain */
	int64_t to_sub; /* for this subscription alone; 0: for whoever wants */
	struct str attrs; /* JSON, what dispatch is to know; .p NULL: nothing */
	enum entry_kind kind;
	bool has_rv;
	int64_t rv_us;
	/* answers */
	enum entry_state state;
	int64_t seq;
	/* the commit thread's own */
	int64_t h;
	struct entry *first; /* the same id, earlier in this batch */
	struct str stored;   /* body as it is written: itself, or sealed */
};

struct event;
/* From an event and the bytes it came as; it borrows what the event does. */
void entry_fill(struct entry *ret, const struct event *ev, struct str received);
/* Makes the hash if it is not there: only repeats and some stores ask for it. */
void entry_hash(struct entry *en);
/* What an event id is looked for by: 64 bits of its SHA-256. */
int64_t entry_id_hash(const struct uuid *event_id);
/*
 * So that a correlation id is found in the program's log: a line for each event
 * of n entries, or for a run of them that have it, the type and the outcome in
 * common.
 */
void entry_tell(const struct entry *v, size_t n);
