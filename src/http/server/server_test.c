#include "http/server/server_test.h"

#include <sys/stat.h>
#include <zlib.h>

#include "base/test.h"
#include "http/server/limits.h"

static struct server *server;
static int port;

static int
setup(void **)
{
	struct server_opts o = test_opts();

	server = test_start(&o);
	port = server_port(server);
	return 0;
}

static int
teardown(void **)
{
	test_stop(server);
	return 0;
}

/* ---- one request, one answer ---- */

static const struct row {
	const char *request;
	int status;
	const char *body;   /* part of it, NULL: empty */
	const char *header; /* "name: value", or NULL */
} ROWS[] = {
    {"GET /" H "\r\n", 200, "hello", "content-type: application/json"},
    {"GET /hello" H "\r\n", 200, "{\"hello\":\"world\"}",
	"cache-control: no-store"},
    {"GET /hello" H "\r\n", 200, "hello", "x-content-type-options: nosniff"},
    {"GET http://h/hello" H "\r\n", 200, "hello", NULL},
    {"GET http://h" H "\r\n", 200, "hello", NULL},
    {"HEAD /hello" H "\r\n", 200, NULL, "content-length: 17"},
    {"OPTIONS /hello" H "\r\n", 204, NULL, "allow: GET, HEAD, OPTIONS"},
    {"OPTIONS /nothing" H "\r\n", 404, "NOT_FOUND", NULL},
    {"GET /hello HTTP/1.0\r\n\r\n", 200, "hello", NULL},
    {"GET /items/a%2Fb%20c" H "\r\n", 200, "{\"id\":\"a/b c\"", NULL},
    {"GET /%69tems/%C3%A9" H "\r\n", 200, "{\"id\":\"\xc3\xa9\"", NULL},
    {"GET /items/a/parts/b" H "\r\n", 200, "\"part\":\"b\"", NULL},
    {"GET /items/special/parts/b" H "\r\n", 200, "\"id\":\"special\"", NULL},
    {"GET /items/special" H "\r\n", 200, "special", "x-extra: twice"},
    {"GET /items/special" H "\r\n", 200, "special", "content-type: text/plain"},
    /* what is wrong with the path */
    {"GET /nothing" H "\r\n", 404, "\"code\":\"NOT_FOUND\"", NULL},
    {"GET /items/" H "\r\n", 404, "NOT_FOUND", NULL},
    {"GET /hello/" H "\r\n", 404, "NOT_FOUND", NULL},
    {"GET /a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r" H "\r\n", 404, "", NULL},
    {"GET /items/%zz" H "\r\n", 400, "MALFORMED", NULL},
    {"GET /items/%4" H "\r\n", 400, "MALFORMED", NULL},
    {"GET /items/%00" H "\r\n", 400, "UTF-8", NULL},
    {"GET /items/%ff" H "\r\n", 400, "UTF-8", NULL},
    {"GET hello" H "\r\n", 400, "MALFORMED", NULL},
    {"POST /hello" H "Content-Length: 2\r\n\r\nxx", 405, "METHOD_NOT_ALLOWED",
	"allow: GET, HEAD, OPTIONS"},
    {"PUT /items/x" H "\r\n", 405, "METHOD",
	"allow: GET, HEAD, DELETE, OPTIONS"},
    {"BREW /hello" H "\r\n", 405, "METHOD_NOT_ALLOWED", NULL},
    /* the query */
    {"GET /big?n=2" H "\r\n", 200, "[{\"number\":0},{\"number\":1}]", NULL},
    {"GET /big?n=0" H "\r\n", 422, "parameter n must be", NULL},
    {"GET /big?n=x" H "\r\n", 422, "parameter n must be", NULL},
    {"GET /big?n=%f" H "\r\n", 400, "MALFORMED", NULL},
    /* bodies */
    {"POST /echo" H
     "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n"
     "abc",
	201, "abc", NULL},
    {"POST /echo" H "Content-Type: text/plain; charset=utf-8\r\n"
     "Content-Length: 3\r\n\r\nabc",
	201, "abc", NULL},
    {"POST /echo" H "Content-Length: 0\r\n\r\n", 201, NULL, NULL},
    {"POST /echo" H "\r\n", 201, NULL, NULL},
    {"POST /echo" H "Content-Type: image/png\r\nContent-Length: 3\r\n\r\nabc",
	415, "Content-Type must be application/json, text/plain", NULL},
    {"POST /echo" H "Content-Length: 3\r\n\r\nabc", 415, "UNSUPPORTED_MEDIA",
	NULL},
    {"DELETE /items/x" H "Content-Length: 3\r\n\r\nabc", 415, "takes no body",
	NULL},
    {"POST /echo" H
     "Content-Type: text/plain\r\nContent-Length: 100001\r\n\r\n",
	413, "TOO_LARGE", "connection: close"},
    {"POST /echo" H "Content-Type: text/plain\r\n"
     "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n",
	201, "abcdefg", NULL},
    {"POST /echo" H "Content-Type: text/plain\r\nContent-Length: 3\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	400, "more than one", "connection: close"},
    {"POST /echo" H "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400,
	"more than one", "connection: close"},
    {"POST /echo" H "Transfer-Encoding: gzip\r\n\r\n", 400, "chunked", NULL},
    {"GET /hello HTTP/1.1\r\n\r\n", 400, "Host", NULL},
    {"GET /hello" H "Host: u\r\n\r\n", 400, "Host", NULL},
    /* who */
    {"GET /secret" H "\r\n", 401, "UNAUTHORIZED", NULL},
    {"GET /secret" H "Authorization: Bearer read\r\n\r\n", 200, "read", NULL},
    {"GET /secret" H "Authorization: Bearer wait\r\n\r\n", 200, "wait", NULL},
    {"GET /secret" H "Authorization: Bearer admin\r\n\r\n", 200, "admin", NULL},
    {"GET /secret" H "Authorization: Bearer publish\r\n\r\n", 403,
	"this needs another scope", NULL},
    {"GET /secret" H "Authorization: Bearer busy\r\n\r\n", 429, "RATE_LIMITED",
	"retry-after: 7"},
    {"GET /any" H "Authorization: Bearer nothing\r\n\r\n", 200, "nothing",
	NULL},
    {"GET /any" H "\r\n", 401, "UNAUTHORIZED", NULL},
    {"GET /local" H "\r\n", 200, "\"peer\":\"127.0.0.1\"", NULL},
    {"POST /private" H "Authorization: Bearer wait\r\n"
     "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	403, "another scope", NULL},
    {"POST /private" H "Authorization: Bearer publish\r\n"
     "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
	201, "{}", NULL},
    /* where it runs */
    {"GET /wait" H "\r\n", 200, "{\"waited\":3}", NULL},
    {"GET /read" H "\r\n", 200, "{\"read\":true}", NULL},
    {"GET /read?then" H "\r\n", 200, "{\"then\":true}", NULL},
    {"GET /read?full" H "\r\n", 503, "UNAVAILABLE", "retry-after: 1"},
    {"GET /read?fail" H "\r\n", 500, "\"message\":\"internal error\"", NULL},
    {"POST /write" H "Content-Length: 2\r\n\r\nok", 201, "ok", NULL},
    {"GET /stream" H "\r\n", 200, "data: 1\n\ndata: 2\n\ndata: 3\n\n",
	"content-type: text/event-stream"},
    {"GET /stream HTTP/1.0\r\n\r\n", 200, "data: 3", NULL},
    {"HEAD /stream" H "\r\n", 200, NULL, NULL},
    /* each error */
    {"GET /fail/1" H "\r\n", 422, "\"pointer\":\"/field\"", NULL},
    {"GET /fail/2" H "\r\n", 400, "MALFORMED", NULL},
    {"GET /fail/3" H "\r\n", 413, "TOO_LARGE", NULL},
    {"GET /fail/4" H "\r\n", 500, "internal error", NULL},
    {"GET /fail/5" H "\r\n", 500, "INTERNAL", NULL},
    {"GET /fail/6" H "\r\n", 503, "UNAVAILABLE", "retry-after: 9"},
    {"GET /fail/7" H "\r\n", 503, "UNAVAILABLE", "retry-after: 1"},
    {"GET /fail/8" H "\r\n", 503, "UNAVAILABLE", "retry-after: 1"},
    {"GET /fail/9" H "\r\n", 404, "NOT_FOUND", NULL},
    {"GET /fail/10" H "\r\n", 409, "CONFLICT", NULL},
    {"GET /fail/11" H "\r\n", 403, "FORBIDDEN", NULL},
    {"GET /fail/12" H "\r\n", 401, "UNAUTHORIZED",
	"www-authenticate: Basic realm=\"hikyaku\", charset=\"UTF-8\""},
    {"GET /fail/13" H "\r\n", 429, "RATE_LIMITED", "retry-after: 1"},
    {"GET /fail/14" H "\r\n", 500, "INTERNAL", NULL},
};

static void
check_row(const struct row *row, const struct answer *a)
{
	struct str want = str_of(row->header), name;

	if (a->status != row->status)
		fail_msg("%.60s: %d, want %d: %.*s", row->request, a->status,
		    row->status, STR_ARG(a->body));
	if (row->body ? !contains(a->body, row->body) : a->body.n != 0)
		fail_msg("%.60s: body %.*s", row->request, STR_ARG(a->body));
	if (a->status == 500 && contains(a->body, "secret"))
		fail_msg("%.60s: leaks %.*s", row->request, STR_ARG(a->body));
	if (header(a, "x-request-id").n != UUID_LEN)
		fail_msg("%.60s: no X-Request-Id", row->request);
	if (header(a, "server").n > 0)
		fail_msg("%.60s: tells its software", row->request);
	if (want.n == 0)
		return;
	name = str_cut(&want, ':');
	{
		char z[64];
		struct str got;

		(void)snprintf(z, sizeof(z), "%.*s", STR_ARG(name));
		got = header(a, z);
		if (!str_eq(got, str_trim(want)))
			fail_msg(
			    "%.60s: %s: %.*s", row->request, z, STR_ARG(got));
	}
}

static void
test_rows(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct answer a = ask(port, ROWS[i].request);

		check_row(&ROWS[i], &a);
		answer_done(&a);
	}
}

/* All rows that leave the connection open, on one connection. */
static void
test_keep_alive(void **)
{
	int fd = dial(port);
	size_t kept = 0;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		bool head = strncmp(ROWS[i].request, "HEAD", 4) == 0;
		struct answer a;

		assert_true(putz(fd, ROWS[i].request));
		a = get(fd, NULL, head);
		check_row(&ROWS[i], &a);
		if (a.close || strstr(ROWS[i].request, "HTTP/1.0")) {
			(void)close(fd);
			fd = dial(port);
		} else {
			kept++;
		}
		answer_done(&a);
	}
	(void)close(fd);
	/* Only bad frames, a big body and HTTP/1.0 close. */
	assert_int_equal(COUNT_OF(ROWS) - kept, 8);
}

