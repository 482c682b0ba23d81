/* version.h - which program this is; the man page and metrics say the same. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define VERSION "0.1.0"

#endif
