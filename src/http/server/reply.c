#include "http/server/reply.h"

#include "base/log/log.h"
#include "http/server/conn.h"
#include "http/server/gzip.h"
#include "http/server/limits.h"
#include "http/server/router.h"

#define JSON       "application/json"
#define HIDDEN     "internal error"
/* Instead of a text that tells of the store. */
#define STORE_AWAY "the store does not answer now; try again"
#define STORE_FULL "the store is full"
#define STORE_UNCERTAIN                                                        \
	"the store's answer was lost; try again with the same id"
#define STORE_BUSY     "the store is busy; try again"
#define STORE_CONFLICT "something else is there already"

/* What each error means to a client; see reply.h. */
static const struct meaning {
	enum err_code code;
	int status;
	const char *name;
	bool later;         /* with Retry-After */
	bool hidden;        /* the text is for the log only */
	const char *inside; /* instead of one of the store's; NULL: HIDDEN */
} MEANINGS[] = {
    {ERR_INVALID, 422, "INVALID_FIELD", false, false, NULL},
    {ERR_SYNTAX, 400, "MALFORMED", false, false, NULL},
    {ERR_LIMIT, 413, "TOO_LARGE", false, false, NULL},
    {ERR_ABSENT, 404, "NOT_FOUND", false, false, NULL},
    {ERR_CONFLICT, 409, "CONFLICT", false, false, STORE_CONFLICT},
    {ERR_DENIED, 403, "FORBIDDEN", false, false, NULL},
    {ERR_UNKNOWN, 401, "UNAUTHORIZED", false, false, NULL},
    {ERR_BUSY, 429, "RATE_LIMITED", true, false, STORE_BUSY},
    {ERR_AWAY, 503, "UNAVAILABLE", true, false, STORE_AWAY},
    {ERR_FULL, 503, "UNAVAILABLE", true, false, STORE_FULL},
    {ERR_UNCERTAIN, 503, "UNAVAILABLE", true, false, STORE_UNCERTAIN},
    {ERR_SEALED, 500, "SEALED", false, false, NULL},
    {ERR_STORE, 500, "INTERNAL", false, true, NULL},
    {ERR_IO, 500, "INTERNAL", false, true, NULL},
};

static const struct meaning *
meaning_of(const struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(MEANINGS); i++)
		if (MEANINGS[i].code == e->code)
			return &MEANINGS[i];
	return &MEANINGS[COUNT_OF(MEANINGS) - 1];
}

int
http_error_status(const struct err *e)
{
	return meaning_of(e)->status;
}

/* An error's text may quote what was sent, and be cut in mid-character. */
static void
reply_text(struct buf *b, const char *name, const char *text)
{
	struct str s = str_of(text);

	s.n = str_utf8_bad(s);
	put_text(b, name, s);
}

/* Strangers learn nothing of the inside, and nobody needs to. */
static const char *
told(const struct err *e)
{
	const struct meaning *m = meaning_of(e);

	if (m->hidden)
		return HIDDEN;
	if (!e->inside)
		return e->text;
	return m->inside ? m->inside : HIDDEN;
}

static void
add_error(
    struct buf *b, const char *name, const char *text, const struct err *e)
{
	put_open(b, NULL, '{');
	put_z(b, "code", e->word ? e->word : name);
	reply_text(b, "message", text);
	if (e->at[0] != '\0')
		reply_text(b, "pointer", e->at);
	put_close(b, '}');
}

void
http_error_json(struct buf *b, const struct err *e)
{
	add_error(b, meaning_of(e)->name, told(e), e);
}

void
http_error_write(struct buf *b, const struct http_error *x)
{
	put_open(b, NULL, '{');
	put_name(b, "error");
	add_error(b, x->name, x->e.text, &x->e);
	if (x->errors.p)
		put_raw(b, "errors", x->errors);
	put_z(b, "traceId", x->trace_id);
	put_close(b, '}');
}

/* What is known of callers like this one; all false when it is in no group. */
static const struct route_group *
group_of(const struct conn *c)
{
	static const struct route_group NONE = {.error = NULL};
	const struct req *r = &c->r;
	const struct route_group *group =
	    r->route ? r->route->group
		     : router_group(c->s->router, r->path, r->arena);

	return group ? group : &NONE;
}

static void
log_hidden(const struct req *r)
{
	struct log_line l;

	log_begin(&l, LOG_ERROR, "request failed");
	log_str(&l, "traceId", str_of(r->trace_id));
	log_str(&l, "path", r->path);
	log_str(&l, "error", str_of(r->err.text));
	log_end(&l);
}

/* There may be several cookies, each once. */
static bool
same_header(const struct req *r, size_t i, struct str name, struct str value)
{
	struct str there = str_of(r->headers[i].value);

	return str_eq_nocase(str_of(r->headers[i].name), name) &&
	       (!str_eq_nocase(name, STR("Set-Cookie")) ||
		   str_eq(str_cut(&there, '='), str_cut(&value, '=')));
}

void
req_add_header(struct req *r, const char *name, const char *value)
{
	size_t i = 0;

	/* A handler that runs twice adds its headers twice. */
	while (
	    i < r->n_headers && !same_header(r, i, str_of(name), str_of(value)))
		i++;
	assert(i < REQ_HEADERS_MAX);
	r->headers[i].name = name;
	r->headers[i].value = value;
	if (i == r->n_headers)
		r->n_headers++;
}

static bool
has_header(const struct req *r, const char *name)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (str_eq_nocase(str_of(r->headers[i].name), str_of(name)))
			return true;
	return false;
}

static bool
reply_header(struct MHD_Response *m, const char *name, const char *value)
{
	return MHD_add_response_header(m, name, value) == MHD_YES;
}

