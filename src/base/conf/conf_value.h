/*
 * conf_value.h - one setting's value: read from text, written as text.
 *
 * A key says what its value may be; everything that can be wrong with a value
 * is found here, and named together with what would be right. What is written
 * can be read again and gives the same value.
 *
 * Text never holds control characters (so that a line stays a line, in the
 * file and in the log) and is UTF-8. The text of a secret stands in no error.
 */
#pragma once

#include "base/base.h"

struct arena;
struct buf;

enum conf_type {
	CONF_INT,
	CONF_BOOL,
	CONF_DURATION, /* kept in milliseconds */
	CONF_SIZE,     /* kept in bytes */
	CONF_TEXT,
	CONF_PATH,
	CONF_CHOICE, /* one of the words in `of` */
	CONF_URL,    /* its password is a secret */
	CONF_SECRET,
	CONF_LIST, /* kept as "a,b,c" */
};

/* The C type of each: CONF_C_INT and so on. */
#define CONF_C_INT      int64_t
#define CONF_C_BOOL     bool
#define CONF_C_DURATION int64_t
#define CONF_C_SIZE     int64_t
#define CONF_C_TEXT     const char *
#define CONF_C_PATH     const char *
#define CONF_C_CHOICE   const char *
#define CONF_C_URL      const char *
#define CONF_C_SECRET   const char *
#define CONF_C_LIST     const char *

/* A line of a settings.tbl; conf.h explains the columns. */
struct conf_key {
	const char *name;
	enum conf_type type;
	size_t offset; /* of the field in struct conf */
	int64_t least, most;
	const char *initial, *of, *since, *help, *part;
};

/*
 * *field has the key's C type; text is copied to the arena. Untouched on
 * failure, which is ERR_INVALID saying what is allowed.
 */
int conf_value_read(const struct conf_key *k, struct str text, struct arena *a,
    void *field, struct err *e) MUST_CHECK;

/* As in a file, quoted where needed, with secrets masked. */
void conf_value_write(
    const struct conf_key *k, const void *field, struct buf *b);
/* True when writing hides something: reading it back would be wrong. */
bool conf_value_masked(const struct conf_key *k, const void *field);

/* What the key takes, in words: "a whole number from 1 to 64". */
void conf_value_allowed(const struct conf_key *k, struct buf *b);
