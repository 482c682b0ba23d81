#include "account/limits.h"
#include "account/oidc.h"
#include "account/users.h"
#include "api/api.h"
#include "api/io.h"
#include "api/people/people.h"
#include "api/v1/account.h"
#include "audit/audit.h"

/* What a person logs in with: the list, one less, and one more once the provider
 * said whose it is. */

int
api_identities_list(struct req *r, struct db *db, struct err *e)
{
	struct identity *list = NULL;
	size_t n = 0;

	TRY(api_query_none(r, e));
	TRY(users_identities(db, r->who.user, r->arena, &list, &n, e));
	put_open(&r->out, NULL, '{');
	put_open(&r->out, "identities", '[');
	for (size_t i = 0; i < n; i++) {
		put_open(&r->out, NULL, '{');
		put_int(&r->out, "id", list[i].id);
		put_text(&r->out, "provider", list[i].provider);
		put_text(&r->out, "subject", list[i].subject);
		put_time(&r->out, "created_at", list[i].created_us);
		put_close(&r->out, '}');
	}
	put_close(&r->out, ']');
	put_close(&r->out, '}');
	return OK;
}

/* The last of its transaction (audit/audit.h). */
static int
audit_identity(struct db *db, enum audit_category what,
    const struct principal *who, struct str provider, struct err *e)
{
	struct str name = str_of(who->name);
	char actor[sizeof(who->name) + 8];
	struct audit_row row = {
	    .category = what,
	    .at_us = clock_now_us(),
	    .target_type = STR("user"),
	    .object_id = name,
	    .object_name = provider,
	};

	(void)snprintf(actor, sizeof(actor), "user:%.*s", STR_ARG(name));
	row.actor = str_of(actor);
	return audit_put(db, &row, e);
}

/* Who came in by it goes: all sessions but this one end. */
int
api_identities_delete(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	unsigned char own[DIGEST_LEN];
	struct identity gone;
	int64_t id = 0;

	if (!db)
		return api_account_write(r, api_identities_delete, e);
	if (!str_int(r->params[0], &id))
		return err_set(e, ERR_ABSENT, "there is no such identity");
	TRY(users_unlink(db, r->who.user, id,
	    api->oidc ? oidc_provider(api->oidc) : STR_EMPTY, r->arena, &gone,
	    e));
	TRY(session_remove_others(db, r->who.user,
	    api_own_session(r, own) ? DIGEST_STR(own) : STR_EMPTY, e));
	r->status = 204;
	return audit_identity(
	    db, AUDIT_IDENTITY_UNLINKED, &r->who, gone.provider, e);
}

/* Whoever began must be logged in still, in the browser that comes back. */
static int
check_person(struct req *r, struct db *db, struct uuid uid,
    struct principal *ret, struct err *e)
{
	unsigned char id[DIGEST_LEN];
	int rc = api_own_session(r, id) ? session_find(db, id, clock_now_us(),
					      r->arena, ret, NULL, e)
					: ERR_ABSENT;

	if (rc < 0 && rc != ERR_ABSENT)
		return rc;
	if (rc == ERR_ABSENT || !uuid_eq(ret->user_uid, uid))
		return err_set(e, ERR_UNKNOWN,
		    "whoever began to link this identity is not logged in");
	return OK;
}

static int
put_identity(struct req *r, struct db *db, struct err *e)
{
	const struct api_link *l = r->ctx;
	struct principal who;
	bool fresh = false;

	TRY(check_person(r, db, l->uid, &who, e));
	TRY(users_link(db, who.user, l->person, clock_now_us(), &fresh, e));
	return fresh ? audit_identity(db, AUDIT_IDENTITY_LINKED, &who,
			   l->person->provider, e)
		     : OK;
}

static int
linked(struct req *r, struct err *e)
{
	const struct api_link *l = r->ctx;
	const char *code = r->rc == ERR_UNKNOWN    ? "link_session"
			   : r->rc == ERR_CONFLICT ? "identity_taken"
			   : r->rc == ERR_LIMIT    ? "identity_limit"
						   : NULL;

	if (code)
		return l->refuse(r, code, r->err.text);
	return r->rc < 0 ? api_said(r, e) : api_lead_to(r, l->location);
}

int
api_link(struct req *r, struct api_link *l, struct err *e)
{
	r->ctx = l;
	r->then = linked;
	return api_write(r, put_identity, e);
}
