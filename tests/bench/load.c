/*
 * load - a load generator for POST /v1/events, small enough to be believed.
 *
 *   load --port P [--connections N] [--seconds S | --count REQUESTS]
 *        [--batch N] [--bytes N] [--path P] [--type T] [--auth HEADER]
 *        [--empty | --get] [--pid PID] [--postmaster PID]
 *
 * One thread, one epoll, N keep-alive connections, one request under way on
 * each. A request is a template made once per connection; before each sending
 * the event ids in it get fresh random bytes, so that every event is new and
 * nothing else is computed. An answer counts as good when its status is 2xx
 * and every event of it was taken with 202. --empty posts nothing, --get asks.
 *
 * Prints one line of JSON: requests, events, seconds, rate, latency, errors,
 * CPU time of the server (and of PostgreSQL with all its children) per event,
 * and the server's peak of resident memory.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define UUID_LEN    36
#define IN_MAX      ((size_t)1 << 18) /* an answer to a batch of 1000 fits */
#define STALL_MS    10000             /* no answer for so long: give up */
#define FINE        32                /* steps within a power of two */
#define HISTOGRAM_N (40 * FINE)

struct opts {
	int port, connections, batch;
	double seconds;
	long count;
	size_t bytes;
	bool empty, get;
	const char *path, *auth, *type;
	int pid, postmaster;
};

struct conn {
	int fd;
	char *out;
	size_t out_n, out_at;
	size_t *ids; /* where the event ids are in out */
	char *in;
	size_t in_n;
	int64_t begin_ns;
};

struct totals {
	long requests, events, errors;
	int64_t last_ns; /* when the last answer came */
	long hist[HISTOGRAM_N];
};

static uint64_t rnd[2];

__attribute__((format(printf, 1, 2), noreturn)) static void
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fputs("load: ", stderr);
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static void *
need(void *p)
{
	if (!p)
		die("no memory");
	return p;
}

static int64_t
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* xoroshiro128+: ids must be new, not secret. */
static uint64_t
random64(void)
{
	uint64_t a = rnd[0], b = rnd[1], sum = a + b;

	b ^= a;
	rnd[0] = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
	rnd[1] = (b << 37) | (b >> 27);
	return sum;
}

static void
put_uuid(char *at)
{
	static const char HEX[] = "0123456789abcdef";
	uint64_t bits[2] = {random64(), random64()};

	for (int i = 0, n = 0; i < UUID_LEN; i++) {
		if (i == 8 || i == 13 || i == 18 || i == 23)
			continue; /* the dashes are there already */
		at[i] = HEX[(bits[n / 16] >> (n % 16 * 4)) & 15];
		n++;
	}
	at[14] = '4';
	at[19] = "89ab"[bits[1] >> 62];
}

/* ---- the requests ---- */

static const char EVENT[] =
    "{\"eventId\":\"00000000-0000-4000-8000-000000000000\",\"schemaVersion\":1,"
    "\"eventType\":\"%s\",\"occurredAt\":\"2026-01-10T12:34:56.789Z\","
    "\"tenantId\":\"5f0c1c3e-5a0e-4c62-9c2a-0d6b8a4f7e11\","
    "\"producer\":{\"service\":\"bench\",\"instanceId\":\"load-1\"},"
    "\"correlationId\":\"7d3e2b1a-1111-4222-8333-944455566677\","
    "\"sequence\":{\"partitionKey\":\"Opportunity:5f0c1c3e-5a0e-4c62-9c2a-0d6b8a4f7e11:9b2d7c4e-2222-4333-8444-%012d\","
    "\"recordVersion\":\"2026-01-10T12:34:56.789Z\"},"
    "\"payload\":{\"objectName\":\"Opportunity\","
    "\"recordId\":\"9b2d7c4e-2222-4333-8444-%012d\","
    "\"ownerId\":\"1c9e8d7f-3333-4444-8555-b66677788899\","
    "\"changedFields\":[\"StageName\",\"Probability\"],"
    "\"fieldChanges\":{\"StageName\":{\"old\":\"Qualification\",\"new\":\"Negotiation\"},"
    "\"Probability\":{\"old\":10,\"new\":50}},"
    "\"recordVersion\":\"2026-01-10T12:34:56.789Z\"%s%.*s%s}}";

