/*
 * outbox.h - which tables of whose databases are outboxes.
 *
 * The settings outbox.* are one, and outbox.NAME.* are another each. `outbox`
 * and `outbox.NAME` is what it is called wherever one is named: as the source
 * of a dead letter, in the log, at the command line.
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

struct conf;

struct outbox_opts {
	char name[OUTBOX_NAME_MAX];
	const char *url;
	int64_t poll_ms;
	char table[OUTBOX_TABLE_MAX]; /* quoted */
	const char *bare;             /* as it was set */
	bool xid;
	int64_t batch;    /* rows of a round */
	int64_t body_max; /* bytes of a payload */
	const bool *stop; /* read with __atomic: ends every wait */
};

/*
 * All that are set, the one without a name first: their number. ERR_INVALID
 * names the setting, and what is allowed: a table is NAME or SCHEMA.NAME, each
 * of letters, digits and _, not a digit first.
 */
int outbox_all(const struct conf *c, struct outbox_opts ret[OUTBOXES_MAX],
    struct err *e) MUST_CHECK;
/* Behind "outbox."; "" of the one without a name. */
const char *outbox_label(const struct outbox_opts *o);
/* The file that a url sqlite://PATH names; NULL when it is another url. */
const char *outbox_file(const char *url);

/* The files of outbox/, as they are shipped. */
extern const char OUTBOX_SCHEMA_POSTGRES[];
extern const char OUTBOX_SCHEMA_SQLITE[];
/* One of them for that table: in its schema, and nothing named as in another. */
int outbox_schema(const char *schema, const char *table, struct buf *b,
    struct err *e) MUST_CHECK;

/* `fault`: the table can't be used as it is; else it is advice. */
struct outbox_told {
	void (*say)(void *ctx, bool fault, const char *what, const char *mend);
	void *ctx;
	int faults, advice;
};

/* < 0 when it could not be looked at. */
int outbox_check(const struct outbox_opts *o, struct outbox_told *t,
    struct err *e) MUST_CHECK;
