#include "seal/sign.h"

#include <openssl/evp.h>

#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/limits.h"

enum {
	HMAC_KEY_MIN = 24, /* Standard Webhooks */
	HMAC_KEY_MAX = 64,
	ED_KEY = 32,
	ED_BOTH = 64,
	ED_SIGNATURE = 64,
};

static const struct str WHSEC = {"whsec_", 6};
static const struct str WHSK = {"whsk_", 5};
static const struct str WHPK = {"whpk_", 5};

struct signer {
	enum sign_algorithm algorithm;
	bool can_sign;
	struct hmac *hmac;
	EVP_PKEY *pkey;
};

static int
hmac_from(struct signer *s, struct str key)
{
	s->algorithm = SIGN_HMAC_SHA256;
	s->can_sign = true;
	s->hmac = hmac_new(key);
	return OK;
}

/* The public half of a signer's key. */
static void
public_of(const struct signer *s, unsigned char ret[ED_KEY])
{
	size_t n = ED_KEY;
	int ok = EVP_PKEY_get_raw_public_key(s->pkey, ret, &n);

	assert(ok == 1 && n == ED_KEY);
}

static int
private_from(struct signer *s, struct str key, const char *at, struct err *e)
{
	unsigned char public[ED_KEY];

	s->algorithm = SIGN_ED25519;
	s->can_sign = true;
	s->pkey = EVP_PKEY_new_raw_private_key(
	    EVP_PKEY_ED25519, NULL, (const unsigned char *)key.p, ED_KEY);
	assert(s->pkey);
	public_of(s, public);
	if (key.n == ED_BOTH && memcmp(public, key.p + ED_KEY, ED_KEY) != 0)
		return err_at(e, ERR_INVALID, at,
		    "the secret's public half does not belong to its private half");
	return OK;
}

static int
public_from(struct signer *s, struct str key)
{
	s->algorithm = SIGN_ED25519;
	s->pkey = EVP_PKEY_new_raw_public_key(
	    EVP_PKEY_ED25519, NULL, (const unsigned char *)key.p, ED_KEY);
	assert(s->pkey);
	return OK;
}

static int
decoded_from(struct signer *s, struct str text, const char *at, struct err *e)
{
	bool shared = str_starts(text, WHSEC), public = str_starts(text, WHPK);
	char bytes[ED_BOTH];
	struct str key = {bytes, 0};
	bool read = base64_read(str_from(text, shared ? WHSEC.n : WHSK.n),
	    bytes, sizeof(bytes), &key.n);
	int rc;

	if (shared)
		rc =
		    read && key.n >= HMAC_KEY_MIN
			? hmac_from(s, key)
			: err_at(e, ERR_INVALID, at,
			      "the secret must be whsec_ and %d to %d bytes as base64",
			      HMAC_KEY_MIN, HMAC_KEY_MAX);
	else if (public)
		rc = read && key.n == ED_KEY
			 ? public_from(s, key)
			 : err_at(e, ERR_INVALID, at,
			       "the key must be whpk_ and %d bytes as base64",
			       ED_KEY);
	else
		rc =
		    read && (key.n == ED_KEY || key.n == ED_BOTH)
			? private_from(s, key, at, e)
			: err_at(e, ERR_INVALID, at,
			      "the secret must be whsk_ and %d or %d bytes as base64",
			      ED_KEY, ED_BOTH);
	digest_wipe(bytes, sizeof(bytes));
	return rc;
}

static bool
prefixed(struct str text)
{
	return str_starts(text, WHSEC) || str_starts(text, WHSK) ||
	       str_starts(text, WHPK);
}

int
signer_new(struct str secret, enum secret_form form, const char *at,
    struct signer **ret, struct err *e)
{
	struct signer *s;
	int rc;

	if (form == SECRET_STANDARD && !prefixed(secret))
		return err_at(e, ERR_INVALID, at,
		    "the secret must begin with whsec_ or whsk_, then base64");
	if (secret.n < 1 || secret.n > SIGN_TEXT_MAX)
		return err_at(e, ERR_INVALID, at,
		    "the secret must be 1 to %d bytes", SIGN_TEXT_MAX);
	s = mem_get(sizeof(*s));
	if (form == SECRET_TEXT || !prefixed(secret))
		rc = hmac_from(s, secret);
	else
		rc = decoded_from(s, secret, at, e);
	if (rc < 0)
		signer_free(s);
	else
		*ret = s;
	return rc;
}

void
signer_free(struct signer *s)
{
	if (!s)
		return;
	hmac_free(s->hmac);
	EVP_PKEY_free(s->pkey);
	free(s);
}

