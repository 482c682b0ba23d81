/*
 * conf.h - the settings: a table of each room, one struct, four places they
 * come from.
 *
 * A room's settings.tbl names each of its keys once:
 *
 *   CONF(key, C field, type, least, most, default, of, since, help)
 *
 * least and most: a whole number's range, a span in milliseconds, a size in
 * bytes, or a text's length in bytes. `of`: the unit of a bare number (a
 * DURATION's is needed, an INT's is for people), the words of a CHOICE, the
 * schemes of a URL. CONF_PART is the heading above the room's keys in the
 * documentation; CONF_ALIAS(alias, key) gives a key another name, for those who
 * include with it. CONF_NAMED(group), in the same way: beside the keys group.x
 * there may be more of the kind, each with a name of its own: group.NAME.x, in
 * the environment GROUP_NAME_X or HIKYAKU_GROUP_NAME_X. Limits that a table names are those of its room's limits.h.
 *
 * The Makefile gathers the tables in one. From that come the fields below
 * (dots to underscores, spans with the unit they are kept in), the reader, the
 * printer and docs/settings.md (`make docs`). A later place wins:
 *
 *   default  <  file  <  environment  <  flag of the command line
 *
 * The file has lines `key = value`; quotes around a value are optional, and
 * inside them \" and \\ stand for " and \. A # at the start of a line, or
 * behind a blank in a value without quotes, begins a comment. In the
 * environment `http.body.max` is HIKYAKU_HTTP_BODY_MAX; a key whose name was
 * fixed by others (CONF_PLAIN(key), for those who include with it) is taken
 * without the prefix too, which else is taken with a warning for one version.
 * Names that are no key of ours belong to others and are ignored.
 *
 * WHY SO STRICT. A mistyped key that is skipped is a default nobody asked
 * for. So an unknown key, a key set twice or a value out of range stops the
 * start, with file and line, what is allowed, and the nearest known key.
 *
 * LIFE. Filled by the main thread before there are others, then only read.
 * Texts are the conf's and end with conf_done(); none is ever NULL.
 */
#pragma once

#include "base/base.h"
#include "base/conf/conf_value.h"
#include "base/limits.h"

struct arena;
struct buf;

enum conf_id {
#define CONF(key, field, ...) CONF_ID_##field,
#include "config.tbl"
#undef CONF
	CONF_COUNT
};

extern const struct conf_key CONF_KEYS[CONF_COUNT]; /* by enum conf_id */

enum conf_source { CONF_DEFAULT, CONF_FILE, CONF_ENV, CONF_FLAG };

/* The keys of a group under a name: only their fields of `own` are set. */
struct conf_named {
	const char *group;
	char name[CONF_NAME_MAX + 1]; /* a-z, 0-9 and -, not at its ends */
	struct conf *own;
};

struct conf {
#define CONF(key, field, type, ...) CONF_C_##type field;
#include "config.tbl"
#undef CONF
	struct arena *arena;
	const char *env_old; /* variables that want a prefix, or NULL */
	struct {
		enum conf_source source;
		int line; /* in the file */
	} origin[CONF_COUNT];
	struct conf_named named[CONF_NAMED_MAX];
	size_t n_named;
};

/*
 * Defaults, then the file (NULL: none), then the environment. On failure *c
 * needs no conf_done().
 */
int conf_load(struct conf *c, const char *file, char *const *environment,
    struct err *e) MUST_CHECK;
void conf_done(struct conf *c); /* a zeroed one is fine */

/* The steps of conf_load(). `name` is the file's, for errors. */
int conf_init(struct conf *c, struct err *e) MUST_CHECK;
int conf_read(struct conf *c, const char *name, struct str text,
    struct err *e) MUST_CHECK;
int conf_env(
    struct conf *c, char *const *environment, struct err *e) MUST_CHECK;

/* Whether its variable needs no prefix. */
bool conf_plain(const char *key);

/* One key. On failure the old value stays. */
int conf_set(struct conf *c, struct str key, struct str value,
    enum conf_source source, struct err *e) MUST_CHECK;

/* Every key with its value and where it came from, as a file. What is masked
 * is written as a comment, so that reading it back changes nothing. */
void conf_print(const struct conf *c, struct buf *b);
