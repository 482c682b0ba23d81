/*
 * put.h - JSON, written member by member.
 *
 * One function for each kind of value, and the commas in one place: a comma is
 * put before whatever follows a value, which the last byte of the buffer tells:
 * '{', '[', ':' and ',' never end one. So there is no state to carry beside the
 * buffer, and what was written by hand mixes with what is written here. (After
 * a line of NDJSON the next document is opened by hand.)
 *
 * `name` is the member's; NULL where it is an element of an array, or the
 * document itself. Texts are UTF-8; one whose .p is NULL is null.
 */
#pragma once

#include "base/base.h"

struct uuid;

/* The comma and the name: the value is what the caller adds next. */
void put_name(struct buf *b, const char *name);
/* { or [, and its end. */
void put_open(struct buf *b, const char *name, char bracket);
void put_close(struct buf *b, char bracket);

void put_null(struct buf *b, const char *name);
void put_bool(struct buf *b, const char *name, bool v);
void put_int(struct buf *b, const char *name, int64_t v);
void put_some(struct buf *b, const char *name, int64_t v); /* 0: null */
/* Percent, rounded half up to two decimals, without zeros at its end. */
void put_percent(struct buf *b, const char *name, int64_t part, int64_t whole);
void put_text(struct buf *b, const char *name, struct str s);
void put_z(struct buf *b, const char *name, const char *z); /* NULL: null */
void put_uuid(struct buf *b, const char *name, struct uuid u);
void put_time(struct buf *b, const char *name, int64_t us); /* 0: null */
void put_raw(struct buf *b, const char *name, struct str json);
/* Lists; none of them: null. */
void put_texts(struct buf *b, const char *name, const struct str *v, size_t n);
void put_uuids(struct buf *b, const char *name, const struct uuid *v, size_t n);
