/*
 * consume DATABASE URL NAME [MS] - takes the events of the pull consumer NAME
 * and applies each once, in DATABASE (a file of SQLite, or what PostgreSQL is
 * connected with). For MS milliseconds; without it until SIGINT or SIGTERM.
 *
 * The key stands in HIKYAKU_KEY; the consumer's definition, when it shall be
 * made first, in CONSUMER (JSON, as in PUT /v1/consumers/NAME).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter.h"

static volatile sig_atomic_t ended;

static void
end(int sig)
{
	(void)sig;
	ended = 1;
}

static int
stop(void *ctx)
{
	(void)ctx;
	return ended;
}

static int
fail(const char *what, const struct hk_error *e)
{
	fprintf(stderr, "%s: %s (%s%s%s)\n", what, e->text,
	    hk_code_name(e->code), e->pointer[0] ? " at " : "", e->pointer);
	return 1;
}

int
main(int argc, char **argv)
{
	struct hk_client_opts opts = {.stop = stop,
	    .tries = 1000,
	    .backoff_ms = 50,
	    .backoff_max_ms = 1000};
	struct hk_consumer_opts consumer = {
	    .definition = getenv("CONSUMER"), .max = 50, .wait_s = 2};
	struct sigaction act = {.sa_handler = end};
	struct hk_consumer_counts n;
	struct hk_client *client = NULL;
	struct hk_consumer *c = NULL;
	struct hk_error e;
	struct hk_db *db;
	int rc;

	if (argc < 4) {
		fprintf(stderr, "usage: consume DATABASE URL NAME [MS]\n");
		return 2;
	}
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	db = counter_open(argv[1]);
	if (!db)
		return 1;
	rc = hk_client_new(argv[2], getenv("HIKYAKU_KEY"), &opts, &client, &e);
	if (rc == HK_OK)
		rc = hk_consumer_open(client, argv[3], &consumer, &c, &e);
	if (rc == HK_OK)
		rc = hk_consume(c, db, counter_apply, NULL,
		    argc > 4 ? strtol(argv[4], NULL, 10) : -1, &e);
	if (c) {
		hk_consumer_count(c, &n);
		printf("%lu events: %lu applied, %lu seen before, %lu stale, "
		       "%lu failed, %lu dead\n",
		    (unsigned long)n.events, (unsigned long)n.applied,
		    (unsigned long)n.seen, (unsigned long)n.stale,
		    (unsigned long)n.failed, (unsigned long)n.dead);
	}
	hk_consumer_close(c);
	hk_client_free(client);
	counter_close(db);
	return rc == HK_OK || rc == HK_STOPPED ? 0 : fail("consume", &e);
}
