/*
 * crm [OPTION…] DIR - a small company over a Hikyaku server: a Core that saves
 * records, and six services that follow it, each with a SQLite file in DIR.
 * docs/demo-crm.md tells what it shows.
 *
 *   --url URL      the server; its key stands in HIKYAKU_KEY
 *   --socket PATH  or its unix socket, <data>/hikyaku.sock, which needs no key
 *   --records N    so many lives of records (50)
 *   --seconds N    keep the consumers on for so long afterwards (0)
 *   --relayed      the server carries Core's outbox: outbox.url is DIR/core.db
 *   --once         remove the pull consumers and the databases in the end
 *   --check        make nothing: compare what is there from the last time
 */
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "company.h"
#include "story.h"

/* Nothing was taken for so long, which is beyond a few back-offs. */
#define STUCK_S  90
#define LOOK_MS  100
#define PROGRESS 100

struct demo {
	struct company_opts o;
	long records, seconds;
	int once, check;
	char dir[PATH_MAX], tenant[HK_ID_LEN + 1];
	struct story story;
	struct company *company;
	sqlite3 *look[CONSUMERS];
	sigset_t stop;
	bool stopped;
	int64_t differences;
};

/* Waiting ------------------------------------------------------------------- */

static int64_t
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool
pause_ms(struct demo *d, long ms)
{
	struct timespec t = {.tv_nsec = ms * 1000000L};

	d->stopped = d->stopped || sigtimedwait(&d->stop, NULL, &t) > 0;
	return !d->stopped;
}

/* Events that are on the way to somebody. */
static int
on_the_way(struct demo *d, int64_t *ret, struct hk_error *e)
{
	int64_t n = 0, all = 0, waiting = 0;
	int rc = story_outboxes(&d->story, &all, &waiting, e);

	*ret = waiting;
	for (enum service_id i = 0; rc == HK_OK && i < CONSUMERS; i++) {
		rc = service_missing(d->look[i], i, &n, e);
		*ret += n;
	}
	return rc;
}

/*
 * Until nothing is. Twice in a row: what one takes while another is looked at
 * may make events for the first.
 */
static int
drain(struct demo *d, struct hk_error *e)
{
	int64_t n = 1, least = INT64_MAX, until = now_ms() + 1000 * STUCK_S;
	int quiet = 0, rc = HK_OK;

	while (rc == HK_OK && quiet < 2 && !d->stopped) {
		rc = on_the_way(d, &n, e);
		quiet = n == 0 ? quiet + 1 : 0;
		if (n < least) {
			least = n;
			until = now_ms() + 1000 * STUCK_S;
		}
		if (rc == HK_OK && now_ms() > until)
			return hk_fail(e, HK_EMPTY,
			    "%lld events did not come to their consumers within %d s: the server's log says more (is webhook.enabled true?)",
			    (long long)n, STUCK_S);
		(void)pause_ms(d, LOOK_MS);
	}
	return rc;
}

/* The story ----------------------------------------------------------------- */

/* A line with the events that came about since the last one. */
static int
tell_events(
    struct demo *d, const char *what, int64_t *before, struct hk_error *e)
{
	int64_t all = 0, waiting = 0;
	int rc = story_outboxes(&d->story, &all, &waiting, e);

	if (rc == HK_OK && what)
		(void)printf(
		    "%-34s %6lld events\n", what, (long long)(all - *before));
	*before = all;
	return rc;
}

static int
live(struct demo *d, struct hk_error *e)
{
	int rc = HK_OK;

	for (long i = 0; rc == HK_OK && i < d->records && !d->stopped; i++) {
		rc = story_step(&d->story, i, e);
		/* A look at the signals, and room for the others. */
		if (i % PROGRESS == PROGRESS - 1)
			(void)pause_ms(d, 1);
	}
	return rc;
}

static int
begin(struct demo *d, int64_t *told, struct hk_error *e)
{
	char line[64];
	int rc = story_settings(&d->story, e);

	(void)snprintf(line, sizeof(line), "%ld records lived:", d->records);
	if (rc == HK_OK)
		rc = tell_events(d, "settings were made:", told, e);
	if (rc == HK_OK)
		rc = live(d, e);
	if (rc == HK_OK)
		rc = tell_events(d, line, told, e);
	if (rc == HK_OK)
		rc = story_late(&d->story, e);
	return rc < 0 ? rc
		      : tell_events(d, "old news were written again:", told, e);
}

