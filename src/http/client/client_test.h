/*
 * client_test.h - a server that misbehaves on demand, and a client to try.
 *
 * The server takes connections on loopback, a thread for each, and hands them
 * to a script: a function that reads requests and writes whatever it likes,
 * over TLS when the server has a certificate. Names are answered by a name
 * server of our own, so that nothing leaves the machine. For *_test.c of this
 * room.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/conf/conf.h"
#include "base/test.h"
#include "http/client/client.h"
#include "http/client/limits.h"
#include "http/limits.h"

#define MAYBE __attribute__((unused)) static

/* ---- the server ---- */

struct peer {
	int fd;
	SSL *ssl; /* NULL: plain */
	struct script_server *server;
	struct buf in; /* read and not taken yet */
	/* the request, as read_request() left it */
	char head[8192];
	char path[256];
	struct buf body;
};

struct script_server {
	int port;
	void (*script)(struct peer *p);
	SSL_CTX *tls;
	int fd;
	pthread_t thread;
	atomic_int connections, requests, live;
	atomic_bool stop;
	char seen[4096]; /* the script's own */
};

MAYBE bool
peer_put(struct peer *p, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t w = p->ssl ? SSL_write(p->ssl, at, (int)n)
				   : send(p->fd, at, n, MSG_NOSIGNAL);

		if (w <= 0)
			return false;
		at += w;
		n -= (size_t)w;
	}
	return true;
}

MAYBE bool
peer_putz(struct peer *p, const char *z)
{
	return peer_put(p, z, strlen(z));
}

MAYBE bool
peer_more(struct peer *p)
{
	char *room = buf_room(&p->in, 16384);
	ssize_t n;

	if (!room)
		return false;
	n = p->ssl ? SSL_read(p->ssl, room, 16384)
		   : recv(p->fd, room, 16384, 0);
	if (n <= 0)
		return false;
	p->in.n += (size_t)n;
	return true;
}

/* False when the other side is gone. */
MAYBE bool
read_request(struct peer *p)
{
	const char *end = NULL, *length;
	size_t n_head, n_body = 0;

	while (
	    !(end = p->in.n ? memmem(p->in.p, p->in.n, "\r\n\r\n", 4) : NULL))
		if (!peer_more(p))
			return false;
	n_head = (size_t)(end - p->in.p) + 4;
	if (n_head >= sizeof(p->head))
		return false;
	memcpy(p->head, p->in.p, n_head);
	p->head[n_head] = '\0';
	length = strcasestr(p->head, "\r\ncontent-length:");
	if (length)
		n_body = strtoul(length + 17, NULL, 10);
	while (p->in.n < n_head + n_body)
		if (!peer_more(p))
			return false;
	buf_clear(&p->body);
	buf_add(&p->body, (struct str){p->in.p + n_head, n_body});
	p->in.n -= n_head + n_body;
	memmove(p->in.p, p->in.p + n_head + n_body, p->in.n);
	if (sscanf(p->head, "%*s %255s", p->path) != 1)
		p->path[0] = '\0';
	(void)atomic_fetch_add(&p->server->requests, 1);
	return true;
}

MAYBE bool
answer(struct peer *p, const char *status, const char *headers, struct str body)
{
	char head[1024];
	int n = snprintf(head, sizeof(head),
	    "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status, headers,
	    body.n);

	return peer_put(p, head, (size_t)n) && peer_put(p, body.p, body.n);
}

MAYBE void *
peer_run(void *arg)
{
	struct peer *p = arg;

	if (p->server->tls) {
		p->ssl = SSL_new(p->server->tls);
		(void)SSL_set_fd(p->ssl, p->fd);
	}
	if (!p->ssl || SSL_accept(p->ssl) == 1)
		p->server->script(p);
	if (p->ssl) {
		(void)SSL_shutdown(p->ssl);
		SSL_free(p->ssl);
	}
	(void)close(p->fd);
	buf_done(&p->in);
	buf_done(&p->body);
	(void)atomic_fetch_sub(&p->server->live, 1);
	free(p);
	return NULL;
}

