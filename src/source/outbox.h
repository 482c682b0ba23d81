/*
 * outbox.h - which table of whose database is an outbox.
 *
 * The name of the table comes from a setting and goes into statements, so it
 * is checked strictly and quoted, once, here.
 *
 * IS A TABLE FIT to be an outbox, and what does it lack? What is missing would
 * else show as an error of the relay at best, and at worst as events out of
 * order: a sequence that hands out ids in blocks to each session, say. Each
 * finding is told in two lines: what is wrong, and the statement that mends it.
 */
#pragma once

#include "source/limits.h"

struct outbox_opts {
	const char *url;
	char table[OUTBOX_TABLE_MAX]; /* quoted: outbox_table() */
	bool xid;
	int64_t batch;    /* rows of a round */
	int64_t body_max; /* bytes of a payload */
	const bool *stop; /* read with __atomic: ends every wait */
};

/*
 * `name` or `schema.name`, each of letters, digits and _, not a digit first,
 * quoted into ret. ERR_INVALID says what is allowed.
 */
int outbox_table(
    const char *name, char ret[OUTBOX_TABLE_MAX], struct err *e) MUST_CHECK;
/* The file that a url sqlite://PATH names; NULL when it is another url. */
const char *outbox_file(const char *url);

/* The files of outbox/, as they are shipped. */
extern const char OUTBOX_SCHEMA_POSTGRES[];
extern const char OUTBOX_SCHEMA_SQLITE[];

/* `fault`: the table can't be used as it is; else it is advice. */
struct outbox_told {
	void (*say)(void *ctx, bool fault, const char *what, const char *mend);
	void *ctx;
	int faults, advice;
};

/* < 0 when it could not be looked at. */
int outbox_check(const struct outbox_opts *o, struct outbox_told *t,
    struct err *e) MUST_CHECK;
