/*
 * reach.h - the data a verb works on, however it can be reached.
 *
 * When a server runs on the data folder it is asked over its socket
 * (client.h). When none does, the verb takes the folder's lock, so that none
 * starts meanwhile, and works on the store itself as its one writer. It makes
 * neither folder nor store: a mistyped --data must not look like an empty one.
 */
#ifndef CLI_REACH_H
#define CLI_REACH_H

#include "base/base.h"
#include "cli/cli.h"
#include "cli/client.h"

struct db;
struct keyring;
struct store;

/* Exactly one of client and db is there. */
struct reach {
	struct client *client;
	struct db *db;
	struct store *store;
	struct keyring *keyring; /* after reach_keyring() */
	int lock;                /* fd, or -1 */
};

/* The store is brought to this version. reach_close() in any case. */
int reach_open(struct cli *c, struct reach *ret, struct err *e) MUST_CHECK;
void reach_close(struct reach *x);
/* For a verb that works on the store itself: the keys that seal secrets. */
int reach_keyring(struct reach *x, struct cli *c, struct err *e) MUST_CHECK;

/*
 * Asks the server, and takes what is not 2xx for an error. The answer is in
 * the verb's arena.
 */
int reach_ask(struct reach *x, struct cli *c, const char *method,
    const char *path, struct str body, struct str *ret_answer,
    struct err *e) MUST_CHECK;

#endif