static int
play(struct demo *d, struct hk_error *e)
{
	int64_t told = 0, decided = 0;
	char line[64];
	int rc = tell_events(d, NULL, &told, e);

	if (rc == HK_OK && d->records > 0)
		rc = begin(d, &told, e);
	if (rc == HK_OK)
		rc = drain(d, e);
	if (rc < 0 || d->stopped)
		return rc;
	rc = tell_events(d, "Sharing and Approval answered:", &told, e);
	if (rc == HK_OK)
		rc = story_decide(&d->story, &decided, e);
	if (rc == HK_OK)
		rc = drain(d, e);
	(void)snprintf(line, sizeof(line),
	    "%lld quotes were decided:", (long long)decided);
	return rc < 0 || d->stopped ? rc : tell_events(d, line, &told, e);
}

/* With --seconds the consumers stay on, for whoever publishes meanwhile. */
static int
stay(struct demo *d, struct hk_error *e)
{
	int64_t until = now_ms() + d->seconds * 1000;

	if (d->seconds == 0 || d->stopped)
		return HK_OK;
	(void)printf("the consumers stay on for %ld s\n", d->seconds);
	while (now_ms() < until && pause_ms(d, LOOK_MS))
		continue;
	return drain(d, e);
}

/* The table ----------------------------------------------------------------- */

static void
differs(void *ctx, enum service_id id, const char *what, int64_t n)
{
	(void)ctx;
	(void)printf("%s: %s differ from the producers' in %lld rows\n",
	    SERVICE[id].name, what, (long long)n);
}

static int
show_row(struct demo *d, enum service_id id, struct hk_error *e)
{
	static const char *const COUNTED[] = {
	    "applied", "repeated", "stale", "wrong"};
	sqlite3 *db = d->look[id];
	int64_t counts[4] = {0}, n = 0;
	char *holds = NULL;
	int rc = service_check(db, id, differs, d, &n, e);

	for (size_t i = 0; rc == HK_OK && i < 4; i++)
		rc = db_number(db, CRM_COMMON, "counted",
		    ARGS(ARG_TEXT("name", COUNTED[i])), &counts[i], e);
	if (rc == HK_OK)
		rc = db_text(db, SERVICE[id].sql, "size", NO_ARGS, &holds, e);
	if (rc == HK_OK)
		(void)printf("%-10s  %7lld  %8lld  %5lld  %5lld  %-52s  %s\n",
		    SERVICE[id].name, (long long)counts[0],
		    (long long)counts[1], (long long)counts[2],
		    (long long)counts[3], holds ? holds : "", n ? "NO" : "yes");
	free(holds);
	d->differences += n;
	return rc;
}

static int
show(struct demo *d, struct hk_error *e)
{
	int rc = HK_OK;

	(void)printf("\n%-10s  %7s  %8s  %5s  %5s  %-52s  %s\n", "CONSUMER",
	    "APPLIED", "REPEATED", "STALE", "WRONG", "HOLDS", "CONSISTENT");
	for (enum service_id i = 0; rc == HK_OK && i < CONSUMERS; i++)
		rc = show_row(d, i, e);
	if (rc == HK_OK && d->differences > 0)
		rc = hk_fail(e, HK_CONFLICT,
		    "what the consumers hold differs from Core in %lld rows",
		    (long long)d->differences);
	return rc;
}

/* Beginning and end --------------------------------------------------------- */

static int
open_looks(struct demo *d, struct hk_error *e)
{
	int rc = HK_OK;

	for (enum service_id i = 0; rc == HK_OK && i < CONSUMERS; i++)
		rc = service_look(d->dir, i, &d->look[i], e);
	return rc;
}

static int
start(struct demo *d, struct hk_error *e)
{
	int rc = company_make(d->dir, d->tenant, e);

	if (rc == HK_OK)
		rc = story_open(&d->story, d->dir, e);
	if (rc == HK_OK)
		rc = open_looks(d, e);
	d->o.dir = d->dir;
	d->o.tenant = d->tenant;
	if (rc == HK_OK)
		rc = company_start(&d->o, &d->company, e);
	if (rc < 0)
		return rc;
	(void)printf("the company's data is in %s, one database a service\n"
		     "its tenant is      %s\n"
		     "Core's events are  carried by %s\n"
		     "Core is read at    "
		     "http://127.0.0.1:%d/crm/records/{object}/{id}\n"
		     "six consumers      crm-core, crm-sharing, crm-search, "
		     "crm-reporting, crm-automation, crm-approval\n\n",
	    d->dir, d->tenant,
	    d->o.relayed ? "the server's relay"
			 : "the demo's publisher, from the outbox",
	    company_port(d->company));
	return HK_OK;
}

