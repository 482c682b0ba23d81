#include "account/auth.h"

#include <stdatomic.h>

#include "account/accounts.h"
#include "account/check.h"
#include "account/failures.h"
#include "account/keys.h"
#include "account/limits.h"
#include "account/seen.h"
#include "account/tokens.h"
#include "account/users.h"
#include "event/append.h"
#include "loop/pool.h"
#include "seal/base64.h"
#include "seal/limits.h"
#include "seal/token.h"

#define PAIR_MAX (ACCOUNT_NAME_MAX + 1 + PASSWORD_MAX) /* name:password */
#define NETWORKS 256

struct auth {
	struct auth_opts o;
	struct check *check; /* the password thread's */
	struct pool *passwords;
	_Atomic int waiting[NETWORKS]; /* checks, by hash of the network */
};

/* One request that waits to be told who it is. Lives in its arena. */
struct lookup {
	struct pool_job job;
	struct auth *auth;
	struct req *req;
	/* On a read thread. REQ_WAIT: the password thread has it now. */
	int (*load)(struct lookup *k, struct db *db, struct err *e);
	struct str pair; /* name:password; empty for a key or session */
	bool by_cookie, renewed;
	unsigned char session[DIGEST_LEN]; /* its id */
	struct str name, password;
	bool app, fever; /* an app password, or Fever's key made of it */
	unsigned char app_hash[DIGEST_LEN];
	struct str hash;      /* the account's; .p NULL: no such account */
	_Atomic int *waiting; /* its network's count */
	struct seen seen;     /* what is known, then what was found */
};

int
auth_new(const struct auth_opts *o, struct auth **ret, struct err *e)
{
	struct pool_opts po = {
	    .name = "password",
	    .threads = 1,
	    .queue_max = AUTH_CHECKS_MAX,
	};
	struct auth *a = mem_get(sizeof(*a));
	int rc;

	a->o = *o;
	a->check = check_new(&o->lockout);
	rc = pool_start(&po, &a->passwords, e);
	if (rc < 0) {
		auth_free(a);
		return rc;
	}
	/* What a thread has seen for another store counts for nothing here. */
	auth_changed();
	*ret = a;
	return OK;
}

void
auth_free(struct auth *a)
{
	if (!a)
		return;
	pool_stop(a->passwords);
	check_free(a->check);
	free(a);
}

bool
auth_post(struct auth *a, struct pool_job *job)
{
	return pool_post(a->passwords, job);
}

static int
busy(struct err *e)
{
	(void)err_set(e, ERR_BUSY, "too many are being checked at once");
	e->retry_after_s = 1;
	return ERR_BUSY;
}

/* The last that is done with a lookup off the http thread. */
static void
finish_lookup(struct lookup *k, int rc)
{
	k->req->rc = rc;
	req_wake(k->req);
}

static void
copy_name(struct principal *who, struct str name)
{
	(void)snprintf(who->name, sizeof(who->name), "%.*s", STR_ARG(name));
}

/* That it was used, written by whoever writes: at most once in a while. */
struct touch {
	struct append_job job;
	int64_t id, at_us;
	int (*write)(struct db *db, int64_t id, int64_t at_us, struct err *e);
};
#define TOUCH(i, at, fn)                                                       \
	((struct touch){.id = (i), .at_us = (at), .write = (fn)})

static int
touch_write(struct db *db, void *ctx, struct err *e)
{
	const struct touch *t = ctx;

	return t->write(db, t->id, t->at_us, e);
}

static void
touch_done(struct append_job *job)
{
	free(job->ctx);
}

/* True when it is written: it is past what there is by a step. */
static bool
touch(struct auth *a, struct touch what, int64_t last_us, int64_t step_us)
{
	struct touch *t;
	struct err e;

	if (what.at_us - last_us < step_us)
		return false;
	t = mem_get(sizeof(*t));
	*t = what;
	t->job = (struct append_job){
	    .fn = touch_write, .ctx = t, .done = touch_done};
	if (append_post(a->o.append, &t->job, &e) == OK)
		return true;
	free(t); /* the next use tells it again */
	return false;
}

static int
load_key(struct lookup *k, struct db *db, struct err *e)
{
	struct auth *a = k->auth;
	int64_t now_us = clock_now_us();
	struct key key;
	int rc = keys_find(db, k->seen.mark, k->req->arena, &key, e);

	if (rc == ERR_ABSENT)
		return err_set(e, ERR_UNKNOWN, "nobody has this key");
	TRY(rc);
	k->seen.who = (struct principal){
	    .kind = WHO_KEY,
	    .id = key.id,
	    .scopes = key.scopes,
	    .tenants = key.tenants,
	    .n_tenants = key.n_tenants,
	    .tenant_names = key_tenant_names(&key, k->req->arena),
	    .rate_per_second =
		key.rate_per_second ? key.rate_per_second : a->o.key_rate,
	    .expires_us = key.expires_us,
	};
	copy_name(&k->seen.who, key.name); /* whose it is, if it will not do */
	if (key.revoked_us)
		return err_set(e, ERR_UNKNOWN, "this key was revoked");
	if (key.expires_us && key.expires_us <= now_us)
		return err_set(e, ERR_UNKNOWN, "this key has expired");
	(void)touch(a, TOUCH(key.id, now_us, keys_touch), key.last_used_us,
	    KEY_TOUCH_S * US_PER_S);
	return OK;
}

