/*
 * row.h - from a row of an outbox to an entry of the log.
 *
 * The columns become an envelope (event/envelope.h) and are checked as if they
 * had been published: same fields, same schema mode, same masks. payload and
 * producer go in byte by byte, so the receiver gets what the application wrote.
 *
 * THE SAME ROW GIVES THE SAME BYTES: nothing of the present moment is in what
 * is hashed. So a row that is read twice is the same event (append.h,
 * invariant 3). What is absent (occurred_at, correlation_id) is made up behind
 * that, in the body alone.
 *
 * What is no event becomes an entry of refused.h, with the envelope as its
 * copy. A text that is no JSON stands in it as a string, so that the copy can
 * be mended; and one that closes the envelope's brackets and goes on is found
 * by comparing what was parsed with what was put in.
 */
#pragma once

#include "event/append.h"
#include "source/outbox_driver.h"

struct mask;
struct types;

struct row_opts {
	struct arena *keep;    /* entries live here */
	struct arena *scratch; /* may be reset behind each */
	struct buf *text;      /* for envelopes, with what one may have */
	struct str source;     /* name, for refused ones */
	bool strict, exact;
	const struct types *types;
	const struct mask *mask;
	size_t body_max;
	int64_t now_us;
};

/* *ret_refused: it is an entry of a refused one. */
int row_entry(const struct row_opts *o, const struct outbox_row *row,
    struct entry *ret, bool *ret_refused, struct err *e) MUST_CHECK;
/* An entry that the log itself refused becomes its dead letter. */
int row_refuse(const struct row_opts *o, int64_t id, const char *pointer,
    const char *reason, struct entry *en, struct err *e) MUST_CHECK;