static void
test_pipelining(void **)
{
	struct buf left = BUF(MIB), all = BUF(MIB);
	int fd = dial(port);

	for (int i = 0; i < 50; i++) {
		buf_fmt(&all, "GET /items/%d" H "\r\n", i);
		buf_addz(&all, "GET /wait" H "\r\n");
		buf_addz(&all, "POST /echo" H "Content-Type: text/plain\r\n"
			       "Content-Length: 5\r\n\r\nGET /");
	}
	assert_true(put(fd, buf_str(&all)));
	for (int i = 0; i < 150; i++) {
		struct answer a = get(fd, &left, false);
		char want[32];

		(void)snprintf(want, sizeof(want), "{\"id\":\"%d\"", i / 3);
		assert_int_equal(a.status, i % 3 == 2 ? 201 : 200);
		assert_true(contains(a.body, i % 3 == 0   ? want
					     : i % 3 == 1 ? "waited"
							  : "GET /"));
		answer_done(&a);
	}
	buf_done(&left);
	buf_done(&all);
	(void)close(fd);
}

/* ---- bodies ---- */

static char big[200 * 1000];

static void
post(int fd, size_t n, size_t chunk)
{
	struct buf b = BUF(MIB);

	if (chunk == 0) {
		buf_fmt(&b,
		    "POST /echo" H "Content-Type: text/plain\r\n"
		    "Content-Length: %zu\r\n\r\n",
		    n);
		buf_add(&b, (struct str){big, n});
	} else {
		buf_addz(&b, "POST /echo" H "Content-Type: text/plain\r\n"
			     "Transfer-Encoding: chunked\r\n\r\n");
		for (size_t at = 0; at < n; at += chunk) {
			size_t k = n - at < chunk ? n - at : chunk;

			buf_fmt(&b, "%zx\r\n", k);
			buf_add(&b, (struct str){big + at, k});
			buf_addz(&b, "\r\n");
		}
		buf_addz(&b, "0\r\n\r\n");
	}
	(void)put(fd, buf_str(&b));
	buf_done(&b);
}

