/*
 * confs.h - whole subscriptions, with their secrets open, as long as they are
 * sent to: the CONFS_MAX least idle ones.
 *
 * One that changed is forgotten and read again; an attempt under way goes on
 * with the old one.
 *
 * LIFE. The deliver thread's; so are the presets, which are replaced as a
 * whole, and the connection, which reads for the deliver thread alone.
 */
#pragma once

#include "contract/sub.h"

struct conf;
struct db;
struct jq;
struct keyring;
struct presets;

/* Counted: attempts, and the cache. */
struct kept_conf {
	int refs;
	uint32_t sub;
	struct link in_order;
	struct sub_conf *conf;
	struct sub_policy policy;
	int template; /* jq program; -1: none */
};

struct confs {
	const struct conf *conf;
	struct keyring *keyring;
	struct db *db;
	struct jq *jq;
	struct presets *presets;
	struct map *map;   /* by sub */
	struct list order; /* least used first */
};

/* conf and keyring are set. */
void confs_init(struct confs *c);
void confs_done(struct confs *c); /* a zeroed one is fine */
void confs_take_presets(struct confs *c, struct presets *presets);
void confs_forget(struct confs *c, uint32_t sub); /* 0: all */

/* A reference, or NULL: ERR_AWAY when it may be tried again. */
struct kept_conf *confs_get(struct confs *c, uint32_t sub, struct err *e);
/* The same of one that is not stored: as sub_store() made it. Its template is
 * not compiled. */
struct kept_conf *confs_open(
    struct confs *c, struct str stored, struct uuid uid, struct err *e);
void confs_put(struct confs *c, struct kept_conf *k); /* NULL is fine */
