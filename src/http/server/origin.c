#include "http/server/origin.h"

#include "http/server/req.h"
#include "http/url.h"

#define METHODS_ALLOWED "GET, POST, PUT, PATCH, DELETE"
/* X-Auth-Token: as some apps say who they are. */
#define HEADERS_ALLOWED                                                        \
	"Authorization, Content-Type, Idempotency-Key, If-Match, "             \
	"If-None-Match, Last-Event-ID, X-Auth-Token, X-Request-Id"
#define HEADERS_EXPOSED "Retry-After, X-Request-Id"
#define PREFLIGHT_S     "600"

static int
write_origin(
    struct str url, char ret[ORIGIN_MAX + 1], struct url *u, struct err *e)
{
	char text[URL_TEXT_MAX];

	TRY(url_parse(url, u, e));
	memcpy(ret, text, url_origin(u, text) + 1);
	return OK;
}

static int
add_allowed(struct origins *o, struct str text, struct err *e)
{
	struct url u = {0};
	struct err inner;

	if (o->n == ORIGINS_MAX)
		return err_set(e, ERR_INVALID,
		    "cors.allowed.origin: there may be %d at most",
		    ORIGINS_MAX);
	if (write_origin(text, o->allowed[o->n], &u, &inner) < 0)
		return err_set(
		    e, ERR_INVALID, "cors.allowed.origin: %.200s", inner.text);
	if (!str_eq(u.path, STR("/")) || u.query.n > 0)
		return err_set(e, ERR_INVALID,
		    "cors.allowed.origin: %.*s must be an origin, as https://reader.example.com, without a path",
		    STR_ARG(text));
	o->n++;
	return OK;
}

int
origins_init(
    struct origins *o, const char *base_url, const char *allowed, struct err *e)
{
	struct str base = str_of(base_url), rest = str_of(allowed);
	struct url u = {0};
	struct err inner;

	*o = (struct origins){.base = ""};
	if (base.n > 0 && write_origin(base, o->base, &u, &inner) < 0)
		return err_set(e, ERR_INVALID, "base.url: %.200s", inner.text);
	while (rest.n > 0)
		TRY(add_allowed(o, str_trim(str_cut(&rest, ',')), e));
	return OK;
}

/* As we write it; NULL: it is none of the allowed ones. */
static const char *
find_allowed(const struct origins *o, struct str origin)
{
	for (size_t i = 0; i < o->n; i++)
		if (str_eq_nocase(origin, str_of(o->allowed[i])))
			return o->allowed[i];
	return NULL;
}

static bool
begins(struct str address, const char *origin)
{
	size_t n = strlen(origin);

	return n > 0 && address.n >= n &&
	       str_eq_nocase((struct str){address.p, n}, str_of(origin)) &&
	       (address.n == n || address.p[n] == '/');
}

size_t
origin_leads(const struct origins *o, struct str address)
{
	if (begins(address, o->base))
		return strlen(o->base);
	for (size_t i = 0; i < o->n; i++)
		if (begins(address, o->allowed[i]))
			return strlen(o->allowed[i]);
	return 0;
}

static bool
is_ours(const struct origins *o, struct str origin, struct str host)
{
	struct str rest = origin;

	if (o->base[0] && str_eq_nocase(origin, str_of(o->base)))
		return true;
	/* Which scheme a proxy before us speaks is not known here. */
	if (str_starts(rest, STR("http://")))
		rest = str_from(rest, 7);
	else if (str_starts(rest, STR("https://")))
		rest = str_from(rest, 8);
	else
		return false;
	return rest.n > 0 && str_eq_nocase(rest, host);
}

bool
origin_trusted(const struct origins *o, struct str origin,
    struct str fetch_site, struct str host)
{
	return str_eq(fetch_site, STR("same-origin")) ||
	       is_ours(o, origin, host) || find_allowed(o, origin) != NULL;
}

bool
origin_trusts(const struct origins *o, const struct req *r)
{
	return origin_trusted(o, req_header(r, "Origin"),
	    req_header(r, "Sec-Fetch-Site"), req_header(r, "Host"));
}

bool
origin_foreign(const struct origins *o, const struct req *r)
{
	struct str kind = req_header(r, "Authorization");

	return str_eq_nocase(str_cut(&kind, ' '), STR("basic")) &&
	       req_header(r, "Origin").n > 0 && !origin_trusts(o, r);
}

void
origin_answer(const struct origins *o, struct req *r, struct str origin,
    struct str asks_for)
{
	const char *one = find_allowed(o, origin);

	if (o->n == 0)
		return;
	req_add_header(r, "Vary", "Origin");
	if (!one)
		return;
	req_add_header(r, "Access-Control-Allow-Origin", one);
	req_add_header(r, "Access-Control-Allow-Credentials", "true");
	if (asks_for.n == 0) {
		req_add_header(
		    r, "Access-Control-Expose-Headers", HEADERS_EXPOSED);
		return;
	}
	req_add_header(r, "Access-Control-Allow-Methods", METHODS_ALLOWED);
	req_add_header(r, "Access-Control-Allow-Headers", HEADERS_ALLOWED);
	req_add_header(r, "Access-Control-Max-Age", PREFLIGHT_S);
}

void
origin_headers(const struct origins *o, struct req *r)
{
	origin_answer(o, r, req_header(r, "Origin"),
	    req_header(r, "Access-Control-Request-Method"));
}
