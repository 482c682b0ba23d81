/*
 * joined.h - a VFS of SQLite's whose writes to the WAL are joined.
 *
 * SQLite writes each page of a commit by two calls, its head of 24 bytes and
 * the page, one behind the other: a commit of a thousand events is hundreds of
 * calls, each of which touches two pages of the system's cache. Here they are
 * kept until they are too many, do not follow each other, or anybody asks.
 *
 * DURABILITY is what it was. With synchronous=FULL a commit syncs the WAL
 * before any reader may know of its frames (sqlite3WalFrames), and a sync
 * writes first what is kept; a write that fails then fails the commit. Without
 * that sync a reader could be told of frames that are not written yet: this is
 * for FULL alone. All else of a file is the system's own VFS.
 */
#ifndef STORE_SQLITE_JOINED_H
#define STORE_SQLITE_JOINED_H

/* The name to open with; NULL, which is the system's, when it can't be. Call
 * it once, after sqlite3_initialize(). */
const char *joined_vfs(void);

#endif
