#include "account/session.h"

#include "account/limits.h"
#include "account/scopes.h"
#include "account/users.h"
#include "base/conf/conf.h"
#include "http/server/req.h"
#include "seal/base64.h"
#include "seal/keyring.h"
#include "seal/token.h"
#include "sql.h"

#define LABEL "session "
#define ALPHABET                                                               \
	STR("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
#define SECRET       STR("session_secret")
/* As ops/reseal.c names them. */
#define SECRET_WHERE "meta.session_secret"
#define DATA_WHERE   "sessions.data"

static struct str
secret_where(struct arena *a)
{
	return keyring_where(a, SECRET_WHERE, (struct uuid){.b = {0}});
}

/* Another node may be faster: then its secret is the one. */
static int
make_kept(struct db *db, struct keyring *k, struct arena *a, struct err *e)
{
	char made[SESSION_TOKEN_LEN + 1];
	struct str sealed = STR_EMPTY;
	int rc;

	token_text(made, SESSION_TOKEN_LEN, ALPHABET);
	rc = keyring_seal(k, a, secret_where(a), str_of(made), &sealed, e);
	digest_wipe(made, sizeof(made));
	TRY(rc);
	TRY((int)sql_meta_add(db, e, .name = SECRET, .value = sealed));
	return OK;
}

int
session_key_open(struct db *db, struct keyring *k, const char *given,
    struct session_key *ret, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(MIB);
	struct str secret = str_of(given);
	struct sql_meta_get_row row;

	if (secret.n == 0) {
		int n = TRY(sql_meta_get_one(db, a, &row, e, .name = SECRET));

		if (n == 0) {
			TRY(make_kept(db, k, a, e));
			n = TRY(
			    sql_meta_get_one(db, a, &row, e, .name = SECRET));
		}
		if (n == 0)
			return err_set(
			    e, ERR_STORE, "the session secret was not kept");
		TRY(keyring_unseal(
		    k, a, secret_where(a), row.value, &secret, e));
	}
	digest_sha256(secret, ret->b);
	return OK;
}

void
session_mac(const struct session_key *k, const char *label, struct str text,
    unsigned char ret[DIGEST_LEN])
{
	struct hmac *h = hmac_new(DIGEST_STR(k->b));
	struct str parts[] = {str_of(label), text};

	hmac_sum(h, parts, COUNT_OF(parts), ret);
	hmac_free(h);
}

void
session_make(const struct session_key *k, char ret[SESSION_TEXT_LEN + 1],
    unsigned char ret_id[DIGEST_LEN])
{
	struct buf b = BUF(64);
	unsigned char m[DIGEST_LEN];
	struct str token = {ret, SESSION_TOKEN_LEN};

	token_text(ret, SESSION_TOKEN_LEN, ALPHABET);
	digest_sha256(token, ret_id);
	session_mac(k, LABEL, token, m);
	base64_url_add(&b, DIGEST_STR(m));
	ret[SESSION_TOKEN_LEN] = '.';
	memcpy(ret + SESSION_TOKEN_LEN + 1, b.p, b.n);
	ret[SESSION_TEXT_LEN] = '\0';
	buf_done(&b);
}

bool
session_read(const struct session_key *k, struct str text,
    unsigned char ret_id[DIGEST_LEN])
{
	struct str token = {text.p, SESSION_TOKEN_LEN};
	unsigned char want[DIGEST_LEN];
	char got[DIGEST_LEN];
	size_t n = 0;

	if (text.n != SESSION_TEXT_LEN || text.p[SESSION_TOKEN_LEN] != '.' ||
	    !base64_url_read(
		str_from(text, SESSION_TOKEN_LEN + 1), got, sizeof(got), &n) ||
	    n != sizeof(got))
		return false;
	session_mac(k, LABEL, token, want);
	if (!digest_eq(want, got, sizeof(want)))
		return false;
	digest_sha256(token, ret_id);
	return true;
}

struct str
session_cookie(struct str header, struct str name)
{
	while (header.n > 0) {
		struct str one = str_trim(str_cut(&header, ';'));
		struct str key = str_trim(str_cut(&one, '='));

		if (str_eq(key, name))
			return str_trim(one);
	}
	return STR_EMPTY;
}

/* Where the data lives: the row by the first half of its id. */
static struct str
data_where(struct arena *a, const unsigned char id[DIGEST_LEN])
{
	struct uuid uid;

	memcpy(uid.b, id, sizeof(uid.b));
	return keyring_where(a, DATA_WHERE, uid);
}

int
session_add(struct db *db, struct keyring *k, struct arena *a,
    const struct session_new *s, bool *ret_ended, struct err *e)
{
	struct str sealed = STR_EMPTY;

	TRY(keyring_seal(k, a, data_where(a, s->id), s->provider, &sealed, e));
	TRY((int)sql_session_add(db, e, .id = DIGEST_STR(s->id),
	    .user_id = s->user, .data = sealed, .expires_at = s->expires_us,
	    .now = s->now_us));
	*ret_ended = TRY((int)sql_session_trim(
			 db, e, .user_id = s->user, .keep = SESSIONS_EACH)) > 0;
	return OK;
}

struct session_life
session_life(const struct conf *c)
{
	return (struct session_life){
	    .age_us = c->session_max_age_ms * US_PER_MS,
	    .total_us = c->session_max_total_ms * US_PER_MS};
}

int64_t
session_end(const struct session_life *l, int64_t created_us, int64_t now_us)
{
	int64_t by_use = now_us + l->age_us, last = created_us + l->total_us;

	return by_use < last ? by_use : last;
}

int64_t
session_step(const struct session_life *l)
{
	int64_t part = l->age_us / 20;

	return part < KEY_TOUCH_S * US_PER_S ? part : KEY_TOUCH_S * US_PER_S;
}

int
session_find(struct db *db, const unsigned char id[DIGEST_LEN], int64_t now_us,
    struct arena *a, struct principal *ret, struct session_row *ret_row,
    struct err *e)
{
	struct sql_session_find_row row;
	char uid[UUID_LEN + 1];

	if (TRY(sql_session_find_one(
		db, a, &row, e, .id = DIGEST_STR(id), .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such session");
	*ret = (struct principal){
	    .kind = WHO_USER,
	    .id = row.account_id,
	    .user = row.user_id,
	    .user_uid = uuid_of(row.user_uid),
	    .scopes = row.account_id ? role_scopes(role_of(row.role)) : 0,
	    .expires_us = row.expires_at,
	    .by_cookie = true,
	};
	uuid_format(ret->user_uid, uid);
	(void)snprintf(ret->name, sizeof(ret->name), "%s%.*s",
	    row.account_id ? "" : PERSON_NAME,
	    STR_ARG(row.account_id ? row.account_name : str_of(uid)));
	if (ret_row)
		*ret_row = (struct session_row){row.seq, row.created_at};
	return OK;
}

int
session_renew(struct db *db, int64_t seq, int64_t expires_us, struct err *e)
{
	TRY((int)sql_session_renew(
	    db, e, .seq = seq, .expires_at = expires_us));
	return OK;
}

int
session_look(struct db *db, struct keyring *k,
    const unsigned char id[DIGEST_LEN], struct arena *a,
    struct str *ret_provider, struct err *e)
{
	struct sql_session_data_row row;
	struct err broken;
	int rc = sql_session_data_one(db, a, &row, e, .id = DIGEST_STR(id));

	/* Without its key it is still a session. */
	if (rc <= 0 || keyring_unseal(k, a, data_where(a, id), row.data,
			   ret_provider, &broken) < 0)
		*ret_provider = (struct str){.p = NULL};
	return rc < 0 ? rc : OK;
}

int
session_remove(struct db *db, const unsigned char id[DIGEST_LEN], struct err *e)
{
	TRY((int)sql_session_remove(db, e, .id = DIGEST_STR(id)));
	return OK;
}

int
session_remove_others(
    struct db *db, int64_t user, struct str keep, struct err *e)
{
	TRY((int)sql_session_remove_user(db, e, .user_id = user, .keep = keep));
	return OK;
}
