#include "seal/keyring.h"

#include <assert.h>
#include <openssl/evp.h>
#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
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

static struct ring *
newest(struct keyring *k)
{
	return atomic_load_explicit(&k->now, memory_order_acquire);
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
	(void)ok;
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
	unsigned char bytes[SEAL_KEY_LEN], iv[IV_LEN], tag[TAG_LEN];
	struct buf b = BUF(BASE64_LEN(SEAL_PLAIN_MAX) + KIB);
	char *text;

	if (plain.n > SEAL_PLAIN_MAX)
		return err_set(e, ERR_LIMIT,
		    "a secret of over %zu bytes can't be sealed",
		    (size_t)SEAL_PLAIN_MAX);
	text = arena_alloc(a, plain.n + 1);
	seal_key_bytes(key, k->salt, bytes);
	rand_bytes(iv, sizeof(iv));
	(void)seal_gcm(true, bytes, iv, where, plain, text, tag);
	digest_wipe(bytes, sizeof(bytes));
	buf_fmt(&b, "{\"v\":1,\"kid\":\"%s\"", key->id);
	if (key->phrase)
		member(&b, "s", k->salt, sizeof(k->salt));
	member(&b, "iv", iv, sizeof(iv));
	member(&b, "ct", text, plain.n);
	member(&b, "tag", tag, sizeof(tag));
	buf_addc(&b, '}');
	*ret = arena_dup(a, buf_str(&b));
	buf_done(&b);
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
	return newest(k)->keys[0];
}

struct seal_key *
keyring_find(struct keyring *k, struct str id)
{
	struct ring *r = newest(k);

	for (size_t i = 0; i < r->n; i++)
		if (str_eq(str_of(r->keys[i]->id), id))
			return r->keys[i];
	return NULL;
}

int
keyring_unseal(struct keyring *k, struct arena *a, struct str where,
    struct str sealed, struct str *ret, struct err *e)
{
	unsigned char bytes[SEAL_KEY_LEN];
	struct parts p;
	struct seal_key *key;
	char *plain;
	int rc = take_apart(a, sealed, &p, e);

	if (rc < 0)
		return rc;
	key = keyring_find(k, p.id);
	if (!key)
		return err_set(e, ERR_INVALID,
		    "the key %.*s, which sealed a value, is not among the keys (%s)",
		    STR_ARG(p.id), k->source);
	if (key->phrase != p.salted)
		return err_set(e, ERR_INVALID,
		    "the key %s is another than the one that sealed a value",
		    key->id);
	plain = arena_alloc(a, p.text_n + 1);
	seal_key_bytes(key, p.salt, bytes);
	if (!seal_gcm(false, bytes, p.iv, where, (struct str){p.text, p.text_n},
		plain, p.tag))
		rc = err_set(e, ERR_INVALID,
		    "a sealed value was changed, or the key %s is another than the one that sealed it",
		    key->id);
	digest_wipe(bytes, sizeof(bytes));
	if (rc < 0)
		digest_wipe(plain, p.text_n);
	else
		*ret = (struct str){plain, p.text_n};
	return rc;
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
	int rc = take_apart(a, sealed, &p, e);

	if (rc == OK)
		*ret_id = p.id;
	return rc;
}

const char *
keyring_source(const struct keyring *k)
{
	return k->source;
}

const char *
keyring_id(struct keyring *k, size_t nth)
{
	struct ring *r = newest(k);

	return nth < r->n ? r->keys[nth]->id : NULL;
}

struct str
keyring_wrapped(const struct keyring *k)
{
	return str_of(k->wrapped);
}

/* The list becomes the newest ring; its keys are the ring's then. */
static void
publish(struct keyring *k, struct key_list *l)
{
	struct ring *r = mem_get(sizeof(*r));

	assert(l->n > 0);
	for (; r->n < l->n; r->n++)
		r->keys[r->n] = l->keys[r->n];
	l->n = 0;
	r->older = newest(k);
	atomic_store_explicit(&k->now, r, memory_order_release);
}

/* "id key-that-wraps base64", one a line, the active one first. */
static int
unwrap(struct keyring *k, struct arena *a, struct str wrapped,
    struct key_list *l, bool *ret_current, struct err *e)
{
	unsigned char key[SEAL_KEY_LEN];
	int rc = OK;

	while (rc == OK && wrapped.n > 0) {
		struct str line = str_cut(&wrapped, '\n');
		const char *id = arena_z(a, str_cut(&line, ' '));
		struct str by = str_cut(&line, ' ');

		if (l->n == 0)
			*ret_current = str_eq(by, str_of(k->kms.key_id));
		rc = kms_decrypt(&k->kms, a, line, key, e);
		if (rc == OK)
			rc = key_list_raw(l, id, key, e);
	}
	digest_wipe(key, sizeof(key));
	return rc;
}

