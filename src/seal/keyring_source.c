#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/keyring_priv.h"

/* Takes `id:` off the line; false when there is none. */
static bool
take_id(struct str *line, struct str *ret)
{
	size_t n = 0;

	while (n < line->n && n <= SEAL_ID_MAX &&
	       (str_is_letter(line->p[n]) || str_is_digit(line->p[n]) ||
		   str_has(STR("-_."), line->p[n])))
		n++;
	if (n == 0 || n > SEAL_ID_MAX || n == line->n || line->p[n] != ':')
		return false;
	*ret = (struct str){line->p, n};
	*line = str_trim(str_from(*line, n + 1));
	return true;
}

/* What is behind `n` is seen by nobody until that counts it. */
static int
key_put(
    struct keyring *k, struct seal_key *key, const char *what, struct err *e)
{
	size_t n = atomic_load(&k->n);
	const char *wrong = n == SEAL_KEYS_MAX ? "has too many keys" : NULL;

	if (keyring_find(k, str_of(key->id)))
		wrong = "has two keys with the same id";
	if (wrong) {
		(void)err_set(
		    e, ERR_INVALID, "%s %s (%s)", what, wrong, key->id);
		digest_wipe(key, sizeof(*key));
		free(key);
		return ERR_INVALID;
	}
	k->keys[n] = key;
	atomic_store(&k->n, n + 1);
	return OK;
}

int
keyring_raw(struct keyring *k, const char *id,
    const unsigned char key[SEAL_KEY_LEN], struct err *e)
{
	struct seal_key *made = mem_get(sizeof(*made));

	(void)snprintf(made->id, sizeof(made->id), "%s", id);
	memcpy(made->key, key, SEAL_KEY_LEN);
	return key_put(k, made, "the key store", e);
}

/* `[id:]key`, or an error that names `what` it came from. */
static int
key_read(struct keyring *k, struct str line, const char *default_id,
    const char *what, struct err *e)
{
	struct seal_key *key;
	struct str id = str_of(default_id);
	size_t n = 0;

	(void)take_id(&line, &id);
	if (line.n > SEAL_TEXT_MAX)
		return err_set(e, ERR_INVALID,
		    "the key %.*s in %s is too long: at most %d bytes",
		    STR_ARG(id), what, SEAL_TEXT_MAX);
	if (line.n < SEAL_TEXT_MIN)
		return err_set(e, ERR_INVALID,
		    "the key %.*s in %s is too short: 32 bytes in base64 (openssl rand -base64 32), or a passphrase of at least %d bytes",
		    STR_ARG(id), what, SEAL_TEXT_MIN);
	key = mem_get(sizeof(*key));
	memcpy(key->id, id.p, id.n);
	key->phrase = !base64_read(line, (char *)key->key, SEAL_KEY_LEN, &n) ||
		      n != SEAL_KEY_LEN;
	if (key->phrase) {
		memcpy(key->text, line.p, line.n);
		key->text_n = line.n;
	}
	return key_put(k, key, what, e);
}

void
keyring_new_id(struct keyring *k, const char *prefix, char ret[SEAL_ID_MAX + 1])
{
	char at[TIME_LEN + 1];
	unsigned char r[2];

	time_format(clock_now_us(), at);
	do {
		rand_bytes(r, sizeof(r));
		(void)snprintf(ret, SEAL_ID_MAX + 1, "%s-%.7s-%02x%02x", prefix,
		    at, r[0], r[1]);
	} while (keyring_find(k, str_of(ret)));
}

static int
io(struct err *e, const char *what, const char *path)
{
	return err_set(e, errno == ENOENT ? ERR_ABSENT : ERR_IO, "%s %s: %s",
	    path, what, strerror(errno));
}

/* All of a small file that nobody else may read. ERR_ABSENT without one. */
static int
read_secret(const char *path, struct buf *b, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = OK;
	struct stat st;

	if (fd < 0)
		return io(e, "can't be opened", path);
	if (fstat(fd, &st) < 0)
		rc = io(e, "can't be read", path);
	else if (!S_ISREG(st.st_mode))
		rc = err_set(e, ERR_INVALID, "%s is no file", path);
	else if (st.st_mode & 077)
		rc = err_set(e, ERR_INVALID,
		    "%s may be read by others (mode %03o): chmod 600 %s", path,
		    (unsigned)st.st_mode & 0777, path);
	else if (!buf_read(b, fd))
		rc = b->failed ? err_set(e, ERR_LIMIT,
				     "%s is too long for keys", path)
			       : io(e, "can't be read", path);
	(void)close(fd);
	return rc;
}