static void
remove_all(struct demo *d)
{
	static const char *const ENDS[] = {"", "-wal", "-shm"};
	char path[PATH_MAX + 32], file[PATH_MAX + 64];
	struct hk_error e;

	if (company_forget(&d->o, &e) < 0)
		(void)fprintf(stderr, "crm: the consumers stay: %s\n", e.text);
	for (enum service_id i = 0; i < SERVICES; i++)
		for (size_t k = 0; k < sizeof(ENDS) / sizeof(ENDS[0]); k++) {
			service_path(d->dir, i, path, sizeof(path));
			(void)snprintf(
			    file, sizeof(file), "%s%s", path, ENDS[k]);
			(void)unlink(file);
		}
	(void)rmdir(d->dir);
	(void)printf("The consumers and the databases are removed; "
		     "the events stay.\n");
}

static int
check_only(struct demo *d, struct hk_error *e)
{
	char core[PATH_MAX + 32];
	int rc;

	service_path(d->dir, CORE, core, sizeof(core));
	if (access(core, R_OK) < 0)
		return hk_fail(e, HK_ABSENT,
		    "there is no %.200s: run it without --check first", core);
	rc = open_looks(d, e);
	return rc < 0 ? rc : show(d, e);
}

static void
close_all(struct demo *d)
{
	story_close(&d->story);
	for (enum service_id i = 0; i < CONSUMERS; i++)
		(void)sqlite3_close(d->look[i]);
}

static int
run(struct demo *d, struct hk_error *e)
{
	int rc;
	bool made;

	if (d->check)
		return check_only(d, e);
	if (mkdir(d->dir, 0700) < 0 && errno != EEXIST)
		return hk_fail(e, HK_INVALID, "can't make %.150s: %s", d->dir,
		    strerror(errno));
	rc = start(d, e);
	made = d->company != NULL;
	if (rc == HK_OK)
		rc = play(d, e);
	if (rc == HK_OK)
		rc = stay(d, e);
	company_stop(d->company);
	if (rc == HK_OK && !d->stopped)
		rc = show(d, e);
	if (made && d->once) {
		close_all(d);
		remove_all(d);
		*d = (struct demo){.once = 1};
	} else if (rc == HK_OK) {
		(void)printf(
		    "Look at what is there: sqlite3 %s/reporting.db "
		    "'SELECT * FROM pipeline'; compare again: --check\n",
		    d->dir);
	}
	return rc;
}

static bool
number(const char *text, long *ret)
{
	char *end = NULL;

	*ret = strtol(text, &end, 10);
	return *text && !*end && *ret >= 0 && *ret <= 1000000;
}

static bool
read_args(struct demo *d, int argc, char **argv)
{
	const struct option options[] = {
	    {"url", required_argument, NULL, 'u'},
	    {"socket", required_argument, NULL, 's'},
	    {"records", required_argument, NULL, 'n'},
	    {"seconds", required_argument, NULL, 't'},
	    {"relayed", no_argument, NULL, 'r'},
	    {"once", no_argument, &d->once, 1},
	    {"check", no_argument, &d->check, 1},
	    {NULL, 0, NULL, 0},
	};
	bool ok = true;
	int c;

	while (ok && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		ok = c != '?';
		if (c == 'u')
			d->o.url = optarg;
		if (c == 's')
			d->o.unix_socket = optarg;
		if (c == 'n')
			ok = number(optarg, &d->records);
		if (c == 't')
			ok = number(optarg, &d->seconds);
		if (c == 'r')
			d->o.relayed = true;
	}
	ok = ok && optind == argc - 1 &&
	     (d->check || d->o.url || d->o.unix_socket);
	if (ok)
		(void)snprintf(d->dir, sizeof(d->dir), "%s", argv[optind]);
	return ok;
}

int
main(int argc, char **argv)
{
	struct demo d = {.records = 50};
	struct hk_error e = {0};
	int rc;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (!read_args(&d, argc, argv)) {
		(void)fprintf(stderr,
		    "usage: crm --url URL | --socket PATH | --check [--records N] [--seconds N] [--relayed] [--once] DIR\n");
		return 2;
	}
	d.o.key = getenv("HIKYAKU_KEY");
	(void)sigemptyset(&d.stop);
	(void)sigaddset(&d.stop, SIGINT);
	(void)sigaddset(&d.stop, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &d.stop, NULL);
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
	rc = run(&d, &e);
	close_all(&d);
	curl_global_cleanup();
	if (rc == HK_NETWORK)
		(void)fprintf(
		    stderr, "crm: no server runs there: %s\n", e.text);
	else if (rc < 0)
		(void)fprintf(stderr, "crm: %s\n", e.text);
	return rc < 0 ? 1 : 0;
}
