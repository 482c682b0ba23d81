/*
 * preset_store.h - all presets: the built-in ones and those of the store.
 *
 * A preset of the store that can't be read any more (a setting has narrowed
 * what presets may ask for) is told of in the log and left out: its
 * subscriptions stand still, the others go on.
 */
#pragma once

#include "base/base.h"

struct conf;
struct db;
struct presets;

/* presets_free() them. */
int presets_open(struct db *db, const struct conf *conf, struct presets **ret,
    struct err *e) MUST_CHECK;
/* Fresh ones in the place of *ps, which is as it was when that fails. */
int presets_reload(struct db *db, const struct conf *conf, struct presets **ps,
    struct err *e) MUST_CHECK;