/* One that is over is nobody's. */
static int
load_session(struct lookup *k, struct db *db, struct err *e)
{
	const struct session_life *life = &k->auth->o.life;
	struct principal *who = &k->seen.who;
	int64_t now_us = clock_now_us(), end_us, again_us;
	struct session_row row;
	int rc;

	*who = (struct principal){.kind = WHO_NOBODY};
	rc = session_find(db, k->session, now_us, k->req->arena, who, &row, e);
	if (rc < 0)
		return rc == ERR_ABSENT ? OK : rc;
	/* One that lasts for seconds is looked at oftener. */
	again_us = clock_mono_us() + session_step(life);
	if (k->seen.fresh_until_us > again_us)
		k->seen.fresh_until_us = again_us;
	end_us = session_end(life, row.created_us, now_us);
	k->renewed = touch(k->auth, TOUCH(row.seq, end_us, session_renew),
	    who->expires_us, session_step(life));
	if (k->renewed)
		who->expires_us = end_us;
	return OK;
}

/* On the password thread. */
static void
check_shown(struct pool_job *job, void *)
{
	struct lookup *k = MAIL_OF(job, struct lookup, job);
	struct check_ask ask = {.name = k->name,
	    .password = k->password,
	    .hash = k->hash,
	    .peer = k->req->peer};
	int rc = check_password(k->auth->check, &ask, clock_mono_us(),
	    &k->seen.verified_until_us, &k->req->err);

	atomic_fetch_sub(k->waiting, 1);
	finish_lookup(k, rc);
}

static int
queue_check(struct lookup *k, struct err *e)
{
	struct lockout_key network = lockout_network(k->req->peer);

	k->waiting = &k->auth->waiting[network.b[0]];
	k->job.run = check_shown;
	if (atomic_fetch_add(k->waiting, 1) < AUTH_CHECKS_EACH &&
	    pool_post(k->auth->passwords, &k->job))
		return REQ_WAIT;
	atomic_fetch_sub(k->waiting, 1);
	return busy(e);
}

static int
load_account(struct lookup *k, struct db *db, struct err *e)
{
	unsigned char memo[DIGEST_SHORT_LEN] = {0};
	struct account account = {0};
	int rc = accounts_find(db, k->name, k->req->arena, &account, e);

	if (rc < 0 && rc != ERR_ABSENT)
		return rc;
	if (rc == OK)
		digest_short(account.password, memo);
	k->seen.who = (struct principal){
	    .kind = WHO_USER,
	    .id = account.id,
	    .user = account.user,
	    .user_uid = account.user_uid,
	    .scopes = role_scopes(account.role),
	};
	copy_name(&k->seen.who, k->name);
	k->hash = account.password;
	if (rc == OK && k->seen.verified_until_us > clock_mono_us() &&
	    digest_eq(k->seen.memo, memo, sizeof(memo)))
		return OK;
	memcpy(k->seen.memo, memo, sizeof(memo));
	return queue_check(k, e);
}

/* What is no app password may be an account's; a token without a name is no
 * one's, which costs as much as a wrong password. */
static int
load_app(struct lookup *k, struct db *db, struct err *e)
{
	struct app_token t;
	int rc = tokens_find(db, k->app_hash, k->fever, k->req->arena, &t, e);

	if (rc == OK && k->name.p && !str_eq_nocase(k->name, t.login))
		rc = ERR_ABSENT;
	if (rc == ERR_ABSENT && k->name.p)
		return load_account(k, db, e);
	if (rc == ERR_ABSENT) {
		k->name = STR("an app");
		return queue_check(k, e);
	}
	TRY(rc);
	k->seen.who = (struct principal){
	    .kind = WHO_USER, .user = t.user, .user_uid = t.user_uid};
	copy_name(&k->seen.who, t.login);
	(void)touch(k->auth, TOUCH(t.id, clock_now_us(), tokens_touch),
	    t.last_used_us, KEY_TOUCH_S * US_PER_S);
	return OK;
}

