#include "account/accounts.h"

#include <fcntl.h>
#include <unistd.h>

#include "account/limits.h"
#include "account/users.h"
#include "audit/audit.h"
#include "sql.h"

#define FIRST_FILE "first-password"

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
	int rc;

	ret_made[0] = '\0';
	*ret_first = false;
	if (TRY(sql_account_any_one(db, &some, e)) > 0)
		return OK;
	if (given.n == 0) {
		password_make(made);
		given = str_of(made);
	}
	TRY(password_check(
	    given, &(struct password_of){.name = STR("admin")}, "", e));
	TRY(password_hash(given, hash, e));
	rc = db_tx(db, add_first, &f, e);
	/* Another node was faster: its password is the one. */
	if (rc == ERR_CONFLICT)
		return OK;
	TRY(rc);
	memcpy(ret_made, made, sizeof(made));
	*ret_first = true;
	return OK;
}

int
accounts_first_keep(const char *dir, const char *password, struct arena *a,
    struct str *ret_path, struct err *e)
{
	struct str path = arena_fmt(a, "%s/" FIRST_FILE, dir);
	struct str line = arena_fmt(a, "%s\n", password);
	int fd;
	bool ok;

	(void)unlink(path.p); /* of a store that is no more */
	fd = open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ok = fd >= 0 && write(fd, line.p, line.n) == (ssize_t)line.n &&
	     fsync(fd) == 0;
	if (!ok)
		(void)err_set(e, ERR_IO,
		    "%s: %m; hikyaku user passwd admin sets another password",
		    path.p);
	if (fd >= 0)
		(void)close(fd);
	*ret_path = path;
	return ok ? OK : ERR_IO;
}

void
accounts_first_forget(const char *dir, struct str name)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/" FIRST_FILE, dir);

	if (str_eq(name, STR("admin")) && n > 0 && (size_t)n < sizeof(path))
		(void)unlink(path);
}

int
accounts_add(struct db *db, struct str name, struct str hash, enum role role,
    struct str by, int64_t now_us, struct err *e)
{
	struct user_new user = {
	    .provider = STR(USER_LOCAL), .subject = name, .name = name};
	struct sql_account_any_row some;

	if (role != ROLE_ADMIN && TRY(sql_account_any_one(db, &some, e)) == 0)
		return err_at(e, ERR_CONFLICT, "/role",
		    "the first user must be an admin");
	if (TRY((int)sql_account_add(db, e, .name = name, .password = hash,
		.role = str_of(role_name(role)), .now = now_us)) == 0)
		return err_at(e, ERR_CONFLICT, "/name",
		    "there is a user %.*s already", STR_ARG(name));
	TRY(users_add(db, &user, now_us, NULL, e));
	return audit(db, AUDIT_USER_CREATED, name, by, now_us, e);
}

int
accounts_find(struct db *db, struct str name, struct arena *a,
    struct account *ret, struct err *e)
{
	struct sql_account_find_row row;

	if (TRY(sql_account_find_one(db, a, &row, e, .name = name)) == 0)
		return no_account(name, e);
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

	if (TRY((int)sql_account_password(db, e, .name = p->name,
		.password = p->hash, .now = now_us)) == 0)
		return no_account(p->name, e);
	TRY((int)sql_session_remove_account(
	    db, e, .name = p->name, .keep = keep));
	TRY((int)sql_token_remove_account(db, e, .name = p->name));
	return audit(
	    db, AUDIT_USER_PASSWORD_CHANGED, p->name, p->by, now_us, e);
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
	int64_t user = 0;
	int n = 0, rc;

	TRY(admins(db, name, &n, &is_admin, e));
	if (is_admin && n == 1)
		return err_set(e, ERR_CONFLICT,
		    "%.*s is the last admin; add another first", STR_ARG(name));
	if (TRY((int)sql_account_remove(db, e, .name = name)) == 0)
		return no_account(name, e);
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
