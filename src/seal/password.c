#include "seal/password.h"

#include <argon2.h>

#include "seal/digest.h"
#include "seal/limits.h"
#include "seal/token.h"
#include "seal/worst.h"

enum {
	MEMORY_KIB = 7 * 1024,
	PASSES = 5,
	LANES = 1,
	SALT_BYTES = 16,
	HASH_BYTES = 32,
};

static const char CLEAR[] =
    "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz23456789";

int
password_check(struct str password, const struct password_of *of,
    const char *at, struct err *e)
{
	const char *why;

	if (password.n < PASSWORD_MIN || password.n > PASSWORD_MAX)
		return err_at(e, ERR_INVALID, at,
		    "a password has %d to %d bytes", PASSWORD_MIN,
		    PASSWORD_MAX);
	why = worst_why(password, of);
	if (why)
		return err_at(e, ERR_INVALID, at,
		    "this password is guessed at once: it is %s", why);
	return OK;
}

int
password_hash(struct str password, char ret[PASSWORD_HASH_SIZE], struct err *e)
{
	unsigned char salt[SALT_BYTES];
	int rc;

	rand_bytes(salt, sizeof(salt));
	rc = argon2id_hash_encoded(PASSES, MEMORY_KIB, LANES, password.p,
	    password.n, salt, sizeof(salt), HASH_BYTES, ret,
	    PASSWORD_HASH_SIZE);
	if (rc != ARGON2_OK)
		return err_set(e, ERR_IO, "the password can't be hashed: %s",
		    argon2_error_message(rc));
	return OK;
}

int
password_verify(
    struct str hash, struct str password, bool *ret_same, struct err *e)
{
	char z[PASSWORD_HASH_SIZE];
	int rc;

	if (hash.n >= sizeof(z))
		return err_set(e, ERR_STORE, "a stored password is too long");
	memcpy(z, hash.p, hash.n);
	z[hash.n] = '\0';
	rc = argon2id_verify(z, password.p, password.n);
	if (rc != ARGON2_OK && rc != ARGON2_VERIFY_MISMATCH)
		return err_set(e,
		    rc == ARGON2_MEMORY_ALLOCATION_ERROR ? ERR_IO : ERR_STORE,
		    "the password can't be checked: %s",
		    argon2_error_message(rc));
	*ret_same = rc == ARGON2_OK;
	return OK;
}

void
password_waste(struct str password)
{
	static const unsigned char salt[SALT_BYTES] = "nobody";
	unsigned char hash[HASH_BYTES];

	(void)argon2id_hash_raw(PASSES, MEMORY_KIB, LANES, password.p,
	    password.n, salt, sizeof(salt), hash, sizeof(hash));
	digest_wipe(hash, sizeof(hash));
}

void
password_make(char ret[PASSWORD_MADE_LEN + 1])
{
	token_text(ret, PASSWORD_MADE_LEN, STR(CLEAR));
}
