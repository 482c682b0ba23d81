#include "account/oidc.h"

#include <stdatomic.h>

#include "account/limits.h"
#include "account/signup.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/version.h"
#include "http/client/limits.h"
#include "http/client/oauth.h"
#include "http/limits.h"
#include "http/percent.h"
#include "seal/base64.h"
#include "seal/digest.h"

#define GOOGLE     STR("https://accounts.google.com")
#define GOOGLE_TOO STR("accounts.google.com")
#define WELL_KNOWN "/.well-known/openid-configuration"
#define AGENT      "Hikyaku/" HIKYAKU_VERSION

struct oidc {
	const struct conf *conf;
	struct caller *caller;
	struct str issuer, client_id;
	_Atomic int flows;

	/* of the caller's thread, from here on */
	struct arena *scratch;
	struct str discovery;
	/* the provider's addresses */
	char authorize[URL_MAX + 1], token[URL_MAX + 1], keys[URL_MAX + 1];
	bool in_form; /* the secret, instead of Basic */
	struct jwks *jwks;
	int64_t fresh_until_ms, asked_ms, failed_until_ms;
	struct err why; /* it failed */
	bool refreshing;
	struct client *client;
	struct client_send send;
	struct oidc_flow *waiting;
};

/* ---- settings ---- */

static void
want(struct buf *b, const char *value, const char *name)
{
	if (!value[0])
		buf_fmt(b, "%s%s", b->n ? ", " : "", name);
}

int
oidc_check(const struct conf *c, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(KIB);

	if (!c->google_client_id[0])
		return OK;
	want(&b, c->google_client_secret, "google.client.secret");
	want(&b, c->google_redirect_url, "google.redirect.url");
	want(&b, c->session_secret, "session.secret");
	want(&b, c->base_url, "base.url");
	if (b.n > 0)
		return err_set(e, ERR_INVALID,
		    "google.client.id is set, so these are needed too: %.*s",
		    STR_ARG(buf_str(&b)));
	TRY(signup_check(str_of(c->oidc_signup), e));
	if (str_starts(str_of(c->oidc_issuer), STR("http:")) &&
	    !c->webhook_url_allow_private[0])
		return err_set(e, ERR_INVALID,
		    "oidc.issuer must use https, unless webhook.url.allow.private names its network");
	return OK;
}

struct oidc *
oidc_new(const struct conf *c, struct caller *caller)
{
	struct oidc *o;

	if (!c->google_client_id[0])
		return NULL;
	o = mem_get(sizeof(*o));
	o->scratch = arena_new(OIDC_MEM);
	o->conf = c;
	o->caller = caller;
	o->client_id = str_of(c->google_client_id);
	o->issuer = str_of(c->oidc_issuer);
	while (str_ends(o->issuer, STR("/")))
		o->issuer.n--;
	return o;
}

void
oidc_free(struct oidc *o)
{
	if (!o)
		return;
	jwks_free(o->jwks);
	arena_free(o->scratch);
	free(o);
}

struct str
oidc_provider(const struct oidc *o)
{
	return str_eq(o->issuer, GOOGLE) ? STR("google") : o->issuer;
}

bool
oidc_is_issuer(const struct oidc *o, struct str issuer)
{
	if (str_ends(issuer, STR("/")))
		issuer.n--;
	return str_eq(issuer, o->issuer);
}

static void
add_value(struct buf *b, const char *name, struct str value)
{
	buf_addz(b, name);
	percent_add(b, value);
}

struct str
oidc_page(const struct oidc *o, struct str authorize, struct str state,
    struct str nonce, struct str verifier, struct arena *a)
{
	struct buf b CLEANUP(buf_done) = BUF(URL_MAX + 8 * CONF_TEXT_MAX);
	unsigned char sum[DIGEST_LEN];

	buf_add(&b, authorize);
	buf_addc(&b, str_has(authorize, '?') ? '&' : '?');
	buf_addz(&b, "response_type=code&scope=openid%20email%20profile");
	if (signup_groups(str_of(o->conf->oidc_signup)))
		buf_addz(&b, "%20groups");
	add_value(&b, "&client_id=", o->client_id);
	add_value(&b, "&redirect_uri=", str_of(o->conf->google_redirect_url));
	add_value(&b, "&state=", state);
	add_value(&b, "&nonce=", nonce);
	buf_addz(&b, "&code_challenge_method=S256&code_challenge=");
	digest_sha256(verifier, sum);
	base64_url_add(&b, DIGEST_STR(sum));
	return arena_dup(a, buf_str(&b));
}

