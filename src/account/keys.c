#include "account/keys.h"

#include "account/limits.h"
#include "audit/audit.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "seal/base64.h"
#include "seal/keyring.h"
#include "sql.h"

#define SECRET_COLUMN "api_key.webhook_secret" /* ops/reseal.c knows it too */

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no room for a key");
}

static bool
has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return true;
	return false;
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
	return OK;
}

static void
tenants_json(const struct key *k, struct buf *b)
{
	for (size_t i = 0; i < k->n_tenants; i++) {
		buf_addz(b, i ? ",\"" : "[\"");
		uuid_add(b, k->tenants[i]);
		buf_addc(b, '"');
	}
	buf_addz(b, k->n_tenants ? "]" : "null");
}

/* Reads what tenants_json() wrote, strictly. */
static int
tenants_read(struct str text, struct arena *a, struct key *k, struct err *e)
{
	enum { EACH = UUID_LEN + 3 }; /* [ or , and the quotes */
	size_t n = text.n / EACH;
	struct uuid *list = arena_array(a, n ? n : 1, sizeof(*list));

	if (!list)
		return no_room(e);
	if (n < 1 || text.n != n * EACH + 1)
		return err_set(
		    e, ERR_STORE, "the tenants of a key can't be read");
	for (size_t i = 0; i < n; i++)
		if (!uuid_parse((struct str){text.p + i * EACH + 2, UUID_LEN},
			&list[i]))
			return err_set(
			    e, ERR_STORE, "the tenants of a key can't be read");
	k->tenants = list;
	k->n_tenants = n;
	return OK;
}

/* All statements that give keys give the same columns. */
static int
read_row(struct rows *rows, struct arena *a, struct key *ret, struct err *e)
{
	struct sql_key_get_row row;
	int rc = OK;

	sql_key_get_get(rows, &row);
	if (row.public_id.n != sizeof(ret->public_id.b))
		return err_set(e, ERR_STORE, "the id of a key can't be read");
	*ret = (struct key){
	    .id = row.id,
	    .name = arena_dup(a, row.name),
	    .shown = arena_dup(a, row.shown),
	    .created_by = arena_dup(a, row.created_by),
	    .scopes = scopes_of(row.scopes),
	    .rate_per_second = row.rate,
	    .created_us = row.created_at,
	    .last_used_us = row.last_used_at,
	    .expires_us = row.expires_at,
	    .revoked_us = row.revoked_at,
	};
	memcpy(ret->public_id.b, row.public_id.p, row.public_id.n);
	if (!ret->name.p || !ret->shown.p || !ret->created_by.p)
		return no_room(e);
	if (row.tenants.p)
		rc = tenants_read(row.tenants, a, ret, e);
	return rc;
}

/* The one row of a query that just began with `rc`. Closes the rows. */
static int
read_one(
    int rc, struct rows *rows, struct arena *a, struct key *ret, struct err *e)
{
	if (rc == OK) {
		rc = rows_next(rows, e);
		if (rc == 0)
			rc = err_set(e, ERR_ABSENT, "there is no such key");
		else if (rc > 0)
			rc = read_row(rows, a, ret, e);
	}
	rows_close(rows);
	return rc;
}

/* As Standard Webhooks writes them. */
static void
make_secret(char ret[KEY_SECRET_LEN + 1])
{
	char bytes[32];
	struct buf b = BUF(KEY_SECRET_LEN);

	rand_bytes(bytes, sizeof(bytes));
	buf_addz(&b, "whsec_");
	base64_add(&b, (struct str){bytes, sizeof(bytes)});
	if (!b.failed)
		memcpy(ret, b.p, b.n);
	ret[b.n] = '\0';
	if (b.p)
		digest_wipe(b.p, b.cap);
	digest_wipe(bytes, sizeof(bytes));
	buf_done(&b);
}

static int
seal_secret(struct keyring *ring, const struct key *k, const char *secret,
    struct arena *a, struct str *ret, struct err *e)
{
	struct str where = keyring_where(a, SECRET_COLUMN, k->public_id);

	if (!where.p || !secret[0])
		return no_room(e);
	return keyring_seal(ring, a, where, str_of(secret), ret, e);
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

int
keys_create(struct db *db, struct keyring *ring, struct key *k, int64_t now_us,
    struct arena *a, struct key_made *ret, struct err *e)
{
	struct str scopes = scopes_text(a, k->scopes), sealed;
	struct buf tenants = BUF(KEY_TENANTS_MAX * (UUID_LEN + 3) + 2);
	int64_t rc;

