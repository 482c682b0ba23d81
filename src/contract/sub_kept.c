/*
 * sub.h: secrets that a change would send to somebody else.
 *
 * A change may leave secrets as they are without knowing them, and may set
 * another URL. Both at once would hand them to whoever has the new URL. So
 * when scheme, host or port of a URL change, each secret that is sent there
 * must be given with the change, or be removed by it.
 *
 *   /url             passwords and tokens of `auth`, an OAuth2 client's secret
 *                    (the token that it gets goes there), secret headers, the
 *                    hub's keys
 *   /auth/tokenUrl   the OAuth2 client's secret
 *
 * Secrets that sign, a certificate's key and those of one-time codes never
 * leave this server: what is made of them does, and is good for nothing else.
 */
#include "contract/host.h"
#include "contract/sub_priv.h"

/* What counts: where the bytes go. */
struct origin {
	bool https;
	struct str host;
	int64_t port;
};

static struct origin
origin_of(struct str url)
{
	struct origin o = {.https = str_starts(url, STR("https://"))};
	size_t colon = 0;

	(void)host_of(url, &o.host);
	for (size_t i = 0; i < o.host.n; i++)
		colon = o.host.p[i] == ':'   ? i + 1
			: o.host.p[i] == ']' ? 0
					     : colon;
	o.port = o.https ? 443 : 80;
	if (colon && str_int(str_from(o.host, colon), &o.port))
		o.host.n = colon - 1;
	return o;
}

static bool
same_origin(struct str a, struct str b)
{
	struct origin x = origin_of(a), y = origin_of(b);

	return x.https == y.https && x.port == y.port &&
	       str_eq_nocase(x.host, y.host);
}

/* {tenant} may stand in the host: then the hub's tenant is part of it. */
static bool
same_place(const struct sub_conf *a, const struct sub_conf *b)
{
	const struct sub_value *x = &a->hub.tenant, *y = &b->hub.tenant;

	if (!same_origin(a->url, b->url))
		return false;
	return !str_has(origin_of(b->url).host, '{') ||
	       (x->pointer == y->pointer && str_eq(x->text, y->text));
}

struct kept {
	struct buf list; /* pointers of what must be given again */
	char first[JSON_POINTER_MAX + 1];
};

/* What was not given is the very text that was there before. */
static void
sub_kept_look(struct kept *k, struct str was, struct str is, const char *at)
{
	if (is.n == 0 || is.p != was.p)
		return;
	if (k->list.n == 0)
		(void)snprintf(k->first, sizeof(k->first), "%s", at);
	buf_fmt(&k->list, "%s%s", k->list.n ? ", " : "", at);
}

static void
look_headers(
    struct kept *k, const struct sub_conf *was, const struct sub_conf *s)
{
	for (size_t i = 0; i < s->n_headers; i++) {
		char at[JSON_POINTER_MAX + 1] = "/headers";

		if (!s->headers[i].secret)
			continue;
		json_point(at, s->headers[i].name);
		for (size_t j = 0; j < was->n_headers; j++)
			sub_kept_look(
			    k, was->headers[j].value, s->headers[i].value, at);
	}
}

int
sub_kept_check(
    const struct sub_conf *s, const struct sub_conf *was, struct err *e)
{
	const struct sub_auth *a = &s->auth, *b = &was->auth;
	bool moved = !same_place(was, s);
	bool token_moved = a->type == AUTH_OAUTH2 && b->type == AUTH_OAUTH2 &&
			   !same_origin(a->token_url, b->token_url);
	struct kept k = {.list = BUF(sizeof(e->text))};
	int rc = OK;

	if (moved) {
		sub_kept_look(&k, b->password, a->password, "/auth/password");
		sub_kept_look(&k, b->token, a->token, "/auth/token");
		sub_kept_look(&k, b->value, a->value, "/auth/value");
		sub_kept_look(&k, was->hub.shared_internal_key,
		    s->hub.shared_internal_key, "/hub/sharedInternalKey");
		sub_kept_look(&k, was->hub.event_api_key, s->hub.event_api_key,
		    "/hub/eventApiKey");
		look_headers(&k, was, s);
	}
	if (moved || token_moved)
		sub_kept_look(&k, b->client_secret, a->client_secret,
		    "/auth/clientSecret");
	if (k.list.n > 0 || k.list.failed)
		rc = json_wrong(e, k.first,
		    "must be given again, since %s leads to another server now (asked for: %.*s)",
		    moved ? "/url" : "/auth/tokenUrl",
		    STR_ARG(buf_str(&k.list)));
	buf_done(&k.list);
	return rc;
}
