#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "account/accounts.h"
#include "account/auth.h"
#include "account/failures.h"
#include "account/limiter.h"
#include "account/limits.h"
#include "account/oidc.h"
#include "account/rates.h"
#include "api/api.h"
#include "api/hand.h"
#include "api/limits.h"
#include "api/v1/sources.h"
#include "api/v1/sub.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/log_folder.h"
#include "base/version.h"
#include "cli/files.h"
#include "cli/verbs.h"
#include "deliver/engine/deliver.h"
#include "deliver/engine/delivery_id.h"
#include "doc/caged.h"
#include "event/append.h"
#include "event/mask.h"
#include "event/tail.h"
#include "event/type/types.h"
#include "http/client/caller.h"
#include "http/client/guard.h"
#include "http/client/limits.h"
#include "http/nets.h"
#include "http/server/server.h"
#include "loop/pool.h"
#include "node/errand.h"
#include "node/node.h"
#include "ops/alerts.h"
#include "ops/jobs.h"
#include "ops/reseal.h"
#include "ops/sealing.h"
#include "ops/tidy.h"
#include "reader/fetch/fetcher.h"
#include "seal/keyring.h"
#include "source/limits.h"
#include "source/relay.h"
#include "store/lock.h"
#include "store/store.h"
#include "task/history.h"

/*
 * `hikyaku serve`: builds the parts in the order in which they need each
 * other, waits for a signal, and takes them down the other way round, so that
 * whatever was accepted is answered.
 */

#define MINUTE_US         (60 * US_PER_S)
#define PENDING_DISK_PART 5     /* event.retention.pending.bytes */
#define RETRY_JOB_MS      60000 /* the setting's default */

struct serve {
	struct cli *cli;
	const struct conf *conf;
	int lock_fd;
	struct node node;
	struct guard *guard;
	struct nets trusted;     /* http.trusted.proxies */
	struct log_folder *logs; /* NULL: to the standard error */
	struct jobs *jobs;
	struct tidy *tidy;
	struct failures *failures;
	struct rates rates; /* the jobs thread's */
	struct relay *relay;
	struct caller *caller; /* one-off calls: logins */
	bool stale;            /* a rotation did not come to its end */
	struct api api;        /* has the rest */
	struct server *server;
};

static struct retain_keep
keep_of(const struct conf *c)
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

static void
on_commit(void *arg, int64_t last_seq)
{
	struct serve *s = arg;

	tail_committed(s->api.tail, last_seq);
}

/* What the jobs thread does for access, and for types of events. */
static void
look_access(void *arg, struct db *db, bool last)
{
	struct serve *s = arg;

	failures_look(s->failures, last);
	if (!last)
		types_look(s->api.types, db, s->api.append);
	if (store_shared(s->api.store))
		rates_look(&s->rates, db, clock_mono_us());
}

static enum log_level
log_least(const struct conf *c)
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

static int
open_store(struct serve *s, struct err *e)
{
	struct store_opts o = cli_store(s->cli);
	const char *fault = args_text(&s->cli->args, "fault");
	int steps = 0;

	TRY(store_lock(s->conf->data, &s->lock_fd, e));
	if (caged_fault(fault))
		s->api.fault = fault;
	else
		o.fault = fault;
	TRY(node_open(s->conf->data, &s->node, e));
	TRY(store_open(&o, &s->api.store, e));
	TRY(store_migrate(s->api.store, &steps, e));
	if (steps > 0)
		log_fmt(LOG_INFO, "store migrated", "%d steps", steps);
	return OK;
}

/*
 * To the terminal of whoever starts it; else to a file, since what a service
 * says goes to a journal that others read.
 */
static int
tell_password(const struct serve *s, const char *made, struct err *e)
{
	struct log_line l;
	struct str path;

	if (isatty(fileno(s->cli->out))) {
		(void)fprintf(s->cli->out,
		    "\n  First run: log in as admin with the password  %s\n"
		    "  It is not shown again.\n\n",
		    made);
		(void)fflush(s->cli->out);
		return OK;
	}
	TRY(accounts_first_keep(s->conf->data, made, s->cli->arena, &path, e));
	log_begin(
	    &l, LOG_INFO, "first run: the password of admin is in a file");
	log_str(&l, "file", path);
	log_end(&l);
	return OK;
}

