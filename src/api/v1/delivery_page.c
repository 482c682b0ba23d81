/*
 * delivery.h: a page of deliveries, newest first. Attempts, rows and dead
 * letters are three streams in the order of (seq, sub, rep), read some at a
 * time; the newest head is next, and takes what the others have of the same.
 */
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/delivery.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "deliver/core/core.h"
#include "deliver/engine/letter.h"
#include "http/server/limits.h"
#include "sql.h"

enum { OF_ATTEMPTS, OF_ROWS, OF_DEADS, STREAMS };

struct stream {
	struct seen *v; /* each with one part */
	size_t n, at;
	struct spot last;
	int last_n; /* of attempts */
	bool end;
};

struct walk {
	struct req *r;
	struct db *db;
	struct seen_page *p;
	struct stream s[STREAMS];
	size_t batch, looked;
	struct {
		struct sub_brief *v;
		size_t n;
	} subs;
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

static void
take_part(
    struct walk *w, int which, struct rows *rows, struct seen *x, int *ret_n)
{
	struct sql_look_attempts_row a;
	struct sql_look_rows_row d;
	struct sql_look_deads_row z;

	switch (which) {
	case OF_ATTEMPTS:
		sql_look_attempts_get(rows, &a);
		x->spot = (struct spot){a.seq, (uint32_t)a.sub, (int)a.rep};
		*ret_n = (int)a.n;
		seen_take_attempt(x, &a);
		break;
	case OF_ROWS:
		sql_look_rows_get(rows, &d);
		x->spot = (struct spot){d.seq, (uint32_t)d.sub, (int)d.rep};
		seen_take_row(x, &d);
		break;
	default:
		sql_look_deads_get(rows, &z);
		x->spot = (struct spot){z.seq, (uint32_t)z.sub, (int)z.rep};
		seen_take_dead(x, &z);
		seen_keep(x, w->r->arena);
	}
}

static int
fill(struct walk *w, int which, struct err *e)
{
	struct stream *s = &w->s[which];
	struct rows *rows = NULL;
	int rc;

	if (s->at < s->n || s->end)
		return OK;
	if (!s->v)
		s->v = arena_array(w->r->arena, w->batch, sizeof(*s->v));
	memset(s->v, 0, w->batch * sizeof(*s->v));
	s->n = s->at = 0;
	rc = query(w, which, &rows, e);
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0 && s->n < w->batch) {
		struct seen *x = &s->v[s->n++];

		take_part(w, which, rows, x, &s->last_n);
		s->last = x->spot;
	}
	rows_close(rows);
	s->end = s->n < w->batch;
	return rc < 0 ? rc : OK;
}

/* 1 and the next delivery, with all its parts; 0 at the end. */
static int
next(struct walk *w, struct seen *ret, struct err *e)
{
	struct seen x = {.spot = {.seq = -1}};

	for (int i = 0; i < STREAMS; i++) {
		int rc = fill(w, i, e);

		if (rc < 0)
			return rc;
		if (w->s[i].at < w->s[i].n &&
		    (x.spot.seq < 0 ||
			cmp(w->s[i].v[w->s[i].at].spot, x.spot) > 0))
			x.spot = w->s[i].v[w->s[i].at].spot;
	}
	if (x.spot.seq < 0)
		return 0;
	for (int i = 0; i < STREAMS; i++) {
		struct stream *s = &w->s[i];

		while (s->at < s->n && cmp(s->v[s->at].spot, x.spot) == 0) {
			const struct seen *y = &s->v[s->at++];
			int rc;

			w->looked++;
			if (i == OF_ATTEMPTS && !x.attempt.there)
				x.attempt = y->attempt;
			else if (i == OF_ROWS)
				x.row = y->row;
			else if (i == OF_DEADS)
				x.dead = y->dead;
			rc = fill(w, i, e);
			if (rc < 0)
				return rc;
		}
	}
	*ret = x;
	return 1;
}

