#include "account/auth.h"
#include "account/oidc.h"
#include "account/scopes.h"
#include "account/session.h"
#include "account/users.h"
#include "api/api.h"
#include "api/io.h"
#include "api/people/people.h"
#include "audit/audit.h"
#include "base/conf/conf.h"

bool
api_own_session(const struct req *r, unsigned char ret_id[DIGEST_LEN])
{
	const struct api *api = r->app;
	struct str text =
	    session_cookie(req_header(r, "Cookie"), STR(SESSION_COOKIE));

	return text.n > 0 && session_read(&api->session, text, ret_id);
}

void
api_cookie(struct req *r, const char *name, struct str text, const char *path,
    int64_t age_s)
{
	const struct api *api = r->app;
	struct str line = arena_fmt(r->arena,
	    "%s=%.*s; Path=%s; HttpOnly; SameSite=Lax; Max-Age=%lld%s", name,
	    STR_ARG(text), path, (long long)(text.n ? age_s : 0),
	    api->secure ? "; Secure" : "");

	req_add_header(r, "Set-Cookie", line.p);
}

void
api_session_cookie(struct req *r, const char *text)
{
	const struct api *api = r->app;
	struct session_life life = session_life(api->conf);

	api_cookie(r, SESSION_COOKIE, str_of(text), "/",
	    session_end(&life, 0, 0) / US_PER_S);
}

void
api_renew_cookie(struct req *r)
{
	struct str text =
	    session_cookie(req_header(r, "Cookie"), STR(SESSION_COOKIE));

	api_cookie(r, SESSION_COOKIE, text, "/",
	    (r->who.expires_us - clock_now_us() + US_PER_S - 1) / US_PER_S);
}

int
api_lead_to(struct req *r, const char *url)
{
	buf_clear(&r->out);
	r->status = 302;
	req_add_header(r, "Location", url);
	req_add_header(r, "Cache-Control", "no-store");
	return OK;
}

/* {"id","email","name","provider","scopes"} */
static int
write_me(struct req *r, struct db *db, int64_t user, struct str provider,
    unsigned scopes, struct err *e)
{
	struct user u;

	TRY(users_get(db, user, r->arena, &u, e));
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "id", u.uid);
	put_text(&r->out, "email", u.email);
	put_text(&r->out, "name", u.name);
	put_text(&r->out, "provider", provider);
	scopes_put(&r->out, "scopes", scopes);
	put_close(&r->out, '}');
	return OK;
}

static int
audit_refused(
    struct db *db, const struct user_new *who, int64_t now_us, struct err *e)
{
	struct audit_row row = {
	    .category = AUDIT_SIGNUP_REFUSED,
	    .at_us = now_us,
	    .actor = STR("nobody"),
	    .target_type = STR("user"),
	    .object_id = who->subject,
	    .object_name = who->email,
	};

	return audit_put(db, &row, e);
}

/* On the commit thread: whoever the provider names, perhaps for the first time. */
static int
put_person(struct req *r, struct db *db, struct api_login *l, int64_t now_us,
    struct err *e)
{
	struct audit_row row = {
	    .category = AUDIT_USER_CREATED,
	    .at_us = now_us,
	    .target_type = STR("user"),
	};
	bool made = false;
	struct user u;
	char name[sizeof(r->who.name)];
	char uid[UUID_LEN + 1];
	int rc = OK;

	if (!l->may_come)
		rc = users_find(
		    db, l->person->provider, l->person->subject, &l->user, e);
	l->refused = rc == ERR_ABSENT;
	if (l->refused)
		return audit_refused(db, l->person, now_us, e);
	TRY(rc);
	TRY(users_login(db, l->person, now_us, &l->user, &made, e));
	if (!made)
		return OK;
	TRY(users_get(db, l->user, r->arena, &u, e));
	uuid_format(u.uid, uid);
	(void)snprintf(name, sizeof(name), PERSON_NAME "%s", uid);
	row.object_id = str_of(name);
	return audit_put(db, &row, e);
}

/* On the commit thread. */
static int
put_session(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct session_life life = session_life(api->conf);
	struct api_login *l = r->ctx;
	int64_t now_us = clock_now_us();
	int rc = l->person ? put_person(r, db, l, now_us, e) : OK;

	if (l->refused)
		return rc;
	if (rc == OK)
		rc = write_me(r, db, l->user, l->provider, l->scopes, e);
	/* Removed since its password was checked. */
	if (rc == ERR_ABSENT)
		return err_set(e, ERR_UNKNOWN, "wrong name or password");
	TRY(rc);
	if (l->has_old)
		TRY(session_remove(db, l->old, e));
	return session_add(db, api->keyring, r->arena,
	    &(struct session_new){.id = l->id,
		.user = l->user,
		.provider = l->provider,
		.now_us = now_us,
		.expires_us = session_end(&life, now_us, now_us)},
	    &l->ended, e);
}

