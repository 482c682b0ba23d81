#include "cli/setup.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "seal/digest.h"

#define PENDING_DISK_PART 5 /* event.retention.pending.bytes */

struct retain_keep
setup_keep(const struct conf *c)
{
	/* An id is known for as long as its event is kept: so the longer of
	 * the two keeps both. */
	int64_t ms = c->event_retention_ms > c->event_dedupe_ms
			 ? c->event_retention_ms
			 : c->event_dedupe_ms;

	int64_t pending = c->event_pending_ms ? c->event_pending_ms : 2 * ms;
	struct retain_keep keep = {.us = ms * US_PER_MS,
	    .pending_us = (pending > ms ? pending : ms) * US_PER_MS,
	    .pending_bytes = c->event_pending_bytes};
	struct statvfs fs;

	if (keep.pending_bytes == 0 && statvfs(c->data, &fs) == 0)
		keep.pending_bytes = (int64_t)fs.f_blocks *
				     (int64_t)fs.f_frsize / PENDING_DISK_PART;
	if (keep.pending_bytes <= 0)
		keep.pending_bytes = INT64_MAX;
	return keep;
}

enum log_level
setup_log(const struct conf *c)
{
	static const char *const LEVELS[] = {[LOG_DEBUG] = "debug",
	    [LOG_INFO] = "info",
	    [LOG_WARN] = "warn",
	    [LOG_ERROR] = "error"};
	enum log_level least = LOG_DEBUG;

	while (least < LOG_ERROR && strcmp(LEVELS[least], c->log_level) != 0)
		least++;
	return least;
}

/* server.roles: no word but ours, and none at all means every one. */
int
setup_roles(const struct conf *c, struct err *e)
{
	struct str rest = str_of(c->server_roles);

	while (rest.n > 0) {
		struct str word = str_cut(&rest, ',');

		if (!str_listed(STR("api,deliver,fetch,relay"), ',', word))
			return err_set(e, ERR_INVALID,
			    "server.roles must be of api, deliver, fetch and relay, not \"%.*s\"",
			    word.n < 40 ? (int)word.n : 40, word.p);
	}
	return OK;
}

bool
setup_role(const struct conf *c, const char *role)
{
	return !c->server_roles[0] ||
	       str_listed(str_of(c->server_roles), ',', str_of(role));
}

/*
 * One takes 100,000 requests a second. The other cores have work too: two of
 * them on two cores were a fifth slower than one.
 */
int
setup_threads(const struct conf *c)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (c->http_threads > 0)
		return (int)c->http_threads;
	return cores < 4 ? 1 : (int)(cores / 2 < 64 ? cores / 2 : 64);
}

int
setup_listen(const struct conf *c, struct listening *ret, struct err *e)
{
	char port[32];

	(void)snprintf(
	    port, sizeof(port), "127.0.0.1:%lld", (long long)c->server_port);
	return listen_tcp(c->server_listen[0] ? c->server_listen : port,
	    ret->fds, &ret->n, &ret->port, e);
}

void
setup_close(struct listening *l)
{
	for (; l->n > 0; l->n--)
		(void)close(l->fds[l->n - 1]);
}

void
setup_url(const struct conf *c, int port, char ret[SETUP_URL_MAX])
{
	const char *colon = strrchr(c->server_listen, ':');
	struct str host = {
	    c->server_listen, colon ? (size_t)(colon - c->server_listen) : 0};

	if (host.n == 0)
		host = STR("127.0.0.1");
	(void)snprintf(ret, SETUP_URL_MAX, "%s://%.*s:%d",
	    c->tls_cert[0] ? "https" : "http", STR_ARG(host), port);
}

void
setup_tell(FILE *out, char *password)
{
	if (!password[0])
		return;
	(void)fprintf(out,
	    "\n  First run: log in as admin with the password  %s\n"
	    "  It is not shown again.\n\n",
	    password);
	(void)fflush(out);
	digest_wipe(password, strlen(password));
}
