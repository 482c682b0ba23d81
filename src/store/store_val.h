/*
 * store_val.h - what the wrappers of gen/sql.h are made of: statements by their
 * number, with arguments as values. Rooms call the wrappers, which name what
 * they take; this is for the wrappers themselves, for the engines, and for who
 * runs statements from a table.
 */
#pragma once

#include "store/store.h"

enum val_type {
	VAL_NULL,
	VAL_INT,
	VAL_TEXT,
	VAL_BYTES,
	VAL_INTS,
	VAL_TEXTS,
	VAL_BYTESS,
};
struct val {
	enum val_type type;
	union {
		int64_t i;
		struct str s;
		const int64_t *iv; /* VAL_INTS: PostgreSQL arrays only */
		const struct str
		    *sv; /* VAL_TEXTS, VAL_BYTESS; .p NULL is NULL */
	};
	size_t n; /* of an array */
};

/* A statement of sql/, and a migration, as each engine takes it. */
struct stmt_info {
	const char *name, *sqlite, *postgres;
	int n_args;
	const enum val_type *args;
	int n_cols;
	const enum val_type *cols;
	bool many; /* PostgreSQL takes its args as arrays */
	int times; /* over 1: the next statement takes so many at once */
};
extern const struct stmt_info STMTS[]; /* by enum stmt of gen/sql.h */

struct step_info {
	const char *name, *sqlite, *postgres;
};
extern const struct step_info STEPS[];
extern const int STEP_COUNT;

/* q is one of enum stmt of gen/sql.h. Rows changed, or < 0. */
int64_t db_exec(struct db *db, int q, const struct val *args, size_t n_args,
    struct err *e) MUST_CHECK;
int db_query(struct db *db, int q, const struct val *args, size_t n_args,
    struct rows **ret, struct err *e) MUST_CHECK;
/*
 * For each of n: SQLite runs it n times, PostgreSQL once, with arrays. `fill`
 * makes the arguments of v[i]. Rows changed by all, or < 0.
 */
int64_t db_exec_many(struct db *db, int q, const void *v, size_t n,
    void (*fill)(const void *v, size_t i, struct val *to),
    struct err *e) MUST_CHECK;
