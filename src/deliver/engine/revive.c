#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/map.h"
#include "base/str.h"
#include "contract/request.h"
#include "contract/retry.h"
#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/told.h"
#include "deliver/engine/wish.h"

/*
 * Dead letters whose only fault was a health check that failed. While a
 * subscription has some, its check is asked once a minute, and when it is good
 * they are put back, as a person would do it.
 *
 *   at rest ──minute──▶ page of dead letters ──▶ each: its health check known?
 *      ▲                  ▲       (fetch)          │ no: ask it, then go on
 *      │                  └── a second later ──────┤ good: put it back
 *      └────────── no more, or too many checks ────┘ bad: leave it
 *
 * WHY BY LETTER. The check's URL may have the tenant in it, and the tenant may
 * come from the event. So a URL is asked once in a round and its answer holds
 * for all letters of that URL; a tenant that is ill holds up no other.
 *
 * NO LOOP. A round takes letters that died before it began, so one that was
 * put back and died again is not seen twice in it; and each letter is put back
 * REVIVE_TIMES at most. While REVIVE_PAGE deliveries of the subscription wait,
 * no more are added to them.
 *
 * LIFE. An ill subscription is in the map; at rest it is in the heap, else it
 * waits for a page or a send. One that is dropped while it sends is freed when
 * the send ends.
 */

