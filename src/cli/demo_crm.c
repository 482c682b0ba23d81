#include "cli/demo_crm.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/limits.h"
#include "cli/table.h"
#include "crm/check.h"
#include "crm/run.h"
#include "crm/story.h"
#include "crm_sql.h"

/*
 * `hikyaku demo --crm`: a company whose Core saves records, and its six
 * consumers, all in this process but with databases of their own, over the
 * server that runs on the data folder. What happens stands in crm/story.c, how
 * it is followed in crm/run.c; here it is told, waited for and compared.
 */

#define RECORDS  50
#define FORGET   10 /* of so many events one is not acknowledged at first */
/* Nothing was taken for so long, which is beyond a few back-offs. */
#define STUCK_S  90
#define LOOK_MS  100
#define PROGRESS 100

struct demo_crm {
	struct cli *cli;
	char dir[PATH_MAX];
	struct story story;
	struct run_opts opts;
	struct run *run;
	sigset_t stop;
	bool stopped;
	int64_t differences;
};

/* The server, from the services' threads ------------------------------------ */

static int
link_ask(void *arg, const char *method, const char *path, struct str body,
    struct arena *a, struct str *ret, struct err *e)
{
	struct buf answer = BUF(CLI_ANSWER_MAX);
	int status = 0;
	int rc = client_call(arg, method, path, body, &answer, &status, e);

	if (rc == OK)
		rc = client_check(status, buf_str(&answer), a, e);
	if (rc == OK) {
		*ret = arena_dup(a, buf_str(&answer));
		if (!ret->p)
			rc = err_set(e, ERR_NOMEM, "the answer is too long");
	}
	buf_done(&answer);
	return rc;
}

static int
link_open(void *arg, struct crm_server *ret, struct err *e)
{
	struct demo_crm *d = arg;
	struct client *client = NULL;
	int rc = client_open(d->cli->conf.data, &client, e);

	if (rc == OK)
		*ret = (struct crm_server){.ask = link_ask, .arg = client};
	return rc;
}

static void
link_close(struct crm_server *s)
{
	client_close(s->arg);
	*s = (struct crm_server){0};
}

/* Waiting ------------------------------------------------------------------- */

static bool
pause_ms(struct demo_crm *d, int64_t ms)
{
	struct timespec t = {
	    .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000L};

	d->stopped = d->stopped || sigtimedwait(&d->stop, NULL, &t) > 0;
	return !d->stopped;
}

/* Events that are on the way to somebody. */
static int
on_the_way(struct demo_crm *d, int64_t *ret, struct err *e)
{
	int64_t n = 0, all = 0, waiting = 0;
	int rc = story_outboxes(&d->story, &all, &waiting, e);

	*ret = waiting;
	for (int i = 0; rc == OK && i < CRM_SERVICES; i++) {
		rc = run_missing(d->dir, CRM_ALL[i], &n, e);
		*ret += n;
	}
	return rc;
}

/*
 * Until nothing is. Twice in a row: what one takes while another is looked at
 * may make events for the first.
 */
static int
drain(struct demo_crm *d, struct err *e)
{
	int64_t n = 1, least = INT64_MAX, until = clock_mono_ms();
	int quiet = 0, rc = OK;

	until += INT64_C(1000) * STUCK_S;
	while (rc == OK && quiet < 2 && !d->stopped) {
		rc = on_the_way(d, &n, e);
		quiet = n == 0 ? quiet + 1 : 0;
		if (n < least) {
			least = n;
			until = clock_mono_ms() + INT64_C(1000) * STUCK_S;
		}
		if (rc == OK && clock_mono_ms() > until)
			return err_set(e, ERR_IO,
			    "%lld events did not come to their consumers within %d s: the server's log says more (is webhook.enabled true?)",
			    (long long)n, STUCK_S);
		(void)pause_ms(d, LOOK_MS);
	}
	return rc;
}

/* The story ----------------------------------------------------------------- */

static int
tell_events(struct demo_crm *d, const char *what, int64_t before,
    int64_t *ret_now, struct err *e)
{
	int64_t waiting = 0;
	int rc = story_outboxes(&d->story, ret_now, &waiting, e);

	if (rc == OK)
		(void)fprintf(d->cli->out, "%-34s %6lld events\n", what,
		    (long long)(*ret_now - before));
	(void)fflush(d->cli->out);
	return rc;
}

static int
records(struct demo_crm *d, int64_t n, struct err *e)
{
	int rc = OK;

	for (int64_t i = 0; rc == OK && i < n && !d->stopped; i++) {
		rc = story_step(&d->story, i, e);
		/* A look at the signals, and room for the others. */
		if (i % PROGRESS == PROGRESS - 1)
			(void)pause_ms(d, 1);
	}
	return rc;
}

