/*
 * A URL from anybody: refused in words, or read. What is read is written so
 * that we and libcurl read the same host from it; a host that is no address
 * for us is none for libc; and no address that an independent look finds
 * private passes the guard.
 */
#include "http/url.h"

#include <arpa/inet.h>
#include <curl/curl.h>

#include "base/conf/conf.h"
#include "http/client/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct guard *
the_guard(void)
{
	static struct guard *g;
	struct conf c;
	struct err e;

	if (!g) {
		if (conf_init(&c, &e) < 0 || guard_new(&c, &g, &e) < 0)
			abort();
		conf_done(&c);
	}
	return g;
}

/* What libcurl would connect to. */
static void
check_curl(const struct url *u, const char *text)
{
	CURLU *h = curl_url();
	char *host = NULL, *port = NULL;
	bool v6 = u->literal && u->addr.sa.sa_family == AF_INET6;
	char want[URL_HOST_MAX + 3];

	(void)snprintf(want, sizeof(want), v6 ? "[%s]" : "%s", u->host);
	if (curl_url_set(h, CURLUPART_URL, text, CURLU_PATH_AS_IS) ==
	    CURLUE_OK) {
		assert(curl_url_get(h, CURLUPART_HOST, &host, 0) == CURLUE_OK);
		assert(curl_url_get(h, CURLUPART_PORT, &port, 0) == CURLUE_OK);
		assert(strcasecmp(host, want) == 0);
		assert(strtol(port, NULL, 10) == u->port);
	}
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(h);
}

static bool
plainly_private(const struct in_addr *in)
{
	uint32_t a = ntohl(in->s_addr);

	return a >> 24 == 0 || a >> 24 == 10 || a >> 24 == 127 ||
	       a >> 16 == 0xa9fe || a >> 20 == 0xac1 || a >> 16 == 0xc0a8 ||
	       a >> 28 >= 0xe;
}

static void
check_guard(const struct url *u, const char *text)
{
	struct in_addr v4;
	struct in6_addr v6;
	struct err e = {0};
	int rc = guard_url(the_guard(), GUARD_READER, str_of(text), &e);

	assert(rc == OK || (rc == ERR_DENIED && e.text[0]) || rc == ERR_LIMIT);
	if (rc != OK)
		return;
	if (inet_aton(u->host, &v4))
		assert(u->literal && !plainly_private(&v4));
	if (inet_pton(AF_INET6, u->host, &v6) == 1) {
		assert(u->literal && !IN6_IS_ADDR_LOOPBACK(&v6) &&
		       !IN6_IS_ADDR_LINKLOCAL(&v6) &&
		       !IN6_IS_ADDR_MULTICAST(&v6) &&
		       !IN6_IS_ADDR_UNSPECIFIED(&v6));
		memcpy(&v4, v6.s6_addr + 12, sizeof(v4));
		assert(!IN6_IS_ADDR_V4MAPPED(&v6) || !plainly_private(&v4));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = {(const char *)data, size};
	char text[URL_TEXT_MAX], again[URL_TEXT_MAX], end[URL_TEXT_MAX];
	struct url u, v;
	struct err e = {0};
	struct in_addr v4;
	size_t n;

	if (url_parse(s, &u, &e) < 0) {
		assert(e.text[0]);
		return 0;
	}
	assert(u.n_host > 0 && u.n_host == strlen(u.host) && u.port > 0);
	assert(u.literal || !inet_aton(u.host, &v4));
	n = url_format(&u, text);
	assert(n == strlen(text) && n < sizeof(text));
	n = url_endpoint(&u, end);
	assert(strncmp(text, end, n) == 0);
	/* What had to be written longer may be too long to be read. */
	if (url_parse(str_of(text), &v, &e) == OK) {
		(void)url_format(&v, again);
		assert(strcmp(text, again) == 0);
		assert(strcmp(u.host, v.host) == 0 && u.literal == v.literal);
	} else {
		assert(e.code == ERR_LIMIT);
	}
	check_curl(&u, text);
	check_guard(&u, text);
	return 0;
}
