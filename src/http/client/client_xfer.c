#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/log/log.h"
#include "http/client/client_priv.h"
#include "seal/digest.h"

/* libcurl's setters fail only for what it was built without, or no memory. */
#define SET(x, option, value)                                                  \
	do {                                                                   \
		CURLcode set_ = curl_easy_setopt((x)->easy, option, value);    \
		assert(set_ == CURLE_OK);                                      \
		(void)set_;                                                    \
	} while (0)

/* ---- what comes back ---- */

static size_t
take_head(char *p, size_t size, size_t n, void *arg)
{
	struct client_xfer *x = arg;
	struct str line = {p, size * n}, value = line;

	/* A new status line: what came before was 100 Continue or so. */
	if (str_starts(line, STR("HTTP/"))) {
		buf_clear(&x->head);
		x->retry_after_ms = -1;
		x->head_whole = false;
	}
	x->head_whole |= str_trim(line).n == 0;
	x->head_bytes += line.n;
	if (x->head_bytes > CLIENT_HEAD_MAX) {
		x->too_large = true;
		return 0;
	}
	if (str_eq_nocase(str_cut(&value, ':'), STR("retry-after")))
		x->retry_after_ms =
		    client_retry_after_ms(value, clock_now_us());
	if (line.n > x->head_keep - x->head.n)
		line.n = x->head_keep - x->head.n;
	buf_add(&x->head, line);
	return size * n;
}

static size_t
take_body(char *p, size_t size, size_t n, void *arg)
{
	struct client_xfer *x = arg;
	struct str more = {p, size * n};

	x->body_bytes += more.n;
	if (more.n > x->body.limit - x->body.n) {
		more.n = x->body.limit - x->body.n;
		x->cut = true;
	}
	buf_add(&x->body, more);
	return x->body_bytes > x->client->o.body_max ? 0 : size * n;
}

/*
 * What a name leads to is this network's own business: whoever named it is told
 * that it may not be called, and the log has the address.
 */
int
client_judge(const struct client *c, enum guard_use use, const struct url *u,
    const struct sockaddr *sa, struct err *e)
{
	const struct guard *g = c->o.guard;
	struct log_line l;
	struct err why;
	int rc = guard_connect(g, use, u->https, sa, &why);

	if (rc == OK)
		return OK;
	if (u->literal) {
		*e = why;
		return rc;
	}
	log_begin(&l, LOG_WARN, "a host may not be called");
	log_str(&l, "host", str_of(u->host));
	log_str(&l, "error", str_of(why.text));
	log_end(&l);
	if (guard_addr(g, use, sa, &why) < 0)
		return err_set(e, ERR_DENIED,
		    "the host %s leads to an address that is not public; %s can allow it",
		    u->host, guard_setting(use));
	return err_set(e, ERR_DENIED,
	    "a webhook must use https (webhook.url.allow.http is off, and %s is not in webhook.url.allow.private)",
	    u->host);
}

static int
xfer_judge(
    const struct client_xfer *x, const struct sockaddr *sa, struct err *e)
{
	return client_judge(x->client, x->send->use, &x->url, sa, e);
}

/* The last line of defence: what is about to be connected, whoever parsed or
 * resolved it. */
