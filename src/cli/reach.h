/*
 * reach.h - the data a verb works on, however it can be reached.
 *
 * A server elsewhere is asked by its URL (target.h says when). Else, when a
 * server runs on the data folder, it is asked over its socket (client.h). When
 * none does, the verb takes the folder's lock, so that none starts meanwhile,
 * and works on the store itself as its one writer. It makes neither folder nor
 * store: a mistyped --data must not look like an empty one.
 *
 * LIFE. It is the verb's (struct cli), reached by the first call that needs it
 * and left by the frame when the verb ends.
 */
#pragma once

#include "base/base.h"

struct cli;
struct client;
struct db;
struct keyring;
struct store;

/* Once it is open, exactly one of client and db is there. */
struct reach {
	struct client *client;
	struct db *db;
	struct store *store;
	struct keyring *keyring; /* after reach_keyring() */
	int lock;                /* fd, or -1 */
};

/* The server, or the store, which is brought to this version. */
int reach_open(struct cli *c, struct err *e) MUST_CHECK;
/* Nobody but a server will do: ERR_AWAY. */
int reach_server(struct cli *c, struct err *e) MUST_CHECK;
void reach_close(struct reach *x);
/* For a verb that works on the store itself: the keys that seal secrets. */
int reach_keyring(struct cli *c, struct err *e) MUST_CHECK;

/*
 * Asks the server, and takes what is not 2xx for an error. The answer is in
 * the arena, and so is the path; ret_answer may be NULL.
 */
int reach_ask(struct cli *c, struct arena *a, const char *method,
    struct str path, struct str body, struct str *ret_answer,
    struct err *e) MUST_CHECK;
/* The same, and the answer as JSON. */
int reach_json(struct cli *c, struct arena *a, const char *method,
    struct str path, struct str body, struct json **ret,
    struct err *e) MUST_CHECK;
