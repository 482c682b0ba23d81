/*
 * delivery.h: a page of deliveries, newest first. Attempts, rows and dead
 * letters are three streams in the order of (seq, sub, rep), read some at a
 * time; the newest head is next, and takes what the others have of the same.
 */
#include "api/limits.h"
#include "api/v1/delivery.h"
#include "deliver/engine/letter.h"
#include "http/server/limits.h"
#include "sql.h"

enum { OF_ATTEMPTS, OF_ROWS, OF_DEADS, STREAMS };

struct stream {
	struct seen *v; /* each with one part */
	size_t n, at;
	struct spot last;
	int64_t last_n; /* of attempts */
	bool end;
};

struct known {
	uint32_t id;
	bool there; /* and the caller may see it */
	struct sql_sub_head_row sub;
};

struct walk {
	struct req *r;
	struct db *db;
	struct seen_page *p;
	struct stream s[STREAMS];
	size_t batch, looked;
	struct known *known;
	size_t n_known;
};

static int
cmp(struct spot a, struct spot b)
{
	if (a.seq != b.seq)
		return a.seq < b.seq ? -1 : 1;
	if (a.sub != b.sub)
		return a.sub < b.sub ? -1 : 1;
	return a.rep < b.rep ? -1 : a.rep > b.rep;
}

static int
query(struct walk *w, int which, struct rows **ret, struct err *e)
{
	const struct seen_page *p = w->p;
	const struct stream *s = &w->s[which];
	struct spot at = s->last;
	struct sql_look_rows_args a = {.lo = p->lo,
	    .seq = at.seq,
	    .sub = p->sub ? p->sub : at.sub,
	    .rep = at.rep,
	    .most = (int64_t)w->batch};
	struct sql_look_attempts_args n = {.lo = a.lo,
	    .seq = a.seq,
	    .sub = a.sub,
	    .rep = a.rep,
	    .n = s->last_n,
	    .most = a.most};

	if (which == OF_ATTEMPTS)
		return p->sub ? sql_look_attempts_sub_run(w->db, &n, ret, e)
			      : sql_look_attempts_run(w->db, &n, ret, e);
	if (which == OF_ROWS)
		return p->sub ? sql_look_rows_sub_run(w->db, &a, ret, e)
			      : sql_look_rows_run(w->db, &a, ret, e);
	return p->sub ? sql_look_deads_sub_run(w->db, &a, ret, e)
		      : sql_look_deads_run(w->db, &a, ret, e);
}

/* The part of one row, and whose it is: the first three columns of each. */
static void
take_part(struct walk *w, int which, struct rows *rows, struct seen *x)
{
	struct sql_look_deads_row *d = &x->dead;
	struct str *texts[] = {&d->decided_by, &d->note, &d->error, &d->tenant,
	    &d->event_id, &d->type, &d->pkey, &d->source};

	x->spot = (struct spot){rows_int(rows, 0), (uint32_t)rows_int(rows, 1),
	    (int)rows_int(rows, 2)};
	x->has_attempt = which == OF_ATTEMPTS;
	x->has_row = which == OF_ROWS;
	if (which == OF_ATTEMPTS) {
		sql_look_attempts_get(rows, &x->attempt);
	} else if (which == OF_ROWS) {
		sql_look_rows_get(rows, &x->row);
	} else {
		sql_look_deads_get(rows, &x->dead);
		x->has_dead = x->dead.state != 3; /* as seen_get() has it */
		for (size_t i = 0; i < COUNT_OF(texts); i++)
			if (texts[i]->p)
				*texts[i] = arena_dup(w->r->arena, *texts[i]);
	}
}

static int
fill(struct walk *w, int which, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct stream *s = &w->s[which];

	if (s->at < s->n || s->end)
		return OK;
	if (!s->v)
		s->v = arena_array(w->r->arena, w->batch, sizeof(*s->v));
	memset(s->v, 0, w->batch * sizeof(*s->v));
	s->n = s->at = 0;
	TRY(query(w, which, &rows, e));
	while (s->n < w->batch && TRY(rows_next(rows, e)) > 0) {
		struct seen *x = &s->v[s->n++];

		take_part(w, which, rows, x);
		s->last = x->spot;
		s->last_n = x->attempt.n;
	}
	s->end = s->n < w->batch;
	return OK;
}

/* 1 and the next delivery, with all its parts; 0 at the end. */
static int
next(struct walk *w, struct seen *ret, struct err *e)
{
	struct seen x = {.spot = {.seq = -1}};

	for (int i = 0; i < STREAMS; i++) {
		const struct stream *s = &w->s[i];

		TRY(fill(w, i, e));
		if (s->at < s->n &&
		    (x.spot.seq < 0 || cmp(s->v[s->at].spot, x.spot) > 0))
			x.spot = s->v[s->at].spot;
	}
	if (x.spot.seq < 0)
		return 0;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &w->s[i];

		while (s->at < s->n && cmp(s->v[s->at].spot, x.spot) == 0) {
			const struct seen *y = &s->v[s->at++];

			w->looked++;
			if (y->has_attempt && !x.has_attempt)
				x.attempt = y->attempt;
			else if (y->has_row)
				x.row = y->row;
			else if (y->has_dead)
				x.dead = y->dead;
			x.has_attempt |= y->has_attempt;
			x.has_row |= y->has_row;
			x.has_dead |= y->has_dead;
			TRY(fill(w, i, e));
		}
	}
	*ret = x;
	return 1;
}

