#include "account/users.h"

#include "base/arena.h"
#include "sql.h"

int
users_add(struct db *db, const struct user_new *u, int64_t now_us,
    int64_t *ret_id, struct err *e)
{
	struct str email = u->email.p ? u->email : STR_EMPTY;
	struct uuid uid = uuid_v4();
	struct sql_user_add_row row = {0};
	struct rows *rows = NULL;
	int64_t n;
	int rc =
	    sql_user_add(db, uuid_str(&uid), email, u->name, now_us, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		sql_user_add_get(rows, &row);
	rows_close(rows);
	if (rc < 0)
		return rc;
	n = sql_identity_add(db, row.id, u->provider, u->subject, now_us, e);
	if (n < 0)
		return (int)n;
	if (n == 0)
		return err_set(e, ERR_CONFLICT, "%.*s has a user %.*s already",
		    STR_ARG(u->provider), STR_ARG(u->subject));
	if (ret_id)
		*ret_id = row.id;
	return OK;
}

int
users_get(
    struct db *db, int64_t id, struct arena *a, struct user *ret, struct err *e)
{
	struct sql_user_get_row row;
	struct rows *rows = NULL;
	int rc = sql_user_get(db, id, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = err_set(e, ERR_ABSENT, "there is no such person");
	if (rc < 0)
		goto out;
	sql_user_get_get(rows, &row);
	*ret = (struct user){
	    .email = arena_dup(a, row.email),
	    .name = arena_dup(a, row.name),
	    .created_us = row.created_at,
	};
	if (row.uid.n == sizeof(ret->uid.b))
		memcpy(ret->uid.b, row.uid.p, row.uid.n);
	rc = ret->email.p && ret->name.p
		 ? OK
		 : err_set(e, ERR_NOMEM, "no room for a person");
out:
	rows_close(rows);
	return rc;
}
