
#include "http/server/conn.h"
#include "http/server/limits.h"
#include "http/server/query.h"
#include "http/server/reply.h"
#include "http/server/router.h"

/* What is looked at of every request; the last of each name counts. */
static bool
take_header(void *arg, struct str name, struct str value)
{
	struct intake *in = arg;
	const struct {
		struct str name, *to;
	} KNOWN[] = {
	    {STR("content-type"), &in->content_type},
	    {STR("content-length"), &in->content_length},
	    {STR("transfer-encoding"), &in->transfer_encoding},
	    {STR("accept-encoding"), &in->accept_encoding},
	    {STR("expect"), &in->expect},
	    {STR("x-request-id"), &in->trace_id},
	};

	for (size_t i = 0; i < COUNT_OF(KNOWN); i++)
		if (str_eq_nocase(KNOWN[i].name, name))
			*KNOWN[i].to = value;
	return true;
}

static void
take_trace_id(struct conn *c)
{
	struct str id = c->in.trace_id;
	bool good = id.n >= 1 && id.n <= REQ_TRACE_MAX;

	for (size_t i = 0; i < id.n && good; i++)
		good = str_is_letter(id.p[i]) || str_is_digit(id.p[i]) ||
		       str_has(STR("._-"), id.p[i]);
	if (good)
		memcpy(c->r.trace_id, id.p, id.n);
	else
		uuid_format(uuid_v4(), c->r.trace_id);
}

/* What is wrong with the bytes of the request so far (wire.h): it is refused,
 * and the connection with it, as nobody knows where the next one begins. */
static int
check_wire(struct conn *c)
{
	int status;
	const char *bad = wire_bad(&c->wire, c->nth, &status);

	if (!bad)
		return OK;
	c->bad_frame = c->linger = true;
	conn_early(c, status,
	    status == MHD_HTTP_CONTENT_TOO_LARGE ? "TOO_LARGE"
	    : status == MHD_HTTP_URI_TOO_LONG    ? "PATH_TOO_LONG"
	    : status == MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE
		? "HEADERS_TOO_LARGE"
		: NULL);
	return err_set(&c->r.err, ERR_SYNTAX, "%s", bad);
}

/* Where the body ends. */
static int
take_frame(struct conn *c)
{
	int64_t n = 0;

	TRY(check_wire(c));
	c->chunked = c->in.transfer_encoding.p;
	if (c->in.content_length.n > 0 && !str_int(c->in.content_length, &n))
		return err_set(
		    &c->r.err, ERR_SYNTAX, "Content-Length is no number");
	c->body_known = (size_t)n;
	return OK;
}

/* "GET, HEAD, OPTIONS": what the path takes. */
static const char *
allow(struct conn *c, const struct match *m)
{
	struct buf b CLEANUP(buf_done) = BUF(128);

	for (int i = 0; i < METHODS; i++)
		if (m->methods[i])
			buf_fmt(&b, "%s%s, ", method_name((enum method)i),
			    i == GET ? ", HEAD" : "");
	buf_addz(&b, "OPTIONS");
	return arena_z(c->r.arena, buf_str(&b));
}

/*
 * A path or method that no route has: strangers look for these by the thousand.
 * What e says already is the answer, unless there were too many.
 */
static int
stray(struct conn *c, int rc)
{
	const struct server_hooks *h = &c->s->o.hooks;
	struct err e;

	if (!h->stray || h->stray(h->arg, &c->r, &e) == OK)
		return rc;
	c->r.err = e;
	conn_early(c, http_error_status(&e), NULL);
	return e.code;
}