static void
test_bodies(void **)
{
	static const size_t SIZES[] = {
	    1, 100, 4096, 16384, 16385, 70000, 99999, 100000, 100001, 150000};
	static const size_t CHUNKS[] = {0, 100, 5000, 70000};

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 31 % 251);
	for (size_t i = 0; i < COUNT_OF(SIZES); i++)
		for (size_t k = 0; k < COUNT_OF(CHUNKS); k++) {
			int fd = dial(port);
			struct answer a;

			post(fd, SIZES[i], CHUNKS[k]);
			a = get(fd, NULL, false);
			assert_int_equal(
			    a.status, SIZES[i] > 100000 ? 413 : 201);
			if (a.status == 201)
				assert_true(str_eq(
				    a.body, (struct str){big, SIZES[i]}));
			answer_done(&a);
			(void)close(fd);
		}
}

/* Refused while it sends: it must be able to read why. */
static void
test_refused_upload(void **)
{
	for (int i = 0; i < 20; i++) {
		int fd = dial(port);
		struct answer a;

		(void)putz(fd, "POST /private" H "Content-Length: 50000000\r\n"
			       "Content-Type: application/json\r\n\r\n");
		for (int k = 0; k < 20; k++)
			(void)put(fd, (struct str){big, sizeof(big)});
		a = get(fd, NULL, false);
		assert_int_equal(a.status, 401);
		assert_true(a.close);
		answer_done(&a);
		(void)close(fd);
	}
}

