#include "account/users.h"

#include "base/uuid.h"
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