/* ---- the provider's document and keys ---- */

static void proceed(struct oidc_flow *f);

static void
finish_flow(struct oidc_flow *f, int rc)
{
	f->rc = rc;
	(void)atomic_fetch_sub(&f->oidc->flows, 1);
	f->done(f);
}

/* All who wait learn how it went. */
static void
refreshed(struct oidc *o, int rc)
{
	struct oidc_flow *f = o->waiting;

	o->refreshing = false;
	o->waiting = NULL;
	if (rc == OK) {
		o->fresh_until_ms = clock_mono_ms() + OIDC_FRESH_S * 1000;
	} else {
		o->failed_until_ms = clock_mono_ms() + OIDC_FAILED_MS;
		log_err(LOG_WARN, "the login provider can't be used", &o->why);
	}
	arena_reset(o->scratch);
	while (f) {
		struct oidc_flow *next = f->next;

		if (rc == OK) {
			proceed(f);
		} else {
			f->err = o->why;
			finish_flow(f, rc);
		}
		f = next;
	}
}

/* The answer as JSON, or why there is none. */
static int
read_answer(struct arena *arena, const struct client_answer *a,
    const char *what, struct json **ret, struct err *e)
{
	struct err wrong;

	if (a->result != CLIENT_ANSWERED)
		return err_set(e, ERR_AWAY, "%s: %.200s", what, a->error);
	if (a->status != 200)
		return err_set(e, ERR_AWAY, "%s: status %d", what, a->status);
	if (a->body_cut)
		return err_set(
		    e, ERR_AWAY, "%s is over %zu bytes", what, OIDC_ANSWER_MAX);
	if (json_parse(arena, a->body, ret, &wrong) < 0 ||
	    !json_is(*ret, JSON_OBJECT))
		return err_set(e, ERR_AWAY, "%s is no JSON object", what);
	return OK;
}

static const struct client_header ACCEPT = {
    {"Accept", 6}, {"application/json", 16}};

static struct client_send
send_to(const struct oidc *o, struct str url,
    void (*done)(struct client_send *s, const struct client_answer *a))
{
	const char *proxy = o->conf->webhook_proxy;

	return (struct client_send){
	    .method = GET,
	    .url = url,
	    .headers = &ACCEPT,
	    .n_headers = 1,
	    .body = STR_EMPTY,
	    .use = GUARD_WEBHOOK,
	    .connect_ms = OIDC_TOTAL_MS / 2,
	    .total_ms = OIDC_TOTAL_MS,
	    .keep_max = OIDC_ANSWER_MAX,
	    .user_agent = AGENT,
	    .proxy = proxy[0] ? proxy : NULL,
	    .done = done,
	};
}

static void
fetch_from(struct oidc *o, struct str url,
    void (*done)(struct client_send *s, const struct client_answer *a))
{
	o->send = send_to(o, url, done);
	client_start(o->client, &o->send);
}

static void
got_keys(struct client_send *s, const struct client_answer *a)
{
	struct oidc *o = MAIL_OF(s, struct oidc, send);
	struct jwks *k = NULL;
	struct json *j = NULL;
	struct err wrong;
	int rc = read_answer(
	    o->scratch, a, "the login provider's key set", &j, &o->why);

	if (rc == OK && jwks_parse(a->body, o->scratch, &k, &wrong) < 0)
		rc = err_set(&o->why, ERR_AWAY, "the login provider: %.200s",
		    wrong.text);
	if (rc == OK) {
		jwks_free(o->jwks);
		o->jwks = k;
	}
	refreshed(o, rc);
}

static bool
take_url(const struct json *j, const char *name, char to[URL_MAX + 1])
{
	const struct json *v = json_get(j, name);

	if (!json_is(v, JSON_STRING) || v->text.n == 0 || v->text.n > URL_MAX)
		return false;
	for (size_t i = 0; i < v->text.n; i++)
		if (v->text.p[i] <= ' ' || v->text.p[i] >= 0x7f ||
		    v->text.p[i] == '#')
			return false;
	(void)snprintf(to, URL_MAX + 1, "%.*s", STR_ARG(v->text));
	return true;
}

