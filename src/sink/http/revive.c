#include "sink/http/revive.h"

#include "base/conf/conf.h"
#include "base/heap.h"
#include "base/log/log.h"
#include "contract/request.h"
#include "contract/retry.h"
#include "contract/verdict.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/fetch.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "http/client/client.h"
#include "sink/http/http.h"
#include "sink/http/told.h"

struct revive {
	struct deliver *d;
	struct map *ill; /* by sub */
	struct heap due; /* those at rest */
	size_t busy;     /* those that are looked after */
	int64_t turn;
};

struct ill {
	struct revive *v;
	uint32_t sub;
	struct heap_node rest;
	int64_t noted_us; /* when it was last heard to be ill */
	int64_t began_us; /* the round */
	int64_t turn;     /* the page that it waits for */
	struct dead_at after;
	struct {
		uint64_t url;
		bool good;
	} known[REVIVE_URLS];
	size_t n_known;
	/* The page in hand: */
	struct deads *page;
	size_t at, put_back;
	struct arena *arena;
	struct kept_conf *conf;
	struct client_send send;
	bool sending, dropped;
};

static void walk(struct ill *x, int64_t now);

static int64_t
round_us(const struct revive *v)
{
	return retry_scaled(REVIVE_MS, deliver_opts(v->d)->conf->time_scale) *
	       US_PER_MS;
}

struct revive *
revive_new(struct deliver *d)
{
	struct revive *v = mem_get(sizeof(*v));

	v->d = d;
	v->ill = map_new(SIZE_MAX / 2);
	return v;
}

/* The page is done with, whatever became of it. */
static void
put_page(struct ill *x)
{
	if (!x->page)
		return;
	if (x->put_back > 0)
		log_fmt(LOG_INFO, "dead letters put back",
		    "%zu, since their health check is good", x->put_back);
	fetch_deads_free(x->page);
	confs_put(deliver_confs(x->v->d), x->conf);
	arena_free(x->arena);
	x->page = NULL;
	x->conf = NULL;
	x->arena = NULL;
}

/* Out of the map already, or about to be. */
static void
end_ill(struct ill *x)
{
	struct revive *v = x->v;

	if (x->rest.at == 0)
		v->busy--;
	heap_remove(&v->due, &x->rest);
	x->dropped = true;
	if (x->sending) {
		client_cancel(deliver_client(v->d), &x->send);
		return;
	}
	put_page(x);
	free(x);
}

static void
drop_ill(struct ill *x)
{
	(void)map_take(x->v->ill, SUB_KEY(&x->sub));
	end_ill(x);
}

static void
rest(struct ill *x, int64_t until)
{
	put_page(x);
	x->v->busy--;
	x->rest.due = until;
	heap_add(&x->v->due, &x->rest);
}

void
revive_note(struct revive *v, uint32_t sub, int64_t now)
{
	struct ill *x = map_find(v->ill, SUB_KEY(&sub));

	if (x) {
		x->noted_us = now;
		return;
	}
	x = mem_get(sizeof(*x));
	x->v = v;
	x->sub = sub;
	x->noted_us = now;
	map_set(v->ill, SUB_KEY(&x->sub), x);
	v->busy++;
	rest(x, now + round_us(v));
}

void
revive_forget(struct revive *v, uint32_t sub)
{
	struct ill *x = map_find(v->ill, SUB_KEY(&sub));

	if (x)
		drop_ill(x);
}

void
revive_forget_all(struct revive *v)
{
	struct ill *x;
	size_t at = 0;

	while ((x = map_each(v->ill, &at)))
		end_ill(x);
	map_free(v->ill);
	v->ill = map_new(SIZE_MAX / 2);
}

void
revive_free(struct revive *v)
{
	revive_forget_all(v);
	map_free(v->ill);
	heap_done(&v->due);
	free(v);
}

/* Rounds -------------------------------------------------------------------- */

static void
begin_round(struct ill *x, int64_t now)
{
	struct revive *v = x->v;
	const struct wish *w = deliver_wish(v->d, x->sub);
	struct deads want = {.sub = x->sub};

	if (!w || !w->checked) {
		drop_ill(x);
		return;
	}
	if (!w->core.enabled) {
		rest(x, now + round_us(v));
		return;
	}
	if (now >= x->began_us + round_us(v)) {
		x->began_us = now;
		x->after = (struct dead_at){0};
		x->n_known = 0;
	}
	x->turn = want.turn = ++v->turn;
	want.until = x->began_us;
	want.after = x->after;
	if (!fetch_deads(v->d, &want))
		rest(x, now + US_PER_S);
}

