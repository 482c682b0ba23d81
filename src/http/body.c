#include <assert.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"
#include "http/conn.h"

#define GROWTH 8

static bool
reserve(struct conn *c, size_t n)
{
	size_t was = atomic_fetch_add(&c->s->body_bytes, n);

	if (was + n > BODY_TOTAL_MAX) {
		(void)atomic_fetch_sub(&c->s->body_bytes, n);
		return false;
	}
	c->reserved += n;
	return true;
}

void
body_release(struct conn *c)
{
	if (c->reserved > 0)
		(void)atomic_fetch_sub(&c->s->body_bytes, c->reserved);
	c->reserved = 0;
	buf_done(&c->body_buf);
}

static void
no_room(struct conn *c)
{
	(void)err_set(&c->r.err, ERR_AWAY, "too many bodies at once");
	conn_early(c, MHD_HTTP_SERVICE_UNAVAILABLE, NULL);
	body_release(c);
}

void
body_begin(struct conn *c)
{
	size_t n = c->body_known;

	/* A big one gets memory as its bytes come, not because it says so. */
	c->body_buf.limit = n > 0 ? n : c->s->o.body_max;
	if (n == 0 || n > HTTP_BODY_SMALL)
		return;
	c->small = reserve(c, n) ? arena_raw(c->r.arena, n) : NULL;
	if (!c->small)
		no_room(c);
}

void
body_add(struct conn *c, struct str bytes)
{
	struct buf *b = &c->body_buf;

	if (c->early_status)
		return;
	if (c->small) {
		assert(bytes.n <= c->body_known - c->body_n);
		memcpy(c->small + c->body_n, bytes.p, bytes.n);
		c->body_n += bytes.n;
		return;
	}
	if (bytes.n > c->s->o.body_max - b->n) {
		(void)err_set(&c->r.err, ERR_LIMIT,
		    "the body is over %zu bytes", c->s->o.body_max);
		conn_early(c, MHD_HTTP_CONTENT_TOO_LARGE, NULL);
		body_release(c);
		return;
	}
	/* Room for eight times what came, if it is to be as much: a body that
	 * came whole was copied once, not again and again. */
	if (c->body_known > 0 && b->n + bytes.n > b->cap) {
		size_t want = GROWTH * (b->n + bytes.n);

		if (want > c->body_known)
			want = c->body_known;
		if (want > b->n)
			(void)buf_room(b, want - b->n);
	}
	buf_add(b, bytes);
	if (b->failed ||
	    (b->cap > c->reserved && !reserve(c, b->cap - c->reserved)))
		no_room(c);
}

void
body_end(struct conn *c)
{
	c->r.body = c->small ? (struct str){c->small, c->body_n}
			     : buf_str(&c->body_buf);
}
