#include "account/keys.h"

#include "account/limits.h"
#include "audit/audit.h"
#include "seal/keyring.h"
#include "seal/tenant.h"
#include "sql.h"

#define SECRET_COLUMN "api_key.webhook_secret" /* ops/reseal.c knows it too */

static bool
has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return true;
	return false;
}

int
key_secret_check(struct str secret, struct err *e)
{
	struct signer *s = NULL;
	bool good;

	if (secret.n < 1 || secret.n > KEY_SECRET_MAX || has_control(secret) ||
	    str_utf8_bad(secret) < secret.n)
		return err_at(e, ERR_INVALID, "/webhookSecret",
		    "webhookSecret must be 1 to %d bytes of text; leave it out and one is made",
		    KEY_SECRET_MAX);
	TRY(signer_new(secret, SECRET_EITHER, "/webhookSecret", &s, e));
	good = signer_can_sign(s);
	signer_free(s);
	return good ? OK
		    : err_at(e, ERR_INVALID, "/webhookSecret",
			  "webhookSecret is a public key, which can't sign");
}

int
key_check(const struct key *k, int64_t now_us, struct err *e)
{
	if (k->name.n < 1 || k->name.n > KEY_NAME_MAX || has_control(k->name) ||
	    str_utf8_bad(k->name) < k->name.n)
		return err_at(e, ERR_INVALID, "/name",
		    "name must be 1 to %d bytes of text", KEY_NAME_MAX);
	if (!k->scopes || (k->scopes & ~SCOPES_ALL))
		return err_at(e, ERR_INVALID, "/scopes",
		    "scopes must name at least one of " SCOPE_WORDS);
	if (k->tenants && (k->n_tenants < 1 || k->n_tenants > KEY_TENANTS_MAX))
		return err_at(e, ERR_INVALID, "/tenants",
		    "tenants must be 1 to %d; leave it out for no limit",
		    KEY_TENANTS_MAX);
	if (k->rate_per_second < 0 || k->rate_per_second > KEY_RATE_MAX)
		return err_at(e, ERR_INVALID, "/ratePerSecond",
		    "ratePerSecond must be 1 to %d", KEY_RATE_MAX);
	if (k->expires_us && k->expires_us <= now_us)
		return err_at(e, ERR_INVALID, "/expiresAt",
		    "expiresAt must lie in the future");
	return k->webhook_secret.p ? key_secret_check(k->webhook_secret, e)
				   : OK;
}

static int
no_key(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such key");
}

/* Reads what put_texts() wrote. */
static int
tenants_read(struct str text, struct arena *a, struct key *k, struct err *e)
{
	struct json *list = NULL;
	struct uuid *v;
	struct str *names;
	size_t n = 0;
	bool ok = json_parse(a, arena_dup(a, text), &list, e) == OK &&
		  list->type == JSON_ARRAY && list->n > 0;

	v = arena_array(a, ok ? list->n : 1, sizeof(*v));
	names = arena_array(a, ok ? list->n : 1, sizeof(*names));
	for (const struct json *j = ok ? list->child : NULL; j && ok;
	     j = j->next, n++) {
		names[n] = j->text;
		ok = tenant_parse(j->text, &v[n]);
	}
	if (!ok)
		return err_set(
		    e, ERR_STORE, "the tenants of a key can't be read");
	k->tenants = v;
	k->tenant_names = names;
	k->n_tenants = n;
	return OK;
}

/* All statements that give keys give the same columns. */
static int
read_row(const struct sql_key_by_hash_row *row, struct arena *a,
    struct key *ret, struct err *e)
{
	*ret = (struct key){
	    .id = row->id,
	    .public_id = uuid_of(row->public_id),
	    .name = arena_dup(a, row->name),
	    .shown = arena_dup(a, row->shown),
	    .created_by = arena_dup(a, row->created_by),
	    .scopes = scopes_of(row->scopes),
	    .rate_per_second = row->rate,
	    .created_us = row->created_at,
	    .last_used_us = row->last_used_at,
	    .expires_us = row->expires_at,
	    .revoked_us = row->revoked_at,
	};
	return row->tenants.p ? tenants_read(row->tenants, a, ret, e) : OK;
}

static int
audit(struct db *db, enum audit_category what, struct uuid id, struct str name,
    struct str by, int64_t now_us, struct err *e)
{
	char text[UUID_LEN + 1];
	struct audit_row row = {
	    .category = what,
	    .at_us = now_us,
	    .actor = by,
	    .target_type = STR("key"),
	    .object_id = {text, UUID_LEN},
	    .object_name = name,
	};

	uuid_format(id, text);
	return audit_put(db, &row, e);
}

/* The one that is given, or of 32 random bytes. */
static int
make_secret(struct keyring *ring, const struct key *k, struct arena *a,
    char ret[KEY_SECRET_MAX + 1], struct str *ret_sealed, struct err *e)
{
	if (k->webhook_secret.p)
		(void)snprintf(ret, KEY_SECRET_MAX + 1, "%.*s",
		    STR_ARG(k->webhook_secret));
	else
		sign_make_secret(SIGN_HMAC_SHA256, ret);
	return keyring_seal(ring, a,
	    keyring_where(a, SECRET_COLUMN, k->public_id), str_of(ret),
	    ret_sealed, e);
}

int
keys_create(struct db *db, struct keyring *ring, struct key *k, int64_t now_us,
    struct arena *a, struct key_made *ret, struct err *e)
{
	struct buf tenants CLEANUP(buf_done) =
	    BUF(KEY_TENANTS_MAX * (TENANT_MAX + 3) + 2);
	struct str sealed;