static curl_socket_t
open_socket(void *arg, curlsocktype, struct curl_sockaddr *a)
{
	struct client_xfer *x = arg;

	if (!x->send->proxy && xfer_judge(x, &a->addr, &x->refusal) < 0) {
		x->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static enum client_result
result_of(const struct client_xfer *x, CURLcode code)
{
	static const struct {
		CURLcode code;
		enum client_result result;
	} KNOWN[] = {
	    {CURLE_OK, CLIENT_ANSWERED},
	    {CURLE_OPERATION_TIMEDOUT, CLIENT_TIMEOUT},
	    {CURLE_COULDNT_RESOLVE_HOST, CLIENT_DNS},
	    {CURLE_COULDNT_RESOLVE_PROXY, CLIENT_DNS},
	    {CURLE_COULDNT_CONNECT, CLIENT_CONNECT},
	    {CURLE_PROXY, CLIENT_CONNECT},
	    {CURLE_SSL_CONNECT_ERROR, CLIENT_TLS},
	    {CURLE_PEER_FAILED_VERIFICATION, CLIENT_TLS},
	    {CURLE_SSL_CERTPROBLEM, CLIENT_TLS},
	    {CURLE_SSL_CIPHER, CLIENT_TLS},
	    {CURLE_SSL_CACERT_BADFILE, CLIENT_TLS},
	    {CURLE_SSL_ISSUER_ERROR, CLIENT_TLS},
	    {CURLE_SSL_CLIENTCERT, CLIENT_TLS},
	};

	if (x->too_large)
		return CLIENT_TOO_LARGE;
	/* Closed inside of the head is an answer for libcurl, and not for us. */
	if (code == CURLE_OK && !x->head_whole)
		return CLIENT_BROKEN;
	if (x->refused && code == CURLE_COULDNT_CONNECT)
		return CLIENT_REFUSED;
	/* The status stands, however long the body wanted to become. */
	if (x->cut && code == CURLE_WRITE_ERROR)
		return CLIENT_ANSWERED;
	for (size_t i = 0; i < COUNT_OF(KNOWN); i++)
		if (KNOWN[i].code == code)
			return KNOWN[i].result;
	return CLIENT_BROKEN;
}

void
xfer_ended(struct client_xfer *x, CURLcode code)
{
	long connect_status = 0;
	curl_off_t answered_us = 0;

	/* libcurl's own limit of one line it tells as a lack of memory. */
	if (code == CURLE_OUT_OF_MEMORY && !x->head_whole &&
	    curl_easy_getinfo(x->easy, CURLINFO_STARTTRANSFER_TIME_T,
		&answered_us) == CURLE_OK &&
	    answered_us > 0)
		x->too_large = true;
	x->result = result_of(x, code);
	if (x->result == CLIENT_BROKEN && x->send->proxy &&
	    curl_easy_getinfo(x->easy, CURLINFO_HTTP_CONNECTCODE,
		&connect_status) == CURLE_OK &&
	    connect_status >= 300)
		x->result = CLIENT_CONNECT;
	if (x->result == CLIENT_ANSWERED)
		x->error[0] = '\0';
	else if (x->result == CLIENT_REFUSED)
		(void)snprintf(
		    x->error, sizeof(x->error), "%s", x->refusal.text);
	else if (x->too_large)
		(void)snprintf(x->error, sizeof(x->error),
		    "the answer's head is over %zu bytes", CLIENT_HEAD_MAX);
	else if (code == CURLE_OK)
		(void)snprintf(x->error, sizeof(x->error),
		    "the connection was closed inside of the answer's head");
	else if (x->error[0] == '\0')
		(void)snprintf(
		    x->error, sizeof(x->error), "%s", curl_easy_strerror(code));
}

void
xfer_answer(struct client_xfer *x, struct client_answer *ret)
{
	curl_off_t wire = 0;
	long status = 0;

	if (x->head.n > 0)
		(void)curl_easy_getinfo(
		    x->easy, CURLINFO_RESPONSE_CODE, &status);
	if (x->body_bytes > 0)
		(void)curl_easy_getinfo(
		    x->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire);
	*ret = (struct client_answer){
	    .result = x->result,
	    .status = (int)status,
	    .head = buf_str(&x->head),
	    .body = buf_str(&x->body),
	    .body_cut = x->cut,
	    .retry_after_ms = x->retry_after_ms,
	    .took_us = clock_mono_us() - x->started_us,
	    .wire_bytes = (int64_t)wire,
	    .error = x->error,
	};
}

/* ---- the request ---- */

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!str_is_tchar(s.p[i]))
			return false;
	return s.n > 0;
}

