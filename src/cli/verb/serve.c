#include <fcntl.h>
#include <signal.h>
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
#include "cli/setup.h"
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
#include "http/server/listen.h"
#include "http/server/server.h"
#include "loop/pool.h"
#include "node/errand.h"
#include "node/node.h"
#include "ops/alerts.h"
#include "ops/backup.h"
#include "ops/jobs.h"
#include "ops/reseal.h"
#include "ops/restored.h"
#include "ops/sealing.h"
#include "ops/tidy.h"
#include "reader/fetch/fetcher.h"
#include "seal/digest.h"
#include "seal/keyring.h"
#include "source/limits.h"
#include "source/outbox.h"
#include "source/relay.h"
#include "store/lock.h"
#include "store/store.h"
#include "task/history.h"

/*
 * `hikyaku serve`: builds the parts in the order in which they need each
 * other, waits for a signal, and takes them down the other way round, so that
 * whatever was accepted is answered.
 */

#define MINUTE_US    (60 * US_PER_S)
#define RETRY_JOB_MS 60000 /* the setting's default */

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
	struct outbox_opts outboxes[OUTBOXES_MAX];
	int n_outboxes;
	struct relay *relays[OUTBOXES_MAX];
	struct caller *caller; /* one-off calls: logins */
	bool resumed;          /* the jobs thread's: leave was given */
	bool stale;            /* a rotation did not come to its end */
	char made[PASSWORD_MADE_LEN + 1]; /* of admin, until it is told */
	const struct listening *sockets;  /* verb_serve()'s */
	struct api api;                   /* has the rest */
	struct server *server;
};

static void
on_commit(void *arg, int64_t last_seq)
{
	struct serve *s = arg;

	tail_committed(s->api.tail, last_seq);
}

/* Leave was given, here or by another node: the parts are built anew. */
static void
look_restored(struct serve *s, struct db *db)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(16 * KIB);
	struct str note = STR("");
	struct err e;

	if (restored_look(db, a, &note, &e) == OK && !note.p) {
		s->resumed = true;
		(void)kill(getpid(), SIGUSR1);
	}
}

/* What the jobs thread does for access, types of events and a store that is
 * held. */