	token_make(&ret->token);
	k->public_id = uuid_v7(now_us);
	k->created_us = now_us;
	k->shown = arena_dup(a, str_of(ret->token.shown));
	put_texts(&tenants, NULL, k->tenant_names, k->n_tenants);
	TRY(make_secret(ring, k, a, ret->secret, &sealed, e));
	TRY((int)sql_key_add(db, e, .public_id = uuid_str(&k->public_id),
	    .name = k->name, .hash = DIGEST_STR(ret->token.hash),
	    .shown = k->shown, .scopes = scopes_text(a, k->scopes),
	    .tenants = k->tenants ? buf_str(&tenants) : (struct str){NULL, 0},
	    .rate = k->rate_per_second ? &k->rate_per_second : NULL,
	    .now = now_us, .created_by = k->created_by,
	    .expires_at = k->expires_us ? &k->expires_us : NULL,
	    .webhook_secret = sealed));
	return audit(db, AUDIT_KEY_CREATED, k->public_id, k->name,
	    k->created_by, now_us, e);
}

int
keys_secret(struct db *db, struct keyring *ring, struct uuid id,
    struct str absent, struct arena *a, struct str *ret, struct err *e)
{
	struct sql_key_secret_row row;

	if (TRY(sql_key_secret_one(
		db, a, &row, e, .public_id = uuid_str(&id))) == 0)
		return no_key(e);
	*ret = absent;
	return row.webhook_secret.p ? keyring_unseal(ring, a,
					  keyring_where(a, SECRET_COLUMN, id),
					  row.webhook_secret, ret, e)
				    : OK;
}

int
keys_secret_set(struct db *db, struct keyring *ring, const struct key *k,
    struct str by, int64_t now_us, char ret[KEY_SECRET_MAX + 1], struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(16 * KIB);
	struct str sealed;

	TRY(make_secret(ring, k, a, ret, &sealed, e));
	if (TRY((int)sql_key_secret_set(db, e,
		.public_id = uuid_str(&k->public_id),
		.webhook_secret = sealed)) == 0)
		return no_key(e);
	return audit(
	    db, AUDIT_SECRET_ROTATED, k->public_id, k->name, by, now_us, e);
}

int
keys_find(struct db *db, const unsigned char hash[DIGEST_LEN], struct arena *a,
    struct key *ret, struct err *e)
{
	struct sql_key_by_hash_row row;
	int n =
	    TRY(sql_key_by_hash_one(db, a, &row, e, .hash = DIGEST_STR(hash)));

	return n > 0 ? read_row(&row, a, ret, e) : no_key(e);
}

int
keys_get(struct db *db, struct uuid id, struct arena *a, struct key *ret,
    struct err *e)
{
	struct sql_key_by_hash_row row;
	int n =
	    TRY(sql_key_get_one(db, a, &row, e, .public_id = uuid_str(&id)));

	return n > 0 ? read_row(&row, a, ret, e) : no_key(e);
}

int
keys_list(struct db *db, int64_t after, size_t most, struct arena *a,
    struct key **ret, size_t *ret_n, struct err *e)
{
	struct key *list = arena_array(a, most, sizeof(*list));
	struct sql_key_by_hash_row row;
	struct rows *rows = NULL;
	size_t n = 0;
	int rc =
	    sql_key_list(db, &rows, e, .after = after, .most = (int64_t)most);

	while (
	    rc >= 0 && n < most && (rc = sql_key_list_next(rows, &row, e)) > 0)
		rc = read_row(&row, a, &list[n++], e);
	rows_close(rows);
	*ret = list;
	*ret_n = n;
	return rc < 0 ? rc : OK;
}

int
keys_revoke(
    struct db *db, struct uuid id, struct str by, int64_t now_us, struct err *e)
{
	if (TRY((int)sql_key_revoke(
		db, e, .public_id = uuid_str(&id), .now = now_us)) == 0)
		return no_key(e);
	return audit(db, AUDIT_KEY_REVOKED, id, STR_EMPTY, by, now_us, e);
}

int
keys_touch(struct db *db, int64_t id, int64_t now_us, struct err *e)
{
	TRY((int)sql_key_touch(db, e, .id = id, .now = now_us));
	return OK;
}

struct str
key_tenant_names(const struct key *k, struct arena *a)
{
	struct buf b CLEANUP(buf_done) =
	    BUF(KEY_TENANTS_MAX * (TENANT_MAX + 1));

	for (size_t i = 0; i < k->n_tenants; i++) {
		if (i > 0)
			buf_addc(&b, ',');
		buf_add(&b, k->tenant_names[i]);
	}
	return arena_dup(a, buf_str(&b));
}

void
key_json(const struct key *k, const struct key_made *made, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", k->public_id);
	put_text(b, "name", k->name);
	if (made) {
		put_z(b, "key", made->token.text);
		put_z(b, "webhookSecret", made->secret);
	}
	put_text(b, "prefix", k->shown);
	scopes_put(b, "scopes", k->scopes);
	put_texts(b, "tenants", k->tenant_names, k->n_tenants);
	put_some(b, "ratePerSecond", k->rate_per_second);
	put_time(b, "createdAt", k->created_us);
	put_text(b, "createdBy", k->created_by);
	put_time(b, "lastUsedAt", k->last_used_us);
	put_time(b, "expiresAt", k->expires_us);
	put_time(b, "revokedAt", k->revoked_us);
	put_close(b, '}');
}

int
keys_public(struct db *db, int64_t id, struct uuid *ret, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(KIB);
	struct sql_key_public_row row;

	if (TRY(sql_key_public_one(db, a, &row, e, .id = id)) == 0)
		return no_key(e);
	*ret = uuid_of(row.public_id);
	return OK;
}
