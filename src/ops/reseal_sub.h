/*
 * reseal_sub.h - the sealed values within a stored subscription.
 *
 * Only contract/sub.h knows which texts of it are secrets, so nothing
 * here looks for them: it is loaded, and what is handed over for unsealing is
 * what there is.
 */
#ifndef OPS_RESEAL_SUB_H
#define OPS_RESEAL_SUB_H

#include "base/base.h"

struct arena;
struct keyring;
struct presets;

/* Each of them, as it is stored. */
void reseal_sub_each(const struct presets *presets, struct arena *a,
    struct str conf,
    void (*each)(void *ctx, struct arena *a, struct str sealed), void *ctx);
/*
 * All of them by the active key; ret->p is NULL when they are already.
 * ERR_INVALID when one can't be unsealed, ERR_ABSENT when its preset is gone.
 */
int reseal_sub(struct keyring *k, const struct presets *presets,
    struct arena *a, struct str where, struct str conf, struct str *ret,
    struct err *e) MUST_CHECK;

#endif
