#include <openssl/evp.h>
#include <pthread.h>

#include "seal/digest.h"
#include "seal/keyring_priv.h"

#define MARK      '\x01'
#define SALTED    0x80
#define NONCE_LEN 24
#define HALF      12 /* of the nonce: for the key, for the iv */
#define BLOCK     16

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_CIPHER *ecb;

/* Where the parts of a value lie. */
struct form {
	struct str id;
	const unsigned char *salt; /* NULL: none */
	const unsigned char *nonce, *tag;
	size_t text; /* where it begins */
};

static void
fetch_ecb(void)
{
	ecb = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
	assert(ecb);
}

/* The value's own key: CMAC of two blocks with the nonce's first half. */
static void
derive(const unsigned char key[SEAL_KEY_LEN], const unsigned char *nonce,
    unsigned char ret[SEAL_KEY_LEN])
{
	unsigned char k1[BLOCK] = {0}, m[SEAL_KEY_LEN] = {0};
	EVP_CIPHER_CTX *ctx;
	unsigned carry = 0;
	int n;
	bool ok;

	(void)pthread_once(&once, fetch_ecb);
	ctx = EVP_CIPHER_CTX_new();
	ok = ctx && EVP_EncryptInit_ex2(ctx, ecb, key, NULL, NULL) &&
	     EVP_CIPHER_CTX_set_padding(ctx, 0) &&
	     EVP_EncryptUpdate(ctx, k1, &n, k1, BLOCK);
	for (int i = BLOCK - 1; i >= 0; i--) {
		unsigned twice = ((unsigned)k1[i] << 1) | carry;

		carry = twice >> 8;
		k1[i] = (unsigned char)twice;
	}
	k1[BLOCK - 1] = (unsigned char)(k1[BLOCK - 1] ^ (carry ? 0x87 : 0));
	m[1] = 1;
	m[BLOCK + 1] = 2;
	m[2] = m[BLOCK + 2] = 'X';
	memcpy(m + 4, nonce, HALF);
	memcpy(m + BLOCK + 4, nonce, HALF);
	for (int i = 0; i < 2 * BLOCK; i++)
		m[i] = (unsigned char)(m[i] ^ k1[i % BLOCK]);
	ok = ok && EVP_EncryptUpdate(ctx, ret, &n, m, sizeof(m));
	assert(ok);
	EVP_CIPHER_CTX_free(ctx);
	digest_wipe(k1, sizeof(k1));
}

/* Either way. False when the tag is wrong. */
static bool
crypt(bool seal, const unsigned char key[SEAL_KEY_LEN],
    const unsigned char *nonce, struct str where, struct str in, char *to,
    unsigned char tag[SEAL_TAG_LEN])
{
	unsigned char own[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};

	derive(key, nonce, own);
	return seal_gcm(seal, own, nonce + HALF, where, in, to, tag);
}

bool
keyring_is_bytes(struct str s)
{
	return s.n > 0 && s.p[0] == MARK;
}

struct str
keyring_seal_bytes(
    struct keyring *k, struct str where, struct str plain, char *to)
{
	struct seal_key *key = keyring_active(k);
	unsigned char bytes[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	unsigned char *at = (unsigned char *)to, *nonce, *tag;
	size_t id_n = strlen(key->id);

	assert(id_n <= SEAL_ID_MAX && plain.n < INT_MAX);
	seal_key_bytes(key, k->salt, bytes);
	*at++ = MARK;
	*at++ = (unsigned char)(id_n | (key->phrase ? SALTED : 0));
	memcpy(at, key->id, id_n);
	at += id_n;
	if (key->phrase) {
		memcpy(at, k->salt, SEAL_SALT_LEN);
		at += SEAL_SALT_LEN;
	}
	nonce = at;
	rand_bytes(nonce, NONCE_LEN);
	tag = nonce + NONCE_LEN;
	at = tag + SEAL_TAG_LEN;
	(void)crypt(true, bytes, nonce, where, plain, (char *)at, tag);
	return (struct str){to, (size_t)((char *)at - to) + plain.n};
}

struct str
keyring_bytes_id(struct str sealed)
{
	return (struct str){
	    sealed.p + 2, (unsigned char)sealed.p[1] & (SALTED - 1)};
}

static int
take_apart(struct str s, struct form *ret, struct err *e)
{
	const unsigned char *p = (const unsigned char *)s.p;
	bool formed = s.n >= 2 && keyring_is_bytes(s);
	size_t id_n = formed ? p[1] & (SALTED - 1) : 0, at = 2;
	bool salted = formed && p[1] & SALTED;

	if (id_n == 0 || id_n > SEAL_ID_MAX ||
	    s.n < at + id_n + (salted ? SEAL_SALT_LEN : 0) + NONCE_LEN +
		      SEAL_TAG_LEN)
		return err_set(
		    e, ERR_INVALID, "sealed bytes have not the form of such");
	*ret = (struct form){.id = {s.p + at, id_n}};
	at += id_n;
	if (salted) {
		ret->salt = p + at;
		at += SEAL_SALT_LEN;
	}
	ret->nonce = p + at;
	ret->tag = ret->nonce + NONCE_LEN;
	ret->text = at + NONCE_LEN + SEAL_TAG_LEN;
	return OK;
}

int
keyring_unseal_bytes(struct keyring *k, struct str where, struct str sealed,
    char *to, struct str *ret, struct err *e)
{
	unsigned char bytes[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	unsigned char tag[SEAL_TAG_LEN];
	struct seal_key *key = NULL;
	struct str text;
	struct form f = {.salt = NULL};

	TRY(take_apart(sealed, &f, e));
	TRY(keyring_key_of(k, f.id, f.salt != NULL, &key, e));
	seal_key_bytes(key, f.salt, bytes);
	text = str_from(sealed, f.text);
	memcpy(tag, f.tag, sizeof(tag));
	if (!crypt(false, bytes, f.nonce, where, text, to + f.text, tag)) {
		digest_wipe(to + f.text, text.n);
		return err_set(e, ERR_INVALID,
		    "it was changed, or the key %s is another than the one that sealed it",
		    key->id);
	}
	*ret = (struct str){to + f.text, text.n};
	return OK;
}
