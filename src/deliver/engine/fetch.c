#include "deliver/engine/fetch.h"

#include "base/log/log.h"
#include "contract/verdict.h"
#include "deliver/core/limits.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/replay.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "event/envelope.h"
#include "event/sealed.h"
#include "match/jq/jq.h"
#include "sql.h"

#define FETCH_SCAN  1024
#define FETCH_BYTES (4 * MIB)
#define DEAD_KEPT   3 /* a dead letter's state: sql 0007 */

struct fetcher {
	struct deliver *d;
	struct db *db;
	struct jq *jq;
	bool told; /* of a failure; until something succeeds */
};

static void *
fetch_enter(void *arg)
{
	struct fetcher *f = mem_get(sizeof(*f));

	f->d = arg;
	f->jq = jq_new("/proc/self/exe");
	return f;
}

/* Opened when it is needed: at a start the store may be away for a moment. */
static bool
ready(struct fetcher *f)
{
	struct err e = {0};

	if (!f->db && db_open(f->d->o.store, DB_READ, &f->db, &e) < 0)
		log_err(LOG_WARN, "the log can't be read now", &e);
	return f->db != NULL;
}

/* What fails is asked for again; it is told of once. True: it did. */
static bool
failed(struct fetcher *f, int rc, const struct err *e)
{
	if (rc < 0 && !f->told)
		log_err(LOG_WARN, "the log can't be read now", e);
	f->told = rc < 0;
	return f->told;
}

static void
fetch_leave(void *ctx)
{
	struct fetcher *f = ctx;

	db_close(f->db);
	jq_free(f->jq);
	free(f);
}

int
fetch_start(struct deliver *d, struct pool **ret, struct err *e)
{
	struct pool_opts o = {
	    .name = "fetch",
	    .threads = 1,
	    .queue_max = 4096,
	    .enter = fetch_enter,
	    .leave = fetch_leave,
	    .arg = d,
	};

	return pool_start(&o, ret, e);
}

static void
run_job(struct pool_job *job, void *ctx)
{
	struct fetched *x = LINK_OF(job, struct fetched, job);

	x->read(ctx, x);
	deliver_tell(x->d, &x->note);
}

static bool
post_job(struct deliver *d, struct fetched *x, enum note_kind kind,
    void (*read)(struct fetcher *f, struct fetched *x))
{
	*x = (struct fetched){
	    .note.kind = kind, .job.run = run_job, .d = d, .read = read};
	return pool_post(d->fetch, &x->job);
}

static bool
named(const struct letter *l, uint32_t sub)
{
	size_t at = 0;
	uint32_t id;

	while (letter_named(l, &at, &id))
		if (id == sub)
			return true;
	return false;
}

/* 1 when the filter wants it, or failed: that stands in the letter. */
static int
judge_letter(struct fetcher *f, struct wish *w, struct letter *l, int program,
    struct err *e)
{
	struct jq_item item = {.program = program, .input = l->body};
	struct jq_said said = {.verdict = JQ_TRUE};
	enum reason r;

	if (jq_filter(f->jq, &item, 1, &said, e) < 0)
		return e->code;
	r = hold_strike(w, &said, deliver_now(f->d));
	if (r)
		letter_fail(l, w->version, (int)r, said.why);
	return said.verdict != JQ_FALSE;
}

