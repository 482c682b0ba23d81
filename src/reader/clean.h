/*
 * clean.h - articles go by their age (seed 002, 14.1).
 *
 * What came in more than reader.retention ago goes, with what people did with
 * it. Whatever somebody starred stays for as long as it is. What goes leaves a
 * tombstone, so that a feed that still shows it does not bring it back as new;
 * the next fetch removes those that it no longer shows (items.h).
 *
 * WHY STEPS. As event/retain.h: a step looks at CLEAN_STEP articles by their
 * age, from where the last one ended, so that neither many old ones nor many
 * starred ones hold up the writer.
 */
#pragma once

#include "base/base.h"

struct db;

struct clean {
	int64_t cut_us;  /* what came in before */
	int64_t at, id;  /* looked at so far; 0: nothing */
	int64_t removed; /* by this step */
	/* what the step will have come to, once it is committed */
	int64_t next_at, next_id;
	bool more;
};

/* Whether there is anything that old. */
int clean_any(
    struct db *db, int64_t cut_us, bool *ret, struct err *e) MUST_CHECK;
/* One step, in a transaction; may run twice. */
int clean_step(
    struct db *db, struct clean *c, int64_t now_us, struct err *e) MUST_CHECK;
/* It was committed: the next one goes on behind it. */
void clean_next(struct clean *c);
