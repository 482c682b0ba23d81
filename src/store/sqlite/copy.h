/*
 * copy.h - a passive checkpoint that stands in nobody's way.
 *
 * A copy from the WAL is thousands of short writes, by which a core is taken
 * for as long as the scheduler lets a thread go on, some milliseconds, while
 * publishers wait for a commit: whoever has something to do goes first after
 * each page. Not so when much is left to copy, for in the end the writer waits.
 *
 * SQLite syncs the database when it has copied the last frame, which under load
 * is in a restart, while the writer stands: little is left to do then when what
 * was copied before is on the disk already.
 */
#ifndef STORE_SQLITE_COPY_H
#define STORE_SQLITE_COPY_H

#include <sqlite3.h>

struct db;

/* Frames in the WAL, and copied of them; both -1 when another copies. `db` is
 * h's. A result code of SQLite. */
int copy_wal(sqlite3 *h, const struct db *db, int *ret_frames, int *ret_copied);

#endif
