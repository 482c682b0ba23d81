/* The client against the real server, on a unix socket. */
#include "cli/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/test.h"
#include "http/server/server.h"

static struct {
	char dir[64], socket[128];
	struct server *server;
	struct client *client;
	struct buf out;
	struct err e;
} w;

static int
echo(struct req *r, struct db *, struct err *)
{
	buf_add(&r->out, req_header(r, "Content-Type"));
	buf_addc(&r->out, ' ');
	buf_add(&r->out, r->body);
	r->status = 201;
	return OK;
}

static int
refuse(struct req *, struct db *, struct err *e)
{
	return err_at(e, ERR_CONFLICT, "/name", "it is there already");
}

static enum stream_next
pull(struct req *r, struct buf *b)
{
	int *left = r->ctx;

	if ((*left)-- == 0)
		return STREAM_END;
	buf_addz(b, "piece\n");
	return STREAM_MORE;
}

static void
over(struct req *)
{
}

/* As many pieces as are left after Last-Event-ID, of four. */
static int
stream(struct req *r, struct db *, struct err *)
{
	int *left = arena_alloc(r->arena, sizeof(*left));
	int64_t had = 0;

	assert_non_null(left);
	(void)str_int(req_header(r, "Last-Event-ID"), &had);
	*left = 4 - (int)had;
	r->ctx = left;
	req_stream(r, "text/event-stream", pull, over);
	return OK;
}

static const struct route ROUTES[] = {
    {POST, "/echo", SCOPE_OPEN, ON_HTTP, echo,
	"application/json, application/x-ndjson", .summary = ""},
    {DELETE, "/refuse", SCOPE_OPEN, ON_HTTP, refuse, "", .summary = ""},
    {GET, "/stream", SCOPE_OPEN, ON_HTTP, stream, "", .summary = ""},
    {GET, "/refuse", SCOPE_OPEN, ON_HTTP, refuse, "", .summary = ""},
};

static void
answered(void *, const struct req *, int, int64_t)
{
}

static bool
stopping(void *)
{
	return false;
}

/* No route here wants these. */
static int
who(void *, struct req *, struct err *e)
{
	return err_set(e, ERR_UNKNOWN, "nobody is known here");
}

static bool
refuse_work(void *, struct req *)
{
	return false;
}

static int
begin(void **)
{
	struct server_opts o = {
	    .unix_path = w.socket,
	    .threads = 1,
	    .body_max = MIB,
	    .idle_timeout_s = 30,
	    .request_timeout_s = 30,
	    .connections_max = 16,
	    .routes = ROUTES,
	    .n_routes = COUNT_OF(ROUTES),
	    .hooks = {.who = who,
		.work = refuse_work,
		.answered = answered,
		.stopping = stopping},
	};

	memset(&w, 0, sizeof(w));
	(void)snprintf(w.dir, sizeof(w.dir), "/tmp/client_test.XXXXXX");
	assert_non_null(mkdtemp(w.dir));
	(void)snprintf(
	    w.socket, sizeof(w.socket), "%s/%s", w.dir, CLIENT_SOCKET);
	w.out = BUF(KIB);
	assert_int_equal(server_start(&o, &w.server, &w.e), OK);
	assert_int_equal(client_open(w.dir, &w.client, &w.e), OK);
	return 0;
}

static int
end(void **)
{
	client_close(w.client);
	assert_true(server_drain(w.server, 5000));
	server_stop(w.server);
	buf_done(&w.out);
	(void)unlink(w.socket);
	(void)rmdir(w.dir);
	return 0;
}

/* A request without a stream. */
static int
call(const char *method, const char *path, struct str body, int *ret_status)
{
	struct client_call k = {.method = method, .path = path, .body = body};

	return client_send(w.client, &k, &w.out, ret_status, &w.e);
}

static void
test_call(void **)
{
	int status = 0;

	assert_int_equal(call("POST", "/echo", STR("[1]"), &status), OK);
	assert_int_equal(status, 201);
	assert_str(buf_str(&w.out), "application/json [1]");
	buf_clear(&w.out);
	client_type(w.client, "application/x-ndjson");
	assert_int_equal(call("POST", "/echo", STR("{}\n{}"), &status), OK);
	assert_str(buf_str(&w.out), "application/x-ndjson {}\n{}");
}

static void
test_errors(void **)
{
	struct arena *a = arena_new(64 * KIB);
	int status = 0;

	assert_non_null(a);
	assert_int_equal(call("DELETE", "/refuse", STR_EMPTY, &status), OK);
	assert_int_equal(status, 409);
	assert_int_equal(
	    client_check(status, buf_str(&w.out), a, &w.e), ERR_CONFLICT);
	assert_string_equal(w.e.text, "it is there already (/name)");
	assert_int_equal(client_check(204, STR_EMPTY, a, &w.e), OK);
	assert_int_equal(client_check(500, STR("<html>"), a, &w.e), ERR_IO);
	assert_string_equal(w.e.text, "the server answered 500");

	/* An answer beyond its buffer is refused, not cut. */
	buf_done(&w.out);
	w.out = BUF(10);
	assert_int_equal(call("GET", "/refuse", STR_EMPTY, &status), ERR_LIMIT);
	arena_free(a);
}

struct got {
	struct buf b;
	size_t most;
};

static bool
piece(void *arg, struct str bytes)
{
	struct got *g = arg;

	buf_add(&g->b, bytes);
	return g->b.n < g->most;
}

static int
follow(const char *path, const char *last_id, struct got *g, int *ret_status)
{
	struct client_call k = {.method = "GET",
	    .path = path,
	    .last_id = last_id,
	    .piece = piece,
	    .arg = g};

	return client_send(w.client, &k, &w.out, ret_status, &w.e);
}

static void
test_stream(void **)
{
	struct got g = {.b = BUF(KIB), .most = KIB};
	int status = 0;

	assert_int_equal(follow("/stream", NULL, &g, &status), OK);
	assert_int_equal(status, 200);
	assert_str(buf_str(&g.b), "piece\npiece\npiece\npiece\n");
	buf_clear(&g.b);
	assert_int_equal(follow("/stream", "3", &g, &status), OK);
	assert_str(buf_str(&g.b), "piece\n");

	/* The taker has had enough. */
	buf_clear(&g.b);
	g.most = 1;
	assert_int_equal(follow("/stream", NULL, &g, &status), OK);
	assert_true(g.b.n > 0);

	/* No stream, but an error: its body is the answer. */
	buf_clear(&g.b);
	assert_int_equal(follow("/refuse", NULL, &g, &status), OK);
	assert_int_equal(status, 409);
	assert_int_equal(g.b.n, 0);
	assert_non_null(memmem(w.out.p, w.out.n, "already", 7));
	buf_done(&g.b);
}

/* No socket, and one whose server was killed. */
static void
test_absent(void **)
{
	char dir[] = "/tmp/client_test.XXXXXX";
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct client *c;
	struct err e;

	assert_true(fd >= 0);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(client_open(dir, &c, &e), ERR_ABSENT);
	(void)snprintf(
	    at.sun_path, sizeof(at.sun_path), "%s/%s", dir, CLIENT_SOCKET);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	(void)close(fd);
	assert_int_equal(client_open(dir, &c, &e), ERR_ABSENT);
	(void)unlink(at.sun_path);
	(void)rmdir(dir);
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WITH_SERVER(test_call),
	    WITH_SERVER(test_errors),
	    WITH_SERVER(test_stream),
	    cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