static void
make_request(struct conn *c, const struct opts *o, int nth)
{
	size_t room = sizeof(EVENT) + 64 + strlen(o->type) + o->bytes;
	size_t body_n = 0;
	char *body = need(malloc((size_t)o->batch * room + 16));
	char *fill = need(malloc(o->bytes + 1));
	int head_n;

	memset(fill, 'x', o->bytes + 1);
	c->ids = need(calloc((size_t)o->batch, sizeof(*c->ids)));
	if (o->batch > 1)
		body[body_n++] = '[';
	for (int i = 0; i < o->batch && !o->empty; i++) {
		size_t least = sizeof(EVENT) + 16;
		size_t pad = o->bytes > least ? o->bytes - least : 0;

		if (i > 0)
			body[body_n++] = ',';
		c->ids[i] = body_n + sizeof("{\"eventId\":\"") - 1;
		body_n += (size_t)snprintf(body + body_n, room, EVENT, o->type,
		    nth * 7919 + i, nth * 7919 + i, pad ? ",\"note\":\"" : "",
		    (int)pad, fill, pad ? "\"" : "");
	}
	if (o->batch > 1)
		body[body_n++] = ']';
	c->out = need(malloc(body_n + strlen(o->path) + strlen(o->auth) + 256));
	head_n = sprintf(c->out,
	    "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\n",
	    o->get ? "GET" : "POST", o->path, o->auth);
	if (o->get)
		head_n += sprintf(c->out + head_n, "\r\n");
	else
		head_n += sprintf(c->out + head_n,
		    "Content-Type: application/json\r\n"
		    "Content-Length: %zu\r\n\r\n",
		    body_n);
	memcpy(c->out + head_n, body, body_n);
	c->out_n = (size_t)head_n + body_n;
	for (int i = 0; i < o->batch; i++)
		c->ids[i] += (size_t)head_n;
	free(body);
	free(fill);
}

static void
flush(struct conn *c)
{
	while (c->out_at < c->out_n) {
		ssize_t n = send(c->fd, c->out + c->out_at,
		    c->out_n - c->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return; /* epoll tells when there is room */
		if (n <= 0)
			die("the server closed a connection: %s",
			    strerror(errno));
		c->out_at += (size_t)n;
	}
}

static void
begin(struct conn *c, const struct opts *o)
{
	for (int i = 0; i < o->batch && !o->empty; i++)
		put_uuid(c->out + c->ids[i]);
	c->in_n = c->out_at = 0;
	c->begin_ns = now_ns();
	flush(c);
}

static void
open_conn(struct conn *c, const struct opts *o, int nth, int epoll_fd)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)o->port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct epoll_event ev = {
	    .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		die("connect to port %d: %s", o->port, strerror(errno));
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->in = need(malloc(IN_MAX + 1));
	make_request(c, o, nth);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		die("epoll: %s", strerror(errno));
}

static void
close_conn(struct conn *c)
{
	(void)close(c->fd);
	free(c->ids);
	free(c->out);
	free(c->in);
}

/* ---- the answers ---- */

/* A whole answer's length, or 0 while it isn't there. */
static size_t
answer_len(struct conn *c)
{
	const char *end, *len;

	c->in[c->in_n] = '\0';
	end = strstr(c->in, "\r\n\r\n");
	if (!end)
		return 0;
	len = strcasestr(c->in, "\r\nContent-Length:");
	end += 4;
	if (len && len < end)
		end +=
		    strtoul(len + sizeof("\r\nContent-Length:") - 1, NULL, 10);
	return (size_t)(end - c->in) <= c->in_n ? (size_t)(end - c->in) : 0;
}

static long
taken(const struct conn *c, const struct opts *o)
{
	long n = 0;

	if (o->batch == 1)
		return strncmp(c->in, "HTTP/1.1 202", 12) == 0;
	for (const char *p = c->in; (p = strstr(p, "\"status\":202")); p++)
		n++;
	return n;
}

