#include "account/auth.h"
#include "account/limits.h"
#include "account/oidc.h"
#include "account/session.h"
#include "account/signup.h"
#include "account/users.h"
#include "api/api.h"
#include "api/io.h"
#include "api/people/people.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "http/server/limits.h"
#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/keyring.h"
#include "seal/token.h"

/*
 * What must come back unchanged from the provider's page travels in a cookie of
 * the browser that began, sealed: nobody else can finish a login, and no table
 * has to remember those that nobody finished. The lines of it: state, nonce,
 * verifier, until (us), whom an identity is linked to (or nothing, for a login),
 * where to lead at the end.
 */
#define STATE_LABEL  "login "
#define STATE_COOKIE "hikyaku_login"
#define STATE_WHERE  STR("login.state")
#define STATE_MAX                                                              \
	(4 * OIDC_WORD_LEN + 32 + UUID_LEN + ORIGIN_MAX + HTTP_PATH_MAX)
#define ALPHABET                                                               \
	STR("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

struct trip {
	struct oidc_flow flow;
	struct str back; /* a path of ours, or an address that is allowed */
	struct str uid;  /* links an identity to this person; empty: a login */
	bool asked;      /* by a page, which is told where to go */
	struct user_new person;
	struct api_login login;
	struct api_link link;
};

/* A path of this server and nothing that a browser takes for another's. */
static bool
is_path(struct str s)
{
	if (s.n == 0 || s.n > HTTP_PATH_MAX || s.p[0] != '/' ||
	    (s.n > 1 && (s.p[1] == '/' || s.p[1] == '\\')))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f || s.p[i] == '\\')
			return false;
	return true;
}

/* Such a path, or one at an origin that is allowed: nothing else is led to. */
static bool
may_lead(const struct req *r, struct str back)
{
	const struct api *api = r->app;
	struct str path = str_from(back, origin_leads(&api->origins, back));

	return (path.n == 0 && back.n > 0) || is_path(path);
}

static const char *
url_of(const struct req *r, struct str path)
{
	const struct api *api = r->app;
	struct str base = str_of(api->conf->base_url);

	if (origin_leads(&api->origins, path) > 0)
		return arena_z(r->arena, path);
	while (str_ends(base, STR("/")))
		base.n--;
	return arena_fmt(r->arena, "%.*s%.*s", STR_ARG(base), STR_ARG(path)).p;
}

/* Empty clears it. */
static void
state_cookie(struct req *r, struct str text)
{
	api_cookie(r, STATE_COOKIE, text, "/auth", OIDC_LOGIN_S);
}

/* Back to a page that can say so, of the user interface that began it where that
 * is known; the log has the reason. */
static int
login_failed(
    struct req *r, const struct trip *t, const char *code, const char *why)
{
	const struct api *api = r->app;
	struct str at = {t->back.p, origin_leads(&api->origins, t->back)};
	struct str path =
	    arena_fmt(r->arena, "%.*s/?login_error=%s", STR_ARG(at), code);
	struct log_line l;

	auth_failed(api->auth, r, "openid");
	log_begin(&l, LOG_WARN, "a login failed");
	log_str(&l, "traceId", str_of(r->trace_id));
	log_str(&l, "code", str_of(code));
	log_str(&l, "error", str_of(why));
	log_str(&l, "peer", str_of(r->peer));
	log_end(&l);
	state_cookie(r, STR_EMPTY);
	return api_lead_to(r, url_of(r, path));
}

static int
flow_failed(struct req *r, const struct trip *t, struct err *e)
{
	const struct oidc_flow *f = &t->flow;
	const char *code = f->rc == ERR_AWAY      ? "provider_unavailable"
			   : f->rc == ERR_DENIED  ? "code_refused"
			   : f->rc == ERR_INVALID ? "bad_token"
						  : NULL;

	if (code && !t->asked)
		return login_failed(r, t, code, f->err.text);
	*e = f->err;
	return f->rc;
}

/* On the caller's thread. */
static void
flow_done(struct oidc_flow *f)
{
	req_wake(f->arg);
}

static int
start_trip(struct req *r, struct trip *t,
    int (*then)(struct req *, struct err *), struct err *e)
{
	const struct api *api = r->app;

	t->flow.arena = r->arena;
	t->flow.arg = r;
	t->flow.done = flow_done;
	r->ctx = t;
	r->then = then;
	TRY(oidc_start(api->oidc, &t->flow, e));
	return REQ_WAIT;
}

