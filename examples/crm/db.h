/*
 * db.h - a SQLite database of the company, and scripts over it.
 *
 * What the services do stands in sql/, one file each. What comes first in a
 * file is its schema; then come scripts, each under a line that says what it is
 * for:
 *
 *   -- name: size                         called by its name
 *   -- on: RecordCreated of Quote         run for such an event (service.h)
 *   -- check: Search documents            a comparison (service.h)
 *
 * A script is one or more statements. Each gets the arguments that it names,
 * :object, :payload …, of those that are given.
 *
 * SQL has one function more here: uuid().
 *
 * LIFE. A database belongs to one thread.
 */
#pragma once

#include <hikyaku.h>
#include <sqlite3.h>
#include <stdbool.h>

/* The files of sql/, as they are. */
extern const char CRM_COMMON[], CRM_CORE[], CRM_SHARING[], CRM_SEARCH[],
    CRM_REPORTING[], CRM_AUTOMATION[], CRM_APPROVAL[], CRM_STORY[], CRM_CHECK[];

struct script {
	const char *head; /* behind the colon */
	size_t head_n;
	const char *text;
	size_t n;
};

/* The next script of that kind, "on" or "name", from *at on; moves *at. */
bool script_next(const char **at, const char *kind, struct script *ret);
/* Whether the word stands in the script's head, between blanks. */
bool script_is_for(const struct script *s, const char *word);

struct arg {
	const char *name; /* ":object"; NULL ends */
	const char *text; /* NULL: the number, or null */
	int64_t number;
	bool is_number;
};
#define ARG_TEXT(n, v)                                                         \
	{                                                                      \
		.name = ":" n, .text = (v)                                     \
	}
#define ARG_NUMBER(n, v)                                                       \
	{                                                                      \
		.name = ":" n, .number = (v), .is_number = true                \
	}
#define ARGS(...) ((const struct arg[]){__VA_ARGS__, {.name = NULL}})
#define NO_ARGS   ((const struct arg[]){{.name = NULL}})

/* Opens or makes the file. The schema of `sql` is made when it is given. */
int db_open(const char *path, sqlite3 **ret, struct hk_error *e);
int db_make(sqlite3 *db, const char *sql, struct hk_error *e);

/* Of each row, its statement; the columns are read by sqlite3_column_…(). */
typedef void (*db_row)(void *ctx, sqlite3_stmt *row);

/*
 * All statements of a script. HK_REFUSED when a trigger says no, with its
 * words; HK_DB for all else. What a script began by BEGIN is rolled back.
 */
int db_run(sqlite3 *db, const struct script *s, const struct arg *args,
    db_row row, void *ctx, struct hk_error *e);
/* The script of that name in `sql`. */
int db_call(sqlite3 *db, const char *sql, const char *name,
    const struct arg *args, struct hk_error *e);
/* The same, and the first column of its last row: free() it; NULL: no row. */
int db_text(sqlite3 *db, const char *sql, const char *name,
    const struct arg *args, char **ret, struct hk_error *e);
int db_number(sqlite3 *db, const char *sql, const char *name,
    const struct arg *args, int64_t *ret, struct hk_error *e);
int db_each(sqlite3 *db, const char *sql, const char *name,
    const struct arg *args, db_row row, void *ctx, struct hk_error *e);