/* Basic is what goes without saying (Discovery 1.0, 3). */
static bool
wants_form(const struct json *j)
{
	const struct json *list =
	    json_get(j, "token_endpoint_auth_methods_supported");
	bool basic = !json_is(list, JSON_ARRAY), form = false;

	for (const struct json *v = basic ? NULL : list->child; v;
	     v = v->next) {
		basic = basic || str_eq(v->text, STR("client_secret_basic"));
		form = form || str_eq(v->text, STR("client_secret_post"));
	}
	return form && !basic;
}

static int
take_document(struct oidc *o, const struct json *j, struct err *e)
{
	struct str is = json_text(j, "issuer");

	if (!oidc_is_issuer(o, is))
		return err_set(e, ERR_AWAY,
		    "the login provider's document is of another issuer: \"%.*s\"",
		    is.n < 100 ? (int)is.n : 100, is.p);
	if (!take_url(j, "authorization_endpoint", o->authorize) ||
	    !take_url(j, "token_endpoint", o->token) ||
	    !take_url(j, "jwks_uri", o->keys))
		return err_set(e, ERR_AWAY,
		    "the login provider's document lacks an address");
	if (!str_starts(str_of(o->authorize), STR("https://")) &&
	    !str_starts(o->issuer, STR("http://")))
		return err_set(e, ERR_AWAY,
		    "the login provider's page does not use https");
	o->in_form = wants_form(j);
	return OK;
}

static void
got_document(struct client_send *s, const struct client_answer *a)
{
	struct oidc *o = MAIL_OF(s, struct oidc, send);
	struct json *j = NULL;
	int rc = read_answer(
	    o->scratch, a, "the login provider's document", &j, &o->why);

	if (rc == OK)
		rc = take_document(o, j, &o->why);
	if (rc < 0)
		refreshed(o, rc);
	else
		fetch_from(o, str_of(o->keys), got_keys);
}

/* The flow goes on when document and keys are there. */
static void
refresh(struct oidc *o, struct oidc_flow *f)
{
	f->next = o->waiting;
	o->waiting = f;
	if (o->refreshing)
		return;
	o->refreshing = true;
	o->asked_ms = clock_mono_ms();
	arena_reset(o->scratch);
	o->discovery =
	    arena_fmt(o->scratch, "%.*s" WELL_KNOWN, STR_ARG(o->issuer));
	fetch_from(o, o->discovery, got_document);
}

/* ---- one flow ---- */

static void
verify(struct oidc_flow *f)
{
	struct oidc *o = f->oidc;
	struct jwt_want want_token = {
	    .issuer = o->issuer,
	    .issuer_too = str_eq(o->issuer, GOOGLE) ? GOOGLE_TOO : STR_EMPTY,
	    .client_id = o->client_id,
	    .nonce = f->nonce,
	    .now_s = clock_now_us() / US_PER_S,
	};
	char slash[URL_MAX + 2];
	int rc;

	/* Some write theirs with a slash at its end. */
	if (want_token.issuer_too.n == 0 && o->issuer.n < URL_MAX) {
		(void)snprintf(
		    slash, sizeof(slash), "%.*s/", STR_ARG(o->issuer));
		want_token.issuer_too = str_of(slash);
	}
	rc = jwt_verify(
	    o->jwks, f->token, &want_token, f->arena, &f->claims, &f->err);
	if (rc == ERR_ABSENT && !f->again &&
	    clock_mono_ms() - o->asked_ms >= OIDC_KEYS_S * 1000) {
		f->again = true;
		refresh(o, f);
		return;
	}
	if (rc == ERR_ABSENT)
		rc = f->err.code = ERR_INVALID;
	finish_flow(f, rc);
}

/* {"error":"invalid_grant"}: for the log. */
static int
code_refused(const struct client_answer *a, struct arena *arena, struct err *e)
{
	struct json *j = NULL;
	struct err wrong;
	struct str name = STR_EMPTY;

	if (json_parse(arena, a->body, &j, &wrong) == OK &&
	    json_is(json_get(j, "error"), JSON_STRING))
		name = json_get(j, "error")->text;
	return err_set(e, ERR_DENIED,
	    "the login provider did not take the code: status %d %.*s",
	    a->status, name.n < 64 ? (int)name.n : 64, name.p);
}

