#include "base/conf/conf.h"
#include "base/log/log.h"
#include "feed/feed.h"
#include "http/percent.h"
#include "http/url.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"
#include "reader/websub.h"
#include "seal/keyring.h"
#include "sql.h"

/*
 * The hubs' part of the fetcher (websub.h).
 *
 *   due rows ──claim──▶ POST to the hub, one host at a time ──▶ next_at written
 *
 * What the hub calls back with is api/people/websub.c's; what it sends comes here by
 * fetcher_push() and goes on as an answer does (fetcher_store.c).
 */

#define ASK_ARENA_MAX ((size_t)64 * KIB)
#define ASK_BODY_MAX  ((size_t)8 * URL_MAX)
#define SECRET_LEN    32
#define SECRET_COLUMN "feed_hub.secret"

struct hub_ask {
	struct fetcher *f;
	struct link link;
	struct arena *arena;
	struct sql_hub_claim_row row;
	struct uuid uid;
	bool leaving;
	struct buf body;
	struct client_header header;
	struct follow follow;
	struct fetch_job j;
	bool failed;
	char error[FETCH_WORDS_MAX];
	int64_t next_us;
};

static bool
wanted(const struct fetcher *f)
{
	return f->o.conf->websub_enabled && f->o.conf->base_url[0] &&
	       f->o.keyring;
}

/* ---- a feed names a hub ---- */

/* From where the answer came, an http or https URL; .p NULL: it is none. */
static struct str
resolve(struct fetch *x, struct str ref)
{
	struct str from = x->final_url.p ? x->final_url : x->url;
	char text[URL_TEXT_MAX];
	struct url base, u;
	struct err e;
	size_t n;

	if (url_parse(from, &base, &e) < 0)
		return (struct str){.p = NULL};
	n = follow_resolve(&base, ref, text);
	if (n == 0 || n > URL_MAX ||
	    url_parse((struct str){text, n}, &u, &e) < 0)
		return (struct str){.p = NULL};
	return arena_dup(x->arena, (struct str){text, n});
}

/* 1: we have it already. */
static int
known(struct fetch *x, struct err *e)
{
	struct sql_hub_of_row row;

	return TRY(sql_hub_of_one(
		   x->f->db, x->arena, &row, e, .feed = x->id)) &&
	       str_eq(row.hub, x->hub) && str_eq(row.topic, x->topic);
}

static int
make_secret(struct fetch *x, struct err *e)
{
	unsigned char b[SECRET_LEN];
	struct buf hex CLEANUP(digest_wipe_buf) = BUF(2 * SECRET_LEN);

	rand_bytes(b, sizeof(b));
	buf_hex(&hex, (struct str){(const char *)b, sizeof(b)});
	x->hub_uid = uuid_v4();
	digest_wipe(b, sizeof(b));
	return keyring_seal(x->f->o.keyring, x->arena,
	    keyring_where(x->arena, SECRET_COLUMN, x->hub_uid), buf_str(&hex),
	    &x->hub_secret, e);
}

void
hub_look(struct fetch *x)
{
	struct err e = {0};
	int rc;

	x->hub_secret = (struct str){.p = NULL};
	if (!wanted(x->f))
		return;
	/* The head's go before the feed's own. */
	x->hub = resolve(x, x->hub.p ? x->hub : x->parsed->hub);
	x->topic = resolve(x, x->topic.p ? x->topic : x->parsed->self);
	if (!x->hub.p || !x->topic.p)
		return;
	rc = known(x, &e);
	if (rc == 0)
		rc = make_secret(x, &e);
	if (rc < 0) {
		x->hub_secret = (struct str){.p = NULL};
		log_err(LOG_WARN, "a hub can't be noted", &e);
	}
}

/* ---- what is due, on the commit thread ---- */

static void
ask_free(struct hub_ask *a)
{
	digest_wipe_buf(&a->body);
	arena_free(a->arena);
	free(a);
}

static void
take_row(struct fetcher *f, const struct sql_hub_claim_row *row)
{
	struct hub_ask *a = mem_get(sizeof(*a));

	a->arena = arena_new(ASK_ARENA_MAX);
	a->f = f;
	a->body = BUF(ASK_BODY_MAX);
	a->row = *row;
	a->leaving = str_eq(row->state, STR("leaving"));
	a->uid = uuid_of(row->uid);
	a->row.hub = arena_dup(a->arena, row->hub);
	a->row.topic = arena_dup(a->arena, row->topic);
	a->row.secret = arena_dup(a->arena, row->secret);
	list_add(&f->hubs.got, &a->link);
}

