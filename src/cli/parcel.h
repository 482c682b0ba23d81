/*
 * parcel.h - a backup as files: a folder with a manifest, or the same as a tar.
 *
 * manifest.json names each other file with its size and SHA-256, beside what
 * the backup is of. No other file belongs to it: a parcel that is unpacked
 * holds what the manifest says, byte for byte, or is refused.
 *
 *   hikyaku.db     the database (SQLite)      hikyaku.dump  … of PostgreSQL
 *   seal.key       only when it was asked for
 *
 * A parcel is made in a folder beside its place, synced, and then gets its
 * name: under that name there is a whole one or none.
 */
#pragma once

#include "base/base.h"

struct json;

#define PARCEL_MANIFEST "manifest.json"
#define PARCEL_DB       "hikyaku.db"
#define PARCEL_DUMP     "hikyaku.dump"
#define PARCEL_KEY      "seal.key"

/* `dir`/`name`, in the arena, NUL-terminated. */
const char *parcel_path(struct arena *a, const char *dir, const char *name);
/* An empty folder for nobody else. ERR_CONFLICT when it is there. */
int parcel_folder(const char *dir, struct err *e) MUST_CHECK;
/* Its files, and it. Nothing else is touched. */
void parcel_drop(struct arena *a, const char *dir);
/* Copies a file; mode 0600, synced, must not be there. */
int parcel_copy(const char *from, const char *to, struct err *e) MUST_CHECK;
/* The same by giving it another name, where that is possible. */
int parcel_move(const char *from, const char *to, struct err *e) MUST_CHECK;

/*
 * Writes the manifest: `about` is JSON members with commas between. Sums and
 * syncs the files that are there. The manifest's text in *ret.
 */
int parcel_seal(struct arena *a, const char *dir, struct str about,
    struct str *ret, struct err *e) MUST_CHECK;
/* The folder gets its place, which must be free. */
int parcel_place(const char *dir, const char *to, struct err *e) MUST_CHECK;
/* Reads the manifest and holds the files to it: ERR_INVALID says which. */
int parcel_check(struct arena *a, const char *dir, struct json **ret,
    struct err *e) MUST_CHECK;
/* The whole folder `from`, checked, into the folder `to`. */
int parcel_unpack(struct arena *a, const char *from, const char *to,
    struct json **ret, struct err *e) MUST_CHECK;

/* The folder as a tar to `fd`; a tar from `fd` into the folder. */
int parcel_write(
    struct arena *a, const char *dir, int fd, struct err *e) MUST_CHECK;
int parcel_read(
    struct arena *a, int fd, const char *dir, struct err *e) MUST_CHECK;