static void
load_lookup(struct pool_job *job, void *ctx)
{
	struct lookup *k = MAIL_OF(job, struct lookup, job);
	struct err *e = &k->req->err;
	int rc;

	/* Before the row is read: from now on it may become wrong. */
	k->seen.fresh_until_us = clock_mono_us() + AUTH_FRESH_S * US_PER_S;
	rc = ctx ? k->load(k, ctx, e)
		 : err_set(e, ERR_AWAY, "the store is not there");
	if (rc != REQ_WAIT)
		finish_lookup(k, rc);
}

/* True with r->who set when this thread knows who it is, and that is fresh
 * enough to go by: nothing changed, and the key has not run out. */
static bool
seen_here(struct req *r, const unsigned char mark[DIGEST_LEN])
{
	const struct seen *s = seen_find(mark);

	if (!s || s->generation != auth_generation(s->who.by_cookie) ||
	    s->fresh_until_us <= clock_mono_us() ||
	    (s->who.expires_us && s->who.expires_us <= clock_now_us()))
		return false;
	r->who = s->who;
	seen_tenants(&r->who, r->arena);
	return true;
}

/*
 * The answer from the cache, or a lookup on its way. *shown has the mark and,
 * for an account, name and password; a copy goes to the arena when it must.
 */
static int
look_up(
    struct auth *a, struct req *r, const struct lookup *shown, struct err *e)
{
	uint64_t generation = auth_generation(shown->by_cookie);
	const struct seen *s = seen_find(shown->seen.mark);
	struct lookup *k;

	if (seen_here(r, shown->seen.mark))
		return OK;
	k = arena_alloc(r->arena, sizeof(*k));
	*k = *shown;
	if (s) {
		k->seen.verified_until_us = s->verified_until_us;
		memcpy(k->seen.memo, s->memo, sizeof(s->memo));
	}
	if (shown->pair.n) {
		struct str rest = arena_dup(r->arena, shown->pair);

		k->pair = rest;
		k->name = str_cut(&rest, ':');
		k->password = rest;
	}
	k->auth = a;
	k->req = r;
	k->seen.generation = generation;
	k->job.run = load_lookup;
	r->ctx = k;
	if (pool_post(a->o.read, &k->job))
		return REQ_WAIT;
	r->ctx = NULL;
	return busy(e);
}

static void
tell_way(struct auth *a, const struct req *r, const char *way, struct str whom)
{
	failures_add(a->o.failures, &(struct failure){.way = way,
					.whom = whom,
					.peer = r->peer,
					.trace_id = r->trace_id});
}

/* What was shown is nobody's, or not his. */
static void
tell_failed(struct auth *a, const struct req *r, const struct lookup *k)
{
	const struct principal *who = &k->seen.who;
	bool key = !k->app && !k->name.p;
	struct str whom = STR_EMPTY;

	if (key ? who->name[0] != '\0' : k->hash.p != NULL)
		whom = arena_fmt(
		    r->arena, "%s:%s", key ? "key" : "user", who->name);
	tell_way(a, r, k->app ? "app" : key ? "key" : "password", whom);
}

void
auth_failed(struct auth *a, const struct req *r, const char *way)
{
	tell_way(a, r, way, STR_EMPTY);
}

/* What can't be anybody's is a failed login like others. */
static int
malformed(struct auth *a, const struct req *r, const char *why, struct err *e)
{
	auth_failed(a, r, "malformed");
	return err_set(e, ERR_UNKNOWN, "%s", why);
}

/* Back on the http thread with what the others found. */
int
auth_checked(struct req *r, struct err *e)
{
	struct lookup *k = r->ctx;
	int rc = r->rc;

	r->ctx = NULL;
	r->rc = OK;
	if (k->pair.n)
		digest_wipe((void *)(uintptr_t)k->pair.p, k->pair.n);
	if (rc == ERR_UNKNOWN)
		tell_failed(k->auth, r, k);
	if (rc < 0) {
		*e = r->err;
		return rc;
	}
	/* Strangers push nobody out. */
	if (k->seen.who.kind != WHO_NOBODY)
		seen_put(&k->seen);
	r->who = k->seen.who; /* its tenants are the arena's already */
	r->who.renewed = k->renewed;
	return OK;
}

static int
bearer(struct auth *a, struct req *r, struct str token, struct err *e)
{
	struct lookup k = {.load = load_key};

	if (!token_formed(token))
		return malformed(
		    a, r, "the bearer token is no key of this server", e);
	digest_sha256(token, k.seen.mark);
	return look_up(a, r, &k, e);
}

/* Whether it is a route of an app's protocol: app passwords count nowhere
 * else. */
static bool
for_apps(const struct req *r)
{
	return r->route->group && r->route->group->by_apps;
}

/* When the password has the form of an app's it is looked for as such. The
 * mark is another one: what was seen there holds for no other route. */
