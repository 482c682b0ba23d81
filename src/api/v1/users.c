#include "account/accounts.h"
#include "account/auth.h"
#include "account/scopes.h"
#include "api/api.h"
#include "api/io.h"
#include "api/people/people.h"
#include "api/v1/account.h"
#include "base/conf/conf.h"

/* Committed, or perhaps (ERR_UNCERTAIN): what caches know may be wrong now. */
static void
forget(struct req *)
{
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
	struct account_new new; /* first: it is r->ctx for whoever shows it */
	struct str old, role_word;
	bool own; /* password: the caller's */
	char hash[PASSWORD_HASH_SIZE];
	handler_fn write;
};

/* On the password thread. */
static void
hash(struct pool_job *job, void *)
{
	struct req *r = MAIL_OF(job, struct req, job);
	struct change *c = r->ctx;

	r->rc = password_hash(c->new.password, c->hash, &r->err);
	req_wake(r);
}

/* Back on the http thread. */
static int
hashed(struct req *r, struct err *e)
{
	struct change *c = r->ctx;

	return api_account_write(r, c->write, e);
}

static int
check_new(const struct api *api, const struct change *c, struct err *e)
{
	struct password_of of = {
	    .name = c->new.name, .url = str_of(api->conf->base_url)};

	return password_check(c->new.password, &of, "/password", e);
}

static int
start(struct req *r, struct change *c, struct err *e)
{
	struct api *api = r->app;

	r->job.run = hash;
	r->ctx = c;
	api_then(r, hashed);
	return auth_post(api->auth, &r->job) ? REQ_WAIT : api_too_busy(e);
}

/* On the commit thread. */
static int
users_add(struct req *r, struct db *db, struct err *e)
{
	struct change *c = r->ctx;

	TRY(accounts_add(db, c->new.name, str_of(c->hash), c->new.role,
	    api_actor(r), clock_now_us(), e));
	return c->new.show(r, db, e);
}

int
api_account_add(struct req *r, const struct account_new *n, struct err *e)
{
	struct change *c = arena_alloc(r->arena, sizeof(*c));

	*c = (struct change){.new = *n, .write = users_add};
	TRY(check_new(r->app, c, e));
	return start(r, c, e);
}

static int
show_added(struct req *r, struct db *, struct err *)
{
	const struct account_new *n = r->ctx;
	int64_t now_us = clock_now_us();
	struct account u = {.name = n->name,
	    .role = n->role,
	    .created_us = now_us,
	    .changed_us = now_us};

	account_json(&u, &r->out);
	r->status = 201;
	return OK;
}

#define CHANGE(field) offsetof(struct change, field)
#define PASSWORD                                                               \
	{                                                                      \
		"password", MEMBER_STRING, CHANGE(new.password), 0, INT32_MAX, \
		    .must = true                                               \
	}

const struct member USER_BODY[] = {
    {"name", MEMBER_STRING, CHANGE(new.name), 0, INT32_MAX, .must = true},
    PASSWORD,
    {"role", MEMBER_STRING, CHANGE(role_word), 0, INT32_MAX,
	.about = ROLE_WORDS},
    {.name = NULL},
};

int
api_users_post(struct req *r, struct db *, struct err *e)
{
	struct change *c = arena_alloc(r->arena, sizeof(*c));

	TRY(api_body(r, USER_BODY, NULL, c, e));
	TRY(account_check_name(c->new.name, "/name", e));
	c->new.role = c->role_word.p ? role_of(c->role_word) : ROLE_READER;
	if (c->new.role == ROLE_NONE)
		return json_wrong(e, "/role", "must be " ROLE_WORDS);
	c->new.show = show_added;
	return api_account_add(r, &c->new, e);
}

/* On the commit thread. Who changes his own stays logged in where he is. */
static int
set(struct req *r, struct db *db, struct err *e)
{
	struct change *c = r->ctx;
	const struct api *api = r->app;
	unsigned char id[DIGEST_LEN];
	struct account_password p = {
	    .name = c->new.name, .hash = str_of(c->hash), .by = api_actor(r)};

	if (c->own && api_own_session(r, id))
		p.keep = (struct str){(const char *)id, sizeof(id)};
	TRY(accounts_password(db, &p, clock_now_us(), e));
	/* Should the commit fail, whoever changes it knew the old one. */
	accounts_first_forget(api->conf->data, c->new.name);
	return api_gone(r);
}

