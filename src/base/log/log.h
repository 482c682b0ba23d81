/*
 * log.h - what the program says about itself, one line each.
 *
 * A line is {"time","level","msg", fields…} in JSON, or the same as text for
 * people (`--log text`). It goes to stderr in one write, so lines of several
 * threads never mix. Whoever began a piece of work logs how it ended; nobody
 * logs an error and also returns it. Secrets are never a field.
 *
 * A struct line is built on the stack: log_begin, fields, log_end. When the
 * level is off all of it costs one comparison. log_batch lets one thread
 * gather lines and write them together.
 */
#pragma once

#include "base/base.h"
#include "base/uuid.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_form { LOG_JSON, LOG_TEXT };

/* Set once, before there are threads. fd 2 and LOG_INFO by default. */
void log_setup(enum log_level least, enum log_form form, int fd);
bool log_on(enum log_level level);

struct log_line {
	char *to;
	size_t n, cap; /* longer values are cut, visibly */
	bool on;
	char text[2048];
};

/* msg is a constant phrase: "event appended", not a sentence with values. */
void log_begin(struct log_line *l, enum log_level level, const char *msg);
/* The same for a line longer than most, in memory of the caller's. */
void log_begin_long(struct log_line *l, enum log_level level, const char *msg,
    char *mem, size_t cap);
void log_str(struct log_line *l, const char *key, struct str v);
void log_uuid(struct log_line *l, const char *key, struct uuid v);
/* As a list; the last of them are left out when there is no room. */
void log_uuids(
    struct log_line *l, const char *key, const struct uuid *v, size_t n);
void log_int(struct log_line *l, const char *key, int64_t v);
void log_end(struct log_line *l);

/* The common case: a message and at most an error. e may be NULL. */
void log_err(enum log_level level, const char *msg, const struct err *e);
void log_fmt(enum log_level level, const char *msg, const char *fmt, ...)
    PRINTF(3, 4);

/* Between the two, this thread's lines are kept and written at once. */
void log_hold(void);
void log_release(void);
