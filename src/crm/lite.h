/*
 * lite.h - a small SQLite database of one of the demo's services.
 *
 * Core and its six consumers each have a file of their own, as services do:
 * nothing of it is in the store, whose one schema both engines have. The
 * schema and the statements of a file stand in sql/crm/, and tools/sqlgen.py
 * makes a typed wrapper crm_<name>() for each, as for the store (gen/crm_sql.h).
 *
 * LIFE. A lite belongs to one thread. Several may be open on one file: a
 * transaction takes the write lock at its begin and waits for others.
 * Rows are closed before the next call of the same statement and before commit.
 */
#ifndef CRM_LITE_H
#define CRM_LITE_H

#include "base/base.h"
#include "store/store_val.h"

struct lite;
struct lite_rows;

struct lite_stmt {
	const char *name;
	int schema; /* of enum crm_schema */
	const char *sql;
	int n_args, n_cols;
};

/* Makes the file, and of each schema what is missing. */
int lite_open(const char *path, const int *schemas, size_t n, struct lite **ret,
    struct err *e) MUST_CHECK;
void lite_close(struct lite *d); /* NULL is fine */
/* The database at `path` is there by this name too, for reading. */
int lite_attach(struct lite *d, const char *path, struct str name,
    struct err *e) MUST_CHECK;

int lite_begin(struct lite *d, struct err *e) MUST_CHECK;
int lite_commit(struct lite *d, struct err *e) MUST_CHECK;
void lite_rollback(struct lite *d); /* nothing, when none is open */

/* What the generated wrappers call. q is one of enum crm_stmt. */
int64_t lite_exec(struct lite *d, int q, const struct val *args, size_t n_args,
    struct err *e) MUST_CHECK;
int lite_query(struct lite *d, int q, const struct val *args, size_t n_args,
    struct lite_rows **ret, struct err *e) MUST_CHECK;
int lite_next(struct lite_rows *r, struct err *e) MUST_CHECK; /* 1, 0, < 0 */
int64_t lite_int(const struct lite_rows *r, int col);
struct str lite_str(const struct lite_rows *r, int col); /* .p NULL: null */
bool lite_null(const struct lite_rows *r, int col);
void lite_done(struct lite_rows *r); /* NULL is fine */

/* Prepares q and compares its shape with what the table says. */
int lite_check(struct lite *d, int q, struct err *e) MUST_CHECK;

#endif
