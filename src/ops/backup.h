/*
 * backup.h - a copy of a store that is in use.
 *
 * A server copies its database into <data>/backup.tmp/, whence the command
 * `hikyaku backup` takes it: it checks the copy, writes what it is into a
 * manifest, and moves it to where it shall be kept. The steps run on the commit
 * thread between its batches (db_copy_begin in store/store.h says why), each
 * posted behind the one before, so that events go in between.
 *
 * LIFE. A backup belongs to a server and ends before the append does; the
 * file that it has left is removed by the next one. The functions of a db run
 * wherever that is.
 */
#pragma once

#include "base/base.h"

struct append;
struct backup;
struct db;

#define BACKUP_FOLDER "backup.tmp" /* in the data folder */

struct backup *backup_new(struct append *append, const char *data);
/* From any thread. ERR_BUSY while one is made. */
int backup_start(struct backup *x, struct err *e) MUST_CHECK;
/* "state":"none|running|ready|failed","pages","left", and when it failed "error": members of an
 * object that is open. */
void backup_show(struct backup *x, struct buf *b);
void backup_end(struct backup *x);  /* posts no more steps; NULL is fine */
void backup_free(struct backup *x); /* after the append has stopped */

/* Makes the folder for a copy, empty and for nobody else, and says the path of
 * the database in it. ERR_FULL when there is no room for one. */
int backup_folder(const char *data, char *ret_path, size_t path_max,
    struct err *e) MUST_CHECK;

/* One was made and is kept: `note` is its JSON. Inside a transaction. */
int backup_kept(
    struct db *db, struct str note, struct str by, struct err *e) MUST_CHECK;
/* The note of the last one; .p NULL: there was none. */
int backup_last(
    struct db *db, struct arena *a, struct str *ret, struct err *e) MUST_CHECK;
