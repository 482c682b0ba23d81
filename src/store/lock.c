#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/folder.h"

int
store_lock(const char *dir, int *ret_fd, struct err *e)
{
	char path[PATH_MAX];
	int fd, n, rc = folder_open(dir, e);

	if (rc < 0)
		return rc;
	n = snprintf(path, sizeof(path), "%s/lock", dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, ERR_INVALID, "data folder: path too long");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %m", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int why = errno;

		(void)close(fd);
		if (why == EWOULDBLOCK)
			return err_set(e, ERR_BUSY,
			    "another hikyaku uses the data folder %s", dir);
		errno = why;
		return err_set(e, ERR_IO, "%s: %m", path);
	}
	*ret_fd = fd;
	return OK;
}