void
hub_drop(struct fetcher *f)
{
	struct hub_ask *a;

	while ((a = list_take(&f->hubs.got, struct hub_ask, link)))
		ask_free(a);
}

static int
claim_fn(struct db *db, void *ctx, struct err *e)
{
	struct fetcher *f = ctx;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_hub_claim_row row;

	hub_drop(f); /* it may run twice */
	TRY(sql_hub_claim(db, &rows, e, .now = f->hubs.now_us,
	    .until = f->hubs.until_us, .most = HUB_ASKS_MAX));
	while (TRY(sql_hub_claim_next(rows, &row, e)))
		take_row(f, &row);
	return OK;
}

/* ---- asking ---- */

static int
note_fn(struct db *db, void *ctx, struct err *e)
{
	struct hub_ask *a = ctx;
	int64_t now = clock_now_us();

	if (a->leaving && a->row.failures >= HUB_LEAVES_MAX)
		TRY(sql_hub_left(
		    db, e, .id = a->row.id)); /* its lease will end */
	else if (a->failed)
		TRY(sql_hub_failed(db, e, .id = a->row.id,
		    .failures = a->row.failures, .error = str_of(a->error),
		    .next = a->next_us, .now = now));
	else
		TRY(sql_hub_waits(db, e, .id = a->row.id,
		    .failures = a->row.failures, .next = a->next_us,
		    .now = now));
	return OK;
}

static void
ask_done(struct hub_ask *a)
{
	a->f->hubs.n_asks--;
	ask_free(a);
}

static void
noted(struct fetcher *, struct fetch_job *j)
{
	if (j->job.err.code != OK)
		log_err(LOG_WARN, "a hub's answer can't be noted", &j->job.err);
	ask_done(MAIL_OF(j, struct hub_ask, j));
}

static void
tell_asked(const struct hub_ask *a)
{
	struct log_line l;

	log_begin(&l, a->failed ? LOG_WARN : LOG_INFO,
	    a->failed ? "a hub can't be asked" : "hub asked");
	log_str(&l, "hub", a->row.hub);
	log_str(&l, "topic", a->row.topic);
	log_str(&l, "mode", a->leaving ? STR("unsubscribe") : STR("subscribe"));
	if (a->failed)
		log_str(&l, "error", str_of(a->error));
	log_end(&l);
}

/* When the post is refused its claim ends by itself. */
static void
note(struct hub_ask *a)
{
	int64_t pause_ms = websub_pause_min(a->row.failures) * 60 * 1000;

	tell_asked(a);
	a->next_us = clock_now_us() + fetcher_scaled_us(a->f, pause_ms);
	a->j.ctx = a;
	if (fetcher_post(a->f, &a->j, note_fn, noted, NULL) < 0)
		ask_done(a);
}

static void
answered(struct follow *fo, const struct follow_answer *r)
{
	struct hub_ask *a = MAIL_OF(fo, struct hub_ask, follow);

	if (r->result == FOLLOW_FAILED && r->last.result == CLIENT_CANCELLED) {
		ask_done(a);
		return;
	}
	/* More than we keep of its answer is no failure. */
	a->failed =
	    (r->result != FOLLOW_ANSWERED && r->result != FOLLOW_TOO_LARGE) ||
	    r->last.status < 200 || r->last.status > 299;
	if (a->failed && r->result == FOLLOW_ANSWERED)
		(void)snprintf(a->error, sizeof(a->error), "it answered %d",
		    r->last.status);
	else if (a->failed)
		(void)snprintf(a->error, sizeof(a->error), "%s", r->last.error);
	note(a);
}

static void
add_pair(struct buf *b, const char *name, struct str value)
{
	if (b->n > 0)
		buf_addc(b, '&');
	buf_addz(b, name);
	buf_addc(b, '=');
	percent_add(b, value);
}

static int
write_form(struct hub_ask *a, struct err *e)
{
	struct str base = str_of(a->f->o.conf->base_url), secret, back;
	char uid[UUID_LEN + 1], lease[24];

	while (str_ends(base, STR("/")))
		base.n--;
	uuid_format(a->uid, uid);
	back = arena_fmt(a->arena, "%.*s/websub/%s", STR_ARG(base), uid);
	TRY(keyring_unseal(a->f->o.keyring, a->arena,
	    keyring_where(a->arena, SECRET_COLUMN, a->uid), a->row.secret,
	    &secret, e));
	(void)snprintf(lease, sizeof(lease), "%d", HUB_LEASE_S);
	add_pair(&a->body, "hub.mode",
	    a->leaving ? STR("unsubscribe") : STR("subscribe"));
	add_pair(&a->body, "hub.topic", a->row.topic);
	add_pair(&a->body, "hub.callback", back);
	if (!a->leaving) {
		add_pair(&a->body, "hub.lease_seconds", str_of(lease));
		add_pair(&a->body, "hub.secret", secret);
	}
	return a->body.failed ? err_set(e, ERR_LIMIT, "the form is too long")
			      : OK;
}