/* False when there is no memory, or a value that can't be a header's. */
static bool
add_headers(struct conn *c, struct MHD_Response *m, const char *type)
{
	const struct req *r = &c->r;
	bool ok = reply_header(m, "X-Request-Id", r->trace_id);

	if (type) {
		ok &= reply_header(m, "Content-Type", type);
		ok &= reply_header(m, "X-Content-Type-Options", "nosniff");
	}
	if (type && str_starts(str_of(type), STR(JSON)) &&
	    !has_header(r, "Cache-Control"))
		ok &= reply_header(m, "Cache-Control", "no-store");
	for (size_t i = 0; i < r->n_headers; i++)
		ok &= reply_header(m, r->headers[i].name, r->headers[i].value);
	if (c->retry_after[0] != '\0')
		ok &= reply_header(m, "Retry-After", c->retry_after);
	if (atomic_load(&c->s->draining) || c->bad_frame)
		ok &= reply_header(m, "Connection", "close");
	return ok;
}

static enum MHD_Result
queue(struct conn *c, int status, struct MHD_Response *m, bool ok)
{
	enum MHD_Result rc = MHD_NO;

	if (!m)
		return MHD_NO;
	c->stage = AT_ANSWER;
	if (ok)
		rc = MHD_queue_response(c->mc, (unsigned)status, m);
	MHD_destroy_response(m);
	if (rc == MHD_YES)
		c->sent_status = status;
	/* A stream is not over yet: it sleeps and is woken. */
	if (!c->stream.pull) {
		atomic_store(&c->door.from_ms, clock_mono_ms());
		(void)door_phase(&c->door, BUSY, SENDING);
		conn_uncount(c);
	}
	return rc;
}

static bool
compressible(const char *type)
{
	return str_starts(str_of(type), STR("text/")) || strstr(type, "json") ||
	       strstr(type, "xml") || strstr(type, "javascript");
}

static enum MHD_Result
send_body(struct conn *c, int status)
{
	struct req *r = &c->r;
	const char *type = r->content_type ? r->content_type : JSON;
	struct str body = buf_str(&r->out);
	struct MHD_Response *m;
	bool ok = true, zipped = false, vary;

	if (status == MHD_HTTP_NO_CONTENT || status == MHD_HTTP_NOT_MODIFIED)
		body = STR_EMPTY;
	vary = body.n > HTTP_GZIP_MIN && compressible(type) &&
	       !has_header(r, "Content-Encoding");
	if (vary && gzip_accepted(c->in.accept_encoding)) {
		c->zip.limit = body.n;
		zipped = gzip_add(&c->zip, body);
		if (zipped)
			body = buf_str(&c->zip);
	}
	/* Both buffers live until the request is complete; nothing is copied.
	 * libmicrohttpd takes what it only reads without const. */
	m = MHD_create_response_from_buffer(
	    body.n, (void *)(uintptr_t)body.p, MHD_RESPMEM_PERSISTENT);
	if (m && vary)
		ok = reply_header(m, "Vary", "Accept-Encoding");
	if (m && zipped)
		ok &= reply_header(m, "Content-Encoding", "gzip");
	if (m && status == MHD_HTTP_UNAUTHORIZED) {
		if (!group_of(c)->by_browsers)
			ok &= reply_header(m, "WWW-Authenticate",
			    "Basic realm=\"hikyaku\", "
			    "charset=\"UTF-8\"");
		ok &= reply_header(
		    m, "WWW-Authenticate", "Bearer realm=\"hikyaku\"");
	}
	ok = ok && m && add_headers(c, m, body.n > 0 ? type : NULL);
	return queue(c, status, m, ok);
}

enum MHD_Result
reply_out(struct conn *c)
{
	struct req *r = &c->r;

	if (c->stream.pull) {
		struct MHD_Response *m = stream_response(c);
		bool ok = m && add_headers(c, m, r->content_type);

		return queue(c, r->status ? r->status : MHD_HTTP_OK, m, ok);
	}
	if (r->out.failed) {
		(void)err_set(&r->err, ERR_IO, "the answer is over %zu bytes",
		    r->out.limit);
		return reply_error(c);
	}
	return send_body(c, r->status ? r->status : MHD_HTTP_OK);
}

static enum MHD_Result
send_error(struct conn *c, int status, const char *name)
{
	struct req *r = &c->r;
	const struct meaning *m = meaning_of(&r->err);
	const struct route_group *group = group_of(c);
	struct http_error x = {status, name ? name : m->name, m->hidden,
	    r->trace_id, r->err, NULL,
	    name ? (struct str){.p = NULL} : r->errors};

	if (m->hidden || r->err.inside)
		(void)snprintf(x.e.text, sizeof(x.e.text), "%s", told(&r->err));
	buf_clear(&r->out);
	r->content_type = JSON;
	if (status != MHD_HTTP_NO_CONTENT) {
		if (group->error)
			status = group->error(&r->out, &x);
		else
			http_error_write(&r->out, &x);
	}
	if (r->out.failed)
		return MHD_NO;
	if (!name && m->hidden)
		log_hidden(r);
	if (!name && m->later)
		(void)snprintf(c->retry_after, sizeof(c->retry_after), "%d",
		    r->err.retry_after_s >= 1 ? r->err.retry_after_s
					      : BUSY_RETRY_S);
	return send_body(c, status);
}

enum MHD_Result
reply_error(struct conn *c)
{
	struct req *r = &c->r;

	c->stream.pull = NULL;
	return send_error(c, http_error_status(&r->err), NULL);
}

enum MHD_Result
reply_early(struct conn *c)
{
	return send_error(c, c->early_status, c->early_code);
}