enum sign_algorithm
signer_algorithm(const struct signer *s)
{
	return s->algorithm;
}

bool
signer_can_sign(const struct signer *s)
{
	return s->can_sign;
}

/* ed25519 goes over the message twice, so it must lie in one piece. */
static int
joined(const struct str *parts, size_t n, struct buf *b, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		buf_add(b, parts[i]);
	/* Even an empty message needs an address. */
	(void)buf_room(b, 1);
	return b->failed
		   ? err_set(e, ERR_LIMIT,
			 "a text of over %zu bytes can't be signed", b->limit)
		   : OK;
}

static int
ed_sign(struct signer *s, struct str message, unsigned char ret[SIGN_MAX])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = SIGN_MAX;
	int ok = ctx &&
		 EVP_DigestSignInit(ctx, NULL, NULL, NULL, s->pkey) == 1 &&
		 EVP_DigestSign(ctx, ret, &len,
		     (const unsigned char *)message.p, message.n) == 1;

	assert(ok);
	EVP_MD_CTX_free(ctx);
	return (int)len;
}

int
signer_sign(struct signer *s, const struct str *parts, size_t n,
    unsigned char ret[SIGN_MAX], struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(SIGN_BODY_MAX + SIGN_TEXT_MAX);

	assert(s->can_sign);
	if (s->algorithm == SIGN_HMAC_SHA256) {
		hmac_sum(s->hmac, parts, n, ret);
		return DIGEST_LEN;
	}
	TRY(joined(parts, n, &b, e));
	return ed_sign(s, buf_str(&b), ret);
}

static bool
ed_verify(struct signer *s, struct str message, struct str signature)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok =
	    ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, s->pkey) == 1 &&
	    EVP_DigestVerify(ctx, (const unsigned char *)signature.p,
		signature.n, (const unsigned char *)message.p, message.n) == 1;

	EVP_MD_CTX_free(ctx);
	return ok;
}

bool
signer_verify(
    struct signer *s, const struct str *parts, size_t n, struct str signature)
{
	struct buf b CLEANUP(buf_done) = BUF(SIGN_BODY_MAX + SIGN_TEXT_MAX);
	unsigned char mac[DIGEST_LEN];
	struct err e;

	if (s->algorithm == SIGN_HMAC_SHA256) {
		hmac_sum(s->hmac, parts, n, mac);
		return signature.n == DIGEST_LEN &&
		       digest_eq(mac, signature.p, DIGEST_LEN);
	}
	return signature.n == ED_SIGNATURE && joined(parts, n, &b, &e) == OK &&
	       ed_verify(s, buf_str(&b), signature);
}

static void
write_text(
    struct str prefix, const void *bytes, size_t n, char ret[SECRET_TEXT_LEN])
{
	struct buf b CLEANUP(digest_wipe_buf) = BUF(SECRET_TEXT_LEN);

	buf_add(&b, prefix);
	base64_add(&b, (struct str){bytes, n});
	buf_addc(&b, '\0');
	assert(!b.failed);
	memcpy(ret, b.p, b.n);
}

void
sign_make_secret(enum sign_algorithm algorithm, char ret[SECRET_TEXT_LEN])
{
	unsigned char key[ED_BOTH];
	struct signer s = {.algorithm = algorithm};
	struct err e;
	int rc;

	rand_bytes(key, ED_KEY);
	if (algorithm == SIGN_HMAC_SHA256) {
		write_text(WHSEC, key, ED_KEY, ret);
	} else {
		rc = private_from(
		    &s, (struct str){(const char *)key, ED_KEY}, "", &e);
		assert(rc == OK);
		public_of(&s, key + ED_KEY);
		write_text(WHSK, key, ED_BOTH, ret);
		EVP_PKEY_free(s.pkey);
	}
	digest_wipe(key, sizeof(key));
}

void
sign_make_text(char ret[SECRET_TEXT_LEN])
{
	struct buf b CLEANUP(digest_wipe_buf) = BUF(2 * ED_KEY);
	char key[ED_KEY];

	rand_bytes(key, sizeof(key));
	buf_hex(&b, (struct str){key, sizeof(key)});
	memcpy(ret, b.p, b.n);
	ret[b.n] = '\0';
	digest_wipe(key, sizeof(key));
}

bool
sign_public(const struct signer *s, char ret[SECRET_TEXT_LEN])
{
	unsigned char key[ED_KEY];

	if (s->algorithm != SIGN_ED25519)
		return false;
	public_of(s, key);
	write_text(WHPK, key, ED_KEY, ret);
	return true;
}
