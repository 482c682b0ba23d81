/*
 * outbox.h - which table of whose database is an outbox.
 *
 * The name of the table comes from a setting and goes into statements, so it
 * is checked strictly and quoted, once, here.
 */
#ifndef SOURCE_OUTBOX_H
#define SOURCE_OUTBOX_H

#include "base/base.h"
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

#endif
