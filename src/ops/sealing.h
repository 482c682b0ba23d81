/*
 * sealing.h - opens the keys that the settings name, for the store at hand.
 *
 * The store keeps one sealed word (meta `seal_check`). Whether it can be
 * unsealed tells at the start, and not at the first delivery, that a key is
 * wrong; whether it is there tells that a missing key file must not be made
 * anew; and which key sealed it tells whether a rotation came to its end,
 * since it is sealed anew last (reseal.h). With kms the wrapped data keys lie
 * in meta too (`seal_keys`), so that all nodes have the same.
 *
 * LIFE. By the one writer, before there are threads.
 */
#pragma once

#include "base/base.h"

struct conf;
struct db;
struct keyring;

int sealing_open(struct db *db, const struct conf *c, struct keyring **ret,
    struct err *e) MUST_CHECK;

/* Whether values of another than the active key may be left. */
int sealing_stale(struct db *db, struct keyring *k, struct arena *a, bool *ret,
    struct err *e) MUST_CHECK;
/* Inside a transaction, when none is left. */
int sealing_fresh(struct db *db, struct keyring *k, struct arena *a,
    struct err *e) MUST_CHECK;
/*
 * A new active key, which is kept before it is used; while values of an older
 * one may be left the active one stays. kms blocks: not in a server. Audited,
 * with who did so in `by`: inside a transaction. *ret_made says whether there
 * is a new one.
 */
int sealing_rotate(struct db *db, struct keyring *k, struct arena *a,
    struct str by, bool *ret_made, struct err *e) MUST_CHECK;
