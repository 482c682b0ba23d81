/*
 * folder.h - who else may look into the data folder.
 *
 * All that the program knows lies in it, with the key that seals secrets. The
 * program runs with umask 077, so whatever it makes is its own; this looks at
 * what somebody else made, or an earlier version:
 *
 *   others may write to the folder   refused: whoever may replace a file there
 *                                    is the program
 *   others may look into it          a warning
 *   others may read a file of ours   it is made 0600, and told
 *
 * The key file is not made 0600 in silence: seal/keyring.h refuses one that
 * others could read, since they may have.
 */
#ifndef STORE_FOLDER_H
#define STORE_FOLDER_H

#include "base/base.h"

/* Makes the folder (mode 0700) when it is missing, but not its parents. */
int folder_open(const char *dir, struct err *e) MUST_CHECK;

#endif