MAYBE void *
server_run(void *arg)
{
	struct script_server *s = arg;

	while (!atomic_load(&s->stop)) {
		struct pollfd pf = {.fd = s->fd, .events = POLLIN};
		struct timeval tv = {.tv_sec = 10};
		pthread_t t;
		struct peer *p;
		int fd;

		if (poll(&pf, 1, 20) != 1)
			continue;
		fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
		(void)setsockopt(
		    fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		p = calloc(1, sizeof(*p));
		assert_non_null(p);
		p->fd = fd;
		p->server = s;
		p->in = BUF(4 * MIB);
		p->body = BUF(4 * MIB);
		(void)atomic_fetch_add(&s->connections, 1);
		(void)atomic_fetch_add(&s->live, 1);
		assert_int_equal(pthread_create(&t, NULL, peer_run, p), 0);
		(void)pthread_detach(t);
	}
	return NULL;
}

MAYBE void
script_start(struct script_server *s)
{
	struct sockaddr_in sa = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(sa);

	atomic_store(&s->stop, false);
	atomic_store(&s->requests, 0);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&sa, n), 0);
	assert_int_equal(listen(s->fd, 128), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&sa, &n), 0);
	s->port = ntohs(sa.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

/* The clients must be gone: their connections end the threads. */
MAYBE void
script_stop(struct script_server *s)
{
	atomic_store(&s->stop, true);
	(void)pthread_join(s->thread, NULL);
	(void)close(s->fd);
	for (int i = 0; i < 1500 && atomic_load(&s->live) > 0; i++)
		(void)poll(NULL, 0, 10);
	assert_int_equal(atomic_load(&s->live), 0);
}

/* ---- DNS ---- */

/*
 * A name server that says the same for every name: addresses with commas
 * between them, "" for no such name, NULL for silence.
 */
static struct test_dns {
	_Atomic(const char *) answer;
	atomic_int asked; /* for IPv4 addresses; for IPv6 is asked as often */
	atomic_bool stop;
	char at[32];
	int fd;
	pthread_t thread;
} dns;

/* Appends the records of one type; returns how many. */
MAYBE uint8_t
dns_records(struct buf *b, uint8_t type)
{
	struct str rest = str_of(atomic_load(&dns.answer));
	uint8_t n = 0;

	while (rest.n > 0) {
		struct str one = str_cut(&rest, ',');
		unsigned char a[16];
		char z[64];

		(void)snprintf(z, sizeof(z), "%.*s", STR_ARG(one));
		if (inet_pton(type == 1 ? AF_INET : AF_INET6, z, a) != 1)
			continue;
		buf_add(b, (struct str){"\xc0\x0c\0", 3});
		buf_addc(b, (char)type);
		buf_add(b, (struct str){"\0\1\0\0\0\0\0", 7});
		buf_addc(b, type == 1 ? 4 : 16);
		buf_add(b, (struct str){(char *)a, type == 1 ? 4 : 16});
		n++;
	}
	return n;
}

MAYBE void
dns_answer(struct str q, struct buf *b)
{
	size_t at = 12;

	while (at < q.n && q.p[at])
		at += 1 + (unsigned char)q.p[at];
	assert_true(at + 5 <= q.n);
	buf_clear(b);
	buf_add(b, (struct str){q.p, at + 5});
	memcpy(b->p + 2, "\x81\x80\0\1\0\0\0\0\0\0", 10);
	b->p[7] = (char)dns_records(b, (uint8_t)q.p[at + 2]);
	if (!atomic_load(&dns.answer)[0])
		b->p[3] |= 3; /* no such name */
	if (q.p[at + 2] == 1)
		(void)atomic_fetch_add(&dns.asked, 1);
}

MAYBE void *
dns_run(void *)
{
	struct buf b = BUF(4096);

	while (!atomic_load(&dns.stop)) {
		struct pollfd pf = {.fd = dns.fd, .events = POLLIN};
		struct sockaddr_in from;
		socklen_t n_from = sizeof(from);
		char q[512];
		ssize_t n;

		if (poll(&pf, 1, 20) != 1)
			continue;
		n = recvfrom(
		    dns.fd, q, sizeof(q), 0, (struct sockaddr *)&from, &n_from);
		if (n < 17 || !atomic_load(&dns.answer))
			continue;
		dns_answer((struct str){q, (size_t)n}, &b);
		(void)sendto(
		    dns.fd, b.p, b.n, 0, (struct sockaddr *)&from, n_from);
	}
	buf_done(&b);
	return NULL;
}

MAYBE void
dns_start(void)
{
	struct sockaddr_in sa = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(sa);

	atomic_store(&dns.stop, false);
	dns.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(dns.fd, (struct sockaddr *)&sa, n), 0);
	assert_int_equal(getsockname(dns.fd, (struct sockaddr *)&sa, &n), 0);
	(void)snprintf(
	    dns.at, sizeof(dns.at), "127.0.0.1:%d", ntohs(sa.sin_port));
	assert_int_equal(pthread_create(&dns.thread, NULL, dns_run, NULL), 0);
}

