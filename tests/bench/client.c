/*
 * client - what one request costs the outgoing client.
 *
 *   make build/release/bench/client
 *   build/release/bench/client [requests] [in flight] [host] [hanging]
 *
 * Posts 1 KB bodies to a libmicrohttpd in a child process, on loopback, over
 * kept connections, and says the time and this side's CPU time per request.
 * The host may be `localhost`, which must be resolved, or a URL of a receiver
 * that runs already (then once, and the figures come as JSON). `hanging`
 * receivers beside these take a request and never answer.
 *
 * With some hundreds in flight libmicrohttpd 0.9.75 now and then sleeps with
 * all its connections readable: stay below 128.
 */
#include "http/client/client.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/conf/conf.h"

static struct MHD_Response *empty;
static long left, running, failures;
static struct client *client;

static enum MHD_Result
serve(void *cls, struct MHD_Connection *c, const char *url, const char *method,
    const char *version, const char *bytes, size_t *n, void **state)
{
	(void)cls, (void)url, (void)method, (void)version, (void)bytes;
	if (!*state || *n > 0) {
		*state = empty;
		*n = 0;
		return MHD_YES;
	}
	return MHD_queue_response(c, 200, empty);
}

static void
server(int port_fd)
{
	struct MHD_Daemon *d;
	const union MHD_DaemonInfo *info;
	static struct sockaddr_in sa;

	sa = (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	empty =
	    MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL,
	    serve, NULL, MHD_OPTION_SOCK_ADDR, &sa, MHD_OPTION_END);
	info = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info || write(port_fd, &info->port, sizeof(info->port)) !=
			 (ssize_t)sizeof(info->port))
		_exit(1);
	for (;;)
		(void)pause();
}

static void
done(struct client_send *s, const struct client_answer *a)
{
	if (a->result != CLIENT_ANSWERED || a->status != 200) {
		if (failures++ == 0)
			(void)fprintf(stderr, "%d %d %s\n", (int)a->result,
			    a->status, a->error);
	}
	if (left > 0) {
		left--;
		client_start(client, s);
	} else {
		running--;
	}
}

static void
hung(struct client_send *, const struct client_answer *)
{
}

/* Requests to a socket that nobody accepts from. */
static struct client_send *
hang(long n)
{
	struct client_send *s = calloc((size_t)n + 1, sizeof(*s));
	struct sockaddr_in sa = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char url[64];

	if (!s || fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 ||
	    listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		exit(1);
	(void)snprintf(
	    url, sizeof(url), "http://127.0.0.1:%d/", ntohs(sa.sin_port));
	for (long i = 0; i < n; i++) {
		s[i] = (struct client_send){.method = POST,
		    .url = str_of(url),
		    .connect_ms = 60000,
		    .total_ms = 600000,
		    .done = hung};
		client_start(client, &s[i]);
	}
	for (int i = 0; i < 20; i++)
		(void)client_wait(client, 10);
	return s;
}

static double
cpu_us(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static bool as_json;

static void
tell(long requests, long in_flight, double us, double cpu)
{
	if (as_json)
		(void)printf("{\"rate\":%.0f,\"cpu_us\":%.2f,\"errors\":%ld}\n",
		    1e6 / us, cpu, failures);
	else
		(void)printf(
		    "%ld requests, %ld in flight: %.1f us each, %.1f us of CPU, %ld failed\n",
		    requests, in_flight, us, cpu, failures);
}

static void
load(long requests, long in_flight, const char *url)
{
	static const char BODY[1024];
	static const struct client_header HEADERS[] = {
	    {STR("Content-Type"), STR("application/json")},
	    {STR("webhook-id"), STR("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W")},
	    {STR("webhook-timestamp"), STR("1674087231")},
	    {STR("webhook-signature"),
		STR("v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=")},
	};
	struct client_send *s = calloc((size_t)in_flight, sizeof(*s));
	int64_t began = clock_mono_us();
	double cpu = cpu_us();

	if (!s)
		return;
	left = requests;
	running = in_flight;
	for (long i = 0; i < in_flight; i++) {
		s[i] = (struct client_send){.method = POST,
		    .url = str_of(url),
		    .headers = HEADERS,
		    .n_headers = COUNT_OF(HEADERS),
		    .body = {BODY, sizeof(BODY)},
		    .connect_ms = 5000,
		    .total_ms = 30000,
		    .keep_max = 1024,
		    .user_agent = "hikyaku",
		    .done = done};
		left--;
		client_start(client, &s[i]);
	}
	while (running > 0)
		(void)client_wait(client, -1);
	tell(requests, in_flight,
	    (double)(clock_mono_us() - began) / (double)requests,
	    (cpu_us() - cpu) / (double)requests);
	free(s);
}

int
main(int argc, char **argv)
{
	long requests = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
	long in_flight = argc > 2 ? strtol(argv[2], NULL, 10) : 64;
	long hanging = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
	struct client_send *hangs;
	struct guard *guard = NULL;
	struct client_opts o = {.dns_timeout_ms = 5000,
	    .connections_max = 4096,
	    .connections_each = 1024,
	    .body_max = MIB};
	struct conf conf;
	struct err e;
	uint16_t port = 0;
	char url[128];
	int fds[2];
	pid_t child = 0;

	as_json = argc > 3 && strncmp(argv[3], "http://", 7) == 0;
	if (!as_json && (pipe(fds) < 0 || (child = fork()) < 0))
		return 1;
	if (!as_json && child == 0)
		server(fds[1]);
	if (!as_json &&
	    read(fds[0], &port, sizeof(port)) != (ssize_t)sizeof(port))
		return 1;
	if (conf_init(&conf, &e) < 0 ||
	    conf_set(&conf, STR("webhook.url.allow.private"),
		STR("127.0.0.0/8,::1/128"), CONF_FLAG, &e) < 0 ||
	    guard_new(&conf, &guard, &e) < 0)
		return 1;
	o.guard = guard;
	if (client_new(&o, &client, &e) < 0)
		return 1;
	if (as_json)
		(void)snprintf(url, sizeof(url), "%s", argv[3]);
	else
		(void)snprintf(url, sizeof(url), "http://%s:%u/hook?x=1",
		    argc > 3 ? argv[3] : "127.0.0.1", port);
	hangs = hang(hanging);
	for (int i = 0; i < (as_json ? 1 : 3); i++)
		load(requests, in_flight, url);
	client_free(client);
	free(hangs);
	guard_free(guard);
	conf_done(&conf);
	if (child > 0) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	return failures > 0;
}