	token_make(&ret->token);
	make_secret(ret->secret);
	k->public_id = uuid_v7(now_us);
	k->created_us = now_us;
	k->shown = arena_dup(a, str_of(ret->token.shown));
	if (k->tenants)
		tenants_json(k, &tenants);
	if (!scopes.p || !k->shown.p || tenants.failed) {
		rc = no_room(e);
		goto out;
	}
	rc = seal_secret(ring, k, ret->secret, a, &sealed, e);
	if (rc < 0)
		goto out;
	rc = sql_key_add(db, e, .public_id = uuid_str(&k->public_id),
	    .name = k->name,
	    .hash = (struct str){(const char *)ret->token.hash,
		sizeof(ret->token.hash)},
	    .shown = k->shown, .scopes = scopes,
	    .tenants = k->tenants ? buf_str(&tenants) : (struct str){NULL, 0},
	    .rate = k->rate_per_second ? &k->rate_per_second : NULL,
	    .now = now_us, .created_by = k->created_by,
	    .expires_at = k->expires_us ? &k->expires_us : NULL,
	    .webhook_secret = sealed);
	if (rc >= 0)
		rc = audit(db, AUDIT_KEY_CREATED, k->public_id, k->name,
		    k->created_by, now_us, e);
out:
	buf_done(&tenants);
	return rc < 0 ? (int)rc : OK;
}

int
keys_secret(struct db *db, struct keyring *ring, struct uuid id,
    struct str absent, struct arena *a, struct str *ret, struct err *e)
{
	struct str where = keyring_where(a, SECRET_COLUMN, id);
	struct rows *rows = NULL;
	int rc = where.p
		     ? sql_key_secret(db, &rows, e, .public_id = uuid_str(&id))
		     : no_room(e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = err_set(e, ERR_ABSENT, "there is no such key");
	else if (rc > 0 && rows_null(rows, 0)) {
		*ret = absent;
		rc = OK;
	} else if (rc > 0) {
		rc = keyring_unseal(ring, a, where, rows_str(rows, 0), ret, e);
	}
	rows_close(rows);
	return rc;
}

int
keys_find(struct db *db, const unsigned char hash[DIGEST_LEN], struct arena *a,
    struct key *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_key_by_hash(
	    db, &rows, e, .hash = (struct str){(const char *)hash, DIGEST_LEN});

	return read_one(rc, rows, a, ret, e);
}

int
keys_get(struct db *db, struct uuid id, struct arena *a, struct key *ret,
    struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_key_get(db, &rows, e, .public_id = uuid_str(&id));

	return read_one(rc, rows, a, ret, e);
}

int
keys_list(struct db *db, int64_t after, size_t most, struct arena *a,
    struct key **ret, size_t *ret_n, struct err *e)
{
	struct key *list = arena_array(a, most, sizeof(*list));
	struct rows *rows = NULL;
	size_t n = 0;
	int rc;

	if (!list)
		return no_room(e);
	rc = sql_key_list(db, &rows, e, .after = after, .most = (int64_t)most);
	while (rc == OK && n < most && (rc = rows_next(rows, e)) > 0)
		rc = read_row(rows, a, &list[n++], e);
	rows_close(rows);
	if (rc < 0)
		return rc;
	*ret = list;
	*ret_n = n;
	return OK;
}

int
keys_revoke(
    struct db *db, struct uuid id, struct str by, int64_t now_us, struct err *e)
{
	int64_t n =
	    sql_key_revoke(db, e, .public_id = uuid_str(&id), .now = now_us);

	if (n == 0)
		return err_set(e, ERR_ABSENT, "there is no such key");
	return n < 0
		   ? (int)n
		   : audit(db, AUDIT_KEY_REVOKED, id, STR_EMPTY, by, now_us, e);
}

int
keys_touch(struct db *db, int64_t id, int64_t now_us, struct err *e)
{
	int64_t n = sql_key_touch(db, e, .id = id, .now = now_us);

	return n < 0 ? (int)n : OK;
}

static void
time_member(struct buf *b, const char *name, int64_t us)
{
	buf_fmt(b, ",\"%s\":", name);
	if (!us) {
		buf_addz(b, "null");
		return;
	}
	buf_addc(b, '"');
	time_add(b, us);
	buf_addc(b, '"');
}

void
key_json(const struct key *k, const struct key_made *made, struct buf *b)
{
	const char *word;
	size_t at = 0, n = 0;

	buf_addz(b, "{\"id\":\"");
	uuid_add(b, k->public_id);
	buf_addz(b, "\",\"name\":");
	buf_json(b, k->name);
	if (made)
		buf_fmt(b, ",\"key\":\"%s\",\"webhookSecret\":\"%s\"",
		    made->token.text, made->secret);
	buf_addz(b, ",\"prefix\":");
	buf_json(b, k->shown);
	buf_addz(b, ",\"scopes\":[");
	while ((word = scope_next(k->scopes, &at)))
		buf_fmt(b, "%s\"%s\"", n++ ? "," : "", word);
	buf_addz(b, "],\"tenants\":");
	tenants_json(k, b);
	buf_addz(b, ",\"ratePerSecond\":");
	if (k->rate_per_second)
		buf_int(b, k->rate_per_second);
	else
		buf_addz(b, "null");
	time_member(b, "createdAt", k->created_us);
	buf_addz(b, ",\"createdBy\":");
	buf_json(b, k->created_by);
	time_member(b, "lastUsedAt", k->last_used_us);
	time_member(b, "expiresAt", k->expires_us);
	time_member(b, "revokedAt", k->revoked_us);
	buf_addc(b, '}');
}

int
keys_public(struct db *db, int64_t id, struct uuid *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_key_public(db, &rows, e, .id = id);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = err_set(e, ERR_ABSENT, "there is no such key");
	if (rc > 0) {
		struct str bytes = rows_str(rows, 0);

		if (bytes.n == sizeof(ret->b))
			memcpy(ret->b, bytes.p, bytes.n);
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}