struct ill {
	struct deliver *d;
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
round_us(const struct deliver *d)
{
	return retry_scaled(REVIVE_MS, d->o.conf->time_scale) * US_PER_MS;
}

static struct str
key_of(const uint32_t *sub)
{
	return (struct str){(const char *)sub, sizeof(*sub)};
}

static struct ill *
find(const struct deliver *d, uint32_t sub)
{
	return map_find(d->revive.ill, key_of(&sub));
}

int
revive_start(struct deliver *d, struct err *e)
{
	d->revive.ill = map_new(SIZE_MAX / 2);
	return d->revive.ill
		   ? OK
		   : err_set(e, ERR_NOMEM, "no memory for deliveries");
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
	conf_put(x->d, x->conf);
	arena_free(x->arena);
	x->page = NULL;
	x->conf = NULL;
	x->arena = NULL;
}

/* Out of the map already, or about to be. */
static void
end(struct ill *x)
{
	struct deliver *d = x->d;

	if (x->rest.at == 0)
		d->revive.busy--;
	heap_remove(&d->revive.due, &x->rest);
	x->dropped = true;
	if (x->sending) {
		client_cancel(d->client, &x->send);
		return;
	}
	put_page(x);
	free(x);
}

static void
drop(struct ill *x)
{
	(void)map_take(x->d->revive.ill, key_of(&x->sub));
	end(x);
}

static void
rest(struct ill *x, int64_t until)
{
	put_page(x);
	x->d->revive.busy--;
	x->rest.due = until;
	heap_add(&x->d->revive.due, &x->rest);
}

void
revive_note(struct deliver *d, uint32_t sub, int64_t now)
{
	struct ill *x = find(d, sub);
	struct err e;

	if (x) {
		x->noted_us = now;
		return;
	}
	x = calloc(1, sizeof(*x));
	if (!x)
		return; /* a later one, or a start, finds it */
	x->d = d;
	x->sub = sub;
	x->noted_us = now;
	if (map_put(d->revive.ill, key_of(&x->sub), x, NULL, &e) < 0) {
		free(x);
		return;
	}
	d->revive.busy++;
	rest(x, now + round_us(d));
}

void
revive_forget(struct deliver *d, uint32_t sub)
{
	struct ill *x = find(d, sub);

	if (x)
		drop(x);
}

void
revive_forget_all(struct deliver *d)
{
	struct ill *x;
	size_t at = 0;

	while ((x = map_each(d->revive.ill, &at)))
		end(x);
	map_free(d->revive.ill);
	d->revive.ill = map_new(SIZE_MAX / 2);
	if (!d->revive.ill)
		abort();
}

void
revive_done(struct deliver *d)
{
	if (d->revive.ill)
		revive_forget_all(d);
	map_free(d->revive.ill);
	heap_done(&d->revive.due);
}

/* Rounds -------------------------------------------------------------------- */

static void
begin(struct ill *x, int64_t now)
{
	struct deliver *d = x->d;
	const struct wish *w = deliver_wish(d, x->sub);
	struct deads want = {.sub = x->sub};

	if (!w || !w->checked) {
		drop(x);
		return;
	}
	if (!w->core.enabled) {
		rest(x, now + round_us(d));
		return;
	}
	if (now >= x->began_us + round_us(d)) {
		x->began_us = now;
		x->after = (struct dead_at){0};
		x->n_known = 0;
	}
	x->turn = want.turn = ++d->revive.turn;
	want.until = x->began_us;
	want.after = x->after;
	if (!fetch_deads(d, &want))
		rest(x, now + US_PER_S);
}

void
revive_turn(struct deliver *d, int64_t now)
{
	struct heap_node *node;

	while (d->revive.busy < REVIVE_BUSY &&
	       (node = heap_first(&d->revive.due)) && node->due <= now) {
		heap_remove(&d->revive.due, node);
		d->revive.busy++;
		begin(LINK_OF(node, struct ill, rest), now);
	}
}

int64_t
revive_due(const struct deliver *d)
{
	const struct heap_node *node = heap_first(&d->revive.due);

	return node && d->revive.busy < REVIVE_BUSY ? node->due : INT64_MAX;
}

void
revive_deads(struct deliver *d, struct deads *p, int64_t now)
{
	struct ill *x = find(d, p->sub);
	struct err e = {0};

	if (!x || x->turn != p->turn || x->rest.at > 0 ||
	    d->owner != OWNER_YES) {
		fetch_deads_free(p);
		return;
	}
	x->page = p;
	x->at = x->put_back = 0;
	if (p->failed || p->crowded) {
		rest(x, now + (p->failed ? round_us(d) : US_PER_S));
		return;
	}
	if (p->n == 0 && x->after.at == 0 && x->noted_us < x->began_us) {
		drop(x); /* nothing is left */
		return;
	}
	x->arena = arena_new(ATTEMPT_MEM);
	x->conf = conf_get(d, x->sub, &e);
	if (!x->arena || !x->conf)
		rest(x, now + round_us(d));
	else
		walk(x, now);
}

/* Letters ------------------------------------------------------------------- */

static void
asked(struct deliver_ask *q)
{
	free(q);
}

static void
put_back(struct ill *x, int64_t now)
{
	struct deliver_ask *q = calloc(1, sizeof(*q));

	if (!q)
		return; /* in the next round */
	*q = (struct deliver_ask){
	    .kind = ASK_REQUEUE,
	    .sub = x->sub,
	    .seq = x->page->v[x->at].at.seq,
	    .rep = x->page->v[x->at].at.rep,
	    .okey = x->page->v[x->at].okey,
	    .skey = x->page->v[x->at].skey,
	    .n = x->page->v[x->at].n,
	    .rule = true,
	    .letter = x->page->v[x->at].letter,
	    .who = STR("rule"),
	    .note = STR("its health check is good again"),
	    .done = asked,
	};
	x->put_back++;
	ask_take(x->d, q, now);
}

/* The GET of the letter's health check: as preflight_make(). */
static int
make_check(struct ill *x, struct request *ret)
{
	const struct letter *l = x->page->v[x->at].letter;
	struct request_event ev = {
	    .event_id = l->event_id,
	    .tenant = l->tenant,
	    .type = l->type,
	    .key = l->key,
	    .received_us = l->received_us,
	    .seq = l->seq,
	    .body = l->body,
	};
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
	walk(x, deliver_now(x->d));
}

enum check { CHECK_BAD, CHECK_GOOD, CHECK_ASKED, CHECK_ENOUGH };

static enum check
check(struct ill *x)
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
	if (x->n_known == REVIVE_URLS ||
	    !conf_send(x->d, x->arena, x->conf, &r, &x->send))
		return CHECK_ENOUGH;
	x->known[x->n_known].url = url;
	x->send.method = GET;
	x->send.done = checked;
	x->sending = true;
	client_start(x->d->client, &x->send);
	return CHECK_ASKED;
}

/* Through the page; goes on in checked() where it has to ask. */
static void
walk(struct ill *x, int64_t now)
{
	enum check got = CHECK_BAD;

	for (; x->at < x->page->n; x->at++) {
		got = check(x);
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
		rest(x, x->began_us + round_us(x->d));
}