static int
bucket(int64_t us)
{
	uint64_t v = us > 0 ? (uint64_t)us : 1;
	int bits = 63 - __builtin_clzll(v);
	uint64_t fine = bits >= 5 ? (v >> (bits - 5)) & (FINE - 1)
				  : (v << (5 - bits)) & (FINE - 1);
	int at = bits * FINE + (int)fine;

	return at < HISTOGRAM_N ? at : HISTOGRAM_N - 1;
}

static double
percentile(const struct totals *t, double part)
{
	long want = (long)((double)t->requests * part), sum = 0;

	for (int i = 0; i < HISTOGRAM_N; i++) {
		sum += t->hist[i];
		if (sum > want)
			return (double)(1ull << (i / FINE)) *
			       (1 + (i % FINE + 0.5) / FINE);
	}
	return 0;
}

/* True when a whole answer was taken in. */
static bool
take(struct conn *c, const struct opts *o, struct totals *t)
{
	for (;;) {
		ssize_t n = recv(
		    c->fd, c->in + c->in_n, IN_MAX - c->in_n, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0)
			die("the server closed a connection after %ld answers",
			    t->requests);
		c->in_n += (size_t)n;
		if (answer_len(c) > 0)
			break;
		if (c->in_n == IN_MAX)
			die("an answer over %zu bytes", IN_MAX);
	}
	t->last_ns = now_ns();
	t->requests++;
	t->hist[bucket((t->last_ns - c->begin_ns) / 1000)]++;
	if (strncmp(c->in, "HTTP/1.1 2", 10) != 0) {
		if (t->errors++ == 0)
			(void)fprintf(stderr, "load: %.400s\n", c->in);
	} else if (!o->empty) {
		long n = taken(c, o);

		t->events += n;
		t->errors += o->batch - n;
	}
	return true;
}

/* ---- what the server used ---- */

/* Clock ticks of a process; with `waited` also of its dead children. */
static long
ticks_of(int pid, bool waited, int *ret_parent)
{
	char path[64], text[1024];
	unsigned long v[4] = {0};
	int parent = 0;
	size_t n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		(void)fclose(f);
	}
	text[n] = '\0';
	if (!strrchr(text, ')') ||
	    sscanf(strrchr(text, ')'),
		") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
		&parent, &v[0], &v[1], &v[2], &v[3]) != 5)
		return 0;
	if (ret_parent)
		*ret_parent = parent;
	return (long)(v[0] + v[1] + (waited ? v[2] + v[3] : 0));
}

static long
ticks_of_children(int pid)
{
	DIR *d = opendir("/proc");
	struct dirent *de;
	long sum = ticks_of(pid, true, NULL);

	while (d && (de = readdir(d))) {
		int child = atoi(de->d_name), parent = 0;
		long ticks = child > 0 ? ticks_of(child, false, &parent) : 0;

		if (child > 0 && parent == pid)
			sum += ticks;
	}
	if (d)
		(void)closedir(d);
	return sum;
}

