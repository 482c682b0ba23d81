#include "ops/sealing.h"

#include "audit/audit.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/limits.h"
#include "base/str.h"
#include "seal/keyring.h"
#include "sql.h"

#define CHECK     STR("seal_check")
#define WRAPPED   STR("seal_keys")
#define WORD      STR("hikyaku")
#define WHERE     STR("meta.seal_check")
#define TRIES     3 /* another node was first: then with what it made */
#define NOT_THERE ((struct str){NULL, 0})

/* .p NULL when it is not there. */
static int
get(struct db *db, struct str name, struct arena *a, struct str *ret,
    struct err *e)
{
	struct sql_meta_get_row row;
	int rc = sql_meta_get_one(db, a, &row, e, .name = name);

	*ret = rc > 0 ? row.value : NOT_THERE;
	return rc < 0 ? rc : OK;
}

static int
seal_word(struct keyring *k, struct arena *a, struct str *ret, struct err *e)
{
	return keyring_seal(k, a, WHERE, WORD, ret, e);
}

/* Can these keys read what the store holds? */
static int
sealing_check(
    struct keyring *k, struct arena *a, struct str sealed, struct err *e)
{
	struct err inner;
	struct str word;
	int rc = keyring_unseal(k, a, WHERE, sealed, &word, &inner);

	if (rc == ERR_INVALID)
		return err_set(e, ERR_INVALID,
		    "wrong key for the secrets of this store: %.200s",
		    inner.text);
	if (rc < 0)
		*e = inner;
	return rc;
}

/* *ret_again: another node has put something there first. */
static int
try_open(struct db *db, struct keyring_opts *o, struct arena *a,
    struct keyring **ret, bool *ret_again, struct err *e)
{
	struct str sealed, wrapped, made;
	struct keyring *k = NULL;
	int64_t n = 1;
	int rc = get(db, CHECK, a, &sealed, e);

	*ret_again = false;
	if (rc == OK)
		rc = get(db, WRAPPED, a, &wrapped, e);
	if (rc < 0)
		return rc;
	o->first = !sealed.p;
	o->wrapped = wrapped.p ? wrapped : STR_EMPTY;
	rc = keyring_open(o, &k, e);
	if (rc == OK && sealed.p)
		rc = sealing_check(k, a, sealed, e);
	made = rc == OK ? keyring_wrapped(k) : STR_EMPTY;
	if (rc == OK && !str_eq(made, o->wrapped))
		n = sql_seal_meta_put(
		    db, e, .name = WRAPPED, .was = wrapped, .value = made);
	if (rc == OK && n > 0 && !sealed.p) {
		rc = seal_word(k, a, &made, e);
		if (rc == OK)
			n = sql_seal_meta_put(db, e, .name = CHECK,
			    .was = NOT_THERE, .value = made);
	}
	if (rc == OK && n < 0)
		rc = (int)n;
	*ret_again = rc == OK && n == 0;
	if (rc < 0 || *ret_again)
		keyring_close(k);
	else
		*ret = k;
	return rc;
}

int
sealing_open(
    struct db *db, const struct conf *c, struct keyring **ret, struct err *e)
{
	struct keyring_opts o = {
	    .source = c->webhook_encryption_key_source,
	    .dir = c->data,
	    .file = c->webhook_encryption_key_file,
	    .env_name = c->webhook_encryption_key_env_name,
	    .kms = {.provider = c->webhook_encryption_kms_provider,
		.key_id = c->webhook_encryption_kms_key_id,
		.region = c->webhook_encryption_kms_region,
		.url = c->webhook_encryption_kms_url},
	};
	struct arena *a;
	bool again = true;
	int rc = OK;

	if (!c->webhook_encryption_enabled)
		return err_set(e, ERR_INVALID,
		    "webhook.encryption.enabled = false is not possible: secrets are always sealed; webhook.encryption.key.source says with which key");
	a = arena_new(MIB);
	for (int i = 0; rc == OK && again && i < TRIES; i++) {
		arena_reset(a);
		rc = try_open(db, &o, a, ret, &again, e);
	}
	if (rc == OK && again)
		rc = err_set(e, ERR_CONFLICT,
		    "other nodes change the keys of this store at this moment");
	arena_free(a);
	return rc;
}

int
sealing_stale(
    struct db *db, struct keyring *k, struct arena *a, bool *ret, struct err *e)
{
	struct str sealed, id;
	int rc = get(db, CHECK, a, &sealed, e);

	if (rc == OK && !sealed.p)
		rc = err_set(e, ERR_STORE, "the store's seal is gone");
	if (rc == OK)
		rc = keyring_id_of(a, sealed, &id, e);
	if (rc == OK)
		*ret = !str_eq(id, str_of(keyring_id(k, 0)));
	return rc;
}

int
sealing_fresh(struct db *db, struct keyring *k, struct arena *a, struct err *e)
{
	struct str was, sealed;
	int64_t rc = get(db, CHECK, a, &was, e);

	if (rc == OK)
		rc = seal_word(k, a, &sealed, e);
	if (rc == OK)
		rc = sql_seal_meta_put(
		    db, e, .name = CHECK, .was = was, .value = sealed);
	return rc < 0 ? (int)rc : OK;
}

int
sealing_rotate(struct db *db, struct keyring *k, struct arena *a, struct str by,
    bool *ret_made, struct err *e)
{
	struct audit_row row = {
	    .category = AUDIT_SECRET_ROTATED,
	    .at_us = clock_now_us(),
	    .actor = by,
	    .target_type = STR("seal"),
	};
	struct str wrapped;
	bool stale = false;
	int64_t rc = sealing_stale(db, k, a, &stale, e);

	if (rc == OK)
		rc = get(db, WRAPPED, a, &wrapped, e);
	if (rc == OK && !stale)
		rc = keyring_add(k, e);
	/* Run twice, it finds the key that it made: that must be kept too. */
	if (rc == OK && !str_eq(keyring_wrapped(k), wrapped)) {
		rc = sql_seal_meta_put(db, e, .name = WRAPPED, .was = wrapped,
		    .value = keyring_wrapped(k));
		if (rc == 0)
			rc = err_set(e, ERR_CONFLICT,
			    "another node changes the keys at this moment");
	}
	row.object_id = str_of(keyring_id(k, 0));
	if (rc >= 0)
		rc = audit_put(db, &row, e);
	if (rc < 0)
		return (int)rc;
	*ret_made = !stale;
	return OK;
}
