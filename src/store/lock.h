/*
 * lock.h - one writer to a data folder.
 *
 * A flock on <dir>/lock says that this process is the one that writes. The
 * kernel takes it back when the process ends, however it ends; the file stays
 * and means nothing by itself.
 *
 * WHO ELSE MAY LOOK INTO IT. All that the program knows lies in the folder, with
 * the key that seals secrets. The program runs with umask 077, so whatever it
 * makes is its own; this looks at what somebody else made, or an earlier
 * version:
 *
 *   others may write to the folder   refused: whoever may replace a file there
 *                                    is the program
 *   others may look into it          a warning
 *   others may read a file of ours   it is made 0600, and told
 *
 * The key file is not made 0600 in silence: seal/keyring.h refuses one that
 * others could read, since they may have.
 */
#pragma once

#include "base/base.h"

/*
 * Makes the folder when it is missing, and looks at who else may use it.
 * ERR_BUSY when another hikyaku has it. Close *ret_fd to let go.
 */
int store_lock(const char *dir, int *ret_fd, struct err *e) MUST_CHECK;