static double
cpu_seconds(const struct opts *o)
{
	long ticks = o->pid ? ticks_of(o->pid, false, NULL) : 0;

	if (o->postmaster)
		ticks += ticks_of_children(o->postmaster);
	return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static long
peak_kib(int pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		(void)fclose(f);
	return kib;
}

/* ---- main ---- */

static void
run(const struct opts *o, struct conn *conns, int epoll_fd, struct totals *t)
{
	int64_t until =
	    o->count ? INT64_MAX : now_ns() + (int64_t)(o->seconds * 1e9);
	long begun = 0, under_way = 0;

	for (int i = 0; i < o->connections; i++, begun++, under_way++)
		begin(&conns[i], o);
	while (under_way > 0) {
		struct epoll_event ev[64];
		int n = epoll_wait(epoll_fd, ev, 64, STALL_MS);

		if (n == 0)
			die("no answer within %d ms", STALL_MS);
		for (int i = 0; i < n; i++) {
			struct conn *c = ev[i].data.ptr;

			if (c->out_at < c->out_n)
				flush(c);
			if (c->begin_ns == 0 || !take(c, o, t))
				continue;
			if ((o->count && begun >= o->count) ||
			    t->last_ns >= until) {
				c->begin_ns = 0;
				under_way--;
				continue;
			}
			begin(c, o);
			begun++;
		}
	}
}

static void
usage(void)
{
	die("usage: load --port P [--connections N] [--seconds S | --count N] "
	    "[--batch N] [--bytes N] [--path P] [--auth HEADER] "
	    "[--empty | --get] [--pid PID] [--postmaster PID]");
}

static void
read_opts(struct opts *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *k = argv[i], *v;

		if (strcmp(k, "--empty") == 0 || strcmp(k, "--get") == 0) {
			o->empty = true;
			o->get = k[2] == 'g';
			continue;
		}
		if (++i == argc)
			usage();
		v = argv[i];
		if (strcmp(k, "--port") == 0)
			o->port = atoi(v);
		else if (strcmp(k, "--connections") == 0)
			o->connections = atoi(v);
		else if (strcmp(k, "--seconds") == 0)
			o->seconds = atof(v);
		else if (strcmp(k, "--count") == 0)
			o->count = atol(v);
		else if (strcmp(k, "--batch") == 0)
			o->batch = atoi(v);
		else if (strcmp(k, "--bytes") == 0)
			o->bytes = (size_t)atol(v);
		else if (strcmp(k, "--path") == 0)
			o->path = v;
		else if (strcmp(k, "--type") == 0)
			o->type = v;
		else if (strcmp(k, "--auth") == 0)
			o->auth = v;
		else if (strcmp(k, "--pid") == 0)
			o->pid = atoi(v);
		else if (strcmp(k, "--postmaster") == 0)
			o->postmaster = atoi(v);
		else
			usage();
	}
	if (o->port <= 0 || o->connections < 1 || o->batch < 1 ||
	    o->batch > 1000 || o->bytes > 65536 || o->count < 0 ||
	    o->seconds <= 0)
		usage();
	if (o->empty)
		o->batch = 1;
	if (o->count && o->count < o->connections)
		o->connections = (int)o->count;
}

int
main(int argc, char **argv)
{
	struct opts o = {.connections = 64,
	    .batch = 1,
	    .seconds = 3,
	    .path = "/v1/events",
	    .type = "RecordUpdated",
	    .auth = "none"};
	static struct totals t;
	struct conn *conns;
	int64_t from_ns;
	double cpu, wall;
	long per;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	read_opts(&o, argc, argv);
	if (epoll_fd < 0 || getrandom(rnd, sizeof(rnd), 0) != sizeof(rnd))
		die("%s", strerror(errno));
	(void)signal(SIGPIPE, SIG_IGN);
	conns = need(calloc((size_t)o.connections, sizeof(*conns)));
	for (int i = 0; i < o.connections; i++)
		open_conn(&conns[i], &o, i, epoll_fd);

	cpu = cpu_seconds(&o);
	from_ns = now_ns();
	run(&o, conns, epoll_fd, &t);
	wall = (double)(t.last_ns - from_ns) / 1e9;
	cpu = cpu_seconds(&o) - cpu;
	per = o.empty ? t.requests : t.events;
	(void)printf(
	    "{\"requests\":%ld,\"events\":%ld,\"seconds\":%.3f,\"rate\":%.0f,"
	    "\"p50_us\":%.0f,\"p99_us\":%.0f,\"errors\":%ld,"
	    "\"cpu_us\":%.2f,\"rss_kib\":%ld}\n",
	    t.requests, t.events, wall, (double)per / wall, percentile(&t, 0.5),
	    percentile(&t, 0.99), t.errors, per ? cpu * 1e6 / (double)per : 0,
	    o.pid ? peak_kib(o.pid) : 0);
	for (int i = 0; i < o.connections; i++)
		close_conn(&conns[i]);
	free(conns);
	(void)close(epoll_fd);
	return t.errors ? 1 : 0;
}
