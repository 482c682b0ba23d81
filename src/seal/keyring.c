#include "seal/keyring.h"

#include <openssl/evp.h>
#include <pthread.h>

#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/keyring_priv.h"
#include "seal/kms.h"

#define IV_LEN  SEAL_IV_LEN
#define TAG_LEN SEAL_TAG_LEN

/* A sealed value, taken apart. */
struct parts {
	struct str id;
	bool salted;
	unsigned char salt[SEAL_SALT_LEN], iv[IV_LEN], tag[TAG_LEN];
	char *text;
	size_t text_n;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_CIPHER *gcm;

static void
fetch_gcm(void)
{
	gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
	assert(gcm);
}

void
seal_wipe(unsigned char (*key)[SEAL_KEY_LEN])
{
	digest_wipe(*key, SEAL_KEY_LEN);
}

/* Derived before, by anybody? */
static const unsigned char *
derived_before(struct seal_key *key, const unsigned char salt[SEAL_SALT_LEN])
{
	const struct derived *d =
	    atomic_load_explicit(&key->derived, memory_order_acquire);

	while (d && memcmp(d->salt, salt, SEAL_SALT_LEN) != 0)
		d = d->next;
	return d ? d->key : NULL;
}

/* Past SEAL_SALTS_MAX nothing is remembered: memory has a bound, time none. */
static void
remember(struct seal_key *key, const unsigned char salt[SEAL_SALT_LEN],
    const unsigned char made[SEAL_KEY_LEN])
{
	struct derived *d;

	if (atomic_fetch_add(&key->n_derived, 1) >= SEAL_SALTS_MAX)
		return;
	d = mem_get(sizeof(*d));
	memcpy(d->salt, salt, SEAL_SALT_LEN);
	memcpy(d->key, made, SEAL_KEY_LEN);
	d->next = atomic_load(&key->derived);
	while (!atomic_compare_exchange_weak(&key->derived, &d->next, d))
		;
}

void
seal_key_bytes(struct seal_key *key, const unsigned char *salt,
    unsigned char ret[SEAL_KEY_LEN])
{
	const unsigned char *was =
	    key->phrase ? derived_before(key, salt) : key->key;
	int ok;

	if (was) {
		memcpy(ret, was, SEAL_KEY_LEN);
		return;
	}
	ok = PKCS5_PBKDF2_HMAC(key->text, (int)key->text_n, salt, SEAL_SALT_LEN,
	    SEAL_ROUNDS, EVP_sha256(), SEAL_KEY_LEN, ret);
	assert(ok);
	remember(key, salt, ret);
}

bool
seal_gcm(bool seal, const unsigned char key[SEAL_KEY_LEN],
    const unsigned char iv[IV_LEN], struct str where, struct str in, char *out,
    unsigned char tag[TAG_LEN])
{
	EVP_CIPHER_CTX *ctx;
	unsigned char *to = (unsigned char *)out;
	const unsigned char *from = (const unsigned char *)in.p;
	int n = 0, rest = 0;
	bool ok;

	(void)pthread_once(&once, fetch_gcm);
	ctx = EVP_CIPHER_CTX_new();
	ok = ctx && EVP_CipherInit_ex2(ctx, gcm, key, iv, seal, NULL) &&
	     EVP_CipherUpdate(
		 ctx, NULL, &n, (const unsigned char *)where.p, (int)where.n) &&
	     EVP_CipherUpdate(ctx, to, &n, from, (int)in.n);
	if (ok && !seal)
		ok = EVP_CIPHER_CTX_ctrl(
			 ctx, EVP_CTRL_GCM_SET_TAG, TAG_LEN, tag) > 0;
	ok = ok && EVP_CipherFinal_ex(ctx, to + n, &rest) > 0;
	if (ok && seal)
		ok = EVP_CIPHER_CTX_ctrl(
			 ctx, EVP_CTRL_GCM_GET_TAG, TAG_LEN, tag) > 0;
	assert(!ok || (size_t)n + (size_t)rest == in.n);
	assert(ok || !seal); /* only what was sealed can be wrong */
	EVP_CIPHER_CTX_free(ctx);
	return ok;
}

static void
member(struct buf *b, const char *name, const void *bytes, size_t n)
{
	buf_fmt(b, ",\"%s\":\"", name);
	base64_add(b, (struct str){bytes, n});
	buf_addc(b, '"');
}

int
keyring_seal(struct keyring *k, struct arena *a, struct str where,
    struct str plain, struct str *ret, struct err *e)
{
	struct seal_key *key = keyring_active(k);
	unsigned char bytes[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	unsigned char iv[IV_LEN], tag[TAG_LEN];
	struct buf b CLEANUP(buf_done) = BUF(BASE64_LEN(SEAL_PLAIN_MAX) + KIB);
	char *text;

	if (plain.n > SEAL_PLAIN_MAX)
		return err_set(e, ERR_LIMIT,
		    "a secret of over %zu bytes can't be sealed",
		    (size_t)SEAL_PLAIN_MAX);
	text = arena_alloc(a, plain.n + 1);
	seal_key_bytes(key, k->salt, bytes);
	rand_bytes(iv, sizeof(iv));
	(void)seal_gcm(true, bytes, iv, where, plain, text, tag);
	buf_fmt(&b, "{\"v\":1,\"kid\":\"%s\"", key->id);
	if (key->phrase)
		member(&b, "s", k->salt, sizeof(k->salt));
	member(&b, "iv", iv, sizeof(iv));
	member(&b, "ct", text, plain.n);
	member(&b, "tag", tag, sizeof(tag));
	buf_addc(&b, '}');
	*ret = arena_dup(a, buf_str(&b));
	return OK;
}

static int
unformed(struct err *e)
{
	return err_set(
	    e, ERR_INVALID, "a sealed value has not the form of one");
}

/* Exactly n bytes of base64. */
static bool
bytes_of(const struct json *j, const char *name, unsigned char *ret, size_t n)
{
	const struct json *v = json_get(j, name);
	size_t got = 0;

	return json_is(v, JSON_STRING) &&
	       base64_read(v->text, (char *)ret, n, &got) && got == n;
}

static int
take_apart(struct arena *a, struct str sealed, struct parts *ret, struct err *e)
{
	static const char *const names[] = {
	    "v", "kid", "s", "iv", "ct", "tag", NULL};
	struct json *j = NULL, *id, *ct;
	struct err inner;
	int64_t version = 0;

	if (sealed.n > BASE64_LEN(SEAL_PLAIN_MAX) + KIB ||
	    json_parse(a, sealed, &j, &inner) < 0 || !json_is(j, JSON_OBJECT) ||
	    json_known(j, "", names, &inner) < 0)
		return unformed(e);
	id = json_get(j, "kid");
	ct = json_get(j, "ct");
	if (!json_int(json_get(j, "v"), &version) || version != 1 ||
	    !json_is(id, JSON_STRING) || !json_is(ct, JSON_STRING))
		return unformed(e);
	*ret = (struct parts){.id = id->text};
	ret->salted = json_get(j, "s") != NULL;
	if ((ret->salted && !bytes_of(j, "s", ret->salt, sizeof(ret->salt))) ||
	    !bytes_of(j, "iv", ret->iv, sizeof(ret->iv)) ||
	    !bytes_of(j, "tag", ret->tag, sizeof(ret->tag)))
		return unformed(e);
	ret->text = arena_alloc(a, ct->text.n + 1);
	if (!base64_read(ct->text, ret->text, ct->text.n, &ret->text_n))
		return unformed(e);
	return OK;
}

struct seal_key *
keyring_active(struct keyring *k)
{
	return k->keys[atomic_load(&k->n) - 1];
}

struct seal_key *
keyring_find(struct keyring *k, struct str id)
{
	for (size_t i = atomic_load(&k->n); i-- > 0;)
		if (str_eq(str_of(k->keys[i]->id), id))
			return k->keys[i];
	return NULL;
}

int
keyring_key_of(struct keyring *k, struct str id, bool salted,
    struct seal_key **ret, struct err *e)
{
	*ret = keyring_find(k, id);
	if (!*ret) {
		/* One that is not printable is not told. */
		for (size_t i = 0; i < id.n; i++)
			if (id.p[i] <= 0x20 || id.p[i] > 0x7e)
				id = STR("?");
		return err_set(e, ERR_INVALID,
		    "the key %.*s, which sealed this, is not among the keys (%s)",
		    STR_ARG(id), k->source);
	}
	if ((*ret)->phrase != salted)
		return err_set(e, ERR_INVALID,
		    "the key %s is another than the one that sealed this",
		    (*ret)->id);
	return OK;
}

int
keyring_unseal(struct keyring *k, struct arena *a, struct str where,
    struct str sealed, struct str *ret, struct err *e)
{
	unsigned char bytes[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	struct parts p;
	struct seal_key *key;
	char *plain;

	TRY(take_apart(a, sealed, &p, e));
	TRY(keyring_key_of(k, p.id, p.salted, &key, e));
	plain = arena_alloc(a, p.text_n + 1);
	seal_key_bytes(key, p.salt, bytes);
	if (!seal_gcm(false, bytes, p.iv, where, (struct str){p.text, p.text_n},
		plain, p.tag)) {
		digest_wipe(plain, p.text_n);
		return err_set(e, ERR_INVALID,
		    "a sealed value was changed, or the key %s is another than the one that sealed it",
		    key->id);
	}
	*ret = (struct str){plain, p.text_n};
	return OK;
}

struct str
keyring_where(struct arena *a, const char *column, struct uuid row)
{
	char id[UUID_LEN + 1];

	uuid_format(row, id);
	return arena_fmt(a, "%s:%s", column, id);
}

int
keyring_id_of(
    struct arena *a, struct str sealed, struct str *ret_id, struct err *e)
{
	struct parts p;

