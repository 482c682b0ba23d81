/*
 * node.h - who this server is among those that share a store, and its lease.
 *
 * Its name lies in its data folder (node.id), whose lock one process holds: a
 * server that starts again has the same name, and so finds what it held before
 * as its own, without waiting for a lease to end. Whatever several servers must
 * not do at once is held under that name: the groups of deliveries by an epoch
 * (deliver/engine/owner.h), feeds by a claim (reader/fetch/fetcher.h).
 *
 * A lease is a row that the node renews, by the clock it is told; who finds it
 * over may take what it held. The epoch is the fence: what a node writes under
 * an epoch that is no longer its own is refused.
 *
 * LIFE. Read once by the main thread, then only looked at. The functions with a
 * db run inside a transaction of the commit thread.
 */
#pragma once

#include "base/base.h"

struct db;

struct node {
	struct uuid uuid;
	char id[UUID_LEN + 1];
	char host[65]; /* for people */
};

/* Made with the first start. ERR_IO. */
int node_open(const char *folder, struct node *ret, struct err *e) MUST_CHECK;
struct str node_id(const struct node *n);

/* Its lease begins; rows of nodes that went long ago go. */
int node_start(
    struct db *db, const struct node *n, int64_t now, struct err *e) MUST_CHECK;
int node_renew(
    struct db *db, const struct node *n, int64_t now, struct err *e) MUST_CHECK;
int node_end(struct db *db, const struct node *n, struct err *e) MUST_CHECK;
/* ERR_DENIED when the groups are another node's, or of a later epoch. */
int node_fence(struct db *db, const struct node *n, int64_t epoch,
    struct err *e) MUST_CHECK;
