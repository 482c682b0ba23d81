#include "account/accounts.h"

#include "account/limits.h"
#include "account/users.h"
#include "audit/audit.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/put.h"
#include "base/str.h"
#include "sql.h"

static bool
is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int
account_check_name(struct str name, const char *at, struct err *e)
{
	bool ok =
	    name.n >= 1 && name.n <= ACCOUNT_NAME_MAX && is_alnum(name.p[0]);

	for (size_t i = 0; ok && i < name.n; i++)
		ok = is_alnum(name.p[i]) || str_has(STR("._@+-"), name.p[i]);
	if (!ok)
		return err_at(e, ERR_INVALID, at,
		    "a name is 1 to %d of a-z 0-9 . _ @ + -, beginning with a letter or digit",
		    ACCOUNT_NAME_MAX);
	return OK;
}

static int
no_account(struct str name, struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no user %.*s", STR_ARG(name));
}

static int
audit(struct db *db, enum audit_category what, struct str name, struct str by,
    int64_t now_us, struct err *e)
{
	struct audit_row row = {
	    .category = what,
	    .at_us = now_us,
	    .actor = by,
	    .target_type = STR("user"),
	    .object_id = name,
	};

	return audit_put(db, &row, e);
}

struct first {
	const char *hash;
	int64_t now_us;
};

static int
add_first(struct db *db, void *ctx, struct err *e)
{
	const struct first *f = ctx;

	return accounts_add(db, STR("admin"), str_of(f->hash), ROLE_ADMIN,
	    STR_EMPTY, f->now_us, e);
}

int
accounts_first(struct db *db, struct str given, int64_t now_us,
    char ret_made[PASSWORD_MADE_LEN + 1], bool *ret_first, struct err *e)
{
	char made[PASSWORD_MADE_LEN + 1] = "", hash[PASSWORD_HASH_SIZE];
	struct first f = {.hash = hash, .now_us = now_us};
	struct sql_account_any_row some;
	int rc = sql_account_any_one(db, &some, e);

	if (rc < 0)
		return rc;
	ret_made[0] = '\0';
	*ret_first = false;
	if (rc > 0)
		return OK;
	if (given.n == 0) {
		password_make(made);
		given = str_of(made);
	}
	rc = password_check(
	    given, &(struct password_of){.name = STR("admin")}, "", e);
	if (rc == OK)
		rc = password_hash(given, hash, e);
	if (rc == OK)
		rc = db_tx(db, add_first, &f, e);
	/* Another node was faster: its password is the one. */
	if (rc == ERR_CONFLICT)
		return OK;
	if (rc < 0)
		return rc;
	memcpy(ret_made, made, sizeof(made));
	*ret_first = true;
	return OK;
}

int
accounts_add(struct db *db, struct str name, struct str hash, enum role role,
    struct str by, int64_t now_us, struct err *e)
{
	struct user_new user = {
	    .provider = STR(USER_LOCAL), .subject = name, .name = name};
	struct sql_account_any_row some;
	int64_t n = role == ROLE_ADMIN ? 1 : sql_account_any_one(db, &some, e);

	if (n == 0)
		return err_at(e, ERR_CONFLICT, "/role",
		    "the first user must be an admin");
	if (n > 0)
		n = sql_account_add(db, e, .name = name, .password = hash,
		    .role = str_of(role_name(role)), .now = now_us);
	if (n == 0)
		return err_at(e, ERR_CONFLICT, "/name",
		    "there is a user %.*s already", STR_ARG(name));
	if (n > 0)
		n = users_add(db, &user, now_us, NULL, e);
	return n < 0 ? (int)n
		     : audit(db, AUDIT_USER_CREATED, name, by, now_us, e);
}

int
accounts_find(struct db *db, struct str name, struct arena *a,
    struct account *ret, struct err *e)
{
	struct sql_account_find_row row;
	int rc = sql_account_find_one(db, a, &row, e, .name = name);

	if (rc <= 0)
		return rc < 0 ? rc : no_account(name, e);
	*ret = (struct account){
	    .id = row.id,
	    .user = row.user_id,
	    .user_uid = uuid_of(row.user_uid),
	    .name = row.name,
	    .password = row.password,
	    .role = role_of(row.role),
	    .created_us = row.created_at,
	    .changed_us = row.changed_at,
	};
	return OK;
}

int
accounts_password(struct db *db, const struct account_password *p,
    int64_t now_us, struct err *e)
{
	struct str keep = p->keep.p ? p->keep : STR_EMPTY;
	int64_t n = sql_account_password(
	    db, e, .name = p->name, .password = p->hash, .now = now_us);

	if (n == 0)
		return no_account(p->name, e);
	if (n > 0)
		n = sql_session_remove_account(
		    db, e, .name = p->name, .keep = keep);
	if (n >= 0)
		n = sql_token_remove_account(db, e, .name = p->name);
	return n < 0 ? (int)n
		     : audit(db, AUDIT_USER_PASSWORD_CHANGED, p->name, p->by,
			   now_us, e);
}

/* How many admins there are, and whether `name` is one. */
static int
admins(struct db *db, struct str name, int *ret_n, bool *ret_one, struct err *e)
{
	struct sql_account_admins_row row;
	struct rows *rows = NULL;
	int rc = sql_account_admins(db, &rows, e);

	while (rc >= 0 && (rc = sql_account_admins_next(rows, &row, e)) > 0) {
		*ret_n += 1;
		*ret_one = *ret_one || str_eq(row.name, name);
	}
	rows_close(rows);
	return rc;
}

int
accounts_remove(struct db *db, struct str name, struct str by, int64_t now_us,
    struct err *e)
{
	bool is_admin = false;
	int64_t user = 0, changed;
	int n = 0;
	int rc = admins(db, name, &n, &is_admin, e);

	if (rc < 0)
		return rc;
	if (is_admin && n == 1)
		return err_set(e, ERR_CONFLICT,
		    "%.*s is the last admin; add another first", STR_ARG(name));
	changed = sql_account_remove(db, e, .name = name);
	if (changed <= 0)
		return changed < 0 ? (int)changed : no_account(name, e);
	rc = users_find(db, STR(USER_LOCAL), name, &user, e);
	if (rc == OK)
		rc = users_remove(db, user, e);
	return rc < 0 && rc != ERR_ABSENT
		   ? rc
		   : audit(db, AUDIT_USER_REMOVED, name, by, now_us, e);
}

int
accounts_list(struct db *db, struct str after, size_t most, struct arena *a,
    struct account **ret, size_t *ret_n, struct err *e)
{
	struct account *list = arena_array(a, most, sizeof(*list));
	struct sql_account_list_row row;
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = sql_account_list(
	    db, &rows, e, .after = after, .most = (int64_t)most);

	while (rc >= 0 && n < most &&
	       (rc = sql_account_list_next(rows, &row, e)) > 0)
		list[n++] = (struct account){
		    .id = row.id,
		    .name = arena_dup(a, row.name),
		    .role = role_of(row.role),
		    .created_us = row.created_at,
		    .changed_us = row.changed_at,
		};
	rows_close(rows);
	*ret = list;
	*ret_n = n;
	return rc < 0 ? rc : OK;
}

void
account_json(const struct account *u, struct buf *b)
{
	put_open(b, NULL, '{');
	put_text(b, "name", u->name);
	put_z(b, "role", role_name(u->role));
	put_time(b, "createdAt", u->created_us);
	put_time(b, "passwordChangedAt", u->changed_us);
	put_close(b, '}');
}