	TRY(take_apart(a, sealed, &p, e));
	*ret_id = p.id;
	return OK;
}

const char *
keyring_source(const struct keyring *k)
{
	return k->source;
}

const char *
keyring_id(struct keyring *k, size_t nth)
{
	size_t n = atomic_load(&k->n);

	return nth < n ? k->keys[n - 1 - nth]->id : NULL;
}

struct str
keyring_wrapped(const struct keyring *k)
{
	return str_of(k->wrapped);
}

/* "id key-that-wraps base64", one a line, the active one first. */
static int
unwrap(struct keyring *k, bool *ret_current, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(MIB);
	unsigned char key[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	struct str wrapped = keyring_wrapped(k);

	while (wrapped.n > 0) {
		struct str line = str_cut(&wrapped, '\n');
		const char *id = arena_z(a, str_cut(&line, ' '));
		struct str by = str_cut(&line, ' ');

		if (atomic_load(&k->n) == 0)
			*ret_current = str_eq(by, str_of(k->kms.key_id));
		TRY(kms_decrypt(&k->kms, a, line, key, e));
		TRY(keyring_raw(k, id, key, e));
	}
	return OK;
}

/* A new data key, active from now on. */
static int
wrap_new(struct keyring *k, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(MIB);
	unsigned char key[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	char id[SEAL_ID_MAX + 1];
	struct str blob;

	if (atomic_load(&k->n) == SEAL_KEYS_MAX)
		return err_set(
		    e, ERR_LIMIT, "there are %d keys already", SEAL_KEYS_MAX);
	TRY(kms_generate(&k->kms, a, key, &blob, e));
	keyring_new_id(k, "kms", id);
	TRY(keyring_raw(k, id, key, e));
	blob = arena_fmt(
	    a, "%s %s %.*s\n%s", id, k->kms.key_id, STR_ARG(blob), k->wrapped);
	free(k->wrapped);
	k->wrapped = mem_z(blob);
	return OK;
}

/* Sources have the active key first, a ring has it last. */
static void
turn_round(struct keyring *k)
{
	size_t n = atomic_load(&k->n);

	for (size_t i = 0; i < n / 2; i++) {
		struct seal_key *key = k->keys[i];

		k->keys[i] = k->keys[n - 1 - i];
		k->keys[n - 1 - i] = key;
	}
}

static int
open_kms(struct keyring *k, const struct keyring_opts *o, struct err *e)
{
	bool current = false;
	int rc;

	k->kms = o->kms;
	k->wrapped = mem_z(o->wrapped);
	rc = unwrap(k, &current, e);
	if (rc == OK && atomic_load(&k->n) == 0 && !o->first)
		rc = err_set(e, ERR_ABSENT,
		    "values are sealed in this store, but no data key of the KMS is kept in it");
	turn_round(k);
	return rc == OK && !current ? wrap_new(k, e) : rc;
}

static int
open_source(struct keyring *k, const struct keyring_opts *o, struct err *e)
{
	bool own = !o->file || !o->file[0];
	int rc;

	if (strcmp(o->source, "kms") == 0) {
		k->source = "kms";
		return open_kms(k, o, e);
	}
	if (strcmp(o->source, "env") == 0) {
		k->source = "env";
		rc = keyring_env(k, o->env_name, e);
	} else {
		k->source = "file";
		if (asprintf(&k->path, "%s%s", own ? o->dir : o->file,
			own ? "/seal.key" : "") < 0)
			mem_out(0);
		rc = keyring_file(k, own && o->first, e);
	}
	turn_round(k);
	return rc;
}

int
keyring_open(const struct keyring_opts *o, struct keyring **ret, struct err *e)
{
	struct keyring *k = mem_get(sizeof(*k));
	unsigned char bytes[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	int rc = open_source(k, o, e);

	if (rc == OK && keyring_active(k)->phrase)
		rc = keyring_salt(o->dir, k->salt, e);
	if (rc < 0) {
		keyring_close(k);
		return rc;
	}
	/* Now, and not while somebody waits. */
	seal_key_bytes(keyring_active(k), k->salt, bytes);
	*ret = k;
	return OK;
}

int
keyring_add(struct keyring *k, struct err *e)
{
	unsigned char key[SEAL_KEY_LEN] CLEANUP(seal_wipe) = {0};
	char id[SEAL_ID_MAX + 1];

	if (strcmp(k->source, "env") == 0)
		return err_set(e, ERR_CONFLICT,
		    "the keys come from the environment: set the new one there, the old one as …_OLD, and start again");
	if (atomic_load(&k->n) == SEAL_KEYS_MAX)
		return err_set(e, ERR_LIMIT,
		    "there are %d keys already: take out those that seal nothing any more",
		    SEAL_KEYS_MAX);
	if (!k->path)
		return wrap_new(k, e);
	rand_bytes(key, sizeof(key));
	keyring_new_id(k, "key", id);
	TRY(keyring_file_add(k, id, key, e));
	return keyring_raw(k, id, key, e);
}

static void
key_free(struct seal_key *key)
{
	struct derived *d = atomic_load(&key->derived), *next;

	for (; d; d = next) {
		next = d->next;
		digest_wipe(d, sizeof(*d));
		free(d);
	}
	digest_wipe(key, sizeof(*key));
	free(key);
}

void
keyring_close(struct keyring *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < atomic_load(&k->n); i++)
		key_free(k->keys[i]);
	free(k->path);
	free(k->wrapped);
	digest_wipe(k, sizeof(*k));
	free(k);
}