/* A new data key, before those that are in the list. */
static int
wrap_new(struct keyring *k, struct arena *a, struct str wrapped,
    struct key_list *l, struct err *e)
{
	unsigned char key[SEAL_KEY_LEN];
	struct key_list all = {0};
	char id[SEAL_ID_MAX + 1];
	struct str blob;
	int rc = kms_generate(&k->kms, a, key, &blob, e);

	if (rc < 0)
		return rc;
	if (l->n == SEAL_KEYS_MAX)
		return err_set(
		    e, ERR_LIMIT, "there are %d keys already", SEAL_KEYS_MAX);
	keyring_new_id("kms", id);
	blob = arena_fmt(a, "%s %s %.*s\n%.*s", id, k->kms.key_id,
	    STR_ARG(blob), STR_ARG(wrapped));
	rc = key_list_raw(&all, id, key, e);
	digest_wipe(key, sizeof(key));
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < l->n; i++)
		all.keys[all.n++] = l->keys[i];
	*l = all;
	free(k->wrapped);
	k->wrapped = mem_z(blob);
	return OK;
}

static int
open_kms(struct keyring *k, const struct keyring_opts *o, struct key_list *l,
    struct err *e)
{
	struct arena *a = arena_new(MIB);
	bool current = false;
	int rc;

	k->kms = o->kms;
	k->wrapped = mem_z(o->wrapped);
	rc = unwrap(k, a, o->wrapped, l, &current, e);
	if (rc == OK && l->n == 0 && !o->first)
		rc = err_set(e, ERR_ABSENT,
		    "values are sealed in this store, but no data key of the KMS is kept in it");
	if (rc == OK && !current)
		rc = wrap_new(k, a, o->wrapped, l, e);
	arena_free(a);
	return rc;
}

static int
open_source(struct keyring *k, const struct keyring_opts *o, struct key_list *l,
    struct err *e)
{
	bool own = !o->file || !o->file[0];

	if (strcmp(o->source, "env") == 0) {
		k->source = "env";
		return keyring_env(o->env_name, l, e);
	}
	if (strcmp(o->source, "kms") == 0) {
		k->source = "kms";
		return open_kms(k, o, l, e);
	}
	k->source = "file";
	if (asprintf(&k->path, "%s%s", own ? o->dir : o->file,
		own ? "/seal.key" : "") < 0)
		mem_out(0);
	return keyring_file(k->path, own && o->first, l, e);
}

int
keyring_open(const struct keyring_opts *o, struct keyring **ret, struct err *e)
{
	struct keyring *k = mem_get(sizeof(*k));
	struct key_list l = {0};
	unsigned char bytes[SEAL_KEY_LEN];
	int rc = open_source(k, o, &l, e);

	if (rc == OK && l.keys[0]->phrase)
		rc = keyring_salt(o->dir, k->salt, e);
	if (rc < 0) {
		key_list_done(&l);
		keyring_close(k);
		return rc;
	}
	/* Now, and not while somebody waits. */
	seal_key_bytes(l.keys[0], k->salt, bytes);
	digest_wipe(bytes, sizeof(bytes));
	publish(k, &l);
	*ret = k;
	return OK;
}

int
keyring_add(struct keyring *k, struct err *e)
{
	struct ring *r = newest(k);
	struct key_list l = {0};
	unsigned char key[SEAL_KEY_LEN];
	char id[SEAL_ID_MAX + 1];
	struct arena *a;
	int rc;

	if (strcmp(k->source, "env") == 0)
		return err_set(e, ERR_CONFLICT,
		    "the keys come from the environment: set the new one there, the old one as …_OLD, and start again");
	if (r->n == SEAL_KEYS_MAX)
		return err_set(e, ERR_LIMIT,
		    "there are %d keys already: take out those that seal nothing any more",
		    SEAL_KEYS_MAX);
	a = arena_new(MIB);
	if (k->path) {
		rand_bytes(key, sizeof(key));
		keyring_new_id("key", id);
		rc = key_list_raw(&l, id, key, e);
		if (rc == OK)
			rc = keyring_file_add(k->path, id, key, e);
		digest_wipe(key, sizeof(key));
	} else {
		rc = wrap_new(k, a, keyring_wrapped(k), &l, e);
	}
	arena_free(a);
	if (rc < 0) {
		key_list_done(&l);
		return rc;
	}
	for (size_t i = 0; i < r->n; i++)
		l.keys[l.n++] = r->keys[i];
	publish(k, &l);
	return OK;
}

void
keyring_close(struct keyring *k)
{
	struct ring *r, *older;

	if (!k)
		return;
	/* The newest ring has every key that an older one has. */
	r = newest(k);
	if (r) {
		struct key_list l = {.n = r->n};

		memcpy(l.keys, r->keys, r->n * sizeof(r->keys[0]));
		key_list_done(&l);
	}
	for (; r; r = older) {
		older = r->older;
		free(r);
	}
	free(k->path);
	free(k->wrapped);
	digest_wipe(k, sizeof(*k));
	free(k);
}