static bool
is_own(const struct req *r)
{
	return r->who.kind == WHO_USER && r->who.id &&
	       str_eq(str_of(r->who.name), r->params[0]);
}

const struct member PASSWORD_BODY[] = {
    PASSWORD,
    {"oldPassword", MEMBER_STRING, CHANGE(old), 0, INT32_MAX,
	.about = "for one's own password"},
    {.name = NULL},
};

static int
read_password(struct req *r, struct change *c, struct err *e)
{
	TRY(api_body(r, PASSWORD_BODY, NULL, c, e));
	c->new.name = r->params[0];
	c->own = is_own(r);
	c->write = set;
	if (c->own && !c->old.p)
		return json_wrong(e, "/oldPassword", "must be a string");
	if (!c->own && c->old.p)
		return json_wrong(e, "/oldPassword",
		    "is for one's own password alone; leave it out");
	return check_new(r->app, c, e);
}

/* The old password is the right one, or nobody asked for it. */
static int
start_set(struct req *r, struct err *e)
{
	struct change *c = arena_alloc(r->arena, sizeof(*c));

	TRY(read_password(r, c, e));
	return start(r, c, e);
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
api_users_password(struct req *r, struct db *, struct err *e)
{
	struct api *api = r->app;
	struct change c = {.own = false};
	int rc;

	if (!is_own(r) && !(r->who.scopes & SCOPE_ADMIN))
		return err_set(e, ERR_DENIED,
		    "only an admin sets the password of somebody else");
	TRY(read_password(r, &c, e));
	if (!c.own)
		return start_set(r, e);
	r->then = old_checked;
	rc = auth_check(api->auth, r, c.new.name, c.old, e);
	return rc == OK ? start_set(r, e) : wrong_old(rc, e);
}

int
api_users_delete(struct req *r, struct db *db, struct err *e)
{
	if (!db)
		return api_account_write(r, api_users_delete, e);
	TRY(accounts_remove(db, r->params[0], api_actor(r), clock_now_us(), e));
	return api_gone(r);
}

int
api_users_list(struct req *r, struct db *db, struct err *e)
{
	struct api_page page = {.after = STR_EMPTY};
	struct account *list = NULL;
	size_t n = 0, shown;

	TRY(api_query(r, API_PAGE_ONLY, &page, e));
	if (page.after.n > 0)
		TRY(account_check_name(page.after, "", e));
	TRY(accounts_list(
	    db, page.after, (size_t)page.limit + 1, r->arena, &list, &n, e));
	api_list(r);
	shown = n > (size_t)page.limit ? (size_t)page.limit : n;
	for (size_t i = 0; i < shown; i++) {
		put_name(&r->out, NULL);
		account_json(&list[i], &r->out);
	}
	api_list_end(
	    r, n > shown ? list[shown - 1].name : (struct str){.p = NULL});
	return OK;
}

int
api_whoami(struct req *r, struct db *, struct err *)
{
	static const char *const kinds[] = {[WHO_NOBODY] = "nobody",
	    [WHO_USER] = "user",
	    [WHO_KEY] = "key",
	    [WHO_LOCAL] = "local"};
	const struct principal *who = &r->who;
	struct buf *b = api_object(r);
	const char *word;
	size_t at = 0;

	put_z(b, "kind", kinds[who->kind]);
	put_z(b, "name", who->name);
	put_open(b, "scopes", '[');
	while ((word = scope_next(who->scopes, &at)))
		put_z(b, NULL, word);
	put_close(b, ']');
	if (!who->tenants) {
		put_null(b, "tenants");
	} else {
		struct str names = who->tenant_names;

		put_open(b, "tenants", '[');
		while (names.n > 0)
			put_text(b, NULL, str_cut(&names, ','));
		put_close(b, ']');
	}
	put_close(b, '}');
	return OK;
}
