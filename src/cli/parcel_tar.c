/*
 * A parcel as one stream: a tar as POSIX has it (ustar), which any tar reads.
 * Read back are files with the names of a parcel, each once, and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/limits.h"
#include "cli/parcel_priv.h"

#define BLOCK 512

struct head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
	char type, link[100], magic[8], rest[247];
};
static_assert(sizeof(struct head) == BLOCK, "a block");

static unsigned
head_sum(const struct head *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= offsetof(struct head, sum) &&
			       i < offsetof(struct head, type)
			   ? ' '
			   : p[i];
	return sum;
}

/* In octal; past 8 GiB in binary, with the first bit set, as GNU's tar does. */
static void
put_size(char to[12], int64_t bytes)
{
	uint64_t v = (uint64_t)bytes;

	if (bytes < INT64_C(1) << 33) {
		(void)snprintf(to, 12, "%011llo", (unsigned long long)v);
		return;
	}
	to[0] = (char)0x80;
	for (int i = 11; i > 0; i--, v >>= 8)
		to[i] = (char)(unsigned char)(v & 0xff);
}

static int64_t
get_size(const char from[12])
{
	uint64_t v = 0;

	if (((unsigned char)from[0] & 0x80) == 0) {
		for (int i = 0; i < 11 && from[i] >= '0' && from[i] <= '7'; i++)
			v = v << 3 | (uint64_t)(from[i] - '0');
		return (int64_t)v;
	}
	for (int i = 4; i < 12; i++)
		v = v << 8 | (unsigned char)from[i];
	return v > INT64_MAX ? -1 : (int64_t)v;
}

static int64_t
padding(int64_t bytes)
{
	return (BLOCK - bytes % BLOCK) % BLOCK;
}

static int
write_one(const char *path, const char *name, int to, struct err *e)
{
	static const char ZEROS[BLOCK];
	struct head h = {.type = '0'};
	struct stat st;
	int rc, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? OK
				       : err_set(e, ERR_IO, "%s: %m", path);
	if (fstat(fd, &st) < 0) {
		(void)close(fd);
		return err_set(e, ERR_IO, "%s: %m", path);
	}
	(void)snprintf(h.name, sizeof(h.name), "%s", name);
	(void)snprintf(h.mode, sizeof(h.mode), "0000600");
	(void)snprintf(h.uid, sizeof(h.uid), "0000000");
	(void)snprintf(h.gid, sizeof(h.gid), "0000000");
	put_size(h.size, st.st_size);
	put_size(h.mtime, clock_now_us() / US_PER_S);
	memcpy(h.magic, "ustar\00000", sizeof(h.magic));
	(void)snprintf(h.sum, sizeof(h.sum), "%06o", head_sum(&h));
	rc = parcel_put(to, (struct str){(const char *)&h, sizeof(h)}, e);
	if (rc == OK)
		rc = parcel_pump(fd, to, st.st_size, e);
	if (rc == OK)
		rc = parcel_put(
		    to, (struct str){ZEROS, (size_t)padding(st.st_size)}, e);
	(void)close(fd);
	return rc;
}

int
parcel_write(struct arena *a, const char *dir, int fd, struct err *e)
{
	static const char END[2 * BLOCK];

	for (const char *const *name = PARCEL_FILES; *name; name++)
		TRY(write_one(parcel_path(a, dir, *name), *name, fd, e));
	return parcel_put(fd, (struct str){END, sizeof(END)}, e);
}

/* 1, or 0 at the end of the stream. */
static int
read_head(int fd, struct head *h, struct err *e)
{
	struct str bytes = {(char *)h, 0};

	while (bytes.n < BLOCK) {
		ssize_t n = read(fd, (char *)h + bytes.n, BLOCK - bytes.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, ERR_IO, "reading: %m");
		if (n == 0)
			break;
		bytes.n += (size_t)n;
	}
	if (bytes.n == 0)
		return 0;
	return bytes.n == BLOCK ? 1
				: err_set(e, ERR_INVALID, "it ends too early");
}

static int
read_one(struct arena *a, int fd, const struct head *h, const char *dir,
    struct err *e)
{
	const char *const *name = PARCEL_FILES;
	int64_t bytes = get_size(h->size), sum = 0;
	struct str text = {h->sum, strnlen(h->sum, 6)};
	int to, rc, nowhere;

	for (size_t i = 0; i < text.n; i++)
		sum = sum << 3 | (text.p[i] - '0');
	if (sum != head_sum(h) || memcmp(h->magic, "ustar", 5) != 0)
		return err_set(e, ERR_INVALID, "this is no backup: no tar");
	while (*name && strncmp(*name, h->name, sizeof(h->name)) != 0)
		name++;
	if (!*name || h->type != '0' || bytes < 0)
		return err_set(e, ERR_INVALID,
		    "this is no backup: it has \"%.60s\"", h->name);
	to = TRY(parcel_new(parcel_path(a, dir, *name), e));
	rc = parcel_pump(fd, to, bytes, e);
	if (rc == OK)
		rc = parcel_synced(to, e);
	(void)close(to);
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (rc == OK && nowhere >= 0)
		rc = parcel_pump(fd, nowhere, padding(bytes), e);
	if (nowhere >= 0)
		(void)close(nowhere);
	return rc;
}

int
parcel_read(struct arena *a, int fd, const char *dir, struct err *e)
{
	struct head h;

	while (TRY(read_head(fd, &h, e)) > 0 && h.name[0])
		TRY(read_one(a, fd, &h, dir, e));
	/* The rest, for whoever writes it. */
	while (TRY(read_head(fd, &h, e)) > 0)
		;
	return OK;
}
