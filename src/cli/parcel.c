#include "cli/parcel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/put.h"
#include "cli/limits.h"
#include "cli/parcel_priv.h"
#include "seal/digest.h"

const char *const PARCEL_FILES[] = {
    PARCEL_MANIFEST, PARCEL_DB, PARCEL_DUMP, PARCEL_KEY, NULL};

const char *
parcel_path(struct arena *a, const char *dir, const char *name)
{
	return arena_fmt(a, "%s/%s", dir, name).p;
}

int
parcel_folder(const char *dir, struct err *e)
{
	if (mkdir(dir, 0700) == 0)
		return OK;
	if (errno == EEXIST)
		return err_set(e, ERR_CONFLICT,
		    "%s is there already, and nothing is overwritten", dir);
	return err_set(e, ERR_IO, "%s: %m", dir);
}

void
parcel_drop(struct arena *a, const char *dir)
{
	for (const char *const *name = PARCEL_FILES; *name; name++)
		(void)unlink(parcel_path(a, dir, *name));
	(void)rmdir(dir);
}

int
parcel_pump(int from, int to, int64_t bytes, struct err *e)
{
	UNINIT char some[64 * KIB];

	while (bytes > 0) {
		size_t most = bytes < (int64_t)sizeof(some) ? (size_t)bytes
							    : sizeof(some);
		ssize_t n = read(from, some, most);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, n < 0 ? ERR_IO : ERR_INVALID, "%s",
			    n < 0 ? strerror(errno) : "it ends too early");
		TRY(parcel_put(to, (struct str){some, (size_t)n}, e));
		bytes -= n;
	}
	return OK;
}

int
parcel_put(int fd, struct str s, struct err *e)
{
	while (s.n > 0) {
		ssize_t n = write(fd, s.p, s.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, errno == ENOSPC ? ERR_FULL : ERR_IO,
			    "writing: %m");
		s = str_from(s, (size_t)n);
	}
	return OK;
}

static void
shut(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

int
parcel_new(const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return fd < 0 ? err_set(e, ERR_IO, "%s: %m", path) : fd;
}

int
parcel_synced(int fd, struct err *e)
{
	return fsync(fd) < 0 ? err_set(e, ERR_IO, "syncing: %m") : OK;
}

int
parcel_copy(const char *from, const char *to, struct err *e)
{
	int in CLEANUP(shut) = open(from, O_RDONLY | O_CLOEXEC);
	int out CLEANUP(shut) = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0)
		return err_set(e, ERR_IO, "%s: %m", from);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is no file", from);
	out = TRY(parcel_new(to, e));
	TRY(parcel_pump(in, out, st.st_size, e));
	return parcel_synced(out, e);
}

int
parcel_move(const char *from, const char *to, struct err *e)
{
	if (rename(from, to) == 0)
		return OK;
	if (errno != EXDEV)
		return err_set(e, ERR_IO, "%s: %m", to);
	TRY(parcel_copy(from, to, e));
	(void)unlink(from);
	return OK;
}

