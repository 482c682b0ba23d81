#include <curl/curl.h>

#include "hk_priv.h"

/*
 * HTTP by one easy handle, which keeps its connections open between calls. The
 * caller chose the server, so the address is judged by nobody; redirects are
 * answers, since a key must not follow one to another server.
 */

#define SLICE_MS    100
#define URL_ROOM    4096
#define HEADER_ROOM 1024

struct hk_client {
	CURL *curl;
	struct curl_slist *headers;
	char *url, *unix_socket, *ca_file;
	struct hk_client_opts o;
	struct buf answer;
};

static char *
copy(const char *z)
{
	return z ? strdup(z) : NULL;
}

static void
set_default(int64_t *at, int64_t otherwise)
{
	if (*at <= 0)
		*at = otherwise;
}

static void
set_opts(struct hk_client *c, const struct hk_client_opts *o)
{
	if (o)
		c->o = *o;
	if (c->o.connect_ms <= 0)
		c->o.connect_ms = 10000;
	if (c->o.total_ms <= 0)
		c->o.total_ms = 60000;
	if (c->o.tries == 0)
		c->o.tries = 10;
	set_default(&c->o.backoff_ms, 500);
	set_default(&c->o.backoff_max_ms, 30000);
	set_default(&c->o.wait_max_ms, 300000);
}

/* What would end a header, or isn't ASCII, stands in no key. */
static bool
key_ok(const char *key)
{
	if (strlen(key) > HEADER_ROOM - 64)
		return false;
	for (; *key; key++)
		if (*key <= 0x20 || *key > 0x7e)
			return false;
	return true;
}

static bool
add_header(struct hk_client *c, const char *text)
{
	struct curl_slist *more = curl_slist_append(c->headers, text);

	if (more)
		c->headers = more;
	return more != NULL;
}

static bool
add_headers(struct hk_client *c, const char *key)
{
	char line[HEADER_ROOM];
	bool ok;

	(void)snprintf(
	    line, sizeof(line), "Authorization: Bearer %s", key ? key : "");
	ok = (!key || add_header(c, line)) &&
	     add_header(c, "Content-Type: application/json") &&
	     add_header(c, "Accept: application/json") &&
	     add_header(c, "Expect:") &&
	     add_header(c, "User-Agent: libhikyaku/" HK_VERSION);
	explicit_bzero(line, sizeof(line));
	return ok;
}

static int
check_url(const char *url, struct hk_error *e)
{
	struct str s = str_of(url);

	if (!str_starts(s, STR("http://")) && !str_starts(s, STR("https://")))
		return hk_fail(e, HK_INVALID,
		    "the URL must begin with http:// or https://");
	if (s.n > URL_ROOM / 2 || str_has(s, '?') || str_has(s, '#'))
		return hk_fail(
		    e, HK_INVALID, "the URL has a query or is too long");
	return HK_OK;
}

int
hk_client_new(const char *url, const char *api_key,
    const struct hk_client_opts *opts, struct hk_client **ret,
    struct hk_error *e)
{
	bool local = opts && opts->unix_socket;
	struct hk_client *c;
	int rc;
	LIB_ERROR(e);

	if (!url && local)
		url = "http://localhost";
	rc = check_url(url, e);
	if (rc < 0)
		return rc;
	if (!api_key && !local)
		return hk_fail(e, HK_INVALID, "an API key is needed");
	if (api_key && !key_ok(api_key))
		return hk_fail(e, HK_INVALID, "this is no API key");
	c = calloc(1, sizeof(*c));
	if (!c)
		return lib_nomem(e);
	set_opts(c, opts);
	c->answer = BUF(LIB_ANSWER_MAX);
	c->url = copy(url);
	c->unix_socket = copy(c->o.unix_socket);
	c->ca_file = copy(c->o.ca_file);
	c->curl = curl_easy_init();
	if (!c->url || !c->curl || !add_headers(c, api_key) ||
	    (c->o.unix_socket && !c->unix_socket) ||
	    (c->o.ca_file && !c->ca_file)) {
		hk_client_free(c);
		return lib_nomem(e);
	}
	/* The caller's may be gone tomorrow; /v1 is joined to it. */
	for (size_t n = strlen(c->url); n > 0 && c->url[n - 1] == '/';)
		c->url[--n] = '\0';
	*ret = c;
	return HK_OK;
}

