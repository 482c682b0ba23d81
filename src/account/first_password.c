#include "account/first_password.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"

#define NAME "first-password"

int
first_password_keep(const char *dir, const char *password, struct arena *a,
    struct str *ret_path, struct err *e)
{
	struct str path = arena_fmt(a, "%s/" NAME, dir);
	struct str line = arena_fmt(a, "%s\n", password);
	int fd;
	bool ok;

	(void)unlink(path.p); /* of a store that is no more */
	fd = open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ok = fd >= 0 && write(fd, line.p, line.n) == (ssize_t)line.n &&
	     fsync(fd) == 0;
	if (!ok)
		(void)err_set(e, ERR_IO,
		    "%s: %m; hikyaku user passwd admin sets another password",
		    path.p);
	if (fd >= 0)
		(void)close(fd);
	*ret_path = path;
	return ok ? OK : ERR_IO;
}

void
first_password_forget(const char *dir, struct str name)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/" NAME, dir);

	if (str_eq(name, STR("admin")) && n > 0 && (size_t)n < sizeof(path))
		(void)unlink(path);
}