/* Known in this page already, or read now; NULL when there is none that the
 * caller may see. */
static int
page_sub(struct walk *w, uint32_t id, const struct sql_sub_head_row **ret,
    struct err *e)
{
	struct known *k;

	for (size_t i = w->n_known; i > 0; i--)
		if (w->known[i - 1].id == id) {
			*ret =
			    w->known[i - 1].there ? &w->known[i - 1].sub : NULL;
			return OK;
		}
	if (!w->known)
		w->known =
		    arena_array(w->r->arena, SUBS_SEEN_MAX, sizeof(*w->known));
	if (w->n_known == SUBS_SEEN_MAX)
		w->n_known = 0;
	k = &w->known[w->n_known];
	k->there = TRY(seen_sub(w->r, w->db, id, &k->sub, e)) > 0;
	k->id = id;
	w->n_known++;
	*ret = k->there ? &k->sub : NULL;
	return OK;
}

/* Which streams can have one of the statuses wanted. */
static void
close_streams(struct walk *w)
{
	const unsigned rows = 1U << STATUS_PENDING | 1U << STATUS_PROCESSING |
			      1U << STATUS_RETRY_PENDING;
	const unsigned dead = 1U << STATUS_DEAD_LETTER;

	if (!(w->p->statuses & ~rows))
		w->s[OF_ATTEMPTS].end = w->s[OF_DEADS].end = true;
	else if (!(w->p->statuses & ~dead))
		w->s[OF_ATTEMPTS].end = true;
}

int
seen_page(struct req *r, struct db *db, struct seen_page *p, struct buf *b,
    struct err *e)
{
	struct walk w = {.r = r, .db = db, .p = p};
	struct seen x;
	bool closed;

	w.batch = (size_t)p->limit + 1;
	for (int i = 0; i < STREAMS; i++)
		w.s[i].last = p->before;
	close_streams(&w);
	closed = w.s[OF_ATTEMPTS].end;
	p->last = p->before;
	while (TRY(next(&w, &x, e)) > 0) {
		const struct sql_sub_head_row *sub = NULL;

		p->more = (int64_t)p->shown == p->limit ||
			  w.looked > PAGE_SCAN || b->n > PAGE_BYTES;
		if (p->more)
			break;
		p->last = x.spot;
		if (!seen_any(&x) || !(p->statuses & 1U << seen_status(&x)))
			continue;
		TRY(page_sub(&w, x.spot.sub, &sub, e));
		if (!sub)
			continue;
		if (closed)
			TRY(seen_get(r, db, x.spot, &x, e));
		p->shown++;
		TRY(seen_show(r, db, &x, sub, NULL, b, e));
		buf_addc(b, '}');
	}
	return OK;
}

/* One event, seen from one who is still to come to it. */
static int
show_waiting(struct req *r, struct db *db, struct spot spot,
    const struct sql_event_head_row *ev, struct buf *b, struct err *e)
{
	struct sql_sub_head_row sub;
	struct seen s;

	if (TRY(seen_sub(r, db, spot.sub, &sub, e)) == 0 || sub.until_seq > 0 ||
	    spot.seq <= sub.from_seq ||
	    (ev->to_sub > 0 && ev->to_sub != spot.sub) ||
	    (ev->to_sub == 0 &&
		seen_refuses(r->arena, &sub, ev->type, uuid_of(ev->tenant))))
		return OK;
	TRY(seen_get(r, db, spot, &s, e));
	if (seen_any(&s))
		return OK;
	TRY(seen_show(r, db, &s, &sub, NULL, b, e));
	put_close(b, '}');
	return OK;
}

int
seen_waiting(struct req *r, struct db *db, int64_t seq, int64_t sub,
    struct buf *b, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_event_head_row ev;
	struct spot spot = {.seq = seq};

	if (TRY(sql_event_head_one(db, r->arena, &ev, e, .seq = seq)) == 0)
		return OK;
	TRY(sql_readers_before(db, &rows, e, .seq = seq,
	    .okey = (int64_t)letter_hash(ev.pkey), .sub = sub,
	    .most = SEEN_WAITING_MAX));
	while (TRY(rows_next(rows, e)) > 0) {
		uint32_t last = spot.sub;

		spot.sub = (uint32_t)rows_int(rows, 0);
		if (spot.sub != last)
			TRY(show_waiting(r, db, spot, &ev, b, e));
	}
	return OK;
}

int
seen_of_event(
    struct req *r, struct db *db, int64_t seq, struct buf *b, struct err *e)
{
	struct seen_page p = {
	    .before = {.seq = seq + 1},
	    .lo = seq,
	    .statuses = (1U << STATUS_COUNT) - 1,
	    .limit = PAGE_DEFAULT,
	};

	buf_addc(b, '[');
	TRY(seen_page(r, db, &p, b, e));
	if (!p.more)
		TRY(seen_waiting(r, db, seq, 0, b, e));
	buf_addc(b, ']');
	return OK;
}
