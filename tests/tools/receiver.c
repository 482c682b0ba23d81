/*
 * receiver - an HTTP receiver that is quicker than what it is used to test.
 *
 *   receiver [--record FILE]
 *
 * Listens on a free port of 127.0.0.1, says "port N", and answers POSTs by
 * what their path says, its parts read from the left:
 *
 *   /fail/20     one in five gets 500, at random
 *   /slow/50     the answer comes after so many milliseconds
 *   /hang/1/3000 one in a hundred gets its answer after 3 s
 *   /status/503  all get this
 *   /bad/KEY     whatever has this partitionKey gets 500
 *
 * POST /ctl/PATH?STATUS overrides all of that for a path from then on (0: no
 * longer). GET /count says how many POSTs came and how many were answered 2xx.
 * With --record each POST is a line: ms, path, webhook-id, eventId,
 * partitionKey, status; written before it is answered, so that what the sender
 * knows is in the file, and readable while it runs. One thread, epoll.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM  (64 * 1024)
#define PATHS 64

struct conn {
	int fd;
	size_t n;
	int64_t due_ms; /* its answer waits until then; 0: none does */
	int status;
	struct conn *next;
	char buf[ROOM + 1];
};

static struct {
	char path[256];
	int status;
} overrides[PATHS];
static size_t n_overrides;
static FILE *record;
static long posts, fine;
static struct conn *waiting;
static uint64_t rng = 88172645463325252U;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static unsigned
roll(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng % n);
}

/* The text behind `name`, blanks and a quote, up to `end`, or "-". */
static void
find(const char *in, const char *name, char end, char *ret, size_t room)
{
	const char *p = strcasestr(in, name);
	size_t n = 0;

	if (p) {
		p += strlen(name);
		p += strspn(p, " \"");
		for (; *p && *p != end && n + 1 < room; p++)
			ret[n++] = *p == ' ' ? '_' : *p;
	}
	if (n == 0)
		ret[n++] = '-';
	ret[n] = '\0';
}

static int
judge(const char *path, const char *key, int *delay_ms)
{
	int status = 200, a, b;

	for (size_t i = 0; i < n_overrides; i++)
		if (overrides[i].status && strcmp(overrides[i].path, path) == 0)
			return overrides[i].status;
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		if (sscanf(p, "/fail/%d", &a) == 1 && (int)roll(100) < a)
			status = 500;
		else if (sscanf(p, "/slow/%d", &a) == 1)
			*delay_ms = a;
		else if (sscanf(p, "/hang/%d/%d", &a, &b) == 2 &&
			 (int)roll(100) < a)
			*delay_ms = b;
		else if (sscanf(p, "/status/%d", &a) == 1)
			status = a;
		else if (strncmp(p, "/bad/", 5) == 0) {
			size_t n = strcspn(p + 5, "/");

			if (strlen(key) == n && memcmp(key, p + 5, n) == 0)
				status = 500;
		}
	}
	return status;
}

static void
control(const char *path)
{
	const char *q = strchr(path, '?');
	size_t n = q ? (size_t)(q - path) : 0, i = 0;

	if (!q || n >= sizeof(overrides[0].path))
		return;
	while (i < n_overrides && (strlen(overrides[i].path) != n ||
				      memcmp(overrides[i].path, path, n) != 0))
		i++;
	if (i == PATHS)
		return;
	if (i == n_overrides)
		n_overrides++;
	memcpy(overrides[i].path, path, n);
	overrides[i].path[n] = '\0';
	overrides[i].status = (int)strtol(q + 1, NULL, 10);
}

static void
answer(struct conn *c, int status, const char *body)
{
	char out[512];
	int n = snprintf(out, sizeof(out),
	    "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\n\r\n%s", status,
	    status < 300 ? "OK" : "No", strlen(body), body);

	if (write(c->fd, out, (size_t)n) != n)
		c->status = -1;
}