void
hk_client_free(struct hk_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	/* The key stands in the first of them. */
	for (struct curl_slist *h = c->headers; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data));
	curl_slist_free_all(c->headers);
	buf_done(&c->answer);
	free(c->url);
	free(c->unix_socket);
	free(c->ca_file);
	free(c);
}

static size_t
take(char *bytes, size_t size, size_t n, void *arg)
{
	struct hk_client *c = arg;

	buf_add(&c->answer, (struct str){bytes, size * n});
	return c->answer.failed ? 0 : size * n;
}

static CURLcode
set_body(struct hk_client *c, const struct lib_call *k)
{
	CURLcode rc = curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);

	if (rc == CURLE_OK && k->method[0] != 'G') {
		rc = curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
		if (rc == CURLE_OK)
			rc = curl_easy_setopt(c->curl,
			    CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)k->body.n);
		if (rc == CURLE_OK)
			rc = curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS,
			    k->body.n ? k->body.p : "");
	}
	if (rc == CURLE_OK)
		rc =
		    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, k->method);
	return rc;
}

static CURLcode
prepare(struct hk_client *c, const struct lib_call *k)
{
	char url[URL_ROOM];
	CURLcode rc = CURLE_OK;
	int n = snprintf(url, sizeof(url), "%s%s", c->url, k->path);

	if (n < 0 || (size_t)n >= sizeof(url))
		return CURLE_URL_MALFORMAT;
	curl_easy_reset(c->curl); /* keeps connections */
#define SET(option, value)                                                     \
	if (rc == CURLE_OK)                                                    \
	rc = curl_easy_setopt(c->curl, option, value)
	SET(CURLOPT_URL, url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_ACCEPT_ENCODING, "");
	SET(CURLOPT_CONNECTTIMEOUT_MS, c->o.connect_ms);
	SET(CURLOPT_TIMEOUT_MS, c->o.total_ms + k->extra_ms);
	SET(CURLOPT_HTTPHEADER, c->headers);
	SET(CURLOPT_WRITEFUNCTION, take);
	SET(CURLOPT_WRITEDATA, c);
	if (c->unix_socket) {
		SET(CURLOPT_UNIX_SOCKET_PATH, c->unix_socket);
		SET(CURLOPT_NOPROXY, "*");
	}
	if (c->ca_file)
		SET(CURLOPT_CAINFO, c->ca_file);
#undef SET
	return rc == CURLE_OK ? set_body(c, k) : rc;
}

/* What the answer says went wrong. */
static int
explain(struct hk_client *c, int status, struct hk_error *e)
{
	struct arena *a = arena_new(LIB_ARENA_MAX);
	struct json *j = NULL;
	const struct json *trace;
	curl_off_t after = 0;
	struct err why;

	if (!a)
		return lib_nomem(e);
	if (json_parse(a, buf_str(&c->answer), &j, &why) < 0)
		j = NULL;
	lib_server_error(json_get(j, "error"), status, e);
	trace = json_get(j, "traceId");
	if (json_is(trace, JSON_STRING))
		lib_text(e->trace_id, sizeof(e->trace_id), trace->text);
	arena_free(a);
	if (curl_easy_getinfo(c->curl, CURLINFO_RETRY_AFTER, &after) ==
		CURLE_OK &&
	    after > 0)
		e->retry_after_s = after < 86400 ? (int)after : 86400;
	return e->code;
}

