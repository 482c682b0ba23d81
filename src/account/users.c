#include "account/users.h"

#include "account/limits.h"
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
		    .provider = u->provider, .provider_user_id = u->subject,
		    .email = u->email, .name = u->name, .now = now_us));
	return OK;
}

int
users_identities(struct db *db, int64_t user, struct arena *a,
    struct identity **ret, size_t *ret_n, struct err *e)
{
	struct identity *list = arena_array(a, IDENTITIES_MAX, sizeof(*list));
	struct sql_identity_list_row row;
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = sql_identity_list(
	    db, &rows, e, .user_id = user, .most = IDENTITIES_MAX);

	while (rc >= 0 && n < IDENTITIES_MAX &&
	       (rc = sql_identity_list_next(rows, &row, e)) > 0)
		list[n++] = (struct identity){.id = row.id,
		    .provider = arena_dup(a, row.provider),
		    .subject = arena_dup(a, row.provider_user_id),
		    .created_us = row.created_at};
	rows_close(rows);
	*ret = list;
	*ret_n = n;
	return rc < 0 ? rc : OK;
}

int
users_link(struct db *db, int64_t user, const struct user_new *u,
    int64_t now_us, bool *ret_new, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(MIB);
	struct sql_identity_lock_row locked;
	struct identity *list = NULL;
	int64_t whose = 0;
	size_t n = 0;
	int rc;

	TRY(sql_identity_lock_one(db, &locked, e, .user_id = user));
	rc = users_find(db, u->provider, u->subject, &whose, e);
	if (rc == OK && whose != user)
		return err_set(e, ERR_CONFLICT,
		    "this identity is that of another person here");
	*ret_new = rc == ERR_ABSENT;
	if (rc != ERR_ABSENT)
		return rc;
	TRY(users_identities(db, user, a, &list, &n, e));
	if (n == IDENTITIES_MAX)
		return err_set(e, ERR_LIMIT,
		    "a person has %d identities at most", IDENTITIES_MAX);
	if (TRY((int)sql_identity_add(db, e, .user_id = user,
		.provider = u->provider, .provider_user_id = u->subject,
		.now = now_us)) == 0)
		return err_set(e, ERR_CONFLICT,
		    "this identity became another person's just now");
	return OK;
}

static bool
is_way_in(const struct identity *i, struct str way)
{
	return str_eq(i->provider, STR(USER_LOCAL)) ||
	       (way.n > 0 && str_eq(i->provider, way));
}

int
users_unlink(struct db *db, int64_t user, int64_t id, struct str way,
    struct arena *a, struct identity *ret_gone, struct err *e)
{
	struct sql_identity_lock_row locked;
	struct identity *list = NULL, *gone = NULL;
	size_t n = 0, ways = 0;

	TRY(sql_identity_lock_one(db, &locked, e, .user_id = user));
	TRY(users_identities(db, user, a, &list, &n, e));
	for (size_t i = 0; i < n; i++) {
		ways += is_way_in(&list[i], way);
		if (list[i].id == id)
			gone = &list[i];
	}
	if (!gone)
		return err_set(e, ERR_ABSENT, "there is no such identity");
	if (str_eq(gone->provider, STR(USER_LOCAL))) {
		(void)err_set(e, ERR_CONFLICT,
		    "an account of this server is the person itself");
		return err_word(e, "OWN_ACCOUNT");
	}
	if (is_way_in(gone, way) && ways == 1) {
		(void)err_set(
		    e, ERR_CONFLICT, "this is the last way to log in");
		return err_word(e, "LAST_IDENTITY");
	}
	TRY((int)sql_identity_remove(db, e, .user_id = user, .id = id));
	*ret_gone = *gone;
	return OK;
}

int
users_remove(struct db *db, int64_t id, struct err *e)
{
	TRY((int)sql_user_leave_feeds(db, e, .id = id));
	TRY((int)sql_user_remove(db, e, .id = id));
	return OK;
}
