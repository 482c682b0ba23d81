#include "cli/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/limits.h"
#include "http/limits.h"
#include "http/server/limits.h"

struct client {
	CURL *curl;
	const char *content_type;
	bool signals;
	struct client_at by; /* a URL, or what stands for it */
	struct sockaddr_un at;
};

/* What a transfer's bytes go to. */
struct sink {
	CURL *curl;
	const struct client_call *call;
	struct buf *answer;
	bool ended; /* piece() had enough */
};

static int
away(const char *path, struct err *e)
{
	return err_set(e, ERR_ABSENT, "no server answers at %s", path);
}

/* A socket file may be left from a server that was killed: knock. */
static int
knock(const struct sockaddr_un *at, struct err *e)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc =
	    fd < 0 ? -1 : connect(fd, (const struct sockaddr *)at, sizeof(*at));
	int error = errno;

	if (fd >= 0)
		(void)close(fd);
	if (rc == 0)
		return OK;
	if (error == ENOENT || error == ECONNREFUSED)
		return away(at->sun_path, e);
	return err_set(e, ERR_IO, "the server's socket %s can't be opened: %s",
	    at->sun_path, strerror(error));
}

int
client_open(const char *dir, struct client **ret, struct err *e)
{
	struct client *c = mem_get(sizeof(*c));
	int n, rc;

	c->at.sun_family = AF_UNIX;
	c->by.url = "http://localhost";
	c->content_type = "application/json";
	n = snprintf(c->at.sun_path, sizeof(c->at.sun_path), "%s/%s", dir,
	    CLIENT_SOCKET);
	if (n < 0 || (size_t)n >= sizeof(c->at.sun_path))
		/* A server could have no socket there either. */
		rc = away(dir, e);
	else
		rc = knock(&c->at, e);
	if (rc == OK && !(c->curl = curl_easy_init()))
		rc = err_set(e, ERR_IO, "libcurl can't be started");
	if (rc < 0) {
		client_close(c);
		return rc;
	}
	*ret = c;
	return OK;
}

int
client_open_at(const struct client_at *at, struct client **ret, struct err *e)
{
	struct client *c = mem_get(sizeof(*c));

	c->by = *at;
	c->content_type = "application/json";
	c->curl = curl_easy_init();
	if (!c->curl) {
		client_close(c);
		return err_set(e, ERR_IO, "libcurl can't be started");
	}
	*ret = c;
	return OK;
}

void
client_close(struct client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	free(c);
}

void
client_signals(struct client *c, bool end)
{
	c->signals = end;
}

void
client_type(struct client *c, const char *content_type)
{
	c->content_type = content_type;
}

static size_t
client_take(char *bytes, size_t size, size_t n, void *arg)
{
	struct sink *s = arg;
	struct str got = {bytes, size * n};
	long status = 0;

	if (s->call->piece)
		(void)curl_easy_getinfo(
		    s->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200) {
		s->ended = !s->call->piece(s->call->arg, got);
		return s->ended ? 0 : got.n;
	}
	buf_add(s->answer, got);
	return s->answer->failed ? 0 : got.n;
}

/* curl's setters fail only for options it was built without. */
#define SET(curl, option, value)                                               \
	do {                                                                   \
		CURLcode set_ = curl_easy_setopt(curl, option, value);         \
		assert(set_ == CURLE_OK);                                      \
		(void)set_;                                                    \
	} while (0)

/* "Name: value" joined to the list; one that does not fit is left out. */
static struct curl_slist *
header(struct curl_slist *list, const char *name, const char *value)
{
	char line[4096];
	int n = snprintf(line, sizeof(line), "%s: %s", name, value);
	struct curl_slist *more = n < 0 || (size_t)n >= sizeof(line)
				      ? NULL
				      : curl_slist_append(list, line);

	explicit_bzero(line, sizeof(line));
	return more ? more : list;
}

/* What ends a call that waits, when the user does. */
static int
on_progress(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t)
{
	sigset_t waiting;

	return sigpending(&waiting) == 0 &&
	       (sigismember(&waiting, SIGINT) == 1 ||
		   sigismember(&waiting, SIGTERM) == 1);
}