/* Known in this page already, or read now; NULL when there is none. */
static int
brief(struct walk *w, uint32_t id, const struct sub_brief **ret, struct err *e)
{
	struct sub_brief *b;
	int rc;

	*ret = NULL;
	for (size_t i = w->subs.n; i > 0; i--)
		if (w->subs.v[i - 1].id == id) {
			*ret = &w->subs.v[i - 1];
			return OK;
		}
	if (!w->subs.v)
		w->subs.v =
		    arena_array(w->r->arena, SUBS_SEEN_MAX, sizeof(*w->subs.v));
	if (w->subs.n == SUBS_SEEN_MAX)
		w->subs.n = 0;
	b = &w->subs.v[w->subs.n];
	rc = sub_brief_get(w->r, w->db, id, b, e);
	if (rc > 0) {
		w->subs.n++;
		*ret = b;
	}
	return rc < 0 ? rc : OK;
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
	int rc = 1;

	w.batch = (size_t)p->limit + 1;
	for (int i = 0; i < STREAMS; i++)
		w.s[i].last = p->before;
	close_streams(&w);
	closed = w.s[OF_ATTEMPTS].end;
	p->last = p->before;
	while (rc > 0) {
		const struct sub_brief *sub = NULL;

		rc = next(&w, &x, e);
		if (rc <= 0)
			break;
		p->more = (int64_t)p->shown == p->limit ||
			  w.looked > PAGE_SCAN || b->n > PAGE_BYTES;
		if (p->more)
			break;
		p->last = x.spot;
		if (!seen_any(&x) || !(p->statuses & 1U << seen_status(&x)))
			continue;
		rc = brief(&w, x.spot.sub, &sub, e);
		if (rc < 0)
			break;
		rc = 1;
		if (!sub || !sub->visible)
			continue;
		if (closed && seen_get(r, db, x.spot, &x, e) < 0)
			return e->code;
		p->shown++;
		if (seen_show(r, db, &x, sub, NULL, b, e) < 0)
			return e->code;
		buf_addc(b, '}');
	}
	return rc < 0 ? rc : OK;
}

/* One event, seen from one who is still to come to it. */
static int
show_waiting(struct req *r, struct db *db, struct spot spot,
    const struct sql_event_head_row *ev, struct buf *b, struct err *e)
{
	struct seen s = {.spot = spot};
	struct sub_brief brief;
	int rc = sub_brief_get(r, db, spot.sub, &brief, e);

	if (rc <= 0)
		return rc;
	if (!brief.visible || brief.until_seq > 0 ||
	    spot.seq <= brief.from_seq ||
	    (ev->to_sub > 0 && ev->to_sub != spot.sub) ||
	    (ev->to_sub == 0 &&
		seen_refuses(r->arena, &brief, ev->type, uuid_of(ev->tenant))))
		return OK;
	rc = seen_get(r, db, s.spot, &s, e);
	if (rc < 0 || seen_any(&s))
		return rc;
	rc = seen_show(r, db, &s, &brief, NULL, b, e);
	put_close(b, '}');
	return rc;
}

int
seen_waiting(struct req *r, struct db *db, int64_t seq, int64_t sub,
    struct buf *b, struct err *e)
{
	struct sql_event_head_row ev;
	struct rows *rows = NULL;
	int64_t subs[SEEN_WAITING_MAX], okey;
	uint64_t hash;
	size_t n = 0;
	int rc = sql_event_head_one(db, r->arena, &ev, e, .seq = seq);

	if (rc <= 0)
		return rc;
	if (ev.to_sub_null)
		ev.to_sub = 0;
	hash = letter_hash(ev.pkey);
	memcpy(&okey, &hash, sizeof(okey));
	rc = sql_readers_before(db, &rows, e, .seq = seq, .okey = okey,
	    .sub = sub, .most = SEEN_WAITING_MAX);
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0)
		subs[n++] = rows_int(rows, 0);
	rows_close(rows);
	for (size_t i = 0; rc >= 0 && i < n; i++) {
		struct spot spot = {.seq = seq, .sub = (uint32_t)subs[i]};

		if (i == 0 || subs[i] != subs[i - 1])
			rc = show_waiting(r, db, spot, &ev, b, e);
	}
	return rc < 0 ? rc : OK;
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
	int rc;

	buf_addc(b, '[');
	rc = seen_page(r, db, &p, b, e);
	if (rc == OK && !p.more)
		rc = seen_waiting(r, db, seq, 0, b, e);
	buf_addc(b, ']');
	return rc;
}