static int
stopped(const struct hk_client *c, struct hk_error *e)
{
	if (c->o.stop && c->o.stop(c->o.ctx))
		return hk_fail(e, HK_STOPPED, "stopped by the caller");
	return HK_OK;
}

int
lib_call_once(struct hk_client *c, const struct lib_call *k, struct hk_error *e)
{
	long status = 0;
	CURLcode rc;

	if (c->answer.cap > LIB_ANSWER_KEEP)
		buf_done(&c->answer);
	c->answer.limit = LIB_ANSWER_MAX;
	buf_clear(&c->answer);
	rc = prepare(c, k);
	if (rc != CURLE_OK)
		return hk_fail(e, HK_INVALID, "no such request can be made: %s",
		    curl_easy_strerror(rc));
	rc = curl_easy_perform(c->curl);
	if (c->answer.failed)
		return hk_fail(e, HK_PROTOCOL, "the answer is too long");
	if (rc == CURLE_URL_MALFORMAT || rc == CURLE_UNSUPPORTED_PROTOCOL)
		return hk_fail(e, HK_INVALID, "%s", curl_easy_strerror(rc));
	if (rc != CURLE_OK)
		return hk_fail(e, HK_NETWORK, "the server did not answer: %s",
		    curl_easy_strerror(rc));
	(void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	return status / 100 == 2 ? HK_OK : explain(c, (int)status, e);
}

struct str
lib_answer(const struct hk_client *c)
{
	return buf_str(&c->answer);
}

bool
lib_transient(int code)
{
	return code == HK_BUSY || code == HK_NETWORK;
}

unsigned
lib_tries(const struct hk_client *c)
{
	return c->o.tries;
}

int64_t
lib_backoff_ms(
    const struct hk_client *c, unsigned failures, const struct hk_error *e)
{
	int64_t ms = c->o.backoff_ms;
	uint32_t chance;

	for (unsigned i = 1; i < failures && ms < c->o.backoff_max_ms; i++)
		ms *= 2;
	if (ms > c->o.backoff_max_ms)
		ms = c->o.backoff_max_ms;
	/* Half of it by chance, so that many clients don't come back at once. */
	rand_bytes(&chance, sizeof(chance));
	ms = ms / 2 + (int64_t)(chance % (uint32_t)(ms / 2 + 1));
	if ((int64_t)e->retry_after_s * 1000 > ms)
		ms = (int64_t)e->retry_after_s * 1000;
	return ms < c->o.wait_max_ms ? ms : c->o.wait_max_ms;
}

int
lib_wait(struct hk_client *c, int64_t ms, struct hk_error *e)
{
	int64_t end_ms = clock_mono_ms() + ms;
	int rc = stopped(c, e);

	while (rc == HK_OK && (ms = end_ms - clock_mono_ms()) > 0) {
		int64_t part = ms < SLICE_MS ? ms : SLICE_MS;
		struct timespec t = {.tv_nsec = part * 1000000};

		(void)nanosleep(&t, NULL);
		rc = stopped(c, e);
	}
	return rc;
}

int
lib_call(struct hk_client *c, const struct lib_call *k, unsigned *ret_tries,
    struct hk_error *e)
{
	for (unsigned n = 1;; n++) {
		struct hk_error why;
		int rc = stopped(c, e);

		if (rc < 0)
			return rc;
		if (ret_tries)
			*ret_tries = n;
		rc = lib_call_once(c, k, e);
		if (rc == HK_OK)
			memset(e, 0, sizeof(*e)); /* of earlier tries */
		if (!lib_transient(rc) || n >= c->o.tries ||
		    (int64_t)e->retry_after_s * 1000 > c->o.wait_max_ms)
			return rc;
		rc = lib_wait(c, lib_backoff_ms(c, n, e), &why);
		if (rc < 0) {
			/* Why it was waiting is worth more. */
			e->code = rc;
			return rc;
		}
	}
}
