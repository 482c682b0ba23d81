#include "http/server/wire.h"

#include "base/test.h"
#include "http/server/limits.h"

#define GET_  "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST_ "POST /p HTTP/1.1\r\nHost: a\r\n"
#define CHUNK POST_ "Transfer-Encoding: chunked\r\n\r\n"
#define TAIL  "\r\nHost: -\r\n\r\n"
#define S(z)                                                                   \
	{                                                                      \
		z, sizeof(z) - 1                                               \
	}

/* What comes, what libmicrohttpd gets, and how it is refused (0: it is not). */
static const struct row {
	struct str in, out;
	int status;
	unsigned nth;
} ROWS[] = {
    /* what is right passes unchanged */
    {S(GET_ "\r\n"), S(GET_ "\r\n"), 0, 1},
    {S("GET / HTTP/1.0\r\n\r\n"), S("GET / HTTP/1.0\r\n\r\n"), 0, 1},
    {S(GET_ "A:\r\nB: \t x y\xff \r\n\r\n"),
	S(GET_ "A:\r\nB: \t x y\xff \r\n\r\n"), 0, 1},
    {S(POST_ "Content-Length: 3\r\n\r\na\nb" GET_ "\r\n"),
	S(POST_ "Content-Length: 3\r\n\r\na\nb" GET_ "\r\n"), 0, 2},
    {S(POST_ "content-length:0003 \r\n\r\n\n\n\n"),
	S(POST_ "content-length:0003 \r\n\r\n\n\n\n"), 0, 1},
    {S(CHUNK "3\r\na\nb\r\n0\r\n\r\n" GET_ "\r\n"),
	S(CHUNK "3\r\na\nb\r\n0\r\n\r\n" GET_ "\r\n"), 0, 2},
    /* what need not be seen is not */
    {S("\r\n\r\n" GET_ "\r\n"), S(GET_ "\r\n"), 0, 1},
    {S(POST_ "Transfer-Encoding: \tCHUNKED \t\r\n\r\n0\r\n\r\n"),
	S(POST_ "Transfer-Encoding: \tCHUNKED\r\n\r\n0\r\n\r\n"), 0, 1},
    {S(CHUNK "00A;a=\"b\" ;c\r\n0123456789\r\n000 \r\nX: y\r\nZ:\r\n\r\n"),
	S(CHUNK "a\r\n0123456789\r\n0\r\n\r\n"), 0, 1},
    /* the request's line */
    {S("\x16\x03\x01"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("\n" GET_), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("\r\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S(" GET / HTTP/1.1\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("G\0T / HTTP/1.1\r\n"), S("G / HTTP/1.1" TAIL), 400, 1},
    {S("GET\t/ HTTP/1.1\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET\r\n\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET  / HTTP/1.1\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET /a\0b HTTP/1.1\r\n"), S("GET /a HTTP/1.1" TAIL), 400, 1},
    {S("GET /\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET /  HTTP/1.1\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET / HTTP/1.1 \r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET / HTTP/1.1\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET / HTTP/1.1\rX"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET / http/1.1\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET / HTTP/9.9\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("GET / HTTP/1.2\r\n"), S("GET / HTTP/1.1" TAIL), 400, 1},
    {S("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n"),
	S("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF / HTTP/1.1" TAIL), 400, 1},
    /* headers */
    {S(GET_ "A : b\r\n\r\n"), S(GET_ "Ax: -\r\n\r\n"), 400, 1},
    {S(GET_ "Content-Length : 5\r\n\r\n"), S(GET_ "Content-Lengthx: -\r\n\r\n"),
	400, 1},
    {S(GET_ ": b\r\n\r\n"), S(GET_ "\r\n"), 400, 1},
    {S(GET_ " A: b\r\n\r\n"), S(GET_ "\r\n"), 400, 1},
    {S(GET_ "A: b\r\n c\r\n\r\n"), S(GET_ "A: b\r\n\r\n"), 400, 1},
    {S(GET_ "A\r\n\r\n"), S(GET_ "Ax: -\r\n\r\n"), 400, 1},
    {S(GET_ "A\0: b\r\n\r\n"), S(GET_ "Ax: -\r\n\r\n"), 400, 1},
    {S(GET_ "A\x80: b\r\n\r\n"), S(GET_ "Ax: -\r\n\r\n"), 400, 1},
    {S(GET_ "A: b\0c\r\n\r\n"), S(GET_ "A: b\r\n\r\n"), 400, 1},
    {S(GET_ "A: b\x7f\r\n\r\n"), S(GET_ "A: b\r\n\r\n"), 400, 1},
    {S(GET_ "A: b\nC: d\r\n\r\n"), S(GET_ "A: b\r\n\r\n"), 400, 1},
    {S(GET_ "A: b\rC: d\r\n\r\n"), S(GET_ "A: b\r\n\r\n"), 400, 1},
    {S(GET_ "\n"), S(GET_ "\r\n"), 400, 1},
    {S(GET_ "\rX"), S(GET_ "\r\n"), 400, 1},
    {S("GET / HTTP/1.1\r\n\r\n"), S("GET / HTTP/1.1\r\n\r\n"), 400, 1},
    {S(GET_ "host: b\r\n\r\n"), S(GET_ "host: b\r\n\r\n"), 400, 1},
    /* where the body ends */
    {S(POST_ "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
	S(POST_ "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400, 1},
    {S(POST_
	 "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	S(POST_ "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400,
	1},
    {S("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	S("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, 1},
    {S(POST_ "Content-Length:\r\n\r\n"), S(POST_ "Content-Length:0\r\n\r\n"),
	400, 1},
    {S(POST_ "Content-Length: -1\r\n\r\n"),
	S(POST_ "Content-Length: 0\r\n\r\n"), 400, 1},
    {S(POST_ "Content-Length: 1 2\r\n\r\n"),
	S(POST_ "Content-Length: 1 \r\n\r\n"), 400, 1},
    {S(POST_ "Content-Length: 5, 5\r\n\r\n"),
	S(POST_ "Content-Length: 5\r\n\r\n"), 400, 1},
    {S(POST_ "Content-Length: 9999999999999999\r\n\r\n"),
	S(POST_ "Content-Length: 999999999999999\r\n\r\n"), 413, 1},
    {S(POST_ "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	S(POST_ "Transfer-Encoding: chunked\r\n\r\n"), 400, 1},
    {S(POST_ "Transfer-Encoding: chunke\r\n\r\n"),
	S(POST_ "Transfer-Encoding: chunked\r\n\r\n"), 400, 1},
    {S(POST_ "Transfer-Encoding: chunked, x\r\n\r\n"),
	S(POST_ "Transfer-Encoding: chunked\r\n\r\n"), 400, 1},
    {S(POST_ "Transfer-Encoding:\r\n\r\n"),
	S(POST_ "Transfer-Encoding:chunked\r\n\r\n"), 400, 1},
    {S(POST_ "Transfer-Encoding: chunked x\r\n\r\n"),
	S(POST_ "Transfer-Encoding: chunked\r\n\r\n"), 400, 1},
    /* chunks */
    {S(CHUNK "3\nabc\r\n0\r\n\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "3\r\nabc\n0\r\n\r\n"), S(CHUNK "3\r\nabc\r\n0\r\n\r\n"), 400, 1},
    {S(CHUNK "3\r\nabc\rx\r\n\r\n"), S(CHUNK "3\r\nabc\r\n0\r\n\r\n"), 400, 1},
    {S(CHUNK "3\r\nabcd\r\n0\r\n\r\n"), S(CHUNK "3\r\nabc\r\n0\r\n\r\n"), 400,
	1},
    {S(CHUNK "3;a\nabc\r\n0\r\n\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "3;a\rabc\r\n0\r\n\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "zz\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "0x3\r\nabc\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "-3\r\nabc\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "000000003\r\n"), S(CHUNK "0\r\n\r\n"), 413, 1},
    {S(CHUNK "0\r\nX : y\r\n\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "0\r\nX: y\n\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "0\r\nX: y\r\r\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    {S(CHUNK "0\r\n\n"), S(CHUNK "0\r\n\r\n"), 400, 1},
    /* only the request that is wrong is refused */
    {S(GET_ "\r\n" GET_ "A : b\r\n\r\n"), S(GET_ "\r\n" GET_ "Ax: -\r\n\r\n"),
	400, 2},
};

/* As wire_tap.c does it: `most` bytes arrive at a time. */
static size_t
run(struct wire *w, struct str in, char *out, size_t most)
{
	size_t n = 0;

	while (in.n > 0 && w->state != WIRE_STOPPED) {
		size_t now = wire_holds(w) ? 1 : most;

		if (now > in.n)
			now = in.n;
		memcpy(out + n, in.p, now);
		in = str_from(in, now);
		n += wire_take(w, out + n, now);
		while (w->give_n > 0)
			n += wire_give(w, out + n, 1);
	}
	return n;
}

static void
test_rows(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		for (size_t most = 1; most <= ROWS[i].in.n; most++) {
			const struct row *r = &ROWS[i];
			struct wire w = {.state = WIRE_START};
			char out[1024];
			struct str got = {out, run(&w, r->in, out, most)};
			int status = 0;

			(void)wire_bad(&w, r->nth, &status);
			if (!str_eq(got, r->out) || status != r->status ||
			    w.requests != r->nth)
				fail_msg("row %zu by %zu: %d, request %u, %.*s",
				    i, most, status, w.requests, STR_ARG(got));
		}
}

/* Heads that would use up the memory of a connection. */
static const struct {
	const char *begin, *again, *end;
	size_t times;
	int status;
} HEADS[] = {
    {"GET /?", "a&", " HTTP/1.1\r\nHost: a\r\n\r\n", 64, 0},
    {"GET /?", "a&", " HTTP/1.1\r\nHost: a\r\n\r\n", 500, 414},
    {"GET /", "a", " HTTP/1.1\r\nHost: a\r\n\r\n", 4000, 0},
    {"GET /", "a", " HTTP/1.1\r\nHost: a\r\n\r\n", HTTP_HEAD_COST, 414},
    {GET_, "A: b\r\n", "\r\n", 100, 0},
    {GET_, "A: b\r\n", "\r\n", 1000, 431},
    {GET_ "A: ", "b", "\r\n\r\n", 8000, 0},
    {GET_ "A: ", "b", "\r\n\r\n", HTTP_HEAD_COST, 431},
    {GET_, "b", ": \r\n\r\n", HTTP_HEAD_COST, 431},
    {GET_ "Cookie: ", "a=b; ", "\r\n\r\n", 50, 0},
    {GET_ "Cookie: ", "a=b; ", "\r\n\r\n", 500, 431},
    {CHUNK "3;", "a", "\r\nabc\r\n0\r\n\r\n", 1000, 0},
    {CHUNK "3;", "a", "\r\nabc\r\n0\r\n\r\n", HTTP_HEAD_COST + 1, 431},
    {CHUNK "0\r\n", "A: b\r\n", "\r\n", 1000, 431},
};

static void
test_cost(void **)
{
	static char in[256 * 1024], out[256 * 1024];

	for (size_t i = 0; i < COUNT_OF(HEADS); i++) {
		struct wire w = {.state = WIRE_START};
		size_t n = strlen(HEADS[i].begin);
		int status = 0;

		memcpy(in, HEADS[i].begin, n);
		for (size_t k = 0; k < HEADS[i].times; k++) {
			memcpy(in + n, HEADS[i].again, strlen(HEADS[i].again));
			n += strlen(HEADS[i].again);
		}
		memcpy(in + n, HEADS[i].end, strlen(HEADS[i].end));
		n += strlen(HEADS[i].end);
		(void)run(&w, (struct str){in, n}, out, 4096);
		(void)wire_bad(&w, 1, &status);
		if (status != HEADS[i].status)
			fail_msg("head %zu: %d", i, status);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
