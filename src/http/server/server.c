#include "http/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/log/log.h"
#include "http/limits.h"
#include "http/server/conn.h"
#include "http/server/limits.h"
#include "http/server/router.h"
#include "seal/digest.h"

#define STACK_BYTES ((size_t)256 << 10)
#define LOOK_US     5000 /* how often a drain looks whether it is done */
#define OPTIONS_MAX 20

/* TLS 1.2 is the oldest that is not broken. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* What it says is caused by clients: interesting to who hunts a bug only. */
static void PRINTF(2, 0) listen_to(void *cls, const char *fmt, va_list ap)
{
	struct server *s = cls;
	char text[256];
	struct str said;

	if (atomic_load(&s->started) && !log_on(LOG_DEBUG))
		return;
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	said = str_trim(str_of(text));
	if (!atomic_load(&s->started))
		(void)snprintf(s->start_text, sizeof(s->start_text), "%.*s",
		    STR_ARG(said));
	log_fmt(LOG_DEBUG, "libmicrohttpd", "%.*s", STR_ARG(said));
}

/* Paths and queries come as they were sent; router.c decodes them. */
static size_t
leave_escaped(void *, struct MHD_Connection *, char *s)
{
	return strlen(s);
}

/* The whole file, NUL-terminated; the caller frees. */
static int
read_file(const char *path, char **ret, struct err *e)
{
	struct buf b = BUF(TLS_FILE_MAX);
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = OK;

	if (fd < 0 || !buf_read(&b, fd))
		rc = b.failed
			 ? err_set(e, ERR_INVALID, "%s: no PEM file", path)
			 : err_set(e, ERR_IO, "%s: %s", path, strerror(errno));
	else
		*ret = mem_z(buf_str(&b));
	if (fd >= 0)
		(void)close(fd);
	digest_wipe_buf(&b);
	return rc;
}

struct setup {
	const char *what;
	int threads;
	char *cert, *key; /* NULL: plain */
};

static int
start_daemon(struct server *s, const struct setup *set, struct MHD_Daemon **ret,
    struct err *e)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC |
			 MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
			 MHD_USE_NO_LISTEN_SOCKET |
			 (set->cert ? (unsigned)MHD_USE_TLS : 0);
	intptr_t most = s->o.connections_max + HTTP_LOCAL_EXTRA + set->threads;
	struct MHD_OptionItem o[OPTIONS_MAX] = {
	    {MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONN_MEMORY, NULL},
	    {MHD_OPTION_CONNECTION_MEMORY_INCREMENT, 4 * KIB, NULL},
	    {MHD_OPTION_CONNECTION_LIMIT, most, NULL},
	    {MHD_OPTION_CONNECTION_TIMEOUT, s->o.idle_timeout_s, NULL},
	    {MHD_OPTION_THREAD_STACK_SIZE, STACK_BYTES, NULL},
	    {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)conn_notice, s},
	    {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)conn_complete, s},
	    {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)conn_begin, s},
	    {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_escaped, NULL},
	};
	size_t n = 9;

	/* A pool of one is a daemon's own thread. */
	if (set->threads > 1)
		o[n++] = (struct MHD_OptionItem){
		    MHD_OPTION_THREAD_POOL_SIZE, set->threads, NULL};
	if (set->cert) {
		static char priorities[] = TLS_PRIORITIES;

		o[n++] = (struct MHD_OptionItem){
		    MHD_OPTION_HTTPS_PRIORITIES, 0, priorities};
		o[n++] = (struct MHD_OptionItem){
		    MHD_OPTION_HTTPS_MEM_CERT, 0, set->cert};
		o[n++] = (struct MHD_OptionItem){
		    MHD_OPTION_HTTPS_MEM_KEY, 0, set->key};
	}
	o[n] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
	assert(n < OPTIONS_MAX);
	*ret = MHD_start_daemon(flags, 0, NULL, NULL, conn_request, s,
	    MHD_OPTION_EXTERNAL_LOGGER, listen_to, s, MHD_OPTION_ARRAY, o,
	    MHD_OPTION_END);
	if (!*ret && set->cert)
		return err_set(e, ERR_INVALID,
		    "tls.cert %s and tls.key %s can't be used: %s",
		    s->o.tls_cert, s->o.tls_key, s->start_text);
	if (!*ret)
		return err_set(e, ERR_IO, "%s server: %s", set->what,
		    s->start_text[0] ? s->start_text : "did not start");
	return OK;
}

