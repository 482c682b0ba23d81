/*
 * lock.h - one writer to a data folder.
 *
 * A flock on <dir>/lock says that this process is the one that writes. The
 * kernel takes it back when the process ends, however it ends; the file stays
 * and means nothing by itself.
 */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "base/base.h"

/*
 * Makes the folder when it is missing, and looks at who else may use it
 * (folder.h). ERR_BUSY when another hikyaku has it. Close *ret_fd to let go.
 */
int store_lock(const char *dir, int *ret_fd, struct err *e) MUST_CHECK;

#endif