static int
play(struct demo_crm *d, struct err *e)
{
	int64_t n = args_int(&d->cli->args, "records", RECORDS);
	int64_t all = 0, before = 0, waiting = 0, decided = 0, old = 0;
	struct arena *a = d->cli->arena;
	int rc = story_outboxes(&d->story, &all, &waiting, e);

	before = all;
	if (rc == OK && n > 0)
		rc = story_settings(&d->story, e);
	if (rc == OK && n > 0)
		rc = tell_events(d, "settings were made:", before, &all, e);
	if (rc == OK)
		rc = records(d, n, e);
	if (rc == OK && n > 0)
		rc = tell_events(d,
		    arena_fmt(a, "%lld records lived:", (long long)n).p, all,
		    &all, e);
	if (rc == OK && n > 0)
		rc = story_late(&d->story, &old, e);
	if (rc == OK && old > 0)
		rc = tell_events(
		    d, "old news were written again:", all, &all, e);
	if (rc == OK)
		rc = drain(d, e);
	if (rc == OK && !d->stopped)
		rc = tell_events(
		    d, "Sharing and Approval answered:", all, &all, e);
	if (rc == OK && !d->stopped)
		rc = story_decide(&d->story, &decided, e);
	if (rc == OK && !d->stopped)
		rc = drain(d, e);
	if (rc == OK && !d->stopped)
		rc = tell_events(d,
		    arena_fmt(
			a, "%lld quotes were decided:", (long long)decided)
			.p,
		    all, &all, e);
	return rc;
}

/* With --seconds the consumers stay on, for whoever publishes meanwhile. */
static int
stay(struct demo_crm *d, struct err *e)
{
	int64_t s = args_int(&d->cli->args, "seconds", 0);
	int64_t until = clock_mono_ms() + s * 1000;

	if (s == 0 || d->stopped)
		return OK;
	(void)fprintf(
	    d->cli->out, "the consumers stay on for %lld s\n", (long long)s);
	(void)fflush(d->cli->out);
	while (clock_mono_ms() < until && pause_ms(d, LOOK_MS))
		;
	return drain(d, e);
}

/* The table ----------------------------------------------------------------- */

static void
differs(void *arg, const struct crm_service *s, const char *what, int64_t n)
{
	struct demo_crm *d = arg;

	(void)fprintf(d->cli->out,
	    "%s: %s differ from the producers' in %lld rows\n", s->name, what,
	    (long long)n);
}

static int64_t
counter(struct lite *db, const char *name)
{
	struct lite_rows *rows = NULL;
	struct err e;
	int64_t n = 0;

	if (crm_count_get(db, str_of(name), &rows, &e) == OK &&
	    lite_next(rows, &e) == 1)
		n = lite_int(rows, 0);
	lite_done(rows);
	return n;
}

static int
add_row(struct demo_crm *d, struct table *t, const struct crm_service *s,
    struct err *e)
{
	static const enum crm_result COUNTED[] = {
	    CRM_APPLIED, CRM_REPEATED, CRM_STALE, CRM_WRONG};
	struct arena *a = d->cli->arena;
	char path[PATH_MAX + 32];
	struct lite *db = NULL;
	struct str holds;
	int64_t n = 0;
	bool ok = true;
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s", d->dir, s->file);
	rc = lite_open(path, s->schemas, s->n_schemas, &db, e);
	if (rc == OK)
		rc = crm_check(d->dir, s, differs, d, &n, e);
	if (rc == OK)
		rc = s->size(db, a, &holds, e);
	if (rc == OK) {
		d->differences += n;
		ok = table_add(t, str_of(s->name));
		for (size_t i = 0; i < COUNT_OF(COUNTED); i++)
			ok = ok &&
			     table_add(t, arena_fmt(a, "%lld",
					      (long long)counter(db,
						  CRM_RESULTS[COUNTED[i]])));
		ok = ok && table_add(t, holds) &&
		     table_add(t, n ? STR("NO") : STR("yes"));
	}
	lite_close(db);
	return rc < 0 || ok ? rc : err_set(e, ERR_NOMEM, "no memory");
}

static int
show(struct demo_crm *d, struct err *e)
{
	static const char *const HEADS[] = {"CONSUMER", "APPLIED", "REPEATED",
	    "STALE", "WRONG", "HOLDS", "CONSISTENT"};
	struct table *t = table_new(d->cli->arena, HEADS, COUNT_OF(HEADS));
	int rc = t ? OK : err_set(e, ERR_NOMEM, "no memory");

	for (int i = 0; rc == OK && i < CRM_SERVICES; i++)
		rc = add_row(d, t, CRM_ALL[i], e);
	if (rc < 0)
		return rc;
	(void)fprintf(d->cli->out, "\n");
	table_print(t, d->cli->out);
	if (d->differences > 0)
		return err_set(e, ERR_INVALID,
		    "what the consumers hold differs from Core in %lld rows",
		    (long long)d->differences);
	return OK;
}

/* Beginning and end --------------------------------------------------------- */

