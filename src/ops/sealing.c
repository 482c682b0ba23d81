#include "ops/sealing.h"

#include "audit/audit.h"
#include "base/conf/conf.h"
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
	int n = TRY(sql_meta_get_one(db, a, &row, e, .name = name));

	*ret = n > 0 ? row.value : NOT_THERE;
	return OK;
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

/* Puts down what a new ring has made. *ret_again: another node was first. */
static int
keep(struct db *db, const struct keyring_opts *o, struct keyring *k,
    struct arena *a, bool *ret_again, struct err *e)
{
	struct str was = o->wrapped.n ? o->wrapped : NOT_THERE, sealed;
	int n = 1;

	if (!str_eq(keyring_wrapped(k), o->wrapped))
		n = TRY((int)sql_seal_meta_put(db, e, .name = WRAPPED,
		    .was = was, .value = keyring_wrapped(k)));
	if (n > 0 && o->first) {
		TRY(seal_word(k, a, &sealed, e));
		n = TRY((int)sql_seal_meta_put(
		    db, e, .name = CHECK, .was = NOT_THERE, .value = sealed));
	}
	*ret_again = n == 0;
	return OK;
}

static int
try_open(struct db *db, struct keyring_opts *o, struct arena *a,
    struct keyring **ret, bool *ret_again, struct err *e)
{
	struct str sealed, wrapped;
	struct keyring *k = NULL;
	int rc;

	TRY(get(db, CHECK, a, &sealed, e));
	TRY(get(db, WRAPPED, a, &wrapped, e));
	o->first = !sealed.p;
	o->wrapped = wrapped.p ? wrapped : STR_EMPTY;
	TRY(keyring_open(o, &k, e));
	rc = sealed.p ? sealing_check(k, a, sealed, e) : OK;
	if (rc == OK)
		rc = keep(db, o, k, a, ret_again, e);
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
	struct arena *a CLEANUP(arena_freep) = arena_new(MIB);
	bool again = true;

	if (!c->webhook_encryption_enabled)
		return err_set(e, ERR_INVALID,
		    "webhook.encryption.enabled = false is not possible: secrets are always sealed; webhook.encryption.key.source says with which key");
	for (int i = 0; again && i < TRIES; i++) {
		arena_reset(a);
		TRY(try_open(db, &o, a, ret, &again, e));
	}
	return again
		   ? err_set(e, ERR_CONFLICT,
			 "other nodes change the keys of this store at this moment")
		   : OK;
}

int
sealing_stale(
    struct db *db, struct keyring *k, struct arena *a, bool *ret, struct err *e)
{
	struct str sealed, id;

	TRY(get(db, CHECK, a, &sealed, e));
	if (!sealed.p)
		return err_set(e, ERR_STORE, "the store's seal is gone");
	TRY(keyring_id_of(a, sealed, &id, e));
	*ret = !str_eq(id, str_of(keyring_id(k, 0)));
	return OK;
}

int
sealing_fresh(struct db *db, struct keyring *k, struct arena *a, struct err *e)
{
	struct str was, sealed;

	TRY(get(db, CHECK, a, &was, e));
	TRY(seal_word(k, a, &sealed, e));
	TRY((int)sql_seal_meta_put(
	    db, e, .name = CHECK, .was = was, .value = sealed));
	return OK;
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

	TRY(sealing_stale(db, k, a, &stale, e));
	TRY(get(db, WRAPPED, a, &wrapped, e));
	if (!stale)
		TRY(keyring_add(k, e));
	/* Run twice, it finds the key that it made: that must be kept too. */
	if (!str_eq(keyring_wrapped(k), wrapped) &&
	    TRY((int)sql_seal_meta_put(db, e, .name = WRAPPED, .was = wrapped,
		.value = keyring_wrapped(k))) == 0)
		return err_set(e, ERR_CONFLICT,
		    "another node changes the keys at this moment");
	row.object_id = str_of(keyring_id(k, 0));
	TRY(audit_put(db, &row, e));
	*ret_made = !stale;
	return OK;
}
