/*
 * client - what one request costs the outgoing client.
 *
 *   make build/release/bench/client && build/release/bench/client [requests] [in flight] [name]
 *
 * Posts 1 KB bodies to a libmicrohttpd in a child process, on loopback, over
 * kept connections, and says the time and this side's CPU time per request.
 * With a third argument the host is a name that must be resolved, not an
 * address.
 */
#include "http/client.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/conf.h"
#include "base/limits.h"
#include "base/str.h"

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
			(void)fprintf(stderr, "%s %d %s\n",
			    client_result_name(a->result), a->status, a->error);
	}
	if (left > 0) {
		left--;
		client_start(client, s);
	} else {
		running--;
	}
}

static double
cpu_us(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
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
	(void)printf(
	    "%ld requests, %ld in flight: %.1f us each, %.1f us of CPU, %ld failed\n",
	    requests, in_flight,
	    (double)(clock_mono_us() - began) / (double)requests,
	    (cpu_us() - cpu) / (double)requests, failures);
	free(s);
}

int
main(int argc, char **argv)
{
	long requests = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
	long in_flight = argc > 2 ? strtol(argv[2], NULL, 10) : 64;
	struct guard *guard = NULL;
	struct client_opts o = {.dns_timeout_ms = 5000,
	    .connections_max = 1024,
	    .connections_each = 1024,
	    .body_max = MIB};
	struct conf conf;
	struct err e;
	uint16_t port = 0;
	char url[128];
	int fds[2];
	pid_t child;

	if (pipe(fds) < 0 || (child = fork()) < 0)
		return 1;
	if (child == 0)
		server(fds[1]);
	if (read(fds[0], &port, sizeof(port)) != (ssize_t)sizeof(port))
		return 1;
	if (conf_init(&conf, &e) < 0 ||
	    conf_set(&conf, STR("webhook.url.allow.private"),
		STR("127.0.0.0/8,::1/128"), CONF_FLAG, &e) < 0 ||
	    guard_new(&conf, &guard, &e) < 0)
		return 1;
	o.guard = guard;
	if (client_new(&o, &client, &e) < 0)
		return 1;
	(void)snprintf(url, sizeof(url), "http://%s:%u/hook?x=1",
	    argc > 3 ? argv[3] : "127.0.0.1", port);
	for (int i = 0; i < 3; i++)
		load(requests, in_flight, url);
	client_free(client);
	guard_free(guard);
	conf_done(&conf);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	return failures > 0;
}
