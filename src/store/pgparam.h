/*
 * pgparam.h - arguments of a statement in PostgreSQL's binary form.
 *
 * Text and bytes are given as they lie; whole numbers are turned to network
 * order in place; arrays are written, all of one call into one buffer that is
 * kept for the next call. Everything is valid until pgparam_sent().
 */
#pragma once

#include <libpq-fe.h>

#include "store/limits.h"
#include "store/store.h"
#include "store/store_val.h"

struct pgparam {
	struct buf arrays;
	uint64_t ints[STORE_ARGS_MAX];
	const char *values[STORE_ARGS_MAX];
	int lengths[STORE_ARGS_MAX], formats[STORE_ARGS_MAX];
};

Oid pgparam_type(enum val_type type); /* what an argument is prepared as */
/* ERR_LIMIT when the arrays are over STORE_ARRAYS_MAX. */
int pgparam_set(struct pgparam *p, const struct val *args, size_t n_args,
    struct err *e) MUST_CHECK;
/* libpq has its copy: lets go of what is too much to keep. */
void pgparam_sent(struct pgparam *p);
void pgparam_done(struct pgparam *p);
