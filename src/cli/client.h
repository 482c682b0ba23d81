/*
 * client.h - how a verb talks to a server: the one that runs on its data
 * folder, or any other by its URL.
 *
 * On the data folder it is HTTP over the unix socket <data>/hikyaku.sock:
 * whoever may open the socket owns the folder and so everything in it, no key,
 * no password. By URL it is HTTP with a key, or a name and password. What it
 * connects to was named by whoever runs the program and nobody else, so no
 * guard stands between (http/client is for what strangers name). Certificates
 * are always checked; redirects are answers.
 *
 * LIFE. One per verb, one thread. A client of a data folder is there only when
 * a server took the connection; ERR_ABSENT says that none runs, and the verb
 * opens the store itself (reach.h).
 */
#pragma once

#include "base/base.h"

struct client;

#define CLIENT_SOCKET "hikyaku.sock"

/* ERR_ABSENT when no server answers there. */
int client_open(const char *dir, struct client **ret, struct err *e) MUST_CHECK;

/* Texts are kept, not copied. */
struct client_at {
	const char *url;             /* before each path */
	const char *key;             /* NULL: none */
	const char *name, *password; /* instead of a key; NULL: none */
	const char *ca;              /* PEM file; NULL: the system's */
	bool near;     /* on this machine: no proxy of the environment */
	long answer_s; /* for a whole answer; 0: CLI_ANSWER_S */
};
int client_open_at(
    const struct client_at *at, struct client **ret, struct err *e) MUST_CHECK;
void client_close(struct client *c); /* NULL is fine */
/* Whether SIGINT and SIGTERM that are blocked and wait end a call: ERR_AWAY. */
void client_signals(struct client *c, bool end);
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
	/* Instead of Content-Type; values have no controls. */
	const struct str_pair *headers;
	size_t n_headers;
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
