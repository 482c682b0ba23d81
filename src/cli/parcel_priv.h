/* parcel_priv.h - what parcel.c and parcel_tar.c share. */
#pragma once

#include "cli/parcel.h"

#define PARCEL_FORMAT 1

extern const char *const PARCEL_FILES[]; /* the manifest first; NULL ends */

int parcel_new(const char *path, struct err *e) MUST_CHECK; /* its fd */
int parcel_synced(int fd, struct err *e) MUST_CHECK;
int parcel_put(int fd, struct str s, struct err *e) MUST_CHECK;
/* So many bytes. ERR_INVALID: there are fewer. */
int parcel_pump(int from, int to, int64_t bytes, struct err *e) MUST_CHECK;
