#include "http/client/oauth.h"

#include "http/client/client.h"
#include "http/client/limits.h"
#include "http/percent.h"
#include "seal/base64.h"
#include "seal/digest.h"

struct oauth_token {
	struct oauth *owner;
	struct buf key; /* all that names it; see token_key() */
	struct buf token;
	int64_t fetched_ms; /* when the last fetch began */
	int64_t renew_ms, until_ms;
	bool fetching;
	bool failed; /* the last fetch, as `why` says */
	struct err why;
	struct list asks;
	/* the fetch */
	struct client_send send;
	struct client_header headers[3];
	struct buf form, basic;
	struct str url; /* inside of key */
	unsigned held;  /* somebody is looking at it */
};

struct oauth {
	struct client *client;
	struct map *tokens;
	struct arena *arena; /* for one answer */
};

/* ---- who asks ---- */

void
oauth_drop(struct oauth_ask *q)
{
	if (q->in)
		list_remove(q->in, &q->link);
	q->in = NULL;
}

/* The token, or why the last fetch failed. */
static void
token_tell(struct oauth_token *t, struct oauth_ask *q, bool good)
{
	struct err e = good ? (struct err){.code = OK} : t->why;

	t->held++;
	q->done(q, good ? buf_str(&t->token) : STR_EMPTY, &e);
	t->held--;
}

/* ---- the answer ---- */

/* What may stand in a header behind "Bearer ". */
static bool
plain_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] >= 0x7f)
			return false;
	return s.n > 0;
}

static int
token_keep(struct oauth_token *t, const struct json *j, struct err *e)
{
	const struct json *token = json_get(j, "access_token");
	const struct json *type = json_get(j, "token_type");
	const struct json *life = json_get(j, "expires_in");
	int64_t s = OAUTH_LIFE_S, early;

	if (!json_is(token, JSON_STRING) || !plain_text(token->text))
		return err_set(e, ERR_DENIED,
		    "the token endpoint's answer has no access_token that can be sent");
	if (token->text.n > OAUTH_TOKEN_MAX)
		return err_set(e, ERR_DENIED,
		    "the token endpoint's access_token is over %zu bytes",
		    OAUTH_TOKEN_MAX);
	if (type && !str_eq_nocase(type->text, STR("bearer")))
		return err_set(e, ERR_DENIED,
		    "the token endpoint's token_type is not Bearer");
	if (life && (!json_int(life, &s) || s <= 0))
		return err_set(e, ERR_DENIED,
		    "the token endpoint's expires_in is no number of seconds");
	s = s > OAUTH_LIFE_MAX_S ? OAUTH_LIFE_MAX_S : s;
	early = s * 1000 / 5;
	early = early > OAUTH_EARLY_MAX_MS ? OAUTH_EARLY_MAX_MS : early;
	buf_clear(&t->token);
	buf_add(&t->token, token->text);
	t->renew_ms = t->fetched_ms + s * 1000 - early;
	/* In time for a request on its way. */
	t->until_ms = t->fetched_ms + s * 1000 - early / 4;
	return OK;
}

/* {"error":"invalid_client"} and the status, for people. */
static int
refused(int status, const struct json *j, struct err *e)
{
	struct str name = json_text(j, "error");
	bool later = status == 408 || status == 429 || status >= 500;

	if (!plain_text(name))
		name = STR_EMPTY;
	name.n = name.n > 64 ? 64 : name.n;
	return err_set(e, later ? ERR_AWAY : ERR_DENIED,
	    "the token endpoint answered %d%s%.*s", status, name.n ? ": " : "",
	    STR_ARG(name));
}