/* The keys, and the account for the first login, whose password is told once. */
static int
first_run(struct serve *s, struct err *e)
{
	char made[PASSWORD_MADE_LEN + 1] = "";
	struct db *db CLEANUP(db_closep) = NULL;
	bool first = false;

	TRY(db_open(s->api.store, DB_WRITE, &db, e));
	TRY(sealing_open(db, s->conf, &s->api.keyring, e));
	TRY(sealing_stale(db, s->api.keyring, s->cli->arena, &s->stale, e));
	TRY(delivery_id_key(db, &s->api.id_key, e));
	TRY(session_key_open(
	    db, s->api.keyring, s->conf->session_secret, &s->api.session, e));
	TRY(accounts_first(db, str_of(s->conf->admin_password), clock_now_us(),
	    made, &first, e));
	return first && made[0] ? tell_password(s, made, e) : OK;
}

/* server.roles: no word but ours, and none at all means every one. */
static int
check_roles(const struct conf *c, struct err *e)
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

static bool
has_role(const struct conf *c, const char *role)
{
	return !c->server_roles[0] ||
	       str_listed(str_of(c->server_roles), ',', str_of(role));
}

static int
start_relay(struct serve *s, struct err *e)
{
	struct relay_opts o = {
	    .conf = s->conf,
	    .append = s->api.append,
	    .mask = s->api.mask,
	    .types = s->api.types,
	    .strict = s->api.strict,
	    .exact = s->api.exact,
	};

	if (!s->conf->outbox_url[0] || !has_role(s->conf, "relay"))
		return OK;
	return relay_start(&o, &s->relay, e);
}

static int
start_deliveries(struct serve *s, struct err *e)
{
	struct deliver_opts o = {
	    .conf = s->conf,
	    .store = s->api.store,
	    .append = s->api.append,
	    .tail = s->api.tail,
	    .guard = s->guard,
	    .keyring = s->api.keyring,
	    .node = &s->node,
	    .id_key = s->api.id_key,
	    .settled = history_settled,
	};

	return deliver_start(&o, &s->api.deliver, e);
}

/* Of a store that one node has for itself there is nobody to ask. */
static int
start_errands(struct serve *s, struct err *e)
{
	struct errands_opts o = {
	    .store = s->api.store,
	    .append = s->api.append,
	    .node = &s->node,
	    .owns = hand_owns,
	    .run = hand_run,
	    .arg = &s->api,
	};

	return store_shared(s->api.store)
		   ? errands_start(&o, &s->api.errands, e)
		   : OK;
}

static int
start_fetcher(struct serve *s, struct err *e)
{
	struct fetcher_opts o = {
	    .conf = s->conf,
	    .store = s->api.store,
	    .append = s->api.append,
	    .guard = s->guard,
	    .keyring = s->api.keyring,
	    .node = &s->node,
	    .schedule = has_role(s->conf, "fetch"),
	    .fault = s->api.fault,
	};

	return fetcher_start(&o, &s->api.fetcher, e);
}

static int
load_types(struct serve *s, struct err *e)
{
	struct db *db = NULL;
	int rc;

	s->api.types = types_live_new();
	TRY(db_open(s->api.store, DB_READ, &db, e));
	rc = types_reload(s->api.types, db, e);
	db_close(db);
	return rc;
}

static int
start_threads(struct serve *s, struct err *e)
{
	const struct conf *c = s->conf;
	struct append_opts append = {
	    .store = s->api.store,
	    .dir = c->data,
	    .disk_free_min = c->disk_free_min,
	    .keep = keep_of(c),
	    .seal = c->event_seal_payload ? s->api.keyring : NULL,
	    .committed = on_commit,
	    .arg = s,
	};
	struct jobs_opts jobs = {.store = s->api.store,
	    .look = look_access,
	    .arg = s,
	    .audit_keep_us = c->audit_retention_ms * US_PER_MS,
	    .articles_keep_us = c->reader_retention_ms * US_PER_MS,
	    .callbacks_keep_us = c->task_callback_keep_ms * US_PER_MS};
	const struct pool_opts pools[] = {
	    {"read", (int)c->read_threads, READ_QUEUE_MAX, api_reader_enter,
		api_reader_leave, s->api.store},
	    {"check", 1, CHECK_QUEUE_MAX, api_checker_enter, api_checker_leave,
		&s->api},
	    {"hooks", 1, HOOK_QUEUE_MAX, api_hooks_enter, api_hooks_leave,
		&s->api},
	};
	struct pool **const started[] = {
	    &s->api.read, &s->api.check, &s->api.hooks};

	TRY(load_types(s, e));
	TRY(tail_start(s->api.store, &s->api.tail, e));
	TRY(append_start(&append, &s->api.append, e));
	tail_committed(s->api.tail, append_last_seq(s->api.append));
	jobs.append = s->api.append;
	s->tidy = jobs.tidy = tidy_new(
	    s->api.append, c->webhook_delivery_log_retention_ms * US_PER_MS);
	if (c->webhook_enabled)
		s->api.alerts = alerts_new(s->api.append, c->time_scale);
	jobs.alerts = s->api.alerts;
	jobs.logs = s->logs;
	s->failures = failures_new(s->api.append, MINUTE_US / c->time_scale);
	s->rates.people = s->api.people = limiter_new(LIMITER_PEOPLE_MAX, 60);
	TRY(jobs_start(&jobs, &s->jobs, e));
	for (size_t i = 0; i < COUNT_OF(pools); i++)
		TRY(pool_start(&pools[i], started[i], e));
	s->api.resealer = resealer_new(s->api.append, s->api.keyring, s->conf);
	if (s->stale)
		TRY(resealer_start(s->api.resealer, e));
	if (c->webhook_enabled && has_role(c, "deliver"))
		TRY(start_deliveries(s, e));
	TRY(start_errands(s, e));
	return start_fetcher(s, e);
}