/* Sums and syncs a file. ERR_ABSENT when it is not there. */
static int
parcel_sum(const char *path, unsigned char ret[DIGEST_LEN], int64_t *ret_bytes,
    struct err *e)
{
	int fd CLEANUP(shut) = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	void *p = NULL;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(
		    e, errno == ENOENT ? ERR_ABSENT : ERR_IO, "%s: %m", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is no file", path);
	if (st.st_size > 0) {
		p = mmap(
		    NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			return err_set(e, ERR_IO, "%s: %m", path);
		(void)madvise(p, (size_t)st.st_size, MADV_SEQUENTIAL);
	}
	digest_sha256((struct str){p ? p : "", (size_t)st.st_size}, ret);
	if (p)
		(void)munmap(p, (size_t)st.st_size);
	*ret_bytes = st.st_size;
	return parcel_synced(fd, e);
}

int
parcel_seal(struct arena *a, const char *dir, struct str about, struct str *ret,
    struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(PARCEL_MANIFEST_MAX);
	int fd CLEANUP(shut) = -1;

	buf_addc(&b, '{');
	buf_add(&b, about);
	put_open(&b, "files", '[');
	for (const char *const *name = PARCEL_FILES + 1; *name; name++) {
		struct buf hex CLEANUP(buf_done) = BUF(2 * DIGEST_LEN + 1);
		unsigned char sum[DIGEST_LEN];
		int64_t bytes = 0;
		int rc = parcel_sum(parcel_path(a, dir, *name), sum, &bytes, e);

		if (rc == ERR_ABSENT)
			continue;
		TRY(rc);
		buf_hex(&hex, DIGEST_STR(sum));
		put_open(&b, NULL, '{');
		put_z(&b, "name", *name);
		put_int(&b, "bytes", bytes);
		put_text(&b, "sha256", buf_str(&hex));
		put_close(&b, '}');
	}
	put_close(&b, ']');
	buf_addz(&b, "}\n");
	fd = TRY(parcel_new(parcel_path(a, dir, PARCEL_MANIFEST), e));
	TRY(parcel_put(fd, buf_str(&b), e));
	TRY(parcel_synced(fd, e));
	*ret = arena_dup(a, str_trim(buf_str(&b)));
	return OK;
}

int
parcel_place(const char *dir, const char *to, struct err *e)
{
	int fd CLEANUP(shut) = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(e, ERR_IO, "%s: %m", dir);
	TRY(parcel_synced(fd, e));
	if (renameat2(AT_FDCWD, dir, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
		return errno == EEXIST
			   ? err_set(e, ERR_CONFLICT,
				 "%s is there already, and nothing is overwritten",
				 to)
			   : err_set(e, ERR_IO, "%s: %m", to);
	/* The name too. */
	return parcel_synced(fd, e);
}

static int
check_one(struct arena *a, const char *dir, const struct json *f, struct err *e)
{
	const char *name = arena_z(a, json_text(f, "name"));
	unsigned char sum[DIGEST_LEN], want[DIGEST_LEN];
	struct str hex = json_text(f, "sha256");
	const char *const *known = PARCEL_FILES + 1;
	int64_t bytes = 0;

	while (*known && strcmp(*known, name) != 0)
		known++;
	if (!*known || hex.n != 2 * DIGEST_LEN || !str_unhex(hex, want))
		return err_set(e, ERR_INVALID,
		    "the manifest is none of ours: it has the file \"%.80s\"",
		    name);
	TRY(parcel_sum(parcel_path(a, dir, name), sum, &bytes, e));
	if (bytes != json_number(f, "bytes") ||
	    memcmp(sum, want, DIGEST_LEN) != 0)
		return err_set(e, ERR_INVALID,
		    "%s is not the file that was backed up: its size or sum is another",
		    name);
	return OK;
}

static int
read_manifest(
    struct arena *a, const char *dir, struct json **ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(PARCEL_MANIFEST_MAX);
	const char *path = parcel_path(a, dir, PARCEL_MANIFEST);
	int fd CLEANUP(shut) = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !buf_read(&b, fd))
		return err_set(e, ERR_IO, "%s: %s: is this a backup?", path,
		    b.failed ? "too large" : strerror(errno));
	TRY(json_parse(a, arena_dup(a, buf_str(&b)), ret, e));
	if (json_number(*ret, "format") != PARCEL_FORMAT ||
	    !json_first(*ret, "files"))
		return err_set(e, ERR_INVALID,
		    "%s is none that this version can read", path);
	return OK;
}

int
parcel_check(struct arena *a, const char *dir, struct json **ret, struct err *e)
{
	TRY(read_manifest(a, dir, ret, e));
	for (const struct json *f = json_first(*ret, "files"); f; f = f->next)
		TRY(check_one(a, dir, f, e));
	return OK;
}

int
parcel_unpack(struct arena *a, const char *from, const char *to,
    struct json **ret, struct err *e)
{
	TRY(read_manifest(a, from, ret, e));
	for (const char *const *name = PARCEL_FILES; *name; name++) {
		const char *path = parcel_path(a, from, *name);

		if (access(path, F_OK) == 0)
			TRY(parcel_copy(path, parcel_path(a, to, *name), e));
	}
	return parcel_check(a, to, ret, e);
}