static int
check_header(const struct client_header *h, struct err *e)
{
	/* These say where the message goes and ends: ours alone. */
	static const char *const OURS[] = {"host", "content-length",
	    "transfer-encoding", "connection", "keep-alive", "upgrade", "te",
	    "trailer", "expect", "proxy-authorization", "proxy-connection"};

	if (!is_token(h->name))
		return err_set(e, ERR_INVALID,
		    "a header's name has a character that no name has, or is empty");
	for (size_t i = 0; i < COUNT_OF(OURS); i++)
		if (str_eq_nocase(h->name, str_of(OURS[i])))
			return err_set(e, ERR_DENIED,
			    "the header %s can't be set", OURS[i]);
	if (str_has(h->value, '\r') || str_has(h->value, '\n') ||
	    str_has(h->value, '\0'))
		return err_set(e, ERR_INVALID,
		    "the header %.*s has a line break or NUL in its value",
		    h->name.n < 64 ? (int)h->name.n : 64, h->name.p);
	return OK;
}

static void
add_line(struct client_xfer *x, char *text)
{
	struct curl_slist *line = &x->lines[x->n_lines++];

	*line = (struct curl_slist){.data = text};
	if (line > x->lines)
		line[-1].next = line;
}

/* A line of the request's head in x->text, where there is room for it. */
static void
add_header(struct client_xfer *x, struct str name, struct str value)
{
	char *at = x->text.p + x->text.n;

	value = str_trim(value);
	buf_add(&x->text, name);
	/* "Name;" is libcurl's way to say a header without a value. */
	buf_addz(&x->text, value.n ? ": " : ";");
	buf_add(&x->text, value);
	buf_addc(&x->text, '\0');
	assert(!x->text.failed && x->text.p <= at);
	add_line(x, at);
}

/* One that libcurl would add by itself, and shall not. */
static void
drop_line(struct client_xfer *x, const char *line)
{
	/* Only read, though its type doesn't say so. */
	add_line(x, (char *)(uintptr_t)line);
}

static int
prepare_lines(struct client_xfer *x, struct err *e)
{
	const struct client_send *s = x->send;
	struct str agent = str_of(s->user_agent);
	size_t bytes = URL_TEXT_MAX + agent.n + s->query.n + 32;
	bool typed = false;

	for (size_t i = 0; i < s->query.n; i++)
		if (s->query.p[i] <= ' ' || s->query.p[i] >= 0x7f ||
		    s->query.p[i] == '#')
			return err_set(e, ERR_INVALID,
			    "the query has a character that must be encoded");
	if (s->n_headers > CLIENT_HEADERS_MAX)
		return err_set(e, ERR_LIMIT, "the request has over %d headers",
		    CLIENT_HEADERS_MAX);
	for (size_t i = 0; i < s->n_headers; i++) {
		TRY(check_header(&s->headers[i], e));
		bytes += s->headers[i].name.n + s->headers[i].value.n + 3;
	}
	/* All of it at once, so that nothing moves that is pointed to. */
	if (!buf_room(&x->text, bytes))
		return err_set(e, ERR_LIMIT,
		    "the request's URL and headers are over %zu bytes",
		    CLIENT_TEXT_MAX);
	x->text.n = url_format(&x->url, x->text.p);
	if (s->query.n > 0) {
		buf_addc(&x->text, x->url.query.n > 0 ? '&' : '?');
		buf_add(&x->text, s->query);
	}
	buf_addc(&x->text, '\0');
	for (size_t i = 0; i < s->n_headers; i++) {
		add_header(x, s->headers[i].name, s->headers[i].value);
		typed |= str_eq_nocase(s->headers[i].name, STR("content-type"));
	}
	if (agent.n > 0) {
		struct client_header h = {STR("User-Agent"), agent};
		TRY(check_header(&h, e));
		add_header(x, h.name, h.value);
	}
	if (!typed)
		drop_line(x, "Content-Type:");
	drop_line(x, "Expect:");
	return OK;
}

