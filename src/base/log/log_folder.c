#include "base/log/log_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX   "hikyaku-"
#define SUFFIX   ".log"
#define DAY_LEN  10 /* 2026-11-15 */
#define NAME_LEN (sizeof(PREFIX) - 1 + DAY_LEN + sizeof(SUFFIX) - 1)

struct log_folder {
	int dir, fd;
	int64_t keep_us;
	char name[NAME_LEN + 1]; /* of the file that is written */
	char path[];
};

static void
name_of(int64_t us, char ret[NAME_LEN + 1])
{
	char now[TIME_LEN + 1];

	time_format(us, now);
	(void)snprintf(ret, NAME_LEN + 1, PREFIX "%.*s" SUFFIX, DAY_LEN, now);
}

static int
folder_failed(const struct log_folder *f, const char *what, struct err *e)
{
	return err_set(e, ERR_IO, "%s in log.folder %s: %s", what, f->path,
	    strerror(errno));
}

static bool
is_ours(const char *name)
{
	struct str s = str_of(name);

	return s.n == NAME_LEN && str_starts(s, STR(PREFIX)) &&
	       str_ends(s, STR(SUFFIX)) &&
	       time_is_day((struct str){name + sizeof(PREFIX) - 1, DAY_LEN});
}

/* Names sort as days do, so the oldest that stays is a name too. */
static int
remove_old(struct log_folder *f, int64_t now_us, struct err *e)
{
	char least[NAME_LEN + 1];
	const struct dirent *d;
	int fd = openat(f->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int rc = OK;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return folder_failed(f, "can't look for old files", e);
	}
	name_of(now_us - f->keep_us, least);
	while ((d = readdir(dir)) != NULL)
		if (is_ours(d->d_name) && strcmp(d->d_name, least) < 0 &&
		    unlinkat(f->dir, d->d_name, 0) < 0 && errno != ENOENT)
			rc = folder_failed(f, "can't remove an old file", e);
	(void)closedir(dir);
	return rc;
}

static int
open_file(struct log_folder *f, int64_t now_us, struct err *e)
{
	char name[NAME_LEN + 1];
	int fd;

	name_of(now_us, name);
	fd = openat(
	    f->dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (fd < 0)
		return folder_failed(f, "can't make a file", e);
	if (f->fd < 0) {
		f->fd = fd;
	} else {
		int rc = dup3(fd, f->fd, O_CLOEXEC);

		(void)close(fd);
		if (rc < 0)
			return folder_failed(f, "can't change files", e);
	}
	memcpy(f->name, name, sizeof(name));
	return OK;
}

int
log_folder_open(const char *path, int64_t keep_us, int64_t now_us,
    struct log_folder **ret, int *ret_fd, struct err *e)
{
	size_t n = strlen(path) + 1;
	struct log_folder *f = mem_get(sizeof(*f) + n);
	int rc;

	memcpy(f->path, path, n);
	f->keep_us = keep_us;
	f->fd = -1;
	if (mkdir(path, 0750) < 0 && errno != EEXIST)
		f->dir = -1;
	else
		f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = f->dir < 0 ? folder_failed(f, "can't write", e)
			: open_file(f, now_us, e);
	if (rc == OK)
		rc = remove_old(f, now_us, e);
	if (rc < 0) {
		log_folder_close(f);
		return rc;
	}
	*ret = f;
	*ret_fd = f->fd;
	return OK;
}

int
log_folder_turn(struct log_folder *f, int64_t now_us, struct err *e)
{
	char name[NAME_LEN + 1];

	name_of(now_us, name);
	if (strcmp(name, f->name) == 0)
		return OK;
	TRY(open_file(f, now_us, e));
	return remove_old(f, now_us, e);
}

void
log_folder_close(struct log_folder *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		(void)close(f->fd);
	if (f->dir >= 0)
		(void)close(f->dir);
	free(f);
}