static void
ask_hub(struct hub_ask *a)
{
	struct fetcher *f = a->f;
	struct err e = {0};

	f->hubs.n_asks++;
	if (write_form(a, &e) < 0) {
		a->failed = true;
		(void)snprintf(a->error, sizeof(a->error), "%s", e.text);
		note(a);
		return;
	}
	a->header = (struct client_header){
	    STR("Content-Type"), STR("application/x-www-form-urlencoded")};
	a->follow = (struct follow){.done = answered};
	a->follow.send = (struct client_send){.method = POST,
	    .url = a->row.hub,
	    .headers = &a->header,
	    .n_headers = 1,
	    .body = buf_str(&a->body),
	    .keep_max = KIB,
	    .total_ms = (int)f->o.conf->fetch_timeout_ms,
	    .user_agent = FETCHER_AGENT};
	follow_start(f->follows, &a->follow);
}

static void
claimed(struct fetcher *f, struct fetch_job *j)
{
	struct hubs *h = &f->hubs;
	struct hub_ask *a;

	if (j->job.err.code != OK)
		log_err(LOG_WARN, "hubs can't be claimed", &j->job.err);
	if (j->job.err.code != OK || atomic_load(&f->stopping)) {
		hub_drop(f);
		return;
	}
	h->more = h->got.n == HUB_ASKS_MAX;
	while ((a = list_take(&h->got, struct hub_ask, link)))
		ask_hub(a);
}

void
hub_run(struct fetcher *f)
{
	struct hubs *h = &f->hubs;
	int64_t each = (f->o.conf->fetch_timeout_ms + 1000) * US_PER_MS;

	if (!h->more || h->j.busy || h->n_asks > 0 || !f->o.schedule)
		return;
	h->more = false;
	if (!wanted(f))
		return;
	h->now_us = clock_now_us();
	/* All of them may be of one host, one after the other. */
	h->until_us = h->now_us + HUB_ASKS_MAX * each;
	(void)fetcher_post(f, &h->j, claim_fn, claimed, NULL);
}

/* ---- what a hub sends ---- */

static void
push_done(struct fetcher *f, struct push *p)
{
	(void)atomic_fetch_sub(&f->n_pushes, 1);
	p->done(p);
}

/* It is written, or can't be, or is nothing for us. */
void
hub_pushed(struct fetch *x, const struct err *why)
{
	struct push *p = x->push;
	bool good = !why && x->seen.outcome == FETCH_PUSHED;
	struct log_line l;

	log_begin(&l, good ? LOG_INFO : LOG_WARN,
	    good ? "feed pushed" : "what a hub sent is not stored");
	log_uuid(&l, "feed_id", x->uid);
	url_log(&l, "url", x->url);
	if (why) {
		log_str(&l, "error", str_of(why->text));
		/* Sent again it is no better. */
		if (why->code != ERR_INVALID && why->code != ERR_LIMIT)
			p->err = *why;
	} else if (!good) {
		log_str(&l, "error", str_of(x->error));
	} else {
		log_int(&l, "inserted", (int64_t)x->inserted);
		log_int(&l, "updated", (int64_t)x->updated);
	}
	log_end(&l);
	push_done(x->f, p);
}

static void
take_push(struct fetcher *f, struct fetch_note *n)
{
	struct push *p = MAIL_OF(n, struct push, note);
	struct fetch *x = fetch_new(f);

	x->heavy = arena_new(FEED_ARENA_MAX);
	x->push = p;
	x->id = p->feed;
	x->uid = p->feed_uid;
	x->url = p->feed_url;
	x->body = p->body;
	x->bytes = (int64_t)p->body.n;
	x->content_type = p->content_type;
	x->at_us = clock_now_us();
	x->seen.outcome = FETCH_PUSHED;
	list_add(&f->answers, &x->link);
}

int
fetcher_push(struct fetcher *f, struct push *p, struct err *e)
{
	p->note.take = take_push;
	if (atomic_fetch_add(&f->n_pushes, 1) < HUB_PUSHES_MAX &&
	    mailbox_post(f->box, &p->note.mail)) {
		client_wake(f->client);
		return OK;
	}
	(void)atomic_fetch_sub(&f->n_pushes, 1);
	(void)err_set(e, ERR_AWAY, "too much that hubs sent waits already");
	e->retry_after_s = 5;
	return ERR_AWAY;
}