/* What a server elsewhere needs beside a request. */
static void
prepare_far(struct client *c, const struct client_call *k)
{
	const struct client_at *at = &c->by;

	SET(c->curl, CURLOPT_CONNECTTIMEOUT, CLI_CONNECT_S);
	if (!k->piece) {
		SET(c->curl, CURLOPT_TIMEOUT,
		    at->answer_s ? at->answer_s : CLI_ANSWER_S);
	} else {
		SET(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
		SET(c->curl, CURLOPT_LOW_SPEED_TIME, CLI_SILENCE_S);
	}
	if (at->ca)
		SET(c->curl, CURLOPT_CAINFO, at->ca);
	if (at->name) {
		SET(c->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(c->curl, CURLOPT_USERNAME, at->name);
		SET(c->curl, CURLOPT_PASSWORD, at->password);
	}
}

static void
client_prepare(struct client *c, const struct client_call *k, const char *url,
    struct curl_slist *headers, struct sink *s)
{
	curl_easy_reset(c->curl);
	if (c->at.sun_path[0])
		SET(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->at.sun_path);
	else
		prepare_far(c, k);
	if (c->signals) {
		SET(c->curl, CURLOPT_NOPROGRESS, 0L);
		SET(c->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	}
	SET(c->curl, CURLOPT_URL, url);
	SET(c->curl, CURLOPT_NOSIGNAL, 1L);
	if (c->at.sun_path[0] || c->by.near)
		SET(c->curl, CURLOPT_NOPROXY, "*");
	SET(c->curl, CURLOPT_WRITEFUNCTION, client_take);
	SET(c->curl, CURLOPT_WRITEDATA, s);
	SET(c->curl, CURLOPT_CUSTOMREQUEST, k->method);
	SET(c->curl, CURLOPT_HTTPHEADER, headers);
	/* POST and PUT have a body by definition, if an empty one. */
	if (k->body.n || k->method[0] == 'P') {
		SET(c->curl, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)k->body.n);
		SET(c->curl, CURLOPT_POSTFIELDS, k->body.n ? k->body.p : "");
	}
}

static struct curl_slist *
headers_of(const struct client *c, const struct client_call *k)
{
	struct curl_slist *list = NULL;
	char value[4096];

	if (k->n_headers == 0)
		list = header(
		    NULL, "Content-Type", k->body.n ? c->content_type : "");
	if (c->by.key) {
		(void)snprintf(value, sizeof(value), "Bearer %s", c->by.key);
		list = header(list, "Authorization", value);
		explicit_bzero(value, sizeof(value));
	}
	if (k->piece)
		list = header(list, "Accept", "text/event-stream");
	if (k->last_id)
		list = header(list, "Last-Event-ID", k->last_id);
	for (size_t i = 0; i < k->n_headers; i++) {
		char name[256];

		(void)snprintf(
		    name, sizeof(name), "%.*s", STR_ARG(k->headers[i].name));
		(void)snprintf(
		    value, sizeof(value), "%.*s", STR_ARG(k->headers[i].value));
		list = header(list, name, value);
	}
	return list;
}

static int
client_failed(const struct client *c, CURLcode code, struct err *e)
{
	bool far = !c->at.sun_path[0];

	if (code == CURLE_ABORTED_BY_CALLBACK)
		return err_set(e, ERR_AWAY, "interrupted");
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return err_set(e, ERR_IO,
		    "%s has no certificate that is trusted here: --ca FILE names its authority",
		    c->by.url);
	return err_set(e, ERR_IO, "%s%s did not answer: %s",
	    far ? "" : "the server", far ? c->by.url : "",
	    curl_easy_strerror(code));
}

int
client_send(struct client *c, const struct client_call *k, struct buf *answer,
    int *ret_status, struct err *e)
{
	struct sink s = {.curl = c->curl, .call = k, .answer = answer};
	struct curl_slist *headers;
	char url[HTTP_PATH_MAX + URL_MAX + 32];
	int n = snprintf(url, sizeof(url), "%s%s", c->by.url, k->path);
	long status = 0;
	CURLcode code;

	if (n < 0 || (size_t)n >= sizeof(url))
		return err_set(e, ERR_LIMIT, "the request's path is too long");
	headers = headers_of(c, k);
	client_prepare(c, k, url, headers, &s);
	code = curl_easy_perform(c->curl);
	curl_slist_free_all(headers);
	if (answer->failed)
		return err_set(e, ERR_LIMIT, "the server's answer is too long");
	if (code != CURLE_OK && !s.ended)
		return client_failed(c, code, e);
	(void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	*ret_status = (int)status;
	return OK;
}

int
client_check(int status, struct str answer, struct arena *a, struct err *e)
{
	struct json *j = NULL;
	const struct json *message;
	struct str at;
	const char *todo =
	    status == 401 ? ": hikyaku login, or HIKYAKU_KEY" : "";
	enum err_code code = status == 404       ? ERR_ABSENT
			     : status == 409     ? ERR_CONFLICT
			     : status == 429     ? ERR_IO
			     : status / 100 == 4 ? ERR_INVALID
						 : ERR_IO;

	if (status / 100 == 2)
		return OK;
	if (json_parse(a, answer, &j, e) == OK &&
	    (message = json_at(j, STR("/error/message"))) &&
	    json_is(message, JSON_STRING)) {
		at = json_text(json_get(j, "error"), "pointer");
		return err_set(e, code, "%.*s%s%.*s%s%s",
		    STR_ARG(message->text), at.n ? " (" : "", STR_ARG(at),
		    at.n ? ")" : "", todo);
	}
	return err_set(e, code, "the server answered %d%s%s", status,
	    status == 404 || status == 405 ? ": it knows no such request" : "",
	    todo);
}
