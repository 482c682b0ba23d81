
#include "http/server/conn.h"
#include "http/server/limits.h"

#define BLOCK_BYTES ((size_t)4096)

void
req_stream(struct req *r, const char *content_type,
    enum stream_next (*pull)(struct req *r, struct buf *b),
    void (*done)(struct req *r))
{
	struct stream *st = &r->conn->stream;

	r->content_type = content_type;
	r->done = done;
	st->pull = pull;
	st->next = STREAM_MORE;
	st->b.limit = HTTP_STREAM_MAX;
}

/* What is left in the buffer, or else what pull says. 0: it sleeps. */
static ssize_t
read_on(void *cls, uint64_t, char *out, size_t max)
{
	struct conn *c = cls;
	struct stream *st = &c->stream;

	while (st->at == st->b.n) {
		if (atomic_load(&c->door.gone) || st->b.failed)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		buf_clear(&st->b);
		st->at = 0;
		if (st->next == STREAM_WAIT) {
			st->next = STREAM_MORE;
			if (conn_stopping(c))
				return MHD_CONTENT_READER_END_OF_STREAM;
			if (waker_sleep(c->waker))
				return 0;
		}
		if (st->next == STREAM_END)
			return MHD_CONTENT_READER_END_OF_STREAM;
		st->next = st->pull(&c->r, &st->b);
		assert(st->next != STREAM_MORE || st->b.n > 0);
	}
	if (max > st->b.n - st->at)
		max = st->b.n - st->at;
	memcpy(out, st->b.p + st->at, max);
	st->at += max;
	return (ssize_t)max;
}

struct MHD_Response *
stream_response(struct conn *c)
{
	atomic_store(&c->door.gone, false);
	c->stream.watched = true;
	door_watch(c->s->door, &c->door, c->waker);
	return MHD_create_response_from_callback(
	    MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_on, c, NULL);
}

void
stream_end(struct conn *c)
{
	if (c->stream.watched)
		door_watch(c->s->door, &c->door, NULL);
	c->stream.watched = false;
	buf_done(&c->stream.b);
}
