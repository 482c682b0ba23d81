/*
 * outbox_check.h - is a table fit to be an outbox, and what does it lack?
 *
 * What is missing would else show as an error of the relay at best, and at
 * worst as events out of order: a sequence that hands out ids in blocks to
 * each session, say. Each finding is told in two lines: what is wrong, and the
 * statement that mends it.
 */
#ifndef SOURCE_OUTBOX_CHECK_H
#define SOURCE_OUTBOX_CHECK_H

#include "base/base.h"

/* The files of outbox/, as they are shipped. */
extern const char OUTBOX_SCHEMA_POSTGRES[];
extern const char OUTBOX_SCHEMA_SQLITE[];

struct outbox_opts;

/* `fault`: the table can't be used as it is; else it is advice. */
struct outbox_told {
	void (*say)(void *ctx, bool fault, const char *what, const char *mend);
	void *ctx;
	int faults, advice;
};

/* < 0 when it could not be looked at. */
int outbox_check(const struct outbox_opts *o, struct outbox_told *t,
    struct err *e) MUST_CHECK;

#endif