static int
read_answer(struct oauth_token *t, const struct client_answer *a, struct err *e)
{
	struct json *j = NULL;
	struct err wrong;
	int rc;

	if (a->result == CLIENT_REFUSED)
		return err_set(e, ERR_DENIED, "no token: %s", a->error);
	if (a->result != CLIENT_ANSWERED)
		return err_set(e, ERR_AWAY, "no token: %s", a->error);
	if (a->body_cut)
		return err_set(e, ERR_DENIED,
		    "the token endpoint's answer is over %zu bytes",
		    OAUTH_ANSWER_MAX);
	rc = json_parse(t->owner->arena, a->body, &j, &wrong);
	if (a->status != 200)
		return refused(a->status, rc == OK ? j : NULL, e);
	if (rc < 0)
		return err_set(
		    e, ERR_DENIED, "the token endpoint's answer is no JSON");
	return token_keep(t, j, e);
}

static void
fetched(struct client_send *s, const struct client_answer *a)
{
	struct oauth_token *t = MAIL_OF(s, struct oauth_token, send);

	t->fetching = false;
	t->failed = read_answer(t, a, &t->why) < 0;
	arena_reset(t->owner->arena);
	t->held++;
	for (struct oauth_ask *q;
	     (q = list_take(&t->asks, struct oauth_ask, link));) {
		q->in = NULL;
		token_tell(t, q, !t->failed);
	}
	t->held--;
}

/* ---- the request ---- */

void
oauth_basic(struct buf *b, struct str id, struct str secret)
{
	struct buf plain = BUF(4 * OAUTH_KEY_MAX);

	percent_add(&plain, id);
	buf_addc(&plain, ':');
	percent_add(&plain, secret);
	buf_addz(b, "Basic ");
	base64_add(b, buf_str(&plain));
	digest_wipe_buf(&plain);
}

static void
make_form(struct oauth_token *t, const struct oauth_conf *c)
{
	buf_clear(&t->form);
	buf_addz(&t->form, "grant_type=client_credentials");
	if (c->scope.n > 0) {
		buf_addz(&t->form, "&scope=");
		percent_add(&t->form, c->scope);
	}
	if (!c->secret_in_body)
		return;
	buf_addz(&t->form, "&client_id=");
	percent_add(&t->form, c->client_id);
	buf_addz(&t->form, "&client_secret=");
	percent_add(&t->form, c->client_secret);
}

static void
fetch(struct oauth_token *t, const struct oauth_conf *c, int64_t now_ms)
{
	size_t n = 0;

	make_form(t, c);
	t->headers[n++] = (struct client_header){
	    STR("Content-Type"), STR("application/x-www-form-urlencoded")};
	t->headers[n++] =
	    (struct client_header){STR("Accept"), STR("application/json")};
	if (!c->secret_in_body) {
		buf_clear(&t->basic);
		oauth_basic(&t->basic, c->client_id, c->client_secret);
		t->headers[n++] = (struct client_header){
		    STR("Authorization"), buf_str(&t->basic)};
	}
	t->send = (struct client_send){
	    .method = POST,
	    .url = t->url,
	    .headers = t->headers,
	    .n_headers = n,
	    .body = buf_str(&t->form),
	    .use = GUARD_WEBHOOK,
	    .connect_ms = c->connect_ms,
	    .total_ms = c->total_ms,
	    .keep_max = OAUTH_ANSWER_MAX,
	    .user_agent = c->user_agent,
	    .proxy = c->proxy,
	    .done = fetched,
	};
	t->fetching = true;
	t->fetched_ms = now_ms;
	client_start(t->owner->client, &t->send);
}

/* ---- tokens ---- */

static void
token_free(struct oauth_token *t)
{
	struct buf *const secrets[] = {&t->key, &t->token, &t->form, &t->basic};

	for (size_t i = 0; i < COUNT_OF(secrets); i++)
		digest_wipe_buf(secrets[i]);
	free(t);
}

/* Each part with its length in front, so that none can pretend to be two. */
static bool
token_key(const struct oauth_conf *c, struct buf *b)
{
	const struct str parts[] = {
	    c->token_url, c->client_id, c->client_secret, c->scope};

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		buf_fmt(b, "%zu:", parts[i].n);
		buf_add(b, parts[i]);
	}
	return !b->failed;
}