/* 1 when its reader should have it. */
static int
reader_wants(struct fetcher *f, const struct page *p, struct letter *l,
    int program, struct err *e)
{
	const struct wish *w = p->wish;

	if (l->seq <= w->from_seq && p->read.rep == 0)
		return 0;
	if (p->replay && !replay_wants(p->replay, l->type, &l->tenant, l->key))
		return 0;
	if (l->to_sub > 0 && l->to_sub != (int64_t)p->read.sub)
		return 0;
	if (l->to_sub > 0) {
		letter_open(l, f->d->o.keyring);
		return 1;
	}
	if (wish_gathers(w, l->type, l->seq) ||
	    !(w->directed ? named(l, p->read.sub)
			  : wish_wants(w, l->type, &l->tenant)))
		return 0;
	/* What its preset makes the key of, the deliver thread looks at. */
	if (p->read.okey != 0 && w->key == WISH_KEY_EVENT &&
	    letter_lane(l) != p->read.okey)
		return 0;
	letter_open(l, f->d->o.keyring);
	return program >= 0 && !l->shut
		   ? judge_letter(f, p->wish, l, program, e)
		   : 1;
}

/* Where the log begins; what a reader has not read before it is lost. */
static int
find_edge(struct fetcher *f, struct page *p, struct err *e)
{
	struct sql_log_first_row row;

	if (TRY(sql_log_first_one(f->db, &row, e)) > 0 &&
	    row.seq > p->read.after + 1)
		p->upto = p->lost_to =
		    row.seq - 1 < p->read.upto ? row.seq - 1 : p->read.upto;
	return OK;
}

/* Entries up to `top`, `most` at most that are wanted. */
static int
read_entries(struct fetcher *f, struct page *p, int program, int64_t top,
    size_t most, struct err *e)
{
	struct sql_log_feed_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	size_t bytes = 0;

	TRY(sql_log_feed_sub(f->db, &rows, e, .after = p->upto, .upto = top,
	    .sub = p->read.sub, .rep = p->read.rep, .most = FETCH_SCAN));
	/* One that is held by now reads no further. */
	while (p->n < most && bytes < FETCH_BYTES && !wish_held(p->wish)) {
		struct letter *l;
		int wanted;

		if (TRY(sql_log_feed_sub_next(rows, &row, e)) == 0) {
			p->upto = top;
			return OK;
		}
		l = letter_new(&row);
		wanted = reader_wants(f, p, l, program, e);
		if (wanted > 0) {
			bytes += letter_bytes(l);
			p->letters[p->n++] = l;
		} else {
			letter_unref(l);
		}
		TRY(wanted);
		p->upto = row.seq;
	}
	return OK;
}

static int
fill_page(struct fetcher *f, struct page *p, struct err *e)
{
	size_t most = (size_t)p->read.most;
	int program = -1, rc;
	int64_t top;

	if (p->replay && p->replay->stopped) {
		p->upto = p->read.upto;
		return OK;
	}
	if (p->replay && (size_t)replay_chunk(p->replay->rate) < most)
		most = (size_t)replay_chunk(p->replay->rate);
	TRY(find_edge(f, p, e));
	top = p->upto + FETCH_SCAN;
	if (top > p->read.upto)
		top = p->read.upto;
	if (p->wish->filter.n > 0)
		TRY(jq_program(f->jq, p->wish->filter, &program, e));
	rc = read_entries(f, p, program, top, most, e);
	if (program >= 0)
		jq_forget(f->jq, program);
	return rc;
}

static void
page_clear(struct page *p)
{
	for (size_t i = 0; i < p->n; i++)
		letter_unref(p->letters[i]);
	p->n = 0;
}

static void
read_page_job(struct fetcher *f, struct fetched *x)
{
	struct page *p = (struct page *)x;
	struct err e = {0};

	if (!ready(f) || !failed(f, fill_page(f, p, &e), &e))
		return;
	page_clear(p);
	p->upto = p->read.after;
	p->lost_to = 0;
}

bool
fetch_page(struct deliver *d, const struct core_read *r, struct wish *w,
    struct replay *replay)
{
	struct page *p = mem_get(sizeof(*p));

	assert(r->most <= READ_PAGE_MAX);
	p->read = *r;
	p->wish = wish_ref(w);
	p->replay = replay_ref(replay);
	p->upto = r->after;
	if (post_job(d, &p->head, NOTE_PAGE, read_page_job))
		return true;
	fetch_page_free(p);
	return false;
}