static int
logged_in(struct req *r, struct err *e)
{
	struct api_login *l = r->ctx;

	/* Another node made the same person in this moment. */
	if (r->rc == ERR_CONFLICT && !l->again) {
		l->again = true;
		return api_write(r, put_session, e);
	}
	if (r->rc < 0)
		return api_said(r, e);
	if (l->refused)
		return l->refuse(r, e);
	if (l->ended || l->has_old)
		auth_session_ended();
	api_session_cookie(r, l->text);
	return l->location ? api_lead_to(r, l->location) : OK;
}

int
api_login(struct req *r, struct api_login *l, struct err *e)
{
	const struct api *api = r->app;

	session_make(&api->session, l->text, l->id);
	l->has_old = api_own_session(r, l->old);
	r->ctx = l;
	r->then = logged_in;
	return api_write(r, put_session, e);
}

static int
known(struct req *r, struct err *e)
{
	struct api_login *l = arena_alloc(r->arena, sizeof(*l));

	l->user = r->who.user;
	l->scopes = r->who.scopes;
	l->provider = STR(USER_LOCAL);
	return api_login(r, l, e);
}

static int
checked(struct req *r, struct err *e)
{
	TRY(auth_checked(r, e));
	return known(r, e);
}

struct login {
	struct str name, password;
};

const struct member LOGIN_BODY[] = {
    {"name", MEMBER_STRING, offsetof(struct login, name), 0, INT32_MAX,
	.must = true},
    {"password", MEMBER_STRING, offsetof(struct login, password), 0, INT32_MAX,
	.must = true},
    {.name = NULL},
};

int
api_auth_login(struct req *r, struct db *, struct err *e)
{
	struct login it = {.name = STR_EMPTY};
	struct api *api = r->app;
	int rc;

	/* Nobody is logged in as somebody else by a page that he looks at. */
	if (req_header(r, "Origin").n > 0 && !origin_trusts(&api->origins, r))
		return api_cross_origin(e);
	TRY(api_body(r, LOGIN_BODY, NULL, &it, e));
	r->then = checked;
	rc = auth_check(api->auth, r, it.name, it.password, e);
	return rc == OK ? known(r, e) : rc;
}

/* Committed, or perhaps: what caches know of sessions may be wrong now. */
static void
forget_session(struct req *)
{
	auth_session_ended();
}

static int
logged_out(struct req *r, struct err *e)
{
	auth_session_ended();
	return api_said(r, e);
}

int
api_auth_logout(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	unsigned char *id;
	bool own;

	if (db)
		return session_remove(db, r->ctx, e);
	id = arena_alloc(r->arena, DIGEST_LEN);
	own = api_own_session(r, id);
	if (own && !origin_trusts(&api->origins, r))
		return api_cross_origin(e);
	api_session_cookie(r, "");
	r->status = 204;
	r->ctx = id;
	if (!own)
		return OK;
	r->then = logged_out;
	r->done =
	    forget_session; /* for the client that left: then is not called */
	return api_write(r, api_auth_logout, e);
}

int
api_auth_me(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct str provider = STR(USER_LOCAL);
	unsigned char id[DIGEST_LEN];
	int rc = OK;

	if (r->who.by_cookie && api_own_session(r, id))
		rc = session_look(db, api->keyring, id, r->arena, &provider, e);
	if (rc == OK)
		rc = write_me(r, db, r->who.user, provider, r->who.scopes, e);
	if (rc == ERR_ABSENT)
		return err_set(e, ERR_UNKNOWN, "who are you?");
	return rc;
}

int
api_auth_providers(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;

	(void)db, (void)e;
	buf_addz(&r->out,
	    "{\"providers\":[{\"name\":\"local\",\"login\":\"/auth/login\"}");
	if (api->oidc) {
		put_open(&r->out, NULL, '{');
		put_text(&r->out, "name", oidc_provider(api->oidc));
		put_z(&r->out, "login", "/auth/google/login");
		put_close(&r->out, '}');
	}
	buf_addz(&r->out, "]}");
	return OK;
}
