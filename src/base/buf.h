/*
 * buf.h - bytes that grow, up to a limit.
 *
 * WHY STICKY. A writer of JSON or HTTP makes hundreds of small appends; an
 * `if` behind each would drown the code. The first failure sets `failed`, all
 * later appends do nothing, and the caller checks once at the end.
 *
 * The memory is the heap's (a buffer may be handed from thread to thread);
 * buf_done() frees it. A zeroed struct with a limit is a valid empty buffer.
 */
#pragma once

#include "base/base.h"

struct buf {
	char *p;
	size_t n, cap, limit;
	bool failed;
};
#define BUF(max) ((struct buf){.limit = (max)})

void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* empty and not failed; memory is kept */
struct str buf_str(const struct buf *b);

/* Room for n more bytes at p + n; NULL and failed when over the limit. */
char *buf_room(struct buf *b, size_t n);
/* All that the file still has. False: errno says why, or it is over the limit
 * and the buffer has failed. */
bool buf_read(struct buf *b, int fd) MUST_CHECK;
void buf_add(struct buf *b, struct str s);
void buf_addc(struct buf *b, char c);
void buf_addz(struct buf *b, const char *z);
void buf_int(struct buf *b, int64_t v);
void buf_fmt(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_hex(struct buf *b, struct str bytes);
/* s as a JSON string with quotes; s must be UTF-8. */
void buf_json(struct buf *b, struct str s);
