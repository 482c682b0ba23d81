#include "account/users.h"

#include "sql.h"

int
users_add(struct db *db, const struct user_new *u, int64_t now_us,
    int64_t *ret_id, struct err *e)
{
	struct str email = u->email.p ? u->email : STR_EMPTY;
	struct uuid uid = uuid_v4();
	struct sql_user_add_row row = {0};

	TRY(sql_user_add_one(db, &row, e, .uid = uuid_str(&uid), .email = email,
	    .name = u->name, .now = now_us));
	if (TRY((int)sql_identity_add(db, e, .user_id = row.id,
		.provider = u->provider, .provider_user_id = u->subject,
		.now = now_us)) == 0)
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

	if (TRY(sql_user_get_one(db, a, &row, e, .id = id)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such person");
	*ret = (struct user){.uid = uuid_of(row.uid),
	    .email = row.email,
	    .name = row.name,
	    .created_us = row.created_at};
	return OK;
}

/* *ret_same: it is there, with this email and name. */
static int
find_user(struct db *db, const struct user_new *u, int64_t *ret_id,
    bool *ret_same, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(4 * KIB);
	struct sql_user_of_row row;

	if (TRY(sql_user_of_one(db, a, &row, e, .provider = u->provider,
		.provider_user_id = u->subject)) == 0)
		return err_set(e, ERR_ABSENT, "%.*s has no user %.*s",
		    STR_ARG(u->provider), STR_ARG(u->subject));
	*ret_id = row.user_id;
	*ret_same = str_eq(row.email, u->email) && str_eq(row.name, u->name);
	return OK;
}

int
users_find(struct db *db, struct str provider, struct str subject,
    int64_t *ret_id, struct err *e)
{
	struct user_new u = {.provider = provider,
	    .subject = subject,
	    .email = STR_EMPTY,
	    .name = STR_EMPTY};
	bool same;

	return find_user(db, &u, ret_id, &same, e);
}

int
users_login(struct db *db, const struct user_new *u, int64_t now_us,
    int64_t *ret_id, bool *ret_made, struct err *e)
{
	bool same = false;
	int rc = find_user(db, u, ret_id, &same, e);

	if (ret_made)
		*ret_made = rc == ERR_ABSENT;
	if (rc == ERR_ABSENT)
		return users_add(db, u, now_us, ret_id, e);
	TRY(rc);
	if (!same)
		TRY((int)sql_user_change(db, e, .id = *ret_id,
		    .email = u->email, .name = u->name, .now = now_us));
	return OK;
}

int
users_remove(struct db *db, int64_t id, struct err *e)
{
	TRY((int)sql_user_leave_feeds(db, e, .id = id));
	TRY((int)sql_user_remove(db, e, .id = id));
	return OK;
}
