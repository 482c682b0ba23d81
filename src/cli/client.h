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
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/base.h"
#include "base/buf.h"

struct arena;
struct client;

#define CLIENT_SOCKET "hikyaku.sock"

/* ERR_ABSENT when no server answers there. */
int client_open(const char *dir, struct client **ret, struct err *e) MUST_CHECK;
void client_close(struct client *c); /* NULL is fine */
/* Of the bodies to come; application/json until then. Kept, not copied. */
void client_type(struct client *c, const char *content_type);

/*
 * One request. `path` is encoded and may have a query; an empty body is none.
 * The answer's body is appended to *answer, whatever the status. ERR_IO when
 * no answer came.
 */
int client_call(struct client *c, const char *method, const char *path,
    struct str body, struct buf *answer, int *ret_status,
    struct err *e) MUST_CHECK;

/*
 * GET as a stream: each piece as it comes, until the server ends it (OK) or
 * `piece` returns false (OK). last_id, unless NULL, goes as Last-Event-ID: so
 * a stream that broke (ERR_IO) goes on where it was. An answer other than 200
 * goes to *answer instead.
 */
int client_stream(struct client *c, const char *path, const char *last_id,
    bool (*piece)(void *arg, struct str bytes), void *arg, struct buf *answer,
    int *ret_status, struct err *e) MUST_CHECK;

/* OK for 2xx; else the message of the answer, as an error. */
int client_check(
    int status, struct str answer, struct arena *a, struct err *e) MUST_CHECK;

#endif
