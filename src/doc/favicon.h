/*
 * favicon.h - what kind of picture some bytes are, by the bytes themselves.
 *
 * A server's Content-Type is not believed: what is kept is shown to browsers
 * under the type that we say.
 */
#pragma once

#include "base/base.h"

/* "image/png" and so on; NULL when it is no picture that we know. */
const char *favicon_mime(struct str bytes);
/* The same by its name; NULL when it is none that we know. */
const char *favicon_find(struct str mime);
