#include "account/tokens.h"

#include "account/limits.h"
#include "seal/token.h"
#include "sql.h"

#define LETTERS "abcdefghjkmnpqrstuvwxyz23456789"
#define GROUP   6

bool
token_app_formed(struct str text)
{
	if (text.n != APP_TOKEN_LEN)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if ((i + 1) % (GROUP + 1) == 0 ? c != '-'
					       : !c || !strchr(LETTERS, c))
			return false;
	}
	return true;
}

/* All that find one have the same columns. */
static struct app_token
read_row(const struct sql_token_by_hash_row *r, struct arena *a)
{
	return (struct app_token){
	    .id = r->id,
	    .uid = uuid_of(r->uid),
	    .user = r->user_id,
	    .user_uid = uuid_of(r->user_uid),
	    .name = arena_dup(a, r->name),
	    .login = arena_dup(a, r->login),
	    .shown = arena_dup(a, r->shown),
	    .created_us = r->created_at,
	    .last_used_us = r->last_used_at,
	};
}

/* The name that goes with the password; ERR_CONFLICT when there are enough. */
static int
check_user(struct db *db, int64_t user, struct arena *a, struct str *ret_login,
    struct err *e)
{
	struct sql_token_login_row person;
	struct sql_token_count_row count;

	if (TRY(sql_token_login_one(db, a, &person, e, .user_id = user)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such person");
	TRY(sql_token_count_one(db, &count, e, .user_id = user));
	if (count.n >= APP_TOKENS_MAX)
		return err_set(e, ERR_CONFLICT,
		    "you have %d app passwords: remove one first",
		    APP_TOKENS_MAX);
	*ret_login = person.login;
	return OK;
}

/* SHA-256 of MD5("login:password") in hex, as Fever sends it. */
static void
fever_hash(struct str login, const char *text, struct arena *a,
    unsigned char ret[DIGEST_LEN])
{
	struct str pair = arena_fmt(a, "%.*s:%s", STR_ARG(login), text);
	unsigned char md5[DIGEST_MD5_LEN];
	struct buf hex = BUF(FEVER_KEY_LEN + 1);

	if (!digest_md5(pair, md5))
		rand_bytes(md5, sizeof(md5)); /* then Fever finds nobody */
	buf_hex(&hex, (struct str){(const char *)md5, sizeof(md5)});
	digest_sha256(buf_str(&hex), ret);
	digest_wipe((void *)(uintptr_t)pair.p, pair.n);
	digest_wipe_buf(&hex);
}

int
tokens_add(struct db *db, struct app_token *t, int64_t now_us, struct arena *a,
    char ret_text[APP_TOKEN_LEN + 1], struct err *e)
{
	unsigned char hash[DIGEST_LEN], fever[DIGEST_LEN];

	TRY(check_user(db, t->user, a, &t->login, e));
	token_text(ret_text, APP_TOKEN_LEN, STR(LETTERS));
	for (size_t i = GROUP; i < APP_TOKEN_LEN; i += GROUP + 1)
		ret_text[i] = '-';
	t->uid = uuid_v7(now_us);
	t->created_us = now_us;
	t->shown = arena_dup(a, (struct str){ret_text, APP_SHOWN_LEN});
	digest_sha256((struct str){ret_text, APP_TOKEN_LEN}, hash);
	fever_hash(t->login, ret_text, a, fever);
	TRY((int)sql_token_add(db, e, .uid = uuid_str(&t->uid),
	    .user_id = t->user, .name = t->name, .login = t->login,
	    .shown = t->shown, .hash = DIGEST_STR(hash),
	    .fever_hash = DIGEST_STR(fever), .now = now_us));
	return OK;
}

int
tokens_find(struct db *db, const unsigned char hash[DIGEST_LEN], bool fever,
    struct arena *a, struct app_token *ret, struct err *e)
{
	struct str bytes = DIGEST_STR(hash);
	struct sql_token_by_hash_row row;
	int n =
	    TRY(fever ? sql_token_by_fever_one(db, a, &row, e, .hash = bytes)
		      : sql_token_by_hash_one(db, a, &row, e, .hash = bytes));

	if (n == 0)
		return err_set(e, ERR_ABSENT, "nobody has this app password");
	*ret = read_row(&row, a);
	return OK;
}

int
tokens_list(struct db *db, int64_t user, struct arena *a,
    struct app_token **ret, size_t *ret_n, struct err *e)
{
	struct app_token *list = arena_array(a, APP_TOKENS_MAX, sizeof(*list));
	struct sql_token_by_hash_row row;
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = sql_token_list(
	    db, &rows, e, .user_id = user, .most = APP_TOKENS_MAX);

	while (rc >= 0 && n < APP_TOKENS_MAX &&
	       (rc = sql_token_list_next(rows, &row, e)) > 0)
		list[n++] = read_row(&row, a);
	rows_close(rows);
	*ret = list;
	*ret_n = n;
	return rc < 0 ? rc : OK;
}

int
tokens_remove(struct db *db, int64_t user, struct uuid uid, struct err *e)
{
	if (TRY((int)sql_token_remove(
		db, e, .user_id = user, .uid = uuid_str(&uid))) == 0)
		return err_set(e, ERR_ABSENT, "there is no such app password");
	return OK;
}

int
tokens_user(struct db *db, struct str login, int64_t *ret_user, struct err *e)
{
	struct sql_token_user_row row;

	if (TRY(sql_token_user_one(db, &row, e, .login = login)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such person");
	*ret_user = row.id;
	return OK;
}

int
tokens_touch(struct db *db, int64_t id, int64_t now_us, struct err *e)
{
	TRY((int)sql_token_touch(db, e, .id = id, .now = now_us));
	return OK;
}

void
token_json(const struct app_token *t, const char *text, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", t->uid);
	put_text(b, "name", t->name);
	put_text(b, "login", t->login);
	if (text)
		put_z(b, "token", text);
	put_text(b, "prefix", t->shown);
	put_time(b, "created_at", t->created_us);
	put_time(b, "last_used_at", t->last_used_us);
	put_close(b, '}');
}
