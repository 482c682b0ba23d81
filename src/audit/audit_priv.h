/*
 * audit_priv.h - the chain, as audit.c writes and audit_walk.c reads it.
 */
#ifndef AUDIT_AUDIT_PRIV_H
#define AUDIT_AUDIT_PRIV_H

#include "audit/audit.h"

struct audit_head {
	int64_t n, cut_n;
	unsigned char hash[DIGEST_LEN], cut_hash[DIGEST_LEN];
};

/* lock: inside a write transaction, for whose end others wait. */
int audit_head_get(
    struct db *db, bool lock, struct audit_head *ret, struct err *e) MUST_CHECK;

/* `hash` is the row's before, and becomes this one's. */
void audit_chain(unsigned char hash[DIGEST_LEN], int64_t n, int64_t at,
    struct str category, struct str row);

#endif