/* Makes room in a full table: the one that nobody needs and that ends first. */
static void
shrink(struct oauth *o)
{
	struct oauth_token *t, *gone = NULL;
	size_t at = 0;

	while ((t = map_each(o->tokens, &at)))
		if (!t->fetching && t->held == 0 && t->asks.n == 0 &&
		    (!gone || t->until_ms < gone->until_ms))
			gone = t;
	if (!gone)
		return;
	(void)map_take(o->tokens, buf_str(&gone->key));
	token_free(gone);
}

static struct oauth_token *
token_new(struct oauth *o, struct buf *key, const struct oauth_conf *c)
{
	struct oauth_token *t;
	const char *colon;

	if (map_count(o->tokens) >= OAUTH_TOKENS_MAX)
		shrink(o);
	if (map_count(o->tokens) >= OAUTH_TOKENS_MAX)
		return NULL;
	t = mem_get(sizeof(*t));
	t->owner = o;
	list_init(&t->asks);
	t->key = *key;
	*key = BUF(0);
	colon = memchr(t->key.p, ':', t->key.n);
	assert(colon);
	t->url = (struct str){colon + 1, c->token_url.n};
	t->token = BUF(OAUTH_TOKEN_MAX);
	t->form = BUF(4 * OAUTH_KEY_MAX);
	t->basic = BUF(8 * OAUTH_KEY_MAX);
	t->until_ms = t->renew_ms = INT64_MIN;
	map_set(o->tokens, buf_str(&t->key), t);
	return t;
}

/* NULL when there is none; with `make`, when there can't be one. */
static struct oauth_token *
token_of(struct oauth *o, const struct oauth_conf *c, bool make)
{
	struct buf key = BUF(OAUTH_KEY_MAX);
	struct oauth_token *t = NULL;

	if (token_key(c, &key)) {
		t = map_find(o->tokens, buf_str(&key));
		if (!t && make)
			t = token_new(o, &key, c);
	}
	digest_wipe_buf(&key);
	return t;
}

void
oauth_get(struct oauth *o, const struct oauth_conf *c, int64_t now_ms,
    struct oauth_ask *q)
{
	struct oauth_token *t = token_of(o, c, true);
	struct err e;

	q->in = NULL;
	if (!t) {
		(void)err_set(&e, ERR_DENIED,
		    "URL, client and scope of a token are too long, or there are too many tokens");
		q->done(q, STR_EMPTY, &e);
		return;
	}
	if (now_ms < t->until_ms && t->token.n > 0) {
		/* A failed renewal is no harm yet. */
		if (now_ms >= t->renew_ms && !t->fetching &&
		    now_ms >= t->fetched_ms + OAUTH_FAILED_MS)
			fetch(t, c, now_ms);
		token_tell(t, q, true);
		return;
	}
	if (!t->fetching && t->failed &&
	    now_ms < t->fetched_ms + OAUTH_FAILED_MS) {
		token_tell(t, q, false);
		return;
	}
	q->in = &t->asks;
	list_add(&t->asks, &q->link);
	if (!t->fetching)
		fetch(t, c, now_ms);
}

void
oauth_refused(struct oauth *o, const struct oauth_conf *c, struct str token)
{
	struct oauth_token *t = token_of(o, c, false);

	if (t && str_eq(buf_str(&t->token), token))
		t->until_ms = t->renew_ms = INT64_MIN;
}

struct oauth *
oauth_new(struct client *client)
{
	struct oauth *o = mem_get(sizeof(*o));

	o->client = client;
	o->tokens = map_new(OAUTH_TOKENS_MAX);
	o->arena = arena_new(MIB);
	return o;
}

void
oauth_free(struct oauth *o)
{
	struct oauth_token *t;
	size_t at = 0;

	if (!o)
		return;
	while ((t = map_each(o->tokens, &at))) {
		assert(!t->fetching && t->asks.n == 0);
		token_free(t);
	}
	map_free(o->tokens);
	arena_free(o->arena);
	free(o);
}
