/*
 * client.h - how a verb talks to the server that runs on its data folder.
 *
 * HTTP over the unix socket <data>/hikyaku.sock. Whoever may open the socket
 * owns the folder and so everything in it: no key, no password.
 *
 * LIFE. One per verb, one thread. A client is there only when a server took
 * the connection; ERR_ABSENT says that none runs, and the verb opens the store
 * itself (reach.h).
 */
#pragma once

#include "base/base.h"

struct client;

#define CLIENT_SOCKET "hikyaku.sock"

/* ERR_ABSENT when no server answers there. */
int client_open(const char *dir, struct client **ret, struct err *e) MUST_CHECK;
void client_close(struct client *c); /* NULL is fine */
/* Of the bodies to come; application/json until then. Kept, not copied. */
void client_type(struct client *c, const char *content_type);

/*
 * A request. With piece() it is a stream: each piece as it comes, until the
 * server ends it or piece() returns false. last_id, unless NULL, goes as
 * Last-Event-ID: so a stream that broke (ERR_IO) goes on where it was.
 */
struct client_call {
	const char *method, *path; /* encoded; may have a query */
	struct str body;           /* empty: none */
	bool (*piece)(void *arg, struct str bytes);
	void *arg;
	const char *last_id;
};

/*
 * The answer's body is appended to *answer, whatever the status; of a stream
 * only when that is not 200. ERR_IO when no answer came, or not all of it.
 */
int client_send(struct client *c, const struct client_call *k,
    struct buf *answer, int *ret_status, struct err *e) MUST_CHECK;

/* OK for 2xx; else the message of the answer, as an error. */
int client_check(
    int status, struct str answer, struct arena *a, struct err *e) MUST_CHECK;