static int
make_dir(struct demo_crm *d, struct err *e)
{
	char at[PATH_MAX];
	int n = snprintf(d->dir, sizeof(d->dir), "%s/crm", d->cli->conf.data);

	if (n < 0 || (size_t)n >= sizeof(d->dir))
		return err_set(e, ERR_INVALID, "data folder: path too long");
	if (mkdir(d->dir, 0700) < 0 && errno != EEXIST)
		return err_set(
		    e, ERR_IO, "can't make %s: %s", d->dir, strerror(errno));
	/* The server was told of it by its whole path. */
	if (realpath(d->dir, at))
		(void)snprintf(d->dir, sizeof(d->dir), "%s", at);
	return OK;
}

static int
start(struct demo_crm *d, struct err *e)
{
	struct crm_server probe = {0};
	int rc = link_open(d, &probe, e);

	if (rc == ERR_ABSENT)
		return err_set(e, ERR_ABSENT,
		    "no server runs on %s: start one with ./dev run, or hikyaku serve, and run this beside it",
		    d->cli->conf.data);
	if (rc < 0)
		return rc;
	link_close(&probe);
	rc = make_dir(d, e);
	if (rc == OK)
		rc = story_open(&d->story, d->dir, e);
	if (rc < 0)
		return rc;
	d->opts = (struct run_opts){.dir = d->dir,
	    .tenant = d->story.tenant,
	    .link = {link_open, link_close, d},
	    .forget = FORGET,
	    .relayed = str_ends(str_of(d->cli->conf.outbox_url),
		arena_fmt(d->cli->arena, "%s/core.db", d->dir))};
	rc = run_start(&d->opts, &d->run, e);
	if (rc < 0)
		return rc;
	(void)fprintf(d->cli->out,
	    "the company's data is in %s, one database a service\n"
	    "its tenant is      %.*s\n"
	    "Core's events are  carried by %s\n"
	    "Core is read at    http://127.0.0.1:%d/crm/records/{object}/{id}\n"
	    "six consumers      crm-core, crm-sharing, crm-search, crm-reporting, crm-automation, crm-approval\n\n",
	    d->dir, STR_ARG(d->story.tenant),
	    d->opts.relayed ? "the server's relay"
			    : "the demo's publisher, from the outbox",
	    run_port(d->run));
	(void)fflush(d->cli->out);
	return OK;
}

static void
remove_all(struct demo_crm *d)
{
	static const char *const FILES[] = {"core", "sharing", "search",
	    "reporting", "automation", "approval", "metadata"};
	static const char *const ENDS[] = {"", "-wal", "-shm"};
	char path[PATH_MAX + 32];
	struct err e;

	if (run_forget(&d->opts, &e) < 0)
		(void)fprintf(d->cli->err,
		    "hikyaku: the demo's consumers stay: %s\n", e.text);
	for (size_t i = 0; i < COUNT_OF(FILES); i++)
		for (size_t k = 0; k < COUNT_OF(ENDS); k++) {
			(void)snprintf(path, sizeof(path), "%s/%s.db%s", d->dir,
			    FILES[i], ENDS[k]);
			(void)unlink(path);
		}
	(void)rmdir(d->dir);
	(void)fprintf(d->cli->out,
	    "The consumers and the databases are removed; the events stay.\n");
}

static int
check_only(struct demo_crm *d)
{
	struct err e = {0};
	char core[PATH_MAX + 32];
	int rc = make_dir(d, &e);

	(void)snprintf(core, sizeof(core), "%s/core.db", d->dir);
	if (rc == OK && access(core, R_OK) < 0) {
		(void)rmdir(d->dir);
		rc = err_set(&e, ERR_ABSENT,
		    "there is no %s: run hikyaku demo --crm first", core);
	}
	if (rc == OK)
		rc = show(d, &e);
	return rc < 0 ? cli_fail(d->cli, &e) : EXIT_OK;
}

int
demo_crm(struct cli *c)
{
	struct demo_crm d = {.cli = c};
	struct err e = {0};
	bool made;
	int rc;

	if (args_flag(&c->args, "check"))
		return check_only(&d);
	(void)sigemptyset(&d.stop);
	(void)sigaddset(&d.stop, SIGINT);
	(void)sigaddset(&d.stop, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &d.stop, NULL);
	rc = start(&d, &e);
	made = d.run != NULL;
	if (rc == OK)
		rc = play(&d, &e);
	if (rc == OK)
		rc = stay(&d, &e);
	run_stop(d.run);
	if (rc == OK && !d.stopped)
		rc = show(&d, &e);
	if (made && args_flag(&c->args, "once"))
		remove_all(&d);
	else if (rc == OK)
		(void)fprintf(c->out,
		    "Look at what is there: sqlite3 %s/reporting.db 'SELECT * FROM pipeline'; compare again: hikyaku demo --crm --check\n",
		    d.dir);
	story_close(&d.story);
	return rc < 0 ? cli_fail(c, &e) : EXIT_OK;
}