static int
start_access(struct serve *s, struct err *e)
{
	struct auth_opts auth = {
	    .read = s->api.read,
	    .append = s->api.append,
	    .key_rate = s->conf->key_rate_limit,
	    .session = s->api.session,
	    .life = session_life(s->conf),
	    .failures = s->failures,
	    .lockout = {.failures_max = (int)s->conf->login_failures_max,
		.window_us = s->conf->login_lock_ms * US_PER_MS,
		.first_us = US_PER_S,
		.lock_us = s->conf->login_lock_ms * US_PER_MS},
	};
	struct client_opts client = client_opts_of(s->conf, s->guard);
	struct mask *mask = NULL;

	TRY(mask_parse(s->cli->arena, str_of(s->conf->event_mask), &mask, e));
	TRY(origins_init(&s->api.origins, s->conf->base_url,
	    s->conf->cors_allowed_origin, e));
	s->api.secure = str_starts(str_of(s->conf->base_url), STR("https:")) ||
			(!s->conf->base_url[0] && s->conf->tls_cert[0]);
	s->api.mask = mask;
	s->api.limiter = limiter_new(LIMITER_MAX, 1);
	s->api.networks = limiter_new(LIMITER_NETWORK_MAX, 60);
	TRY(auth_new(&auth, &s->api.auth, e));
	client.connections_max = client.connections_each = CALLER_CONNECTIONS;
	client.body_max = CALLER_BODY_MAX;
	TRY(caller_start(&client, &s->caller, e));
	s->api.oidc = oidc_new(s->conf, s->caller);
	return OK;
}

/*
 * One takes 100,000 requests a second. The other cores have work too: two of
 * them on two cores were a fifth slower than one.
 */
static int
http_threads(const struct conf *c)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (c->http_threads > 0)
		return (int)c->http_threads;
	return cores < 4 ? 1 : (int)(cores / 2 < 64 ? cores / 2 : 64);
}

static int
start_server(struct serve *s, struct err *e)
{
	const struct conf *c = s->conf;
	struct arena *a = s->cli->arena;
	const char *listen = c->server_listen;
	struct server_opts o = {
	    .threads = http_threads(c),
	    .body_max = (size_t)c->http_body_max,
	    .idle_timeout_s = (int)(c->http_idle_timeout_ms / 1000),
	    .request_timeout_s = (int)(c->http_request_timeout_ms / 1000),
	    .connections_max = files_raise((int)c->http_connections_max,
		(int)(c->webhook_slots + c->fetch_max_concurrent) +
		    CALLER_CONNECTIONS),
	    .trusted = &s->trusted,
	    .tls_cert = c->tls_cert[0] ? c->tls_cert : NULL,
	    .tls_key = c->tls_key[0] ? c->tls_key : NULL,
	    .routes = API_ROUTES,
	    .n_routes = API_ROUTE_COUNT,
	    .unix_path = arena_fmt(a, "%s/hikyaku.sock", c->data).p,
	};

	s->api.strict = str_eq(str_of(c->event_schema_mode), STR("strict"));
	s->api.exact = str_eq(str_of(c->event_envelope), STR("strict"));
	s->api.instance = s->node.host;
	share_init(&s->api.followers);
	o.hooks = api_hooks(&s->api);
	if (!listen[0])
		listen =
		    arena_fmt(a, "127.0.0.1:%lld", (long long)c->server_port).p;
	o.listen = listen;
	return server_start(&o, &s->server, e);
}

