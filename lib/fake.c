#include "fake.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)4 << 20)

/* False when the test is over or the connection is. */
static bool
wait_for(const struct fake *f, int fd)
{
	struct pollfd p[] = {
	    {.fd = fd, .events = POLLIN}, {.fd = f->stop[0], .events = POLLIN}};

	return poll(p, 2, -1) > 0 && p[1].revents == 0;
}

static struct str
header(struct str head, const char *name)
{
	while (head.n > 0) {
		struct str line = str_trim(str_cut(&head, '\n')), rest = line;

		if (str_eq_nocase(str_cut(&rest, ':'), str_of(name)))
			return str_trim(rest);
	}
	return STR_EMPTY;
}

/* One request into the list; false at the end of the connection. */
static bool
take(struct fake *f, int fd, char *room)
{
	struct fake_asked *q =
	    &f->asked[f->n < FAKE_ASKED_MAX - 1 ? f->n : FAKE_ASKED_MAX - 1];
	size_t n = 0, head = 0;
	int64_t length = 0;
	struct str s;
	char *end;

	while (head == 0 || n < head + (size_t)length) {
		ssize_t got;

		if (!wait_for(f, fd) || n == REQUEST_MAX)
			return false;
		got = read(fd, room + n, REQUEST_MAX - n);
		if (got <= 0)
			return false;
		n += (size_t)got;
		room[n] = '\0';
		if (head == 0 && (end = strstr(room, "\r\n\r\n"))) {
			head = (size_t)(end - room) + 4;
			s = (struct str){room, head};
			if (!str_int(header(s, "content-length"), &length))
				length = 0;
		}
	}
	s = (struct str){room, head};
	free(q->body);
	q->at_ms = clock_mono_ms();
	q->body = strndup(room + head, (size_t)length);
	(void)snprintf(q->key, sizeof(q->key), "%.*s",
	    STR_ARG(header(s, "authorization")));
	s = str_cut(&s, '\n');
	for (size_t i = s.n; i > 0; i--)
		if (s.p[i - 1] == ' ') {
			s.n = i - 1;
			break;
		}
	(void)snprintf(q->line, sizeof(q->line), "%.*s", STR_ARG(s));
	if (f->n < FAKE_ASKED_MAX - 1)
		f->n++;
	return true;
}

/* "503 after=1 {…}" as HTTP; false closes. */
static bool
give(int fd, const char *answer)
{
	struct str rest = str_of(answer);
	struct str status = str_cut(&rest, ' '), after = STR_EMPTY;
	char head[256];
	int n;

	if (status.n == 0)
		return false;
	if (str_starts(rest, STR("after=")))
		after = str_from(str_cut(&rest, ' '), 6);
	n = snprintf(head, sizeof(head),
	    "HTTP/1.1 %.*s X\r\nContent-Length: %zu\r\n%s%.*s%s\r\n",
	    STR_ARG(status), rest.n, after.n ? "Retry-After: " : "",
	    STR_ARG(after), after.n ? "\r\n" : "");
	return write(fd, head, (size_t)n) == n &&
	       (rest.n == 0 || write(fd, rest.p, rest.n) == (ssize_t)rest.n);
}

static void *
serve(void *arg)
{
	struct fake *f = arg;
	char *room = malloc(REQUEST_MAX + 1);
	size_t turn = 0;

	assert(room);
	while (wait_for(f, f->fd)) {
		int fd = accept(f->fd, NULL, NULL);

		while (fd >= 0 && take(f, fd, room)) {
			size_t i =
			    turn < f->n_answers ? turn : f->n_answers - 1;

			turn++;
			if (!give(fd, f->answers[i]))
				break;
		}
		if (fd >= 0)
			(void)close(fd);
	}
	free(room);
	return NULL;
}

void
fake_start(struct fake *f, const char *const *answers, size_t n)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	pthread_t thread;
	int rc;

	memset(f, 0, sizeof(*f));
	f->answers = answers;
	f->n_answers = n;
	f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rc = bind(f->fd, (struct sockaddr *)&at, sizeof(at));
	assert(rc == 0);
	rc = listen(f->fd, 16);
	assert(rc == 0);
	rc = getsockname(f->fd, (struct sockaddr *)&at, &len);
	assert(rc == 0);
	rc = pipe(f->stop);
	assert(rc == 0);
	f->port = ntohs(at.sin_port);
	(void)snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u", f->port);
	rc = pthread_create(&thread, NULL, serve, f);
	assert(rc == 0);
	f->thread = (unsigned long)thread;
}

void
fake_stop(struct fake *f)
{
	ssize_t n = write(f->stop[1], "x", 1);

	assert(n == 1);
	(void)pthread_join((pthread_t)f->thread, NULL);
	(void)close(f->fd);
	(void)close(f->stop[0]);
	(void)close(f->stop[1]);
}

void
fake_done(struct fake *f)
{
	for (size_t i = 0; i < FAKE_ASKED_MAX; i++)
		free(f->asked[i].body);
}

struct hk_client *
fake_client(
    const struct fake *f, unsigned tries, int (*stop)(void *ctx), void *ctx)
{
	struct hk_client_opts o = {.tries = tries,
	    .backoff_ms = 2,
	    .backoff_max_ms = 8,
	    .stop = stop,
	    .ctx = ctx};
	struct hk_client *c = NULL;
	int rc = hk_client_new(f->url, "hk_key", &o, &c, NULL);

	assert(rc == HK_OK);
	return c;
}