/* With TLS the unix socket has a daemon of its own: it stays plain. */
static int
start_daemons(struct server *s, struct err *e)
{
	struct setup plain = {.what = "http", .threads = s->o.threads};
	struct setup tls = {.what = "https", .threads = s->o.threads};
	int rc = OK;

	if (s->o.tls_cert) {
		plain.threads = 1;
		rc = read_file(s->o.tls_cert, &tls.cert, e);
		if (rc == OK)
			rc = read_file(s->o.tls_key, &tls.key, e);
		if (rc == OK)
			rc = start_daemon(s, &tls, &s->tls, e);
	}
	if (rc == OK && (!s->o.tls_cert || s->o.unix_path))
		rc = start_daemon(s, &plain, &s->plain, e);
	if (tls.key)
		digest_wipe(tls.key, strlen(tls.key));
	free(tls.key);
	free(tls.cert);
	return rc;
}

static int
server_check(const struct server_opts *o, struct err *e)
{
	assert(o->threads >= 1 && o->connections_max >= 1);
	assert(o->idle_timeout_s >= 1 && o->request_timeout_s >= 1);
	assert(o->hooks.who && o->hooks.work);
	if (!o->tls_cert != !o->tls_key)
		return err_set(e, ERR_INVALID,
		    "tls.cert and tls.key must both be set, or neither");
	if (o->body_max > BODY_TOTAL_MAX)
		return err_set(e, ERR_INVALID,
		    "a body may have at most %zu bytes", BODY_TOTAL_MAX);
	return OK;
}

int
server_start(const struct server_opts *o, struct server **ret, struct err *e)
{
	struct server *s;
	sigset_t all, before;
	int rc;

	TRY(server_check(o, e));
	s = mem_get(sizeof(*s));
	s->o = *o;
	share_init(&s->bodies);
	rc = router_new(o->routes, o->n_routes, &s->router, e);
	/* Signals are the main thread's; libmicrohttpd's inherit our mask. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (rc == OK)
		rc = start_daemons(s, e);
	atomic_store(&s->started, true);
	if (rc == OK)
		rc = door_start(s, &s->door, e);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc < 0) {
		server_stop(s);
		return rc;
	}
	*ret = s;
	return OK;
}

int
server_port(const struct server *s)
{
	return door_port(s->door);
}

bool
server_drain(struct server *s, int timeout_ms)
{
	int64_t until_ms = clock_mono_ms() + timeout_ms;

	atomic_store(&s->draining, true);
	door_close(s->door);
	while (!door_closed(s->door) || door_count(s->door) > 0) {
		if (clock_mono_ms() >= until_ms)
			return false;
		clock_sleep_us(LOOK_US);
	}
	return true;
}

void
server_stop(struct server *s)
{
	if (!s)
		return;
	atomic_store(&s->stopping, true);
	if (s->door) {
		atomic_store(&s->draining, true);
		door_close(s->door);
		/* libmicrohttpd must not stop while a connection sleeps. */
		while (!door_closed(s->door) || atomic_load(&s->busy) > 0 ||
		       atomic_load(&s->waking) > 0)
			clock_sleep_us(LOOK_US);
	}
	if (s->tls)
		MHD_stop_daemon(s->tls);
	if (s->plain)
		MHD_stop_daemon(s->plain);
	door_free(s->door);
	router_free(s->router);
	free(s);
}