int
xfer_prepare(struct client_xfer *x, struct err *e)
{
	const struct client_send *s = x->send;
	TRY(url_parse(s->url, &x->url, e));
	TRY(guard_target(x->client->o.guard, s->use, &x->url, e));
	return prepare_lines(x, e);
}

/* ---- addresses ---- */

/* A proxy is asked for one address, and more of them know their way to IPv4. */
static size_t
for_proxy(const struct resolved *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].sa.sa_family == AF_INET)
			return i;
	return 0;
}

int
xfer_pin(struct client_xfer *x, const struct resolved *r, struct err *e)
{
	/* Through a proxy, one address by CONNECT_TO; else as RESOLVE, where
	 * "+" lets libcurl forget it some day. */
	bool proxied = x->send->proxy;
	size_t at, from = proxied ? for_proxy(r) : 0;
	size_t end = from + (proxied ? 1 : CLIENT_PINS_MAX);

	for (size_t i = 0; i < r->n; i++)
		TRY(xfer_judge(x, &r->v[i].sa, e));
	at = (size_t)snprintf(x->pin_text, PIN_MAX,
	    "%s%s:%u:", proxied ? "" : "+", x->url.host, x->url.port);
	for (size_t i = from; i < r->n && i < end; i++) {
		char text[ADDR_TEXT_MAX];
		bool v6 = r->v[i].sa.sa_family == AF_INET6;

		addr_format(&r->v[i].sa, text);
		at += (size_t)snprintf(x->pin_text + at, PIN_MAX - at,
		    v6 ? "%s[%s]" : "%s%s", i > from ? "," : "", text);
	}
	if (proxied)
		(void)snprintf(
		    x->pin_text + at, PIN_MAX - at, ":%u", x->url.port);
	x->pin = (struct curl_slist){.data = x->pin_text};
	return OK;
}

/* ---- the handle ---- */