static void
got_token(struct client_send *s, const struct client_answer *a)
{
	struct oidc_flow *f = MAIL_OF(s, struct oidc_flow, send);
	const struct json *token = NULL;
	struct json *j = NULL;
	int rc;

	if (a->result == CLIENT_ANSWERED && a->status >= 400 && a->status < 500)
		rc = code_refused(a, f->arena, &f->err);
	else
		rc = read_answer(
		    f->arena, a, "the login provider's token", &j, &f->err);
	if (rc == OK && !json_is(token = json_get(j, "id_token"), JSON_STRING))
		rc = err_set(&f->err, ERR_INVALID,
		    "the login provider gave no id_token");
	if (rc < 0) {
		finish_flow(f, rc);
		return;
	}
	f->token = arena_dup(f->arena, token->text);
	verify(f);
}

static struct str
basic(const struct oidc *o, struct arena *a)
{
	struct buf b CLEANUP(digest_wipe_buf) = BUF(8 * OAUTH_KEY_MAX);

	oauth_basic(&b, o->client_id, str_of(o->conf->google_client_secret));
	return arena_dup(a, buf_str(&b));
}

/* .p NULL: the code is too long. */
static struct str
form(const struct oidc *o, const struct oidc_flow *f)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);

	add_value(&b, "grant_type=authorization_code&code=", f->code);
	add_value(&b, "&redirect_uri=", str_of(o->conf->google_redirect_url));
	add_value(&b, "&code_verifier=", f->verifier);
	if (o->in_form) {
		add_value(&b, "&client_id=", o->client_id);
		add_value(&b,
		    "&client_secret=", str_of(o->conf->google_client_secret));
	}
	return b.failed ? (struct str){.p = NULL}
			: arena_dup(f->arena, buf_str(&b));
}

static void
exchange(struct oidc_flow *f)
{
	struct oidc *o = f->oidc;
	struct str body = form(o, f);

	if (!body.p) {
		finish_flow(f, err_set(&f->err, ERR_LIMIT,
				   "the login's code is too long"));
		return;
	}
	f->headers[0] = ACCEPT;
	f->headers[1] = (struct client_header){
	    STR("Content-Type"), STR("application/x-www-form-urlencoded")};
	if (!o->in_form)
		f->headers[2] = (struct client_header){
		    STR("Authorization"), basic(o, f->arena)};
	f->send = send_to(o, arena_dup(f->arena, str_of(o->token)), got_token);
	f->send.method = POST;
	f->send.headers = f->headers;
	f->send.n_headers = o->in_form ? 2 : 3;
	f->send.body = body;
	/* A code is good once: it must not be sent twice. */
	f->send.fresh = true;
	client_start(o->client, &f->send);
}

/* Document and keys are there. */
static void
proceed(struct oidc_flow *f)
{
	struct oidc *o = f->oidc;

	if (f->token.p) {
		verify(f);
	} else if (f->code.n > 0) {
		exchange(f);
	} else {
		f->authorize = arena_dup(f->arena, str_of(o->authorize));
		finish_flow(f, OK);
	}
}

static void
begin_flow(struct call *c, struct client *client)
{
	struct oidc_flow *f = MAIL_OF(c, struct oidc_flow, call);
	struct oidc *o = f->oidc;
	int64_t now_ms = clock_mono_ms();

	o->client = client;
	if (now_ms < o->fresh_until_ms) {
		proceed(f);
	} else if (!o->refreshing && now_ms < o->failed_until_ms) {
		f->err = o->why;
		finish_flow(f, o->why.code);
	} else {
		refresh(o, f);
	}
}

int
oidc_start(struct oidc *o, struct oidc_flow *f, struct err *e)
{
	f->oidc = o;
	f->call.run = begin_flow;
	if (atomic_fetch_add(&o->flows, 1) < OIDC_FLOWS_MAX &&
	    caller_post(o->caller, &f->call))
		return OK;
	(void)atomic_fetch_sub(&o->flows, 1);
	(void)err_set(e, ERR_BUSY, "too many are logging in at once");
	e->retry_after_s = 1;
	return ERR_BUSY;
}
