#include "store/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"

#define OTHERS       (S_IRWXG | S_IRWXO)
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

/* What we keep there ourselves; all else is somebody's own. */
static bool
is_ours(struct str name)
{
	return str_starts(name, STR("hikyaku.db")) ||
	       str_eq(name, STR("lock")) || str_eq(name, STR("node.id"));
}

static void
tighten(int dir, const char *name)
{
	struct log_line l;
	struct stat st;
	char mode[8];

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || (st.st_mode & OTHERS) == 0 ||
	    fchmodat(dir, name, st.st_mode & 07777 & ~(mode_t)OTHERS, 0) < 0)
		return;
	(void)snprintf(
	    mode, sizeof(mode), "%03o", (unsigned)(st.st_mode & 0777));
	log_begin(&l, LOG_WARN, "others could use a data file: no more");
	log_str(&l, "file", str_of(name));
	log_str(&l, "mode", str_of(mode));
	log_end(&l);
}

static int
folder_look(int fd, const char *dir, struct err *e)
{
	const struct dirent *d;
	struct stat st;
	DIR *list;

	if (fstat(fd, &st) < 0)
		return err_set(e, ERR_IO, "data folder %s: %m", dir);
	if (st.st_mode & OTHERS_WRITE)
		return err_set(e, ERR_DENIED,
		    "others may write to the data folder %s (mode %03o): chmod 700 it, or name a folder within it, which is made so",
		    dir, (unsigned)(st.st_mode & 0777));
	if (st.st_mode & OTHERS)
		log_fmt(LOG_WARN, "others may look into the data folder",
		    "%s has mode %03o: chmod 700 it", dir,
		    (unsigned)(st.st_mode & 0777));
	list = fdopendir(dup(fd));
	while (list && (d = readdir(list)))
		if (is_ours(str_of(d->d_name)))
			tighten(fd, d->d_name);
	if (list)
		(void)closedir(list);
	return OK;
}

/* Makes the folder (mode 0700) when it is missing, but not its parents. */
static int
folder_open(const char *dir, struct err *e)
{
	int fd, rc;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_set(e, ERR_IO, "data folder %s: %m", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, ERR_IO, "data folder %s: %m", dir);
	rc = folder_look(fd, dir, e);
	(void)close(fd);
	return rc;
}

int
store_lock(const char *dir, int *ret_fd, struct err *e)
{
	char path[PATH_MAX];
	int fd, n;

	TRY(folder_open(dir, e));
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