/* The new text, whole or not at all, also through a power cut. */
static int
write_secret(const char *path, struct str text, struct err *e)
{
	char *next = NULL, *dir = mem_z(str_of(path)), *slash;
	int fd, dir_fd, rc = OK;

	if (asprintf(&next, "%s.new", path) < 0)
		mem_out(0);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	(void)unlink(next);
	fd = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	dir_fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || dir_fd < 0 ||
	    write(fd, text.p, text.n) != (ssize_t)text.n || fsync(fd) < 0 ||
	    rename(next, path) < 0 || fsync(dir_fd) < 0)
		rc = io(e, "can't be written", path);
	if (fd >= 0)
		(void)close(fd);
	if (dir_fd >= 0)
		(void)close(dir_fd);
	free(next);
	free(dir);
	return rc;
}

int
keyring_file_add(struct keyring *k, const char *id,
    const unsigned char key[SEAL_KEY_LEN], struct err *e)
{
	struct buf old CLEANUP(digest_wipe_buf) = BUF(SEAL_FILE_MAX);
	struct buf b CLEANUP(digest_wipe_buf) = BUF(SEAL_FILE_MAX + KIB);
	int rc = read_secret(k->path, &old, e);

	if (rc == ERR_ABSENT)
		buf_addz(&old,
		    "# hikyaku: the keys that seal secrets, `id:key`; the first seals, the others\n"
		    "# unseal what they sealed. Without this file they are lost: keep a copy.\n");
	else
		TRY(rc);
	(void)buf_room(&b, KIB); /* so that it does not move often */
	buf_fmt(&b, "%s:", id);
	base64_add(&b, (struct str){(const char *)key, SEAL_KEY_LEN});
	buf_addc(&b, '\n');
	buf_add(&b, buf_str(&old));
	return b.failed ? err_set(e, ERR_LIMIT, "%s is too long", k->path)
			: write_secret(k->path, buf_str(&b), e);
}

static int
parse(struct keyring *k, struct str text, struct err *e)
{
	while (text.n > 0) {
		struct str line = str_trim(str_cut(&text, '\n'));

		if (line.n > 0 && line.p[0] != '#')
			TRY(key_read(k, line, "file", k->path, e));
	}
	if (atomic_load(&k->n) == 0)
		return err_set(e, ERR_INVALID,
		    "%s has no key: a line `id:key` with 32 bytes in base64",
		    k->path);
	return OK;
}

int
keyring_file(struct keyring *k, bool may_make, struct err *e)
{
	struct buf b CLEANUP(digest_wipe_buf) = BUF(SEAL_FILE_MAX);
	unsigned char key[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	char id[SEAL_ID_MAX + 1];
	int rc = read_secret(k->path, &b, e);

	if (rc == ERR_ABSENT && !may_make)
		return err_set(e, ERR_ABSENT,
		    "the key file %s is not there: put back the one that sealed this store's secrets (webhook.encryption.key.file)",
		    k->path);
	if (rc == ERR_ABSENT) {
		rand_bytes(key, sizeof(key));
		keyring_new_id(k, "key", id);
		TRY(keyring_file_add(k, id, key, e));
		rc = read_secret(k->path, &b, e);
	}
	TRY(rc);
	return parse(k, buf_str(&b), e);
}

static bool
has_id(struct str text)
{
	struct str id;

	return take_id(&text, &id);
}

int
keyring_env(struct keyring *k, const char *name, struct err *e)
{
	const char *now = getenv(name), *old;
	char old_name[256];

	(void)snprintf(old_name, sizeof(old_name), "%s_OLD", name);
	old = getenv(old_name);
	if (!now || !*now)
		return err_set(e, ERR_ABSENT,
		    "the key that seals secrets is to be in the variable %s, which is not set (webhook.encryption.key.env.name)",
		    name);
	if (old && *old && (!has_id(str_of(now)) || !has_id(str_of(old))))
		return err_set(e, ERR_INVALID,
		    "%s and %s both need an id, `id:key`; a key that was given without one has the id env",
		    name, old_name);
	TRY(key_read(k, str_trim(str_of(now)), "env", name, e));
	return old && *old
		   ? key_read(k, str_trim(str_of(old)), "env", old_name, e)
		   : OK;
}

int
keyring_salt(const char *dir, unsigned char ret[SEAL_SALT_LEN], struct err *e)
{
	struct buf b = BUF(KIB);
	char *path = NULL;
	size_t n = 0;
	int rc;

	if (asprintf(&path, "%s/seal.salt", dir) < 0)
		mem_out(0);
	rc = read_secret(path, &b, e);
	if (rc == ERR_ABSENT) {
		rand_bytes(ret, SEAL_SALT_LEN);
		base64_add(&b, (struct str){(char *)ret, SEAL_SALT_LEN});
		rc = write_secret(path, buf_str(&b), e);
	} else if (rc == OK && !(base64_read(str_trim(buf_str(&b)), (char *)ret,
				     SEAL_SALT_LEN, &n) &&
				   n == SEAL_SALT_LEN)) {
		rc = err_set(e, ERR_INVALID,
		    "%s is no salt; remove it, and another is made", path);
	}
	buf_done(&b);
	free(path);
	return rc;
}