void
fetch_page_free(struct page *p)
{
	page_clear(p);
	wish_unref(p->wish);
	replay_unref(p->replay);
	free(p);
}

/* A stored body as the entry that it was. */
static struct letter *
old_letter(struct str body, int64_t seq)
{
	struct envelope_opts o = {.own = true};
	struct arena *a = arena_new(FETCH_BYTES + 8 * body.n);
	struct letter *l = NULL;
	struct event ev;
	struct err e = {0};

	if (envelope_parse(a, body, &o, &ev, &e) == OK)
		l = letter_new(&(struct sql_log_feed_row){
		    .seq = seq,
		    .tenant = uuid_str(&ev.tenant),
		    .event_id = uuid_str(&ev.event_id),
		    .type = ev.type,
		    .pkey = ev.key,
		    .received_at = ev.occurred_us,
		    .to_sub_null = true,
		    .rv_null = !ev.has_rv,
		    .rv = ev.rv_us,
		    .body = body,
		});
	arena_free(a);
	return l;
}

/*
 * A dead letter that was put back, after the log had lost the event. That it
 * was put back may not be committed yet; what was merely kept is none.
 */
static int
read_kept(struct fetcher *f, struct attempt *at, struct err *e)
{
	struct sql_dead_body_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct arena *a CLEANUP(arena_freep) = NULL;
	struct str body = STR_EMPTY;
	struct err shut;

	TRY(sql_dead_body(f->db, &rows, e, .sub = at->s.row.sub,
	    .seq = at->s.row.seq, .rep = at->s.row.rep));
	if (TRY(sql_dead_body_next(rows, &row, e)) == 0 ||
	    row.state == DEAD_KEPT || row.body.n == 0)
		return OK;
	a = arena_new(FETCH_BYTES);
	if (sealed_open(f->d->o.keyring, row.tenant, row.event_id, row.body,
		arena_alloc(a, row.body.n), &body, &shut) == OK)
		at->letter = old_letter(body, at->s.row.seq);
	return OK;
}

/*
 * An entry that was shut went by its subscription's filter, which had nothing
 * to look at. So whenever a sealed one comes from the log it is asked again; and
 * so it is about one that it failed over, since it may have been mended.
 */
static int
ask_filter(struct fetcher *f, struct attempt *at, struct err *e)
{
	struct wish *w = at->found.wish;
	struct letter *l = at->letter;
	int program, rc;

	if (!w || !l || l->shut || (!l->was_sealed && !at->s.row.unjudged))
		return OK;
	TRY(jq_program(f->jq, w->filter, &program, e));
	rc = judge_letter(f, w, l, program, e);
	jq_forget(f->jq, program);
	at->found.left_out = rc == 0;
	return rc;
}

static int
read_version(struct fetcher *f, struct attempt *at, struct err *e)
{
	struct sql_record_version_get_row row = {.rv = CORE_NO_RV};

	TRY(sql_record_version_get_one(f->db, &row, e, .sub = at->s.row.sub,
	    .rec_a = (int64_t)at->rec.a, .rec_b = (int64_t)at->rec.b));
	at->found.rv = row.rv;
	return OK;
}

static void
read_version_job(struct fetcher *f, struct fetched *x)
{
	struct attempt *at = (struct attempt *)x;
	struct err e = {0};

	at->found.failed = !ready(f) || failed(f, read_version(f, at, &e), &e);
}

bool
fetch_version(struct attempt *a)
{
	return post_job(a->d, &a->fetch, NOTE_VERSION, read_version_job);
}

/* 1: the log has it. */
static int
read_entry(struct fetcher *f, struct attempt *at, struct err *e)
{
	struct sql_log_feed_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_log_feed(f->db, &rows, e, .after = at->s.row.seq - 1,
	    .upto = at->s.row.seq, .most = 1));
	if (TRY(sql_log_feed_next(rows, &row, e)) == 0)
		return 0;
	at->letter = letter_new(&row);
	letter_open(at->letter, f->d->o.keyring);
	return 1;
}

