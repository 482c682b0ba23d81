/*
 * http_request - strange bytes to a real server, and to what reads them.
 *
 * The input goes over a loopback connection to a server with a route of each
 * kind; the first byte says in how many pieces. A last request behind it makes
 * the server close, unless the input has it wait for more: then we hang up. Now
 * and then an honest client must get its answer, which it would not when the
 * server hung or connections leaked (there may be CONNECTIONS of them). The
 * input also goes straight to the router and the query parser.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log/log.h"
#include "http/server/gzip.h"
#include "http/server/query.h"
#include "http/server/req.h"
#include "http/server/router.h"
#include "http/server/server.h"

#define CONNECTIONS 500
#define SILENCE_MS  5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct pool *workers;
static int port;

static int
echo(struct req *r, struct db *, struct err *)
{
	buf_add(&r->out, r->body);
	for (size_t i = 0; i < REQ_PARAMS_MAX; i++)
		buf_json(&r->out, r->params[i]);
	for (size_t i = 0; i < r->n_query; i++)
		buf_json(&r->out, r->query[i].value);
	return OK;
}

static int
limits(struct req *r, struct db *, struct err *e)
{
	struct form f = {r->query, r->n_query};
	int64_t limit;
	int rc = form_int(&f, "limit", 1, 100, 10, &limit, e);

	buf_addz(&r->out, "[]");
	return rc;
}

static enum stream_next
pull(struct req *r, struct buf *b)
{
	buf_addz(b, "data: x\n\n");
	return r->ctx ? STREAM_END : (r->ctx = r, STREAM_MORE);
}

static void
nothing(struct req *)
{
}

static int
stream(struct req *r, struct db *, struct err *)
{
	req_stream(r, "text/event-stream", pull, nothing);
	return OK;
}

#define KNOWN 1 /* a scope: anybody who says who he is */

static const struct route_group OWN = {.by_browsers = true};

static const struct route ROUTES[] = {
    {GET, "/", SCOPE_OPEN, ON_HTTP, echo, "", .summary = ""},
    {GET, "/v1/events", SCOPE_OPEN, ON_READ, limits, "", .summary = ""},
    {POST, "/v1/events", KNOWN, ON_WRITE, echo,
	"application/json, application/x-ndjson", .summary = ""},
    {PUT, "/e", SCOPE_OPEN, ON_HTTP, echo, "*/*", .summary = ""},
    {GET, "/v1/events/stream", SCOPE_OPEN, ON_HTTP, stream, "", .summary = ""},
    {GET, "/v1/events/{id}", KNOWN, ON_HTTP, echo, "", .summary = ""},
    {DELETE, "/{a}/{b}/{c}/{d}", SCOPE_OPEN, ON_HTTP, echo, "", .summary = ""},
    {GET, "/app/{id}", SCOPE_OPEN, ON_HTTP, echo, "", .summary = "",
	.group = &OWN, .alias = "/api/old.php"},
    {GET, "/rest/{all...}", SCOPE_OPEN, ON_HTTP, echo, "", .summary = "",
	.group = &OWN},
};

static int
who(void *, struct req *r, struct err *e)
{
	if (req_header(r, "Authorization").n == 0)
		return err_set(e, ERR_UNKNOWN, "who?");
	r->who.kind = WHO_KEY;
	return OK;
}

static void
work(struct pool_job *job, void *)
{
	struct req *r = MAIL_OF(job, struct req, job);

	r->rc = r->route->run(r, NULL, &r->err);
	req_wake(r);
}

static bool
post(void *, struct req *r)
{
	r->job.run = work;
	return pool_post(workers, &r->job);
}