static void
look_more(void *arg, struct db *db, bool last)
{
	struct serve *s = arg;

	if (s->api.held && !s->resumed && !last)
		look_restored(s, db);

	failures_look(s->failures, last);
	if (!last)
		types_look(s->api.types, db, s->api.append);
	if (store_shared(s->api.store))
		rates_look(&s->rates, db, clock_mono_us());
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
keep_password(struct serve *s, struct err *e)
{
	struct log_line l;
	struct str path;

	if (isatty(fileno(s->cli->out)))
		return OK; /* setup_tell() */
	TRY(accounts_first_keep(
	    s->conf->data, s->made, s->cli->arena, &path, e));
	digest_wipe(s->made, sizeof(s->made));
	log_begin(
	    &l, LOG_INFO, "first run: the password of admin is in a file");
	log_str(&l, "file", path);
	log_end(&l);
	return OK;
}

static int
look_held(struct serve *s, struct db *db, struct err *e)
{
	struct str note;
	struct log_line l;

	TRY(restored_look(db, s->cli->arena, &note, e));
	s->api.held = note.p != NULL;
	if (!s->api.held)
		return OK;
	log_begin(&l, LOG_WARN,
	    "this store was restored: nothing is delivered, relayed or fetched until hikyaku resume");
	log_str(&l, "backup", note);
	log_end(&l);
	return OK;
}

/* The keys, and the account for the first login, whose password is told once. */
static int
first_run(struct serve *s, struct err *e)
{
	struct db *db CLEANUP(db_closep) = NULL;
	bool first = false;

	TRY(db_open(s->api.store, DB_WRITE, &db, e));
	TRY(sealing_open(db, s->conf, &s->api.keyring, e));
	TRY(sealing_stale(db, s->api.keyring, s->cli->arena, &s->stale, e));
	TRY(delivery_id_key(db, &s->api.id_key, e));
	TRY(session_key_open(
	    db, s->api.keyring, s->conf->session_secret, &s->api.session, e));
	TRY(accounts_first(db, str_of(s->conf->admin_password), clock_now_us(),
	    s->made, &first, e));
	if (first && s->made[0])
		TRY(keep_password(s, e));
	return look_held(s, db, e);
}

static int
start_relays(struct serve *s, struct err *e)
{
	if (!setup_role(s->conf, "relay") || s->api.held)
		return OK;
	for (int i = 0; i < s->n_outboxes; i++)
		TRY(relay_start(
		    &(struct relay_opts){
			.outbox = &s->outboxes[i],
			.append = s->api.append,
			.mask = s->api.mask,
			.types = s->api.types,
			.strict = s->api.strict,
			.exact = s->api.exact,
		    },
		    &s->relays[i], e));
	return OK;
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
	    .tail = s->api.tail,
	    .schedule = setup_role(s->conf, "fetch") && !s->api.held,
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
	    .keep = setup_keep(c),
	    .seal = c->event_seal_payload ? s->api.keyring : NULL,
	    .committed = on_commit,
	    .arg = s,
	};
	struct jobs_opts jobs = {.store = s->api.store,
	    .look = look_more,
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
	s->api.backup = backup_new(s->api.append, c->data);
	if (c->webhook_enabled && setup_role(c, "deliver") && !s->api.held)
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
	s->api.caller = s->caller;
	s->api.oidc = oidc_new(s->conf, s->caller);
	return OK;
}

static int
start_server(struct serve *s, struct err *e)
{
	const struct conf *c = s->conf;
	struct arena *a = s->cli->arena;
	struct listening sockets;
	struct server_opts o = {
	    .sockets = &sockets,
	    .threads = setup_threads(c),
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
	share_init(&s->api.tries);
	o.hooks = api_hooks(&s->api);
	/* Whoever comes while the parts are built anew waits for them. */
	sockets = *s->sockets;
	for (size_t i = 0; i < sockets.n; i++)
		sockets.fds[i] = fcntl(sockets.fds[i], F_DUPFD_CLOEXEC, 0);
	return server_start(&o, &s->server, e);
}

static void
tell_address(const struct serve *s)
{
	struct log_line l;
	char url[SETUP_URL_MAX];

	setup_url(s->conf, server_port(s->server), url);
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

/* False: the parts shall be built anew. */
static bool
wait_for_end(const sigset_t *set)
{
	int sig = 0;

	while (sigwait(set, &sig) != 0 || sig == SIGHUP)
		;
	if (sig == SIGUSR1)
		log_err(LOG_INFO, "leave to deliver was given", NULL);
	else
		log_fmt(LOG_INFO, "stopping", "signal %d", sig);
	return sig != SIGUSR1;
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
	deliver_cut_tests(s->api.deliver);
	server_stop(s->server);
	caller_stop(s->caller);
	oidc_free(s->api.oidc);
	for (size_t i = 0; i < COUNT_OF(s->relays); i++)
		relay_stop(s->relays[i]);
	fetcher_stop(s->api.fetcher);
	errands_stop(s->api.errands);
	deliver_stop(s->api.deliver, (int)s->conf->drain_timeout_ms);
	pool_stop(s->api.hooks);
	pool_stop(s->api.check);
	pool_stop(s->api.read);
	auth_free(s->api.auth);
	jobs_stop(s->jobs);
	resealer_end(s->api.resealer);
	backup_end(s->api.backup);
	append_stop(s->api.append);
	errands_free(s->api.errands);
	fetcher_free(s->api.fetcher);
	tidy_free(s->tidy);
	failures_free(s->failures);
	alerts_free(s->api.alerts);
	resealer_free(s->api.resealer);
	backup_free(s->api.backup);
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
	cli_log(s->cli, setup_log(c), fd);
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
	if (s->conf->env_old)
		log_fmt(LOG_WARN,
		    "environment variables want the prefix HIKYAKU_, and are not read without it by the next version",
		    "%s", s->conf->env_old);
	TRY(setup_roles(s->conf, e));
	TRY(oidc_check(s->conf, e));
	s->n_outboxes = TRY(outbox_all(s->conf, s->outboxes, e));
	TRY(guard_new(s->conf, &s->guard, e));
	s->api.guard = s->guard;
	TRY(nets_read("http.trusted.proxies", s->conf->http_trusted_proxies,
	    &s->trusted, e));
	TRY(open_store(s, e));
	TRY(first_run(s, e));
	TRY(start_threads(s, e));
	TRY(start_access(s, e));
	TRY(start_server(s, e));
	return start_relays(s, e);
}

/* Until a signal ends it; true: it shall be run again. */
static int
serve_run(struct cli *c, struct listening *l, const sigset_t *set,
    bool *ret_again, struct err *e)
{
	struct serve s = {.cli = c,
	    .conf = &c->conf,
	    .lock_fd = -1,
	    .sockets = l,
	    .api = {.conf = &c->conf}};
	int rc = build(&s, e);
	bool end = rc < 0;

	if (rc == OK)
		tell_address(&s);
	setup_tell(s.cli->out, s.made);
	end = end || wait_for_end(set);
	if (end)
		setup_close(l);
	take_down(&s);
	if (rc == OK && end)
		log_err(LOG_INFO, "stopped", NULL);
	cli_log(c, LOG_WARN, STDERR_FILENO);
	log_folder_close(s.logs);
	*ret_again = !end;
	return rc;
}

int
verb_serve(struct cli *c, struct err *e)
{
	struct listening l = {.n = 0};
	sigset_t set;
	bool again = true;
	int rc;

	cli_signals(&set);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGUSR1);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)sigaction(
	    SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	rc = setup_listen(&c->conf, &l, e);
	while (rc == OK && again)
		rc = serve_run(c, &l, &set, &again, e);
	return rc;
}