/* The address with the real port, as a URL. */
static void
tell_address(const struct serve *s)
{
	const char *listen = s->conf->server_listen;
	const char *colon = strrchr(listen, ':');
	int host_len = colon ? (int)(colon - listen) : 0;
	struct log_line l;
	char url[320];

	(void)snprintf(url, sizeof(url), "%s://%.*s:%d",
	    s->conf->tls_cert[0] ? "https" : "http",
	    host_len > 0 ? host_len : (int)sizeof("127.0.0.1") - 1,
	    host_len > 0 ? listen : "127.0.0.1", server_port(s->server));
	log_begin(&l, LOG_INFO, "listening");
	log_str(&l, "url", str_of(url));
	log_str(&l, "store", str_of(store_name(s->api.store)));
	log_str(&l, "version", str_of(HIKYAKU_VERSION));
	log_end(&l);
	if (s->logs) {
		(void)fprintf(s->cli->err,
		    "listening on %s; the log is in %s\n", url,
		    s->conf->log_folder);
		(void)fflush(s->cli->err);
	}
}

static void
wait_for_signal(const sigset_t *set)
{
	int sig = 0;

	while (sigwait(set, &sig) != 0 || sig == SIGHUP)
		;
	log_fmt(LOG_INFO, "stopping", "signal %d", sig);
}

static void
take_down(struct serve *s)
{
	atomic_store(&s->api.stopping, true);
	if (s->api.tail)
		tail_hurry(s->api.tail);
	deliver_hurry(s->api.deliver);
	errands_hurry(s->api.errands);
	fetcher_hurry(s->api.fetcher);
	if (s->server &&
	    !server_drain(s->server, (int)s->conf->drain_timeout_ms))
		log_err(LOG_WARN, "stopped before all was answered", NULL);
	server_stop(s->server);
	caller_stop(s->caller);
	oidc_free(s->api.oidc);
	relay_stop(s->relay);
	fetcher_stop(s->api.fetcher);
	errands_stop(s->api.errands);
	deliver_stop(s->api.deliver, (int)s->conf->drain_timeout_ms);
	pool_stop(s->api.hooks);
	pool_stop(s->api.check);
	pool_stop(s->api.read);
	auth_free(s->api.auth);
	jobs_stop(s->jobs);
	resealer_end(s->api.resealer);
	append_stop(s->api.append);
	errands_free(s->api.errands);
	fetcher_free(s->api.fetcher);
	tidy_free(s->tidy);
	failures_free(s->failures);
	alerts_free(s->api.alerts);
	resealer_free(s->api.resealer);
	tail_stop(s->api.tail);
	types_live_free(s->api.types);
	limiter_free(s->api.limiter);
	limiter_free(s->api.people);
	limiter_free(s->api.networks);
	keyring_close(s->api.keyring);
	store_close(s->api.store);
	guard_free(s->guard);
	nets_done(&s->trusted);
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd);
}

static int
start_log(struct serve *s, struct err *e)
{
	const struct conf *c = s->conf;
	int fd = STDERR_FILENO, rc = OK;

	if (c->log_folder[0])
		rc = log_folder_open(c->log_folder,
		    c->log_retention_ms * US_PER_MS, clock_now_us(), &s->logs,
		    &fd, e);
	cli_log(s->cli, log_least(c), fd);
	return rc;
}

/* The parts, in the order in which they need each other. */
static int
build(struct serve *s, struct err *e)
{
	TRY(start_log(s, e));
	if (s->conf->webhook_retry_job_interval_ms != RETRY_JOB_MS)
		log_err(LOG_WARN,
		    "webhook.retry.job.interval.ms does nothing: retries are made when they are due",
		    NULL);
	TRY(check_roles(s->conf, e));
	TRY(oidc_check(s->conf, e));
	TRY(guard_new(s->conf, &s->guard, e));
	s->api.guard = s->guard;
	TRY(nets_read("http.trusted.proxies", s->conf->http_trusted_proxies,
	    &s->trusted, e));
	TRY(open_store(s, e));
	TRY(first_run(s, e));
	TRY(start_threads(s, e));
	TRY(start_access(s, e));
	TRY(start_server(s, e));
	return start_relay(s, e);
}

int
verb_serve(struct cli *c, struct err *e)
{
	struct serve s = {.cli = c,
	    .conf = &c->conf,
	    .lock_fd = -1,
	    .api = {.conf = &c->conf}};
	sigset_t set;
	int rc;

	cli_signals(&set);
	(void)sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)sigaction(
	    SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	rc = build(&s, e);
	if (rc == OK) {
		tell_address(&s);
		wait_for_signal(&set);
	}
	take_down(&s);
	if (rc == OK)
		log_err(LOG_INFO, "stopped", NULL);
	cli_log(c, LOG_WARN, STDERR_FILENO);
	log_folder_close(s.logs);
	return rc;
}
