#include "account/tokens.h"

#include "account/limits.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
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

static void
make(char ret[APP_TOKEN_LEN + 1])
{
	token_text(ret, APP_TOKEN_LEN, STR(LETTERS));
	for (size_t i = GROUP; i < APP_TOKEN_LEN; i += GROUP + 1)
		ret[i] = '-';
}

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no room for an app password");
}

static int
read_row(
    struct rows *rows, struct arena *a, struct app_token *ret, struct err *e)
{
	/* All that find one have the same columns. */
	struct sql_token_list_row row = {0};

	sql_token_list_get(rows, &row);
	*ret = (struct app_token){
	    .id = row.id,
	    .user = row.user_id,
	    .name = arena_dup(a, row.name),
	    .login = arena_dup(a, row.login),
	    .shown = arena_dup(a, row.shown),
	    .created_us = row.created_at,
	    .last_used_us = row.last_used_at,
	};
	if (row.uid.n == sizeof(ret->uid.b))
		memcpy(ret->uid.b, row.uid.p, row.uid.n);
	if (row.user_uid.n == sizeof(ret->user_uid.b))
		memcpy(ret->user_uid.b, row.user_uid.p, row.user_uid.n);
	return ret->name.p && ret->login.p && ret->shown.p ? OK : no_room(e);
}

/* The name that goes with the password; ERR_CONFLICT when there are enough. */
static int
check_user(struct db *db, int64_t user, struct arena *a, struct str *ret_login,
    struct err *e)
{
	struct rows *rows = NULL;
	int64_t n = 0;
	int rc = sql_token_login(db, &rows, e, .user_id = user);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret_login = arena_dup(a, rows_str(rows, 0));
	rows_close(rows);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, ERR_ABSENT, "there is no such person");
	rows = NULL;
	rc = sql_token_count(db, &rows, e, .user_id = user);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		n = rows_int(rows, 0);
	rows_close(rows);
	if (rc < 0)
		return rc;
	if (n >= APP_TOKENS_MAX)
		return err_set(e, ERR_CONFLICT,
		    "you have %d app passwords: remove one first",
		    APP_TOKENS_MAX);
	return ret_login->p ? OK : no_room(e);
}

/* SHA-256 of MD5("login:password") in hex, as Fever sends it. */
static int
fever_hash(struct str login, const char *text, struct arena *a,
    unsigned char ret[DIGEST_LEN], struct err *e)
{
	struct str pair = arena_fmt(a, "%.*s:%s", STR_ARG(login), text);
	unsigned char md5[DIGEST_MD5_LEN];
	struct buf hex = BUF(FEVER_KEY_LEN + 1);

	if (!pair.p)
		return no_room(e);
	if (!digest_md5(pair, md5))
		rand_bytes(md5, sizeof(md5)); /* then Fever finds nobody */
	buf_hex(&hex, (struct str){(const char *)md5, sizeof(md5)});
	digest_sha256(buf_str(&hex), ret);
	digest_wipe((void *)(uintptr_t)pair.p, pair.n);
	digest_wipe(hex.p, hex.n);
	buf_done(&hex);
	return OK;
}

int
tokens_add(struct db *db, int64_t user, struct str name, int64_t now_us,
    struct arena *a, struct app_token *ret, char ret_text[APP_TOKEN_LEN + 1],
    struct err *e)
{
	unsigned char hash[DIGEST_LEN], fever[DIGEST_LEN];
	struct app_token t = {.user = user,
	    .uid = uuid_v7(now_us),
	    .name = name,
	    .created_us = now_us};
	int64_t n;
	int rc = check_user(db, user, a, &t.login, e);

	if (rc < 0)
		return rc;
	make(ret_text);
	t.shown = arena_dup(a, (struct str){ret_text, APP_SHOWN_LEN});
	if (!t.shown.p)
		return no_room(e);
	digest_sha256((struct str){ret_text, APP_TOKEN_LEN}, hash);
	rc = fever_hash(t.login, ret_text, a, fever, e);
	if (rc < 0)
		return rc;
	n = sql_token_add(db, e, .uid = uuid_str(&t.uid), .user_id = user,
	    .name = name, .login = t.login, .shown = t.shown,
	    .hash = (struct str){(const char *)hash, sizeof(hash)},
	    .fever_hash = (struct str){(const char *)fever, sizeof(fever)},
	    .now = now_us);
	if (n < 0)
		return (int)n;
	*ret = t;
	return OK;
}

int
tokens_find(struct db *db, const unsigned char hash[DIGEST_LEN], bool fever,
    struct arena *a, struct app_token *ret, struct err *e)
{
	struct str bytes = {(const char *)hash, DIGEST_LEN};
	struct rows *rows = NULL;
	int rc = fever ? sql_token_by_fever(db, &rows, e, .hash = bytes)
		       : sql_token_by_hash(db, &rows, e, .hash = bytes);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = err_set(e, ERR_ABSENT, "nobody has this app password");
	else if (rc > 0)
		rc = read_row(rows, a, ret, e);
	rows_close(rows);
	return rc;
}

int
tokens_list(struct db *db, int64_t user, struct arena *a,
    struct app_token **ret, size_t *ret_n, struct err *e)
{
	struct app_token *list = arena_array(a, APP_TOKENS_MAX, sizeof(*list));
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = list ? sql_token_list(db, &rows, e, .user_id = user,
			    .most = APP_TOKENS_MAX)
		      : no_room(e);

	while (rc == OK && n < APP_TOKENS_MAX && (rc = rows_next(rows, e)) > 0)
		rc = read_row(rows, a, &list[n++], e);
	rows_close(rows);
	if (rc < 0)
		return rc;
	*ret = list;
	*ret_n = n;
	return OK;
}

int
tokens_remove(struct db *db, int64_t user, struct uuid uid, struct err *e)
{
	int64_t n =
	    sql_token_remove(db, e, .user_id = user, .uid = uuid_str(&uid));

	if (n == 0)
		return err_set(e, ERR_ABSENT, "there is no such app password");
	return n < 0 ? (int)n : OK;
}

int
tokens_user(struct db *db, struct str login, int64_t *ret_user, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_token_user(db, &rows, e, .login = login);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret_user = rows_int(rows, 0);
	rows_close(rows);
	if (rc == 0)
		return err_set(e, ERR_ABSENT, "there is no such person");
	return rc < 0 ? rc : OK;
}

int
tokens_touch(struct db *db, int64_t id, int64_t now_us, struct err *e)
{
	int64_t n = sql_token_touch(db, e, .id = id, .now = now_us);

	return n < 0 ? (int)n : OK;
}

void
token_json(const struct app_token *t, const char *text, struct buf *b)
{
	buf_addz(b, "{\"id\":\"");
	uuid_add(b, t->uid);
	buf_addz(b, "\",\"name\":");
	buf_json(b, t->name);
	buf_addz(b, ",\"login\":");
	buf_json(b, t->login);
	if (text)
		buf_fmt(b, ",\"token\":\"%s\"", text);
	buf_addz(b, ",\"prefix\":");
	buf_json(b, t->shown);
	buf_addz(b, ",\"created_at\":\"");
	time_add(b, t->created_us);
	buf_addz(b, "\",\"last_used_at\":");
	if (t->last_used_us) {
		buf_addc(b, '"');
		time_add(b, t->last_used_us);
		buf_addz(b, "\"}");
	} else {
		buf_addz(b, "null}");
	}
}
