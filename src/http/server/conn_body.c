
#include "http/server/conn.h"
#include "http/server/limits.h"
#include "http/server/reply.h"

#define GROWTH 8

static void
give_back(struct conn *c, size_t n)
{
	struct server *s = c->s;

	(void)atomic_fetch_sub(&s->body_bytes, n);
	if (c->stranger)
		(void)atomic_fetch_sub(&s->stranger_bytes, n);
	share_sub(&s->bodies, c->slot, n);
}

/* OK, ERR_BUSY past the caller's share, ERR_AWAY when there is no more. */
static int
reserve(struct conn *c, size_t n)
{
	struct server *s = c->s;
	size_t all = atomic_fetch_add(&s->body_bytes, n) + n;
	size_t mine = share_add(&s->bodies, c->slot, n), most = BODY_TOTAL_MAX;
	size_t strange =
	    c->stranger ? atomic_fetch_add(&s->stranger_bytes, n) + n : 0;

	if (c->stranger)
		most = BODY_STRANGER;
	else if (all > BODY_TOTAL_MAX / 4 * 3)
		most = BODY_EACH_LEAST;
	else if (all > BODY_TOTAL_MAX / 2)
		most = BODY_EACH_MAX;
	if (all <= BODY_TOTAL_MAX && strange <= BODY_STRANGERS &&
	    mine <= most) {
		c->reserved += n;
		return OK;
	}
	give_back(c, n);
	if (mine > most)
		return err_set(&c->r.err, ERR_BUSY,
		    "bodies of this caller take %zu bytes already, its share",
		    mine - n);
	return err_set(&c->r.err, ERR_AWAY, "too many bodies at once");
}

void
body_release(struct conn *c)
{
	if (c->reserved > 0)
		give_back(c, c->reserved);
	c->reserved = 0;
	buf_done(&c->body);
}

static void
refuse_body(struct conn *c)
{
	conn_early(c, http_error_status(&c->r.err), NULL);
	body_release(c);
}

void
body_begin(struct conn *c)
{
	const struct req *r = &c->r;

	if (c->body_known == 0 && !c->chunked)
		return;
	c->stranger = r->who.kind == WHO_NOBODY;
	c->slot = c->stranger ? share_network(&c->s->bodies, r->peer)
			      : share_principal(&c->s->bodies, &r->who);
	/* It gets memory as its bytes come, not because it says so. */
	c->body.limit = c->body_known > 0 ? c->body_known : c->body_max;
}

void
body_add(struct conn *c, struct str bytes)
{
	struct buf *b = &c->body;

	if (c->early_status)
		return;
	if (bytes.n > c->body_max - b->n) {
		(void)err_set(&c->r.err, ERR_LIMIT,
		    "the body is over %zu bytes", c->body_max);
		refuse_body(c);
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
	assert(!b->failed);
	if (b->cap > c->reserved && reserve(c, b->cap - c->reserved) < 0)
		refuse_body(c);
}