static void
as_app(struct lookup *k)
{
	struct str password = k->pair;

	(void)str_cut(&password, ':');
	k->app = token_app_formed(password);
	if (!k->app)
		return;
	k->load = load_app;
	k->seen.mark[0] ^= 0xff;
	digest_sha256(password, k->app_hash);
}

/* Wipes what was shown; a copy of it is wiped by auth_checked(). */
static int
look_up_pair(struct auth *a, struct req *r, char pair[PAIR_MAX], size_t n,
    bool app, struct err *e)
{
	struct lookup k = {.load = load_account, .pair = {pair, n}};
	int rc;

	seen_mark(k.pair, k.seen.mark);
	if (app)
		as_app(&k);
	rc = look_up(a, r, &k, e);
	digest_wipe(pair, PAIR_MAX);
	return rc;
}

static int
basic(struct auth *a, struct req *r, struct str text, struct err *e)
{
	char pair[PAIR_MAX];
	size_t n = 0;

	if (!base64_read(text, pair, sizeof(pair), &n) ||
	    !str_has((struct str){pair, n}, ':'))
		return malformed(
		    a, r, "Basic wants the base64 of name:password", e);
	return look_up_pair(a, r, pair, n, for_apps(r), e);
}

/* A token without a name. */
static int
token(struct auth *a, struct req *r, struct str text, bool fever, struct err *e)
{
	struct lookup k = {.load = load_app, .app = true, .fever = fever};

	if (fever ? text.n != FEVER_KEY_LEN : !token_app_formed(text))
		return malformed(a, r, "this is no app password", e);
	seen_mark(text, k.seen.mark);
	digest_sha256(text, k.app_hash);
	return look_up(a, r, &k, e);
}

/* A name and a password as Basic has them. */
static int
look_up_named(struct auth *a, struct req *r, struct str name,
    struct str password, bool app, struct err *e)
{
	char pair[PAIR_MAX];
	size_t n = name.n + 1 + password.n;

	if (n > PAIR_MAX)
		return malformed(a, r,
		    app ? "this is no app password" : "wrong name or password",
		    e);
	if (name.n)
		memcpy(pair, name.p, name.n);
	pair[name.n] = ':';
	if (password.n)
		memcpy(pair + name.n + 1, password.p, password.n);
	return look_up_pair(a, r, pair, n, app, e);
}

int
auth_login(struct auth *a, struct req *r, struct str login, struct str password,
    struct err *e)
{
	if (str_has(login, ':') || !token_app_formed(password))
		return malformed(a, r, "this is no app password", e);
	return look_up_named(a, r, login, password, true, e);
}

int
auth_fever(struct auth *a, struct req *r, struct str key, struct err *e)
{
	return token(a, r, key, true, e);
}

int
auth_check(struct auth *a, struct req *r, struct str name, struct str password,
    struct err *e)
{
	struct err unused;

	if (account_check_name(name, "", &unused) < 0)
		return malformed(a, r, "wrong name or password", e);
	return look_up_named(a, r, name, password, false, e);
}

/* What we never gave out costs no look into the store. */
static int
cookie(struct auth *a, struct req *r, struct str text, struct err *e)
{
	struct lookup k = {.load = load_session, .by_cookie = true};

	digest_sha256(text, k.seen.mark);
	if (seen_here(r, k.seen.mark))
		return OK;
	if (!session_read(&a->o.session, text, k.session))
		return OK;
	return look_up(a, r, &k, e);
}

int
auth_who(void *arg, struct req *r, struct err *e)
{
	struct auth *a = arg;
	struct str rest, scheme;

	if (r->ctx)
		return auth_checked(r, e);
	r->who = (struct principal){.kind = WHO_NOBODY};
	if (strcmp(r->peer, "unix") == 0) {
		r->who.kind = WHO_LOCAL;
		r->who.scopes = SCOPES_ALL;
		copy_name(&r->who, STR("local"));
		return OK;
	}
	if (for_apps(r)) {
		rest = req_header(r, "X-Auth-Token");
		if (rest.n > 0)
			return token(a, r, rest, false, e);
	}
	rest = str_trim(req_header(r, "Authorization"));
	if (rest.n == 0) {
		rest = session_cookie(
		    req_header(r, "Cookie"), STR(SESSION_COOKIE));
		return rest.n ? cookie(a, r, rest, e) : OK;
	}
	scheme = str_cut(&rest, ' ');
	rest = str_trim(rest);
	if (str_eq_nocase(scheme, STR("Bearer")))
		return bearer(a, r, rest, e);
	if (str_eq_nocase(scheme, STR("Basic")))
		return basic(a, r, rest, e);
	if (str_eq_nocase(scheme, STR("GoogleLogin")) && for_apps(r)) {
		(void)str_cut(&rest, '=');
		return token(a, r, str_trim(rest), false, e);
	}
	return malformed(a, r, "Authorization must be Bearer or Basic", e);
}