static void
test_expect(void **)
{
	int fd = dial(port);
	struct answer a;

	(void)putz(fd, "POST /echo" H "Content-Type: text/plain\r\n"
		       "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	a = get(fd, NULL, true);
	assert_int_equal(a.status, 100);
	answer_done(&a);
	(void)putz(fd, "abc");
	a = get(fd, NULL, false);
	assert_int_equal(a.status, 201);
	answer_done(&a);
	(void)putz(fd, "POST /private" H "Expect: 100-continue\r\n"
		       "Content-Length: 3\r\n\r\n");
	a = get(fd, NULL, false);
	assert_int_equal(a.status, 401);
	answer_done(&a);
	(void)close(fd);
}

/* ---- trace ids ---- */

static void
test_trace(void **)
{
	static const struct {
		const char *sent;
		bool taken;
	} T[] = {
	    {"abc.DEF_1-2", true},
	    {"x", true},
	    {"0123456789012345678901234567890123456789012345678901234567890123",
		true},
	    {"01234567890123456789012345678901234567890123456789012345678901234",
		false},
	    {"a b", false},
	    {"a\"b", false},
	    {"", false},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct buf b = BUF(KIB);
		struct answer a;
		struct str got;

		buf_fmt(
		    &b, "GET /nothing" H "X-Request-Id: %s\r\n\r\n", T[i].sent);
		buf_addc(&b, '\0');
		a = ask(port, b.p);
		got = header(&a, "x-request-id");
		assert_true(contains(a.body, "\"traceId\":\""));
		assert_int_equal(str_eq(got, str_of(T[i].sent)), T[i].taken);
		assert_true(T[i].taken || got.n == UUID_LEN);
		answer_done(&a);
		buf_done(&b);
	}
}

/* ---- gzip ---- */

static void
test_gzip(void **)
{
	static const struct {
		const char *accept;
		const char *path;
		bool zipped, vary;
	} T[] = {
	    {"gzip", "/big", true, true},
	    {"deflate, gzip;q=0.5", "/big", true, true},
	    {"*", "/big", true, true},
	    {"gzip;q=0", "/big", false, true},
	    {"gzip; q=0.000, *", "/big", false, true},
	    {"identity", "/big", false, true},
	    {"gzip", "/hello", false, false},
	    {"gzip", "/stream", false, false},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		static char plain[100000];
		struct buf b = BUF(KIB);
		struct answer a;
		z_stream z = {
		    .next_out = (Bytef *)plain, .avail_out = sizeof(plain)};

		buf_fmt(&b, "GET %s" H "Accept-Encoding: %s\r\n\r\n", T[i].path,
		    T[i].accept);
		buf_addc(&b, '\0');
		a = ask(port, b.p);
		assert_int_equal(a.status, 200);
		assert_int_equal(
		    str_eq(header(&a, "content-encoding"), STR("gzip")),
		    T[i].zipped);
		assert_int_equal(header(&a, "vary").n > 0, T[i].vary);
		if (T[i].zipped) {
			z.next_in = (Bytef *)(uintptr_t)a.body.p;
			z.avail_in = (uInt)a.body.n;
			assert_int_equal(inflateInit2(&z, 31), Z_OK);
			assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
			(void)inflateEnd(&z);
			assert_true(contains((struct str){plain, z.total_out},
			    "{\"number\":999}]"));
		}
		answer_done(&a);
		buf_done(&b);
	}
}

/* ---- garbage ---- */

static void
test_garbage(void **)
{
	static const char *const BAD[] = {
	    "\r\n\r\n\r\n",
	    "GET\r\n\r\n",
	    "GET / HTTP/9.9\r\n\r\n",
	    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
	    "GET / HTTP/1.1\r\nno colon\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
	    "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999"
	    "\r\n\r\n",
	    "POST /echo" H "Content-Type: text/plain\r\n"
	    "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	    "POST /echo" H "Content-Type: text/plain\r\n"
	    "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
	};
	char line[20000];

	for (size_t i = 0; i < COUNT_OF(BAD); i++) {
		int fd = dial(port);

		(void)putz(fd, BAD[i]);
		(void)shutdown(fd, SHUT_WR);
		if (!closes(fd, 3000))
			fail_msg("row %zu stays open", i);
		(void)close(fd);
	}
	/* A path over our bound, headers over libmicrohttpd's. */
	for (int i = 0; i < 2; i++) {
		struct answer a;
		int n = i ? 17000 : HTTP_PATH_MAX;

		(void)snprintf(line, sizeof(line),
		    i ? "GET / HTTP/1.1\r\nHost: x\r\nX: %0*d" : "GET /%0*d" H,
		    n, 0);
		(void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
		    "\r\n%s", i ? "\r\n" : "");
		a = ask(port, line);
		assert_int_equal(a.status, i ? 431 : 414);
		answer_done(&a);
	}
}

/* A client that closes its sending side still gets its answer. */
static void
test_half_close(void **)
{
	static const char *const ASK[] = {"GET /hello" H "\r\n",
	    "GET /read?slow" H "\r\n", "GET /wait" H "\r\n"};

	for (size_t i = 0; i < COUNT_OF(ASK); i++) {
		int fd = dial(port);
		struct answer a;

		(void)putz(fd, ASK[i]);
		(void)shutdown(fd, SHUT_WR);
		a = get(fd, NULL, false);
		assert_int_equal(a.status, 200);
		answer_done(&a);
		(void)close(fd);
	}
}

static void
test_counts(void **)
{
	int answered = atomic_load(&seen.answered);
	int done = atomic_load(&seen.done);
	struct answer a = ask(port, "GET /wait" H "\r\n");

	answer_done(&a);
	assert_true(comes_to(&seen.answered, answered + 1));
	assert_true(comes_to(&seen.done, done + 1));
	assert_int_equal(atomic_load(&seen.last_status), 200);
}

/* ---- start ---- */

static void
test_start_errors(void **)
{
	static const struct {
		const char *listen, *unix_path, *cert, *key, *text;
	} T[] = {
	    {"127.0.0.1", NULL, NULL, NULL, "no port"},
	    {"127.0.0.1:x", NULL, NULL, NULL, "port must be"},
	    {"127.0.0.1:70000", NULL, NULL, NULL, "port must be"},
	    {"::1:80", NULL, NULL, NULL, "brackets"},
	    {"256.1.1.1:0", NULL, NULL, NULL, "listen 256.1.1.1:0"},
	    {"127.0.0.1:0", "/nonexistent/s", NULL, NULL, "socket /nonexist"},
	    {"127.0.0.1:0", NULL, "/nonexistent", NULL, "both"},
	    {"127.0.0.1:0", NULL, "/nonexistent", "/x", "/nonexistent: "},
	    {"127.0.0.1:0", NULL, "/etc/passwd", "/etc/passwd",
		"tls.cert /etc/passwd"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct server_opts o = test_opts();
		struct server *s = NULL;
		struct err e = {0};

		o.listen = T[i].listen;
		o.unix_path = T[i].unix_path;
		o.tls_cert = T[i].cert;
		o.tls_key = T[i].key;
		assert_true(server_start(&o, &s, &e) < 0);
		assert_null(s);
		if (!strstr(e.text, T[i].text))
			fail_msg("%s: %s", T[i].listen, e.text);
	}
}

static void
test_port_taken(void **)
{
	struct server_opts o = test_opts();
	struct server *s = NULL;
	struct err e = {0};
	char address[32];

	(void)snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	o.listen = address;
	assert_int_equal(server_start(&o, &s, &e), ERR_IO);
	assert_non_null(strstr(e.text, "in use"));
}

static void
test_listen_all(void **)
{
	static const char *const T[] = {":0", "localhost:0"};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct server_opts o = test_opts();
		struct server *s = NULL;
		struct err e = {0};
		struct answer a;

		o.listen = T[i];
		o.threads = 1;
		assert_int_equal(server_start(&o, &s, &e), OK);
		a = ask(server_port(s), "GET /local" H "\r\n");
		assert_int_equal(a.status, 200);
		assert_true(contains(a.body, "\"peer\":\"127.0.0.1\""));
		answer_done(&a);
		server_stop(s);
	}
}

static void
test_unix(void **)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct server_opts o = test_opts();
	struct server *s = NULL, *second = NULL;
	struct err e = {0};
	struct answer a;
	struct stat st;
	char dir[] = "/tmp/hikyaku-http-XXXXXX";
	int fd;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/s", dir);
	o.listen = NULL;
	o.unix_path = sa.sun_path;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(server_start(&o, &s, &e), OK);
		assert_int_equal(stat(sa.sun_path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_int_equal(server_start(&o, &second, &e), ERR_CONFLICT);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(
		    connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
		(void)putz(fd, "GET /any" H "\r\n");
		a = get(fd, NULL, false);
		assert_int_equal(a.status, 401);
		answer_done(&a);
		(void)putz(fd, "GET /any" H "Authorization: Bearer x\r\n\r\n");
		a = get(fd, NULL, false);
		assert_true(contains(a.body, "\"peer\":\"unix\""));
		answer_done(&a);
		(void)close(fd);
		server_stop(s);
		assert_int_not_equal(stat(sa.sun_path, &st), 0);
		/* A file that was left behind is no hindrance. */
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(
		    bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
		(void)close(fd);
	}
	(void)unlink(sa.sun_path);
	(void)rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_keep_alive),
	    cmocka_unit_test(test_pipelining),
	    cmocka_unit_test(test_bodies),
	    cmocka_unit_test(test_refused_upload),
	    cmocka_unit_test(test_expect),
	    cmocka_unit_test(test_trace),
	    cmocka_unit_test(test_gzip),
	    cmocka_unit_test(test_garbage),
	    cmocka_unit_test(test_half_close),
	    cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_start_errors),
	    cmocka_unit_test(test_port_taken),
	    cmocka_unit_test(test_listen_all),
	    cmocka_unit_test(test_unix),
	};

	log_setup(LOG_WARN, LOG_TEXT, STDERR_FILENO);
	return cmocka_run_group_tests(tests, setup, teardown);
}
