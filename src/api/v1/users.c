#include "account/accounts.h"
#include "account/auth.h"
#include "account/first_password.h"
#include "account/scopes.h"
#include "api/api.h"
#include "api/people/people.h"
#include "api/v1/account.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/json.h"
#include "base/str.h"
#include "http/server/limits.h"

/* Committed, or perhaps (ERR_UNCERTAIN): what caches know may be wrong now. */
static void
forget(struct req *r)
{
	(void)r;
	auth_changed();
}

static int
written(struct req *r, struct err *e)
{
	r->done = NULL; /* once: whoever logs in after the answer is safe */
	auth_changed();
	return api_said(r, e);
}

int
api_account_write(struct req *r, handler_fn fn, struct err *e)
{
	r->then = written;
	r->done = forget; /* for the client that left: then is not called */
	return api_write(r, fn, e);
}

/* A user with a new password, on its way through three threads. */
struct change {
	struct pool_job job;
	struct req *req;
	struct str name, password;
	enum role role;
	bool own; /* password: the caller's */
	char hash[PASSWORD_HASH_SIZE];
	handler_fn write;
};

/* On the password thread. */
static void
hash(struct pool_job *job, void *ctx)
{
	struct change *c = MAIL_OF(job, struct change, job);
	struct req *r = c->req;

	(void)ctx;
	r->rc = password_hash(c->password, c->hash, &r->err);
	req_wake(r);
}

/* Back on the http thread. */
static int
hashed(struct req *r, struct err *e)
{
	struct change *c = r->ctx;

	return r->rc < 0 ? api_said(r, e) : api_account_write(r, c->write, e);
}

static int
check_new(const struct api *api, const struct change *c, struct err *e)
{
	struct password_of of = {
	    .name = c->name, .url = str_of(api->conf->base_url)};

	return password_check(c->password, &of, "/password", e);
}

static int
start(struct req *r, struct change *c, struct err *e)
{
	struct api *api = r->app;

	c->req = r;
	c->job.run = hash;
	r->ctx = c;
	r->then = hashed;
	return auth_post(api->auth, &c->job) ? REQ_WAIT : api_too_busy(e);
}

int
api_body(
    struct req *r, const char *const *names, struct json **ret, struct err *e)
{
	struct json *j = NULL;
	int rc = json_parse(r->arena, r->body, &j, e);

	if (rc < 0)
		return rc;
	if (!json_is(j, JSON_OBJECT))
		return err_at(e, ERR_INVALID, "", "expected a JSON object");
	rc = json_known(j, "", names, e);
	if (rc == OK)
		*ret = j;
	return rc;
}

static int
text(const struct json *j, const char *name, const char *at, struct str *ret,
    struct err *e)
{
	const struct json *v = json_get(j, name);

	if (!json_is(v, JSON_STRING))
		return json_wrong(e, at, "must be a string");
	*ret = v->text;
	return OK;
}

static int
read_role(const struct json *j, enum role *ret, struct err *e)
{
	const struct json *v = json_get(j, "role");

	*ret = v ? role_of(v->text) : ROLE_READER;
	if (*ret == ROLE_NONE)
		return json_wrong(e, "/role", "must be " ROLE_WORDS);
	return OK;
}