int
LLVMFuzzerInitialize(int *, char ***)
{
	struct pool_opts po = {.name = "work", .threads = 1, .queue_max = 9};
	struct server_opts o = {.listen = "127.0.0.1:0",
	    .threads = 1,
	    .body_max = 4096,
	    .idle_timeout_s = 10,
	    .request_timeout_s = 10,
	    .connections_max = CONNECTIONS,
	    .routes = ROUTES,
	    .n_routes = COUNT_OF(ROUTES),
	    .hooks = {.who = who, .work = post}};
	struct server *s;
	struct err e;

	log_setup(LOG_ERROR, LOG_TEXT, STDERR_FILENO);
	if (pool_start(&po, &workers, &e) < 0 || server_start(&o, &s, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		abort();
	}
	port = server_port(s);
	return 0;
}

static int
dial(void)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	struct pollfd p = {.fd = fd, .events = POLLOUT};

	/* libFuzzer's alarm interrupts us; the connection comes all the same. */
	if (fd < 0 || (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 &&
			  (errno != EINTR || poll(&p, 1, 1000) != 1))) {
		perror("no connection");
		abort();
	}
	return fd;
}

/* Reads until the server closes or is silent for so long; how much it said. */
static size_t
drain(int fd, int timeout_ms)
{
	char drop[4096];
	size_t total = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int rc = poll(&p, 1, timeout_ms);
		ssize_t n;

		if (rc < 0 && errno == EINTR)
			continue;
		if (rc <= 0)
			return total;
		n = recv(fd, drop, sizeof(drop), MSG_DONTWAIT);
		if (n <= 0)
			return total;
		total += (size_t)n;
	}
}

static void
say(int fd, struct str s)
{
	(void)!send(fd, s.p, s.n, MSG_NOSIGNAL);
}

static void
hang_up(int fd)
{
	struct linger hard = {.l_onoff = 1, .l_linger = 0};

	/* No TIME_WAIT: thousands a second would use up all ports. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	(void)close(fd);
}

static void
check_alive(void)
{
	int fd = dial();

	say(fd, STR("GET / HTTP/1.0\r\n\r\n"));
	if (drain(fd, 10000) == 0) {
		(void)fprintf(stderr, "the server does not answer\n");
		abort();
	}
	hang_up(fd);
}

static void
to_server(struct str s)
{
	size_t pieces = (unsigned char)s.p[0] % 4 + 1, size;
	int fd = dial();

	s = str_from(s, 1);
	size = s.n / pieces + 1;
	while (s.n > 0) {
		size_t k = s.n < size ? s.n : size;

		say(fd, (struct str){s.p, k});
		s = str_from(s, k);
		if (s.n > 0)
			(void)drain(fd, 0);
	}
	say(fd, STR("\r\n\r\nGET / HTTP/1.0\r\n\r\n"));
	(void)drain(fd, SILENCE_MS);
	hang_up(fd);
}

static void
to_parsers(struct str s)
{
	static struct router *rt;
	struct arena *a = arena_new(256 * KIB);
	const struct str_pair *v;
	struct match m;
	struct err e;
	size_t n;

	if (!a || (!rt && router_new(ROUTES, COUNT_OF(ROUTES), &rt, &e) < 0))
		abort();
	if (router_find(rt, GET, s, a, &m, &e) == OK && m.route)
		for (size_t i = 0; i < REQ_PARAMS_MAX; i++)
			if (str_utf8_bad(m.params[i]) != m.params[i].n ||
			    str_eq(m.params[i], STR(".")) ||
			    str_eq(m.params[i], STR("..")))
				abort();
	if (router_group(rt, s, a) && router_group(rt, s, a) != &OWN)
		abort();
	if (query_parse(a, s, &v, &n, &e) == OK)
		for (size_t i = 0; i < n; i++)
			if (str_utf8_bad(v[i].value) != v[i].value.n)
				abort();
	(void)gzip_accepted(s);
	arena_free(a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static unsigned runs;
	struct str s = {(const char *)data, n};

	if (n == 0)
		return 0;
	to_parsers(str_from(s, 1));
	to_server(s);
	if (++runs % CONNECTIONS == 0)
		check_alive();
	return 0;
}
