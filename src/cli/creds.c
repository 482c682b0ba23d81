#include "cli/creds.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/limits.h"

/* The folder, and the file in it. */
static int
creds_path(
    struct arena *a, const char **ret_dir, const char **ret, struct err *e)
{
	const char *home = getenv("XDG_CONFIG_HOME"), *rest = "";

	if (!home || home[0] != '/') {
		home = getenv("HOME");
		rest = "/.config";
	}
	if (!home || home[0] != '/')
		return err_set(e, ERR_ABSENT,
		    "there is no place for keys: HOME is not set");
	*ret_dir = arena_fmt(a, "%s%s/hikyaku", home, rest).p;
	*ret = arena_fmt(a, "%s/credentials", *ret_dir).p;
	return OK;
}

static int
read_text(struct arena *a, const char *path, struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(CREDS_BYTES);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool ok;

	*ret = STR_EMPTY;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return OK;
	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	ok = fstat(fd, &st) == 0 && (st.st_mode & 077) == 0;
	if (ok && !buf_read(&b, fd))
		b.failed = true;
	(void)close(fd);
	if (!ok)
		return err_set(e, ERR_DENIED,
		    "others may read %s: chmod 600 it, and think of new keys",
		    path);
	if (b.failed)
		return err_set(e, ERR_IO, "%s can't be read", path);
	*ret = arena_dup(a, buf_str(&b));
	return OK;
}

int
creds_read(struct arena *a, struct cred **ret, size_t *ret_n, struct err *e)
{
	const char *dir, *path;
	struct str text, line;

	*ret = arena_array(a, CREDS_MAX, sizeof(**ret));
	*ret_n = 0;
	if (creds_path(a, &dir, &path, e) < 0)
		return OK;
	TRY(read_text(a, path, &text, e));
	while (*ret_n < CREDS_MAX && json_line(&text, &line)) {
		struct cred *c = &(*ret)[(*ret_n)++];

		c->url = str_cut(&line, ' ');
		c->key = str_cut(&line, ' ');
		c->id = str_cut(&line, ' ');
		c->ca = line;
	}
	return OK;
}

static void
add_line(struct buf *b, const struct cred *c)
{
	buf_fmt(b, "%.*s %.*s %.*s %.*s\n", STR_ARG(c->url), STR_ARG(c->key),
	    c->id.n ? (int)c->id.n : 1, c->id.n ? c->id.p : "-",
	    STR_ARG(c->ca));
}

static int
write_file(struct arena *a, const char *dir, const char *path, struct str text,
    struct err *e)
{
	const char *next = arena_fmt(a, "%s.%lld", path, (long long)getpid()).p;
	size_t up = (size_t)(strrchr(dir, '/') - dir);
	int fd;
	bool ok;

	(void)mkdir(arena_z(a, (struct str){dir, up}), 0700);
	(void)mkdir(dir, 0700);
	(void)unlink(next);
	fd = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %s", next, strerror(errno));
	ok = write(fd, text.p, text.n) == (ssize_t)text.n && fsync(fd) == 0;
	ok = close(fd) == 0 && ok && rename(next, path) == 0;
	if (ok)
		return OK;
	(void)unlink(next);
	return err_set(
	    e, ERR_IO, "%s can't be written: %s", path, strerror(errno));
}

int
creds_put(struct arena *a, const struct cred *c, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(CREDS_BYTES);
	const char *dir, *path;
	struct cred *all = NULL;
	size_t n = 0;

	TRY(creds_path(a, &dir, &path, e));
	TRY(creds_read(a, &all, &n, e));
	if (n == CREDS_MAX && c->key.n > 0)
		return err_set(e, ERR_LIMIT,
		    "%d servers are remembered: hikyaku logout one", CREDS_MAX);
	for (size_t i = 0; i < n; i++)
		if (!str_eq(all[i].url, c->url))
			add_line(&b, &all[i]);
	if (c->key.n > 0)
		add_line(&b, c);
	if (b.failed)
		return err_set(e, ERR_LIMIT, "too many keys to remember");
	return write_file(a, dir, path, buf_str(&b), e);
}