/* On the commit thread. */
static int
add(struct req *r, struct db *db, struct err *e)
{
	struct change *c = r->ctx;
	int64_t now_us = clock_now_us();
	struct account u = {.name = c->name,
	    .role = c->role,
	    .created_us = now_us,
	    .changed_us = now_us};
	int rc = accounts_add(
	    db, c->name, str_of(c->hash), c->role, api_actor(r), now_us, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	account_json(&u, &r->out);
	r->status = 201;
	return OK;
}

int
api_users_post(struct req *r, struct db *db, struct err *e)
{
	static const char *const names[] = {"name", "password", "role", NULL};
	struct change *c = arena_alloc(r->arena, sizeof(*c));
	struct json *j = NULL;
	int rc;

	(void)db;
	if (!c)
		return err_set(e, ERR_NOMEM, "no room for a user");
	rc = api_body(r, names, &j, e);
	if (rc == OK)
		rc = text(j, "name", "/name", &c->name, e);
	if (rc == OK)
		rc = account_check_name(c->name, "/name", e);
	if (rc == OK)
		rc = text(j, "password", "/password", &c->password, e);
	if (rc == OK)
		rc = read_role(j, &c->role, e);
	if (rc == OK)
		rc = check_new(r->app, c, e);
	if (rc < 0)
		return rc;
	c->write = add;
	return start(r, c, e);
}

/* On the commit thread. Who changes his own stays logged in where he is. */
static int
set(struct req *r, struct db *db, struct err *e)
{
	struct change *c = r->ctx;
	const struct api *api = r->app;
	unsigned char id[DIGEST_LEN];
	struct account_password p = {
	    .name = c->name, .hash = str_of(c->hash), .by = api_actor(r)};
	int rc;

	if (c->own && api_own_session(r, id))
		p.keep = (struct str){(const char *)id, sizeof(id)};
	rc = accounts_password(db, &p, clock_now_us(), e);
	if (rc < 0)
		return rc;
	/* Should the commit fail, whoever changes it knew the old one. */
	first_password_forget(api->conf->data, c->name);
	buf_clear(&r->out);
	r->status = 204;
	return OK;
}

static bool
is_own(const struct req *r)
{
	return r->who.kind == WHO_USER && r->who.id &&
	       str_eq(str_of(r->who.name), r->params[0]);
}

static int
read_password(
    struct req *r, struct change *c, struct str *ret_old, struct err *e)
{
	static const char *const names[] = {"password", "oldPassword", NULL};
	const struct api *api = r->app;
	struct json *j = NULL;
	int rc = api_body(r, names, &j, e);

	c->name = r->params[0];
	c->own = is_own(r);
	c->write = set;
	if (rc == OK)
		rc = text(j, "password", "/password", &c->password, e);
	if (rc == OK && c->own)
		rc = text(j, "oldPassword", "/oldPassword", ret_old, e);
	if (rc == OK && !c->own && json_get(j, "oldPassword"))
		rc = json_wrong(e, "/oldPassword",
		    "is for one's own password alone; leave it out");
	return rc < 0 ? rc : check_new(api, c, e);
}

/* The old password is the right one, or nobody asked for it. */
static int
start_set(struct req *r, struct err *e)
{
	struct change *c = arena_alloc(r->arena, sizeof(*c));
	struct str old;
	int rc = c ? read_password(r, c, &old, e)
		   : err_set(e, ERR_NOMEM, "no room for a user");

	return rc < 0 ? rc : start(r, c, e);
}

static int
wrong_old(int rc, struct err *e)
{
	return rc == ERR_UNKNOWN ? err_at(e, ERR_INVALID, "/oldPassword",
				       "is not your present password")
				 : rc;
}

static int
old_checked(struct req *r, struct err *e)
{
	int rc = auth_checked(r, e);

	return rc < 0 ? wrong_old(rc, e) : start_set(r, e);
}

int
api_users_password(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct change c = {.own = false};
	struct str old = STR_EMPTY;
	int rc;

	(void)db;
	if (!is_own(r) && !(r->who.scopes & SCOPE_ADMIN))
		return err_set(e, ERR_DENIED,
		    "only an admin sets the password of somebody else");
	rc = read_password(r, &c, &old, e);
	if (rc < 0)
		return rc;
	if (!c.own)
		return start_set(r, e);
	r->then = old_checked;
	rc = auth_check(api->auth, r, c.name, old, e);
	return rc == OK ? start_set(r, e) : wrong_old(rc, e);
}

/* On the commit thread. */
static int
take_away(struct req *r, struct db *db, struct err *e)
{
	int rc =
	    accounts_remove(db, r->params[0], api_actor(r), clock_now_us(), e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	r->status = 204;
	return OK;
}

int
api_users_delete(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return api_account_write(r, take_away, e);
}

int
api_users_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const names[] = {"limit", "after", NULL};
	struct str after = STR_EMPTY;
	struct account *list = NULL;
	int64_t limit = 0;
	size_t n = 0, shown;
	int rc = req_query_only(r, names, e);

	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &limit, e);
	if (rc == OK && req_query(r, "after", &after))
		rc = account_check_name(after, "", e);
	if (rc == OK)
		rc = accounts_list(
		    db, after, (size_t)limit + 1, r->arena, &list, &n, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	shown = n > (size_t)limit ? (size_t)limit : n;
	for (size_t i = 0; i < shown; i++) {
		if (i)
			buf_addc(&r->out, ',');
		account_json(&list[i], &r->out);
	}
	buf_addz(&r->out, "],\"next\":");
	if (n > shown)
		buf_json(&r->out, list[shown - 1].name);
	else
		buf_addz(&r->out, "null");
	buf_addc(&r->out, '}');
	return OK;
}

int
api_whoami(struct req *r, struct db *db, struct err *e)
{
	static const char *const kinds[] = {[WHO_NOBODY] = "nobody",
	    [WHO_USER] = "user",
	    [WHO_KEY] = "key",
	    [WHO_LOCAL] = "local"};
	const struct principal *who = &r->who;
	const char *word;
	size_t at = 0, n = 0;

	(void)db;
	(void)e;
	buf_clear(&r->out);
	buf_fmt(&r->out, "{\"kind\":\"%s\",\"name\":", kinds[who->kind]);
	buf_json(&r->out, str_of(who->name));
	buf_addz(&r->out, ",\"scopes\":[");
	while ((word = scope_next(who->scopes, &at)))
		buf_fmt(&r->out, "%s\"%s\"", n++ ? "," : "", word);
	buf_addz(&r->out, "],\"tenants\":");
	for (size_t i = 0; i < who->n_tenants; i++) {
		buf_addz(&r->out, i ? ",\"" : "[\"");
		uuid_add(&r->out, who->tenants[i]);
		buf_addc(&r->out, '"');
	}
	buf_addz(&r->out, who->n_tenants ? "]}" : "null}");
	return OK;
}
