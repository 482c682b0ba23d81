/*
 * pgconn.h - one connection to PostgreSQL that never blocks for long.
 *
 * WHY NOT PQexec(). A server that is stopped, or whose network is gone without
 * a word, would hold the calling thread for ever. So the socket is not
 * blocking, every wait has an end, and a connection whose answer did not come
 * in time is closed: its late answer could be taken for that of the next call.
 *
 *            pgconn_ready               pgconn_ready
 *   closed ----------------> opening ----------------> open
 *     ^   (every 250 ms)        |  (a call waits 250 ms,  |
 *     |                         |   then comes back)      |
 *     +--- failed, or 5 s old --+    lost, or late -------+
 *
 * One thread, the owner of the db.
 */
#pragma once

#include <libpq-fe.h>

#include "store/store.h"

#define PGCONN_KEYS_MAX 80

struct pgconn {
	PGconn *pg; /* NULL: closed */
	bool open;
	PostgresPollingStatusType wants; /* while opening */
	int64_t opened_ms, next_ms;      /* when it began, may begin again */
	int64_t connect_ms;              /* how long opening may take */
	unsigned times;                  /* how often it was opened */
	const char *keys[PGCONN_KEYS_MAX], *values[PGCONN_KEYS_MAX];
	char options[1024];
};

/* `url` is what PQconninfoParse() made of it; it must outlive c. */
int pgconn_init(struct pgconn *c, const PQconninfoOption *url, enum db_use use,
    struct err *e) MUST_CHECK;
void pgconn_close(struct pgconn *c);

/*
 * An open connection to send on, as far as can be told without asking. Opens
 * it when it is not, but waits at most wait_ms: ERR_AWAY then.
 */
int pgconn_ready(struct pgconn *c, int64_t wait_ms, struct err *e) MUST_CHECK;

/*
 * The answer to what was sent (`sent` is what libpq's PQsend… returned): the
 * first failure of it, else its last result. NULL when there was none: c is
 * then closed and e->text says why. An error by which the server hangs up is
 * an answer, and c is closed as well.
 */
PGresult *pgconn_answer(
    struct pgconn *c, int sent, int64_t wait_ms, struct err *e) MUST_CHECK;

/* Up to so long, or false; for the connections of others too. */
bool pgconn_wait(PGconn *pg, short events, int64_t until_ms);
/* libpq's words, which may have several lines, as one. */
#define PGCONN_LINE 200
const char *pgconn_line(const char *words, char ret[PGCONN_LINE]);
void pgconn_clear(PGresult **res); /* for CLEANUP */