static void
take_post(struct conn *c, const char *path, const char *head, const char *body)
{
	char id[80], event[80], key[200];
	int delay = 0;

	find(head, "\nwebhook-id: ", '\r', id, sizeof(id));
	find(body, "\"eventId\":", '"', event, sizeof(event));
	find(body, "\"partitionKey\":", '"', key, sizeof(key));
	c->status = judge(path, key, &delay);
	posts++;
	fine += c->status < 300;
	if (record) {
		fprintf(record, "%lld %s %s %s %s %d\n", (long long)now_ms(),
		    path, id, event, key, c->status);
		if (posts % 64 == 0)
			fflush(record);
	}
	if (delay == 0) {
		answer(c, c->status, "");
		return;
	}
	c->due_ms = now_ms() + delay;
	c->next = waiting;
	waiting = c;
}

/* One whole request at the start of the buffer; its length, or 0. */
static size_t
take(struct conn *c)
{
	char *end, *body, method[8] = "", path[1024] = "", count[64];
	const char *length;
	size_t n, body_n = 0;
	char kept;

	c->buf[c->n] = '\0';
	end = strstr(c->buf, "\r\n\r\n");
	if (!end)
		return 0;
	body = end + 4;
	length = strcasestr(c->buf, "\nContent-Length:");
	if (length && length < end)
		body_n = strtoul(length + 16, NULL, 10);
	n = (size_t)(body - c->buf) + body_n;
	if (n > ROOM)
		c->status = -1;
	if (n > c->n)
		return 0;
	kept = c->buf[n];
	c->buf[n] = '\0';
	(void)sscanf(c->buf, "%7s %1023s", method, path);
	if (strcmp(method, "GET") == 0) {
		if (record)
			fflush(record);
		(void)snprintf(count, sizeof(count), "%ld %ld", posts, fine);
		answer(c, 200, count);
	} else if (strncmp(path, "/ctl/", 5) == 0) {
		control(path + 4);
		answer(c, 200, "");
	} else {
		*end = '\0';
		take_post(c, path, c->buf, body);
	}
	c->buf[n] = kept;
	return n;
}

static void
drop(struct conn *c)
{
	struct conn **at = &waiting;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	close(c->fd);
	free(c);
}

static void
run_requests(struct conn *c)
{
	size_t n;

	while (c->due_ms == 0 && c->status >= 0 && (n = take(c)) > 0) {
		memmove(c->buf, c->buf + n, c->n - n);
		c->n -= n;
	}
	if (c->status < 0)
		drop(c);
}

static void
readable(struct conn *c)
{
	ssize_t n = read(c->fd, c->buf + c->n, ROOM - c->n);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->n += (size_t)n;
	run_requests(c);
}

/* Answers whose time has come; ms until the next. */
static int
due(void)
{
	int64_t now = now_ms(), next = now + 1000;
	struct conn *c = waiting, *later;

	waiting = NULL;
	for (; c; c = later) {
		later = c->next;
		if (c->due_ms > now) {
			next = c->due_ms < next ? c->due_ms : next;
			c->next = waiting;
			waiting = c;
			continue;
		}
		c->due_ms = 0;
		answer(c, c->status, "");
		run_requests(c);
	}
	return (int)(next - now);
}

static int
listener(void)
{
	struct sockaddr_in sa = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, n) < 0 ||
	    listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
		die("listen");
	printf("port %d\n", ntohs(sa.sin_port));
	fflush(stdout);
	return fd;
}

static void
welcome(int ep, int fd)
{
	int got, on = 1;

	while ((got = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		struct conn *c = calloc(1, sizeof(*c));
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};

		if (!c)
			die("memory");
		c->fd = got;
		(void)setsockopt(
		    got, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (epoll_ctl(ep, EPOLL_CTL_ADD, got, &ev) < 0)
			die("epoll");
	}
}

int
main(int argc, char **argv)
{
	struct epoll_event evs[64], ev = {.events = EPOLLIN};
	int ep = epoll_create1(0), fd = listener();

	if (argc == 3 && strcmp(argv[1], "--record") == 0)
		record = fopen(argv[2], "a");
	if (argc != 1 && !record)
		die("usage: receiver [--record FILE]");
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
		die("epoll");
	for (;;) {
		int n = epoll_wait(ep, evs, 64, due());

		for (int i = 0; i < n; i++)
			if (evs[i].data.ptr)
				readable(evs[i].data.ptr);
			else
				welcome(ep, fd);
	}
}