static int
not_set(struct err *e)
{
	return err_set(e, ERR_ABSENT, "no login provider is set");
}

/* ---- going there ---- */

/* `said` are state, nonce and verifier. */
static void
seal_state(struct req *r, const struct trip *t, const struct str said[3])
{
	const struct api *api = r->app;
	int64_t until_us = clock_now_us() + OIDC_LOGIN_S * US_PER_S;
	struct str plain =
	    arena_fmt(r->arena, "%.*s\n%.*s\n%.*s\n%lld\n%.*s\n%.*s",
		STR_ARG(said[0]), STR_ARG(said[1]), STR_ARG(said[2]),
		(long long)until_us, STR_ARG(t->uid), STR_ARG(t->back));
	struct buf b CLEANUP(buf_done) =
	    BUF(BASE64URL_LEN(STATE_MAX + SEAL_BYTES_MORE) + 1 +
		BASE64URL_LEN(DIGEST_LEN));
	char *to = arena_alloc(r->arena, plain.n + SEAL_BYTES_MORE);
	unsigned char mac[DIGEST_LEN];

	base64_url_add(
	    &b, keyring_seal_bytes(api->keyring, STATE_WHERE, plain, to));
	session_mac(&api->session, STATE_LABEL, buf_str(&b), mac);
	buf_addc(&b, '.');
	base64_url_add(&b, (struct str){(char *)mac, sizeof(mac)});
	state_cookie(r, buf_str(&b));
}

static int
go_there(struct req *r, struct err *e)
{
	const struct api *api = r->app;
	struct trip *t = r->ctx;
	char words[3][OIDC_WORD_LEN + 1];
	struct str said[3], page;

	if (t->flow.rc < 0)
		return flow_failed(r, t, e);
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		token_text(words[i], OIDC_WORD_LEN, ALPHABET);
		said[i] = str_of(words[i]);
	}
	seal_state(r, t, said);
	page = oidc_page(
	    api->oidc, t->flow.authorize, said[0], said[1], said[2], r->arena);
	if (!t->asked)
		return api_lead_to(r, page.p);
	put_text(api_object(r), "location", page);
	put_close(&r->out, '}');
	return OK;
}

static int
begin_trip(struct req *r, struct trip *t, struct err *e)
{
	if (!may_lead(r, t->back))
		return err_at(e, ERR_INVALID, "/return",
		    "must be a path of this server, as /feeds, or an address at an origin of cors.allowed.origin");
	return start_trip(r, t, go_there, e);
}

const struct member OIDC_LOGIN_QUERY[] = {
    {"return", MEMBER_STRING, offsetof(struct trip, back), 0,
	ORIGIN_MAX + HTTP_PATH_MAX, .about = "where to go after it"},
    {.name = NULL},
};

int
api_oidc_login(struct req *r, struct db *, struct err *e)
{
	const struct api *api = r->app;
	struct trip *t = arena_alloc(r->arena, sizeof(*t));

	if (!api->oidc)
		return not_set(e);
	t->back = STR("/");
	TRY(api_query(r, OIDC_LOGIN_QUERY, t, e));
	return begin_trip(r, t, e);
}

const struct member IDENTITY_BODY[] = {
    {"return", MEMBER_STRING, offsetof(struct trip, back), 0,
	ORIGIN_MAX + HTTP_PATH_MAX},
    {.name = NULL},
};

int
api_identities_post(struct req *r, struct db *, struct err *e)
{
	const struct api *api = r->app;
	struct trip *t = arena_alloc(r->arena, sizeof(*t));
	char uid[UUID_LEN + 1];

	if (!api->oidc)
		return not_set(e);
	/* It is the session that is asked for when the browser comes back. */
	if (!r->who.by_cookie)
		return err_set(e, ERR_UNKNOWN,
		    "an identity is linked by who is logged in with a session");
	t->back = STR("/");
	TRY(api_body_maybe(r, IDENTITY_BODY, NULL, t, e));
	uuid_format(r->who.user_uid, uid);
	t->asked = true;
	t->uid = arena_dup(r->arena, str_of(uid));
	return begin_trip(r, t, e);
}

/* ---- coming back ---- */

/* Only what we gave out is opened: a made-up key's salt would cost the time of
 * a derivation. */
static bool
is_ours(const struct api *api, struct str text, struct str mac)
{
	unsigned char want[DIGEST_LEN];
	char got[DIGEST_LEN];
	size_t n = 0;

	if (!base64_url_read(mac, got, sizeof(got), &n) || n != sizeof(got))
		return false;
	session_mac(&api->session, STATE_LABEL, text, want);
	return digest_eq(want, got, sizeof(want));
}

