/*
 * tenants.h - what tenants are called, for whoever has the UUID alone.
 *
 * A tenant with a name is a UUIDv5 everywhere inside (seal/tenant.h), from which
 * the name can't be told. So the first event that has the name writes it down
 * (append.c), and it stays.
 */
#pragma once

#include "base/base.h"

struct db;
struct entry;

/* The commit thread's: whose names are in the store, of those met of late. */
#define TENANTS_NOTED 4096
struct tenants_noted {
	struct uuid v[TENANTS_NOTED];
};

/* The names of these entries, each in a transaction of its own, before theirs:
 * a name too many does no harm. */
int tenants_note_all(struct tenants_noted *noted, struct db *db,
    struct entry **v, size_t n, struct err *e) MUST_CHECK;
/* Writes it down, if it is not there. */
int tenants_note(
    struct db *db, struct uuid id, struct str name, struct err *e) MUST_CHECK;
/* "member": the name of that tenant, or its UUID; id.p NULL: null. */
int tenants_put(struct db *db, struct buf *b, const char *member, struct str id,
    struct err *e) MUST_CHECK;