/* What every request has. */
static void
set_base(struct client_xfer *x)
{
	SET(x, CURLOPT_PRIVATE, x);
	SET(x, CURLOPT_SHARE, x->client->sessions);
	SET(x, CURLOPT_NOSIGNAL, 1L);
	SET(x, CURLOPT_PROTOCOLS_STR, "http,https");
	SET(x, CURLOPT_FOLLOWLOCATION, 0L);
	SET(x, CURLOPT_PATH_AS_IS, 1L);
	SET(x, CURLOPT_PROXY, ""); /* none, whatever the environment says */
	SET(x, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(x, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	SET(x, CURLOPT_HTTP_CONTENT_DECODING, 0L);
	SET(x, CURLOPT_ERRORBUFFER, x->error);
	SET(x, CURLOPT_HEADERFUNCTION, take_head);
	SET(x, CURLOPT_HEADERDATA, x);
	SET(x, CURLOPT_WRITEFUNCTION, take_body);
	SET(x, CURLOPT_WRITEDATA, x);
	SET(x, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(x, CURLOPT_OPENSOCKETDATA, x);
	SET(x, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	/* With a folder beside the file of authorities libcurl does not keep
	 * what it read: milliseconds for every handshake. */
	SET(x, CURLOPT_CAPATH, NULL);
	if (x->client->o.ca_file)
		SET(x, CURLOPT_CAINFO, x->client->o.ca_file);
}

static void
set_blob(struct client_xfer *x, CURLoption option, struct str pem)
{
	struct curl_blob blob = {
	    /* Only read, though its type doesn't say so. */
	    .data = (char *)(uintptr_t)pem.p,
	    .len = pem.n,
	    .flags = CURL_BLOB_NOCOPY,
	};

	SET(x, option, &blob);
}

/*
 * libcurl shares connections and sessions between sends with the same
 * certificate, whatever their keys. A certificate is no secret: whoever names
 * one without its key would travel on the connection of its owner. So the key
 * goes behind the certificate, where it is compared and not read.
 */
static void
set_certificate(struct client_xfer *x, const char *cert, const char *key)
{
	buf_addz(&x->pem, cert);
	buf_addc(&x->pem, '\n');
	buf_addz(&x->pem, key ? key : "");
	/* Too long a one fails as one that can't be read. */
	set_blob(x, CURLOPT_SSLCERT_BLOB,
	    x->pem.failed ? STR("too long") : buf_str(&x->pem));
	if (key)
		set_blob(x, CURLOPT_SSLKEY_BLOB, str_of(key));
}

static void
set_method(struct client_xfer *x)
{
	const struct client_send *s = x->send;
	/* These have a body by definition, if an empty one. */
	bool body = s->body.n > 0 || s->method == POST || s->method == PUT ||
		    s->method == PATCH;

	if (s->method != (body ? POST : GET))
		SET(x, CURLOPT_CUSTOMREQUEST, method_name(s->method));
	if (body) {
		SET(x, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->body.n);
		SET(x, CURLOPT_POSTFIELDS, s->body.n ? s->body.p : "");
	}
}

static void
set_special(struct client_xfer *x)
{
	const struct client_send *s = x->send;

	if (s->tls_cert_pem)
		set_certificate(x, s->tls_cert_pem, s->tls_key_pem);
	if (s->tls_ca_pem)
		set_blob(x, CURLOPT_CAINFO_BLOB, str_of(s->tls_ca_pem));
	if (s->decode) {
		SET(x, CURLOPT_HTTP_CONTENT_DECODING, 1L);
		SET(x, CURLOPT_ACCEPT_ENCODING, "gzip, br");
	}
	if (s->fresh) {
		SET(x, CURLOPT_FRESH_CONNECT, 1L);
		SET(x, CURLOPT_FORBID_REUSE, 1L);
	}
	if (!s->proxy)
		return;
	SET(x, CURLOPT_PROXY, s->proxy);
	SET(x, CURLOPT_NOPROXY, "");
	/* For http too: what the proxy says itself is no receiver's answer. */
	SET(x, CURLOPT_HTTPPROXYTUNNEL, 1L);
}

void
xfer_arm(struct client_xfer *x, long left_ms)
{
	const struct client_send *s = x->send;
	long version = x->url.https ? (long)CURL_HTTP_VERSION_2TLS
				    : (long)CURL_HTTP_VERSION_1_1;

	SET(x, CURLOPT_URL, x->text.p);
	SET(x, CURLOPT_HTTPHEADER, x->lines);
	set_method(x);
	set_special(x);
	SET(x, CURLOPT_HTTP_VERSION, version);
	/* A burst waits for the first handshake, to share it if that turns
	 * out to be HTTP/2. */
	SET(x, CURLOPT_PIPEWAIT, x->url.https ? 1L : 0L);
	if (x->pin.data)
		SET(x, s->proxy ? CURLOPT_CONNECT_TO : CURLOPT_RESOLVE,
		    &x->pin);
	SET(x, CURLOPT_CONNECTTIMEOUT_MS, (long)s->connect_ms);
	SET(x, CURLOPT_TIMEOUT_MS, left_ms);
}

struct client_xfer *
xfer_new(struct client *c, struct client_send *s)
{
	struct client_xfer *x = mem_get(sizeof(*x));

	x->easy = curl_easy_init();
	if (!x->easy)
		mem_out(0);
	x->client = c;
	x->send = s;
	x->started_us = clock_mono_us();
	x->text = BUF(CLIENT_TEXT_MAX);
	x->pem = BUF(2 * TLS_FILE_MAX);
	x->head = BUF(CLIENT_HEAD_MAX);
	x->body = BUF(s->keep_max);
	x->head_keep = s->head_max ? s->head_max : CLIENT_HEAD_KEEP;
	x->retry_after_ms = -1;
	set_base(x);
	return x;
}

void
xfer_free(struct client_xfer *x)
{
	curl_easy_cleanup(x->easy);
	digest_wipe_buf(&x->pem);
	buf_done(&x->text);
	buf_done(&x->head);
	buf_done(&x->body);
	free(x);
}