static int
read_letter(struct fetcher *f, struct attempt *at, struct err *e)
{
	if (TRY(read_entry(f, at, e)) == 0)
		TRY(read_kept(f, at, e));
	return ask_filter(f, at, e);
}

static void
read_letter_job(struct fetcher *f, struct fetched *x)
{
	struct attempt *at = (struct attempt *)x;
	struct err e = {0};

	at->found.failed = !ready(f) || failed(f, read_letter(f, at, &e), &e);
}

bool
fetch_letter(struct attempt *a, struct wish *w)
{
	if (w && w->filter.n > 0 && (a->s.row.n == 0 || a->s.row.unjudged))
		a->found.wish = wish_ref(w);
	return post_job(a->d, &a->fetch, NOTE_LETTER, read_letter_job);
}

/* 1: no more of it should wait to be sent. */
static int
crowded(struct fetcher *f, uint32_t sub, struct err *e)
{
	struct sql_rows_some_row row = {0};

	TRY(sql_rows_some_one(f->db, &row, e, .sub = sub, .most = REVIVE_PAGE));
	return row.n >= REVIVE_PAGE;
}

static size_t
add_dead(
    struct fetcher *f, struct deads *p, const struct sql_dead_revive_row *row)
{
	struct letter *l = letter_new(&(struct sql_log_feed_row){
	    .seq = row->seq,
	    .kind = row->kind,
	    .tenant = row->tenant,
	    .event_id = row->event_id,
	    .type = row->type,
	    .pkey = row->pkey,
	    .received_at = row->received_at,
	    .to_sub = row->to_sub,
	    .to_sub_null = row->to_sub_null,
	    .attrs = row->attrs,
	    .body = row->body,
	    .rv = row->rv,
	    .rv_null = row->rv_null,
	});

	letter_open(l, f->d->o.keyring);
	p->v[p->n].at = (struct dead_at){row->at, row->seq, (int)row->rep};
	p->v[p->n].okey = (uint64_t)row->okey;
	p->v[p->n].skey = (uint64_t)row->skey;
	p->v[p->n].n = (int)row->n;
	p->v[p->n++].letter = l;
	return letter_bytes(l);
}

static int
read_deads(struct fetcher *f, struct deads *p, struct err *e)
{
	struct sql_dead_revive_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	size_t bytes = 0;

	p->crowded = TRY(crowded(f, p->sub, e)) > 0;
	if (p->crowded)
		return OK;
	TRY(sql_dead_revive(f->db, &rows, e, .sub = p->sub,
	    .reason = REASON_PREFLIGHT, .times = REVIVE_TIMES,
	    .until = p->until, .at = p->after.at, .seq = p->after.seq,
	    .rep = p->after.rep, .most = REVIVE_PAGE));
	while (
	    bytes < FETCH_BYTES && TRY(sql_dead_revive_next(rows, &row, e)) > 0)
		bytes += add_dead(f, p, &row);
	p->more = bytes >= FETCH_BYTES || p->n == REVIVE_PAGE;
	return OK;
}

static void
read_deads_job(struct fetcher *f, struct fetched *x)
{
	struct deads *p = (struct deads *)x;
	struct err e = {0};

	p->failed = !ready(f) || failed(f, read_deads(f, p, &e), &e);
}

bool
fetch_deads(struct deliver *d, const struct deads *want)
{
	struct deads *p = mem_get(sizeof(*p));

	*p = *want;
	if (post_job(d, &p->head, NOTE_DEADS, read_deads_job))
		return true;
	free(p);
	return false;
}

void
fetch_deads_free(struct deads *p)
{
	for (size_t i = 0; i < p->n; i++)
		letter_unref(p->v[i].letter);
	free(p);
}