/* What the browser brought: NULL, or why it will not do. */
static const char *
open_state(struct req *r, struct trip *t, struct str *ret_state)
{
	const struct api *api = r->app;
	struct str text =
	    session_cookie(req_header(r, "Cookie"), STR(STATE_COOKIE));
	char *bytes = arena_try(r->arena, text.n + 1);
	struct str plain = STR_EMPTY, mac = text;
	int64_t until_us = 0;
	struct err e;
	size_t n = 0;

	if (text.n == 0)
		return "this browser has not begun it, or too long ago";
	text = str_cut(&mac, '.');
	if (!bytes || !is_ours(api, text, mac) ||
	    !base64_url_read(text, bytes, text.n, &n) ||
	    !keyring_is_bytes((struct str){bytes, n}) ||
	    keyring_unseal_bytes(api->keyring, STATE_WHERE,
		(struct str){bytes, n}, bytes, &plain, &e) < 0)
		return "its cookie is not ours";
	*ret_state = str_cut(&plain, '\n');
	t->flow.nonce = str_cut(&plain, '\n');
	t->flow.verifier = str_cut(&plain, '\n');
	if (!str_int(str_cut(&plain, '\n'), &until_us) ||
	    until_us < clock_now_us())
		return "it took too long";
	t->uid = str_cut(&plain, '\n');
	if ((t->uid.n > 0 && !uuid_parse(t->uid, &t->link.uid)) ||
	    !may_lead(r, plain))
		return "its cookie is not ours";
	t->back = plain;
	return NULL;
}

/* NULL, or why this is not the answer to what this browser asked. */
static const char *
check_state(struct req *r, struct trip *t)
{
	const struct api *api = r->app;
	struct str want, got = STR_EMPTY, issuer = STR_EMPTY;
	const char *why = open_state(r, t, &want);

	(void)req_query(r, "state", &got);
	if (why)
		return why;
	if (want.n != OIDC_WORD_LEN || got.n != want.n ||
	    !digest_eq(want.p, got.p, want.n))
		return "the state is another's";
	/* RFC 9207: who says whose answer this is. */
	if (req_query(r, "iss", &issuer) && !oidc_is_issuer(api->oidc, issuer))
		return "the answer is another provider's";
	return NULL;
}

static int
signup_refused(struct req *r, struct err *)
{
	return login_failed(r, MAIL_OF(r->ctx, struct trip, login),
	    "signup_closed",
	    "oidc.signup does not name this person, who is new here");
}

static int
link_refused(struct req *r, const char *code, const char *why)
{
	return login_failed(r, MAIL_OF(r->ctx, struct trip, link), code, why);
}

static int
came_back(struct req *r, struct err *e)
{
	const struct api *api = r->app;
	struct trip *t = r->ctx;
	const struct jwt_claims *c = &t->flow.claims;
	const char *location = url_of(r, t->back);

	if (t->flow.rc < 0)
		return flow_failed(r, t, e);
	state_cookie(r, STR_EMPTY);
	t->person = (struct user_new){
	    .provider = oidc_provider(api->oidc),
	    .subject = c->subject,
	    .email = c->email,
	    .name = c->name.n ? c->name : c->email,
	};
	if (t->uid.n > 0) {
		t->link.person = &t->person;
		t->link.refuse = link_refused;
		t->link.location = location;
		return api_link(r, &t->link, e);
	}
	t->login = (struct api_login){.provider = t->person.provider,
	    .person = &t->person,
	    .may_come = signup_allows(str_of(api->conf->oidc_signup), c),
	    .refuse = signup_refused,
	    .location = location};
	return api_login(r, &t->login, e);
}

int
api_oidc_callback(struct req *r, struct db *, struct err *e)
{
	const struct api *api = r->app;
	struct trip *t = arena_alloc(r->arena, sizeof(*t));
	struct str error = STR_EMPTY;
	const char *why;

	if (!api->oidc)
		return not_set(e);
	why = check_state(r, t);
	if (why)
		return login_failed(r, t, "state", why);
	if (req_query(r, "error", &error))
		return login_failed(r, t,
		    str_eq(error, STR("access_denied")) ? "access_denied"
							: "provider_error",
		    "the provider says so");
	if (!req_query(r, "code", &t->flow.code) || t->flow.code.n == 0)
		return login_failed(r, t, "provider_error", "there is no code");
	return start_trip(r, t, came_back, e);
}
