#include "seal/digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_thread_end;
static EVP_MD *sha256, *sha1;
static EVP_MAC *mac;
static _Thread_local EVP_MD_CTX *mine;

struct hmac {
	EVP_MAC_CTX *ctx;
};

static void
drop_context(void *ctx)
{
	EVP_MD_CTX_free(ctx);
	mine = NULL;
}

static void
fetch_digests(void)
{
	int rc = pthread_key_create(&at_thread_end, drop_context);

	assert(rc == 0);
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
	mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	assert(sha256 && sha1 && mac);
}

/* This thread's context, made when it first asks. */
static EVP_MD_CTX *
context(void)
{
	if (!mine) {
		(void)pthread_once(&once, fetch_digests);
		mine = EVP_MD_CTX_new();
		assert(mine);
		(void)pthread_setspecific(at_thread_end, mine);
	}
	return mine;
}

static void
digest_by(EVP_MD *const *md, struct str s, unsigned char *ret)
{
	EVP_MD_CTX *ctx = context();
	int ok = EVP_DigestInit_ex2(ctx, *md, NULL) &&
		 EVP_DigestUpdate(ctx, s.p, s.n) &&
		 EVP_DigestFinal_ex(ctx, ret, NULL);

	assert(ok);
}

void
digest_sha256(struct str s, unsigned char ret[DIGEST_LEN])
{
	digest_by(&sha256, s, ret);
}

void
digest_sha1(struct str s, unsigned char ret[DIGEST_SHA1_LEN])
{
	digest_by(&sha1, s, ret);
}

void
digest_short(struct str s, unsigned char ret[DIGEST_SHORT_LEN])
{
	unsigned char whole[DIGEST_LEN];

	digest_sha256(s, whole);
	memcpy(ret, whole, DIGEST_SHORT_LEN);
}

bool
digest_md5(struct str s, unsigned char ret[DIGEST_MD5_LEN])
{
	return EVP_Q_digest(NULL, "MD5", NULL, s.p, s.n, ret, NULL) == 1;
}

struct hmac *
hmac_new(struct str key)
{
	char name[] = "SHA256";
	OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
	    OSSL_PARAM_construct_end(),
	};
	struct hmac *h = mem_get(sizeof(*h));
	int ok;

	(void)pthread_once(&once, fetch_digests);
	assert(key.n > 0);
	h->ctx = EVP_MAC_CTX_new(mac);
	assert(h->ctx);
	ok = EVP_MAC_init(h->ctx, (const unsigned char *)key.p, key.n, params);
	assert(ok);
	return h;
}

void
hmac_free(struct hmac *h)
{
	if (!h)
		return;
	EVP_MAC_CTX_free(h->ctx);
	free(h);
}

void
hmac_sum(struct hmac *h, const struct str *parts, size_t n,
    unsigned char ret[DIGEST_LEN])
{
	size_t len = 0;
	/* Without a key the context begins anew with the one it has. */
	int ok = EVP_MAC_init(h->ctx, NULL, 0, NULL);

	for (size_t i = 0; ok && i < n; i++)
		ok = EVP_MAC_update(
		    h->ctx, (const unsigned char *)parts[i].p, parts[i].n);
	ok = ok && EVP_MAC_final(h->ctx, ret, &len, DIGEST_LEN);
	assert(ok && len == DIGEST_LEN);
}

bool
digest_eq(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

void
digest_wipe(void *p, size_t n)
{
	OPENSSL_cleanse(p, n);
}

void
digest_wipe_buf(struct buf *b)
{
	if (b->p)
		digest_wipe(b->p, b->cap);
	buf_done(b);
}

size_t
hmac_named(
    struct str hash, struct str key, struct str s, unsigned char ret[HMAC_MAX])
{
	const EVP_MD *md = str_eq(hash, STR("sha1"))     ? EVP_sha1()
			   : str_eq(hash, STR("sha256")) ? EVP_sha256()
			   : str_eq(hash, STR("sha384")) ? EVP_sha384()
			   : str_eq(hash, STR("sha512")) ? EVP_sha512()
							 : NULL;
	unsigned n = 0;

	if (!md || key.n > 1024 ||
	    !HMAC(md, key.p, (int)key.n, (const unsigned char *)s.p, s.n, ret,
		&n))
		return 0;
	return n;
}