void
revive_turn(struct revive *v, int64_t now)
{
	struct heap_node *node;

	while (v->busy < REVIVE_BUSY && (node = heap_first(&v->due)) &&
	       node->due <= now) {
		heap_remove(&v->due, node);
		v->busy++;
		begin_round(LINK_OF(node, struct ill, rest), now);
	}
}

int64_t
revive_due(const struct revive *v)
{
	const struct heap_node *node = heap_first(&v->due);

	return node && v->busy < REVIVE_BUSY ? node->due : INT64_MAX;
}

void
revive_deads(struct revive *v, struct deads *p, int64_t now)
{
	struct ill *x = map_find(v->ill, SUB_KEY(&p->sub));
	struct err e = {0};

	if (!x || x->turn != p->turn || x->rest.at > 0) {
		fetch_deads_free(p);
		return;
	}
	x->page = p;
	x->at = x->put_back = 0;
	if (p->failed || p->crowded) {
		rest(x, now + (p->failed ? round_us(v) : US_PER_S));
		return;
	}
	if (p->n == 0 && x->after.at == 0 && x->noted_us < x->began_us) {
		drop_ill(x); /* nothing is left */
		return;
	}
	x->arena = arena_new(ATTEMPT_MEM);
	x->conf = confs_get(deliver_confs(v->d), x->sub, &e);
	if (!x->conf)
		rest(x, now + round_us(v));
	else
		walk(x, now);
}

/* Dead letters ------------------------------------------------------------------- */

static void
asked(struct deliver_ask *q)
{
	free(q);
}

static void
put_back(struct ill *x, int64_t now)
{
	const struct dead_row *d = &x->page->v[x->at];
	struct ask_requeue *q = mem_get(sizeof(*q));
	struct ask_decide *k = &q->decide;

	k->ask.kind = ASK_REQUEUE;
	k->ask.sub = x->sub;
	k->ask.done = asked;
	k->seq = d->at.seq;
	k->rep = d->at.rep;
	k->who = STR("rule");
	k->note = STR("its health check is good again");
	q->okey = d->okey;
	q->skey = d->skey;
	q->n = d->n;
	q->rule = true;
	q->letter = d->letter;
	x->put_back++;
	deliver_take(x->v->d, &k->ask, now);
}

/* The GET of the letter's health check: as preflight_make(). */
static int
make_check(struct ill *x, struct request *ret)
{
	const struct letter *l = x->page->v[x->at].letter;
	struct request_event ev = letter_event(l);
	struct request_attempt at = {.number = 1, .now_us = clock_now_us()};
	enum reason reason;
	struct err e;

	arena_reset(x->arena);
	if (l->shut)
		return ERR_DENIED;
	return preflight_make(
	    x->arena, x->conf->conf, &ev, &at, ret, &reason, &e);
}

static void
checked(struct client_send *send, const struct client_answer *ans)
{
	struct ill *x = LINK_OF(send, struct ill, send);
	struct outcome o;
	struct judgement j;

	x->sending = false;
	if (x->dropped) {
		put_page(x);
		free(x);
		return;
	}
	told_outcome(ans, &o);
	j = preflight_judge(x->arena, x->conf->conf, &o);
	x->known[x->n_known++].good = j.verdict == VERDICT_OK;
	walk(x, deliver_now(x->v->d));
}

enum check { CHECK_BAD, CHECK_GOOD, CHECK_ASKED, CHECK_ENOUGH };

static enum check
check_one(struct ill *x)
{
	struct request r;
	int rc = make_check(x, &r);
	uint64_t url;

	if (rc < 0)
		return CHECK_BAD; /* it can't be sent: a person must look */
	if (rc == 0)
		return CHECK_GOOD; /* there is none any more */
	url = letter_hash(r.url);
	for (size_t i = 0; i < x->n_known; i++)
		if (x->known[i].url == url)
			return x->known[i].good ? CHECK_GOOD : CHECK_BAD;
	if (x->n_known == REVIVE_URLS)
		return CHECK_ENOUGH;
	http_send(x->v->d, x->arena, x->conf, &r, &x->send);
	x->known[x->n_known].url = url;
	x->send.method = GET;
	x->send.done = checked;
	x->sending = true;
	client_start(deliver_client(x->v->d), &x->send);
	return CHECK_ASKED;
}

/* Through the page; goes on in checked() where it has to ask. */
static void
walk(struct ill *x, int64_t now)
{
	enum check got = CHECK_BAD;

	for (; x->at < x->page->n; x->at++) {
		got = check_one(x);
		if (got == CHECK_ASKED)
			return;
		if (got == CHECK_ENOUGH)
			break;
		if (got == CHECK_GOOD)
			put_back(x, now);
		x->after = x->page->v[x->at].at;
	}
	if (got != CHECK_ENOUGH && x->page->more)
		rest(x, now + US_PER_S);
	else
		rest(x, x->began_us + round_us(x->v));
}