MAYBE void
dns_stop(void)
{
	atomic_store(&dns.stop, true);
	(void)pthread_join(dns.thread, NULL);
	(void)close(dns.fd);
}

/* ---- the client ---- */

MAYBE struct guard *
test_guard(const char *private_ok, bool http_ok)
{
	struct guard *g = NULL;
	struct conf c;
	struct err e;

	if (conf_init(&c, &e) < 0 ||
	    conf_set(&c, STR("webhook.url.allow.private"), str_of(private_ok),
		CONF_FLAG, &e) < 0 ||
	    conf_set(&c, STR("fetch.url.allow.private"), str_of(private_ok),
		CONF_FLAG, &e) < 0 ||
	    conf_set(&c, STR("webhook.url.allow.http"),
		http_ok ? STR("true") : STR("false"), CONF_FLAG, &e) < 0 ||
	    guard_new(&c, &g, &e) < 0)
		fail_msg("guard: %s", e.text);
	conf_done(&c);
	return g;
}

MAYBE struct client *
test_client(const struct guard *g)
{
	struct client_opts o = {.guard = g,
	    .dns_timeout_ms = 1000,
	    .connections_max = 100,
	    .connections_each = 50,
	    .body_max = MIB,
	    .dns_servers = dns.at};
	struct client *c = NULL;
	struct err e;

	if (client_new(&o, &c, &e) < 0)
		fail_msg("client: %s", e.text);
	return c;
}

/* A send with what came of it, copied. */
struct trial {
	struct client_send send;
	char url[URL_MAX + 64];
	int done;
	struct client_answer got;
	char head[CLIENT_HEAD_KEEP + 1], body[8192], error[256];
};

MAYBE void
trial_done(struct client_send *s, const struct client_answer *a)
{
	struct trial *t = (struct trial *)(void *)s;

	t->done++;
	t->got = *a;
	(void)snprintf(t->head, sizeof(t->head), "%.*s", STR_ARG(a->head));
	(void)snprintf(t->body, sizeof(t->body), "%.*s", STR_ARG(a->body));
	(void)snprintf(t->error, sizeof(t->error), "%s", a->error);
}

MAYBE void
trial_init(struct trial *t, enum method method, const char *url)
{
	*t = (struct trial){.send = {.method = method,
				.use = GUARD_WEBHOOK,
				.connect_ms = 2000,
				.total_ms = 5000,
				.keep_max = 4096,
				.done = trial_done}};
	(void)snprintf(t->url, sizeof(t->url), "%s", url);
	t->send.url = str_of(t->url);
}

/* Starts it and waits for its end. */
MAYBE void
trial_run(struct client *c, struct trial *t)
{
	int before = t->done;
	int64_t until = clock_mono_ms() + 20000;

	client_start(c, &t->send);
	assert_int_equal(t->done, before);
	while (t->done == before && clock_mono_ms() < until)
		(void)client_wait(c, 100);
	assert_int_equal(t->done, before + 1);
}

#define assert_has(text, part)                                                 \
	do {                                                                   \
		if (!strstr(text, part))                                       \
			fail_msg("\"%s\" is not in \"%s\"", part, text);       \
	} while (0)