static int
take_route(struct conn *c, struct str method)
{
	struct req *r = &c->r;
	struct match m;
	int rc;

	if (r->path.n > HTTP_PATH_MAX) {
		conn_early(c, MHD_HTTP_URI_TOO_LONG, "PATH_TOO_LONG");
		return err_set(&r->err, ERR_LIMIT, "the path is over %d bytes",
		    HTTP_PATH_MAX);
	}
	rc = router_find(
	    c->s->router, method_parse(method), r->path, r->arena, &m, &r->err);
	if (rc < 0)
		return stray(c, rc);
	if (m.route) {
		r->route = m.route;
		r->app = c->s->o.hooks.arg;
		memcpy(r->params, m.params, sizeof(r->params));
		rc = query_parse(
		    r->arena, c->raw_query, &r->query, &r->n_query, &r->err);
		if (rc == ERR_LIMIT)
			conn_early(c, MHD_HTTP_URI_TOO_LONG, "PATH_TOO_LONG");
		return rc;
	}
	req_add_header(r, "Allow", allow(c, &m));
	if (str_eq(method, STR("OPTIONS"))) {
		conn_early(c, MHD_HTTP_NO_CONTENT, NULL);
		return err_set(&r->err, ERR_ABSENT, "only a question");
	}
	conn_early(c, MHD_HTTP_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
	rc = err_set(&r->err, ERR_ABSENT, "the path does not take this method");
	return stray(c, rc);
}

/* OK, an error or REQ_WAIT. */
static int
check_who(struct conn *c)
{
	const struct server_hooks *h = &c->s->o.hooks;
	struct req *r = &c->r;

	if (r->route->scope != SCOPE_OPEN)
		return h->who(h->arg, r, &r->err);
	return h->open ? h->open(h->arg, r, &r->err) : OK;
}

/* Is the media type, without its parameters, one of "a/b, c/d"? */
static bool
takes_type(const char *types, struct str type)
{
	struct str rest = str_of(types);

	type = str_trim(str_cut(&type, ';'));
	while (rest.n > 0) {
		struct str one = str_trim(str_cut(&rest, ','));

		if (str_eq_nocase(one, type) || str_eq(one, STR("*/*")))
			return true;
	}
	return false;
}

static int
check_body(struct conn *c)
{
	const char *types = c->r.route->body;
	struct err *e = &c->r.err;

	if (c->body_known == 0 && !c->chunked)
		return OK;
	c->body_max = c->s->o.body_max;
	if (c->r.route->scope == SCOPE_OPEN && !c->r.route->pushed &&
	    c->body_max > HTTP_OPEN_BODY)
		c->body_max = HTTP_OPEN_BODY;
	if (c->body_known > c->body_max)
		return err_set(
		    e, ERR_LIMIT, "the body is over %zu bytes", c->body_max);
	/* A CloudEvent whose headers say what it is need not say it again. */
	if (takes_type(types, c->in.content_type) ||
	    (c->in.content_type.n == 0 &&
		takes_type(types, STR("application/cloudevents+json")) &&
		req_header(&c->r, "ce-specversion").n > 0))
		return OK;
	conn_early(
	    c, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE");
	if (!types || types[0] == '\0')
		return err_set(e, ERR_INVALID, "this takes no body");
	return err_set(e, ERR_INVALID, "Content-Type must be %s", types);
}

/*
 * The answer is known and the body is not read yet. A small body is let pass,
 * so that the connection lives on; otherwise we answer now and hang up.
 */
static enum MHD_Result
settle_early(struct conn *c)
{
	if (!c->early_status)
		conn_early(c, http_error_status(&c->r.err), NULL);
	c->stage = AT_BODY;
	if (!c->bad_frame && !c->chunked &&
	    (c->body_known == 0 ||
		(c->body_known <= HTTP_SWALLOW_MAX && !c->in.expect.p)))
		return MHD_YES;
	if (!door_phase(&c->door, READING, BUSY))
		return MHD_NO;
	c->linger = true;
	return reply_early(c);
}

static enum MHD_Result
at_who(struct conn *c)
{
	int rc;

	/* Nobody is cut while the hook thinks. */
	if (!door_phase(&c->door, READING, BUSY) &&
	    atomic_load(&c->door.phase) == CUT)
		return MHD_NO;
	while ((rc = check_who(c)) == REQ_WAIT)
		if (waker_sleep(c->waker))
			return MHD_YES;
	(void)door_phase(&c->door, BUSY, READING);
	if (rc == OK && c->r.who.kind != WHO_NOBODY)
		door_know(c->s->door, &c->door, &c->r.who);
	if (rc == OK)
		rc = check_body(c);
	if (rc < 0)
		return settle_early(c);
	c->stage = AT_BODY;
	body_begin(c);
	return MHD_YES;
}

static enum MHD_Result
at_head(struct conn *c, const char *method)
{
	struct server *s = c->s;
	int rc;

	/* Counted first: server_stop() sees either us, or we see it. */
	(void)atomic_fetch_add(&s->busy, 1);
	c->counted = true;
	if (atomic_load(&s->stopping))
		return MHD_NO;
	assert(c->wire.requests >= c->nth); /* its bytes were looked at */
	c->wire.serving = c->nth;
	req_each_header(&c->r, take_header, &c->in);
	take_trace_id(c);
	conn_peer(c);
	if (s->o.hooks.begin)
		s->o.hooks.begin(s->o.hooks.arg, &c->r);
	rc = take_frame(c);
	if (rc == OK)
		rc = take_route(c, str_of(method));
	if (rc < 0)
		return settle_early(c);
	c->stage = AT_WHO;
	return at_who(c);
}

static int
hand_over(struct conn *c)
{
	const struct server_hooks *h = &c->s->o.hooks;
	struct req *r = &c->r;

	/* Once handed over, r is not ours until it is woken. */
	c->stage = AT_WORK;
	if (h->work(h->arg, r))
		return REQ_WAIT;
	return err_set(&r->err, ERR_AWAY, "too much to do; try again");
}

/* The next thing to do: OK, an error, or REQ_WAIT. */
static int
next_step(struct conn *c)
{
	struct req *r = &c->r;
	int rc;

	if (c->stage == AT_RUN) {
		if (r->route->on != ON_HTTP)
			return hand_over(c);
		rc = r->route->run(r, NULL, &r->err);
		c->stage = AT_THEN;
		return rc;
	}
	if (c->stage == AT_WORK && r->rc != REQ_WAIT)
		return r->rc;
	c->stage = AT_THEN;
	assert(r->then);
	return r->then(r, &r->err);
}

/*
 * Sleeps, but for the first time only after one more turn of libmicrohttpd's
 * loop. There it learns that it has nothing to read; else it would read when
 * the request is woken, and a client that has closed its sending side by then,
 * as it may, would never get the answer. False when the wake came before.
 */
static bool
doze(struct conn *c)
{
	if (!c->paused) {
		c->paused = c->to_sleep = true;
		return true;
	}
	c->to_sleep = false;
	return waker_sleep(c->waker);
}

static enum MHD_Result
go_on(struct conn *c)
{
	int rc;

	if (c->to_sleep && doze(c))
		return MHD_YES;
	while ((rc = next_step(c)) == REQ_WAIT)
		if (doze(c))
			return MHD_YES;
	return rc < 0 ? reply_error(c) : reply_out(c);
}

enum MHD_Result
conn_request(void *, struct MHD_Connection *, const char *, const char *method,
    const char *, const char *upload, size_t *upload_n, void **ctx)
{
	struct conn *c = *ctx;

	if (!c)
		return MHD_NO;
	switch (c->stage) {
	case AT_HEAD:
		return at_head(c, method);
	case AT_WHO:
		return at_who(c);
	case AT_BODY:
		if (*upload_n > 0) {
			body_add(c, (struct str){upload, *upload_n});
			*upload_n = 0;
			return MHD_YES;
		}
		if (!door_phase(&c->door, READING, BUSY))
			return MHD_NO;
		if (c->early_status || check_wire(c) < 0)
			return reply_early(c);
		c->r.body = buf_str(&c->body);
		c->stage = AT_RUN;
		return go_on(c);
	case AT_RUN:
	case AT_WORK:
	case AT_THEN:
		return go_on(c);
	case AT_ANSWER:
		break;
	}
	return MHD_NO;
}

struct str
req_header(const struct req *r, const char *name)
{
	struct str k = str_of(name);
	const char *value;
	size_t n;

	if (!r->conn || MHD_lookup_connection_value_n(r->conn->mc,
			    MHD_HEADER_KIND, k.p, k.n, &value, &n) != MHD_YES)
		return STR_EMPTY;
	return str_trim((struct str){value ? value : "", n});
}

struct header_walk {
	bool (*each)(void *arg, struct str name, struct str value);
	void *arg;
};

static enum MHD_Result
walk_header(void *cls, enum MHD_ValueKind, const char *name, size_t name_n,
    const char *value, size_t value_n)
{
	struct header_walk *w = cls;
	struct str v = str_trim((struct str){value ? value : "", value_n});

	return w->each(w->arg, (struct str){name, name_n}, v) ? MHD_YES
							      : MHD_NO;
}

void
req_each_header(const struct req *r,
    bool (*each)(void *arg, struct str name, struct str value), void *arg)
{
	struct header_walk w = {each, arg};

	if (r->conn)
		(void)MHD_get_connection_values_n(
		    r->conn->mc, MHD_HEADER_KIND, walk_header, &w);
}
