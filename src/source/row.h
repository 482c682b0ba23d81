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
#ifndef SOURCE_ROW_H
#define SOURCE_ROW_H

#include "base/buf.h"
#include "event/append.h"
#include "source/outbox_driver.h"

struct arena;
struct mask;

struct row_opts {
	struct str source; /* name, for refused ones */
	bool strict;
	const struct mask *mask;
	size_t body_max;
	int64_t now_us;
};

/*
 * The entry lives in `keep`; `scratch` may be reset afterwards, `b` is for the
 * caller to reuse and free. Fails by memory alone. *ret_refused: it is one.
 */
int row_entry(struct arena *keep, struct arena *scratch, struct buf *b,
    const struct outbox_row *row, const struct row_opts *o, struct entry *ret,
    bool *ret_refused, struct err *e) MUST_CHECK;
/* A dead letter of an entry that the log itself refused. */
int row_refuse(struct arena *keep, int64_t id, const struct row_opts *o,
    const struct entry *en, const char *pointer, const char *reason,
    struct entry *ret, struct err *e) MUST_CHECK;

#endif
