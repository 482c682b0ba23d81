#include "reads.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service.h"

#define KEY_LEN    64 /* 32 random bytes in hex */
#define TIMEOUT_MS 5000L
#define BODY_MAX   (1 << 20)

/* Core's side --------------------------------------------------------------- */

struct reads {
	struct MHD_Daemon *daemon;
	sqlite3 *db; /* the daemon's thread's */
	char key[KEY_LEN + 1];
};

/* In the same time for every key. */
static bool
key_fits(const struct reads *r, const char *header)
{
	const char bearer[] = "Bearer ";
	unsigned char differs = 0;

	if (!header || strlen(header) != sizeof(bearer) - 1 + KEY_LEN ||
	    memcmp(header, bearer, sizeof(bearer) - 1) != 0)
		return false;
	for (size_t i = 0; i < KEY_LEN; i++)
		differs |=
		    (unsigned char)(header[sizeof(bearer) - 1 + i] ^ r->key[i]);
	return differs == 0;
}

/* The status, and what there is to say. */
static unsigned
read_record(struct reads *r, const char *url, char **ret)
{
	struct hk_error e;
	char object[64], record[64];
	int n = 0;

	if (sscanf(url, "/crm/records/%63[^/]/%63[^/]%n", object, record, &n) !=
		2 ||
	    url[n])
		return MHD_HTTP_NOT_FOUND;
	if (db_text(r->db, CRM_CORE, "read",
		ARGS(ARG_TEXT("object", object), ARG_TEXT("record", record)),
		ret, &e) < 0)
		return MHD_HTTP_SERVICE_UNAVAILABLE;
	return *ret ? MHD_HTTP_OK : MHD_HTTP_NOT_FOUND;
}

static enum MHD_Result
on_request(void *ctx, struct MHD_Connection *c, const char *url,
    const char *method, const char *version, const char *body, size_t *body_n,
    void **request)
{
	struct reads *r = ctx;
	const char *auth = MHD_lookup_connection_value(
	    c, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	struct MHD_Response *response;
	unsigned status = MHD_HTTP_UNAUTHORIZED;
	enum MHD_Result queued = MHD_NO;
	char *text = NULL;

	(void)version;
	(void)body;
	(void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 || *body_n > 0)
		return MHD_NO;
	if (key_fits(r, auth))
		status = read_record(r, url, &text);
	response = MHD_create_response_from_buffer(
	    text ? strlen(text) : 0, text, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		free(text);
		return MHD_NO;
	}
	if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
		"application/json") == MHD_YES)
		queued = MHD_queue_response(c, status, response);
	MHD_destroy_response(response);
	return queued;
}

int
reads_start(const char *dir, struct reads **ret, struct hk_error *e)
{
	struct sockaddr_in here = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct reads *r = calloc(1, sizeof(*r));
	unsigned char bytes[KEY_LEN / 2];
	int rc;

	if (!r)
		return hk_fail(e, HK_NOMEM, "no memory for Core's server");
	sqlite3_randomness(sizeof(bytes), bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(r->key + 2 * i, 3, "%02x", bytes[i]);
	rc = service_open(dir, CORE, &r->db, e);
	if (rc == HK_OK) {
		r->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0,
		    NULL, NULL, on_request, r, MHD_OPTION_SOCK_ADDR, &here,
		    MHD_OPTION_CONNECTION_LIMIT, 64U,
		    MHD_OPTION_CONNECTION_TIMEOUT, 60U, MHD_OPTION_END);
		if (!r->daemon)
			rc = hk_fail(e, HK_NETWORK, "Core can't listen");
	}
	if (rc < 0)
		reads_stop(r);
	else
		*ret = r;
	return rc;
}

void
reads_stop(struct reads *r)
{
	if (!r)
		return;
	if (r->daemon)
		MHD_stop_daemon(r->daemon);
	(void)sqlite3_close(r->db);
	free(r);
}

int
reads_port(const struct reads *r)
{
	return MHD_get_daemon_info(r->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

const char *
reads_key(const struct reads *r)
{
	return r->key;
}

/* A consumer's side --------------------------------------------------------- */

struct asker {
	CURL *curl;
	struct curl_slist *headers;
	int port;
	char *body;
	size_t n;
};

int
asker_new(int port, const char *key, struct asker **ret, struct hk_error *e)
{
	struct asker *q = calloc(1, sizeof(*q));
	char line[KEY_LEN + 64];

	(void)snprintf(line, sizeof(line), "Authorization: Bearer %s", key);
	if (q) {
		q->port = port;
		q->curl = curl_easy_init();
		q->headers = curl_slist_append(NULL, line);
	}
	if (!q || !q->curl || !q->headers) {
		asker_free(q);
		return hk_fail(e, HK_NOMEM, "no memory");
	}
	*ret = q;
	return HK_OK;
}

void
asker_free(struct asker *q)
{
	if (!q)
		return;
	curl_easy_cleanup(q->curl);
	curl_slist_free_all(q->headers);
	free(q->body);
	free(q);
}

static size_t
take_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct asker *q = ctx;
	char *more;

	(void)size; /* which is 1 */
	if (q->n + n > BODY_MAX || !(more = realloc(q->body, q->n + n + 1)))
		return 0;
	q->body = more;
	memcpy(q->body + q->n, bytes, n);
	q->n += n;
	q->body[q->n] = '\0';
	return n;
}

static CURLcode
get(struct asker *q, const char *object, const char *record, long *ret_status)
{
	char *o = curl_easy_escape(q->curl, object, 0);
	char *r = curl_easy_escape(q->curl, record, 0);
	char url[1024];
	CURLcode rc = o && r ? CURLE_OK : CURLE_OUT_OF_MEMORY;

	(void)snprintf(url, sizeof(url),
	    "http://127.0.0.1:%d/crm/records/%s/%s", q->port, o ? o : "",
	    r ? r : "");
	curl_free(o);
	curl_free(r);
	curl_easy_reset(q->curl); /* keeps the connection */
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(q->curl, CURLOPT_URL, url);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(q->curl, CURLOPT_HTTPHEADER, q->headers);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(q->curl, CURLOPT_NOSIGNAL, 1L);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(q->curl, CURLOPT_NOPROXY, "*");
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(q->curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	if (rc == CURLE_OK)
		rc =
		    curl_easy_setopt(q->curl, CURLOPT_WRITEFUNCTION, take_body);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(q->curl, CURLOPT_WRITEDATA, q);
	if (rc == CURLE_OK)
		rc = curl_easy_perform(q->curl);
	if (rc == CURLE_OK)
		rc = curl_easy_getinfo(
		    q->curl, CURLINFO_RESPONSE_CODE, ret_status);
	return rc;
}

int
asker_ask(void *ctx, const char *object, const char *record, char **ret,
    struct hk_error *e)
{
	struct asker *q = ctx;
	long status = 0;
	CURLcode rc;

	free(q->body);
	q->body = NULL;
	q->n = 0;
	rc = get(q, object, record, &status);
	if (rc != CURLE_OK)
		return hk_fail(e, HK_RETRY, "Core does not answer: %s",
		    curl_easy_strerror(rc));
	*ret = NULL;
	if (status == 404)
		return HK_OK;
	if (status != 200)
		return hk_fail(e, HK_RETRY, "Core answered %ld", status);
	*ret = q->body;
	q->body = NULL;
	return HK_OK;
}
