/*
 * origin.h - which pages may call with a person's cookie (CSRF, CORS).
 *
 * A browser sends a cookie whoever wrote the page that makes the request. So a
 * request that changes something and is known by its cookie alone must come
 * from a page of ours: Origin is that of base.url, names the host that was
 * asked, or is one of cors.allowed.origin; or the browser says so itself
 * (Sec-Fetch-Site: same-origin, which no page can set). A page elsewhere whose
 * own host name leads to us does not have the cookie, so the Host header may
 * be believed here. For a password in the Authorization header the same holds,
 * when there is an Origin at all.
 *
 * CORS. Pages of cors.allowed.origin, and no others, may read our answers, with
 * credentials; answers to all say that they vary by Origin.
 *
 * LEADING BACK. A login ends at a page: a path of base.url, or an address at one
 * of these origins and no other. It is compared as text with the origin as we
 * write it, so that no browser can read another host out of it than we do.
 *
 * LIFE. A value, made once at the start; then only read.
 */
#pragma once

#include "http/limits.h"
#include "http/server/limits.h"

struct req;

#define ORIGIN_MAX (sizeof("https://[]") + URL_HOST_MAX + sizeof(":65535"))

struct origins {
	char base[ORIGIN_MAX + 1]; /* "": not known */
	char allowed[ORIGINS_MAX][ORIGIN_MAX + 1];
	size_t n; /* of them */
};

/*
 * From base.url and cors.allowed.origin, either may be "". ERR_INVALID when one
 * of the second is no origin: a path behind it would promise what nobody checks.
 */
int origins_init(struct origins *o, const char *base_url, const char *allowed,
    struct err *e) MUST_CHECK;

/* Whether a request that changes something may go by its cookie; Origin,
 * Sec-Fetch-Site and Host as they came, empty when absent. */
bool origin_trusted(const struct origins *o, struct str origin,
    struct str fetch_site, struct str host);
/* The same of a request. */
bool origin_trusts(const struct origins *o, const struct req *r);
/*
 * A page elsewhere makes this request, with a password that the browser keeps
 * (Basic) and sends as unasked as a cookie. Programs send no Origin.
 */
bool origin_foreign(const struct origins *o, const struct req *r);

/* Of an address at base.url or an allowed origin, how long the origin is; 0: it
 * is none of these. A path alone is of length 0, too. */
size_t origin_leads(const struct origins *o, struct str address);

/*
 * The headers of CORS, for any request. `asks_for` is the method that a
 * preflight names: then they are those of a preflight.
 */
void origin_answer(const struct origins *o, struct req *r, struct str origin,
    struct str asks_for);
void origin_headers(const struct origins *o, struct req *r);
