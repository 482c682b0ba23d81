#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/str.h"
#include "doc/caged.h"
#include "doc/limits.h"
#include "feed/feed.h"
#include "http/url.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"
#include "reader/secret_url.h"
#include "reader/websub.h"
#include "sql.h"

/*
 * From an answer to rows.
 *
 *   answers ──read──▶ nothing new, or an error ──▶ pending ──▶ batch, one job
 *                └──▶ articles ──plan──▶ a job of its own ──more──▶ plan …
 *
 * A plan that conflicts (somebody else changed the feed's articles) is made
 * anew. What can't be written is forgotten: the lease ends, the feed is due.
 */

/* ---- on the commit thread ---- */

static struct str
or_null(const char *z)
{
	return z[0] ? str_of(z) : (struct str){.p = NULL};
}

static int
write_push(struct db *db, const struct fetch *x, struct err *e)
{
	bool good = x->seen.outcome == FETCH_PUSHED;
	int64_t n = sql_hub_fetched(db, e, .feed = x->id, .at = x->at_us,
	    .took = clock_now_us() - x->at_us,
	    .outcome = str_of(fetch_outcome_word(x->seen.outcome)),
	    .bytes = x->bytes,
	    .inserted = (int64_t)(x->inserted + x->plan.inserted),
	    .updated = (int64_t)(x->updated + x->plan.updated),
	    .error =
		good ? (struct str){.p = NULL} : str_of(x->verdict.message),
	    .why = STR("as planned: a push changes nothing about that"));

	if (n >= 0 && good)
		n = sql_hub_pushed(db, e, .id = x->push->hub, .now = x->at_us);
	return n < 0 ? (int)n : OK;
}

/* To where it moved, unless another feed is there; *ret_taken says so. */
static int64_t
move(struct db *db, const struct fetch *x, bool *ret_taken, struct err *e)
{
	int64_t n = 1;

	*ret_taken = x->taken;
	if (!x->verdict.good || !x->moved || str_eq(x->final_url, x->url))
		return n;
	n = sql_fetch_move(db, e, .id = x->id, .url = x->final_url,
	    .private = secret_url(x->final_url));
	*ret_taken = n == 0;
	return n;
}

/* Two feeds that became one are two until somebody decides. */
static void
say_taken(const struct fetch *x, struct fetch_verdict *v)
{
	int n = x->final_url.n < 200 ? (int)x->final_url.n : 200;

	(void)snprintf(v->message, sizeof(v->message),
	    "it moved for good to %.*s, which is another feed here: subscribe to that one instead",
	    n, x->final_url.p);
	(void)snprintf(v->why, sizeof(v->why),
	    "%.100s; moved to the address of another feed, so it stays at its own",
	    x->verdict.why);
}

/* May run twice: x stays as it is. */
static int
write_result(struct db *db, const struct fetch *x, struct err *e)
{
	struct fetch_verdict verdict = x->verdict;
	const struct fetch_verdict *v = &verdict;
	int64_t next = v->stop ? x->at_us : v->next_us, n;
	bool taken;
	bool fresh =
	    x->seen.outcome == FETCH_UPDATED || x->seen.outcome == FETCH_SAME;
	/* A 304 may leave out what has not changed. What was not read must not
	 * be answered by one next time. */
	bool good = x->seen.outcome == FETCH_NOT_MODIFIED;
	struct str etag =
	    fresh || (good && x->new_etag.p) ? x->new_etag : x->etag;
	struct str modified = fresh || (good && x->new_modified.p)
				  ? x->new_modified
				  : x->last_modified;
	struct str hash = fresh
			      ? (struct str){(const char *)x->hash, DIGEST_LEN}
			      : x->body_hash;

	if (x->push)
		return write_push(db, x, e);
	n = move(db, x, &taken, e);
	if (taken)
		say_taken(x, &verdict);
	if (n >= 0)
		n = sql_fetch_done(db, e, .id = x->id, .title = x->title,
		    .site_url = x->site_url, .etag = etag,
		    .last_modified = modified, .body_hash = hash,
		    .status = v->stop ? STR("stopped") : STR("active"),
		    .errors = v->errors, .parse_errors = v->parse_errors,
		    .message = or_null(v->message), .next = next,
		    .now = x->at_us);
	if (n > 0 && x->hub_secret.p &&
	    sql_hub_put(db, e, .feed = x->id, .uid = uuid_str(&x->hub_uid),
		.hub = x->hub, .topic = x->topic, .secret = x->hub_secret,
		.now = x->at_us) < 0)
		n = e->code;
	if (n > 0) /* else it was removed meanwhile */
		n = sql_fetch_add(db, e, .feed = x->id, .at = x->at_us,
		    .took = x->took_us,
		    .outcome = str_of(fetch_outcome_word(x->seen.outcome)),
		    .status = x->seen.status, .bytes = x->bytes,
		    .inserted = (int64_t)(x->inserted + x->plan.inserted),
		    .updated = (int64_t)(x->updated + x->plan.updated),
		    .error = or_null(v->message),
		    .next = v->stop ? NULL : &next, .why = str_of(v->why));
	return n < 0 ? (int)n : OK;
}

static int
batch_fn(struct db *db, void *ctx, struct err *e)
{
	struct fetcher *f = ctx;
	struct link *k = list_first(&f->batch.list);
	int rc = OK;

	for (; k && rc == OK; k = list_next(&f->batch.list, k))
		rc = write_result(db, LINK_OF(k, struct fetch, link), e);
	return rc;
}

static int
plan_fn(struct db *db, void *ctx, struct err *e)
{
	struct fetch *x = ctx;
	int rc = items_write(db, &x->plan, e);

	if (rc == OK && !x->plan.more)
		rc = write_result(db, x, e);
	return rc;
}

/* ---- telling of it ---- */

static void
tell_fetch(const struct fetch *x)
{
	bool good = x->verdict.good;
	struct log_line l;

	metric_add(good ? M_FETCH_SUCCESS : M_FETCH_FAIL, 1);
	if (x->seen.outcome == FETCH_UNREADABLE)
		metric_add(M_PARSE_FAIL, 1);
	log_begin(&l, good ? LOG_INFO : LOG_WARN,
	    good ? "feed fetched" : "feed fetch failed");
	log_uuid(&l, "feed_id", x->uid);
	url_log(&l, "url", x->url);
	log_int(&l, "http_status", x->seen.status);
	log_int(&l, "duration_ms", x->took_us / US_PER_MS);
	log_str(&l, "outcome", str_of(fetch_outcome_word(x->seen.outcome)));
	if (good) {
		log_int(&l, "inserted", (int64_t)x->inserted);
		log_int(&l, "updated", (int64_t)x->updated);
	} else {
		log_str(&l, "error_kind",
		    str_of(x->verdict.stop
			       ? "stopped"
			       : fetch_outcome_word(x->seen.outcome)));
		log_str(&l, "error", str_of(x->verdict.message));
	}
	log_end(&l);
}

/* It is written, or can't be. */
static void
finish_fetch(struct fetch *x, const struct err *why)
{
	if (!why && x->hub_secret.p)
		x->f->hubs.more = true;
	if (x->push)
		hub_pushed(x, why);
	else if (why)
		log_err(LOG_WARN, "a fetch can't be stored", why);
	else if (!x->reg || x->seen.outcome != FETCH_UPDATED)
		tell_fetch(x);
	if (x->reg)
		register_stored(x->reg, why);
	if (why && x->begun)
		begin_forget(x);
	else
		fetch_free(x);
}

/* ---- results without articles: many in one job ---- */

static void
batched(struct fetcher *f, struct fetch_note *n)
{
	struct batch *b = MAIL_OF(n, struct batch, j.note);
	const struct err *why = b->j.job.err.code == OK ? NULL : &b->j.job.err;
	bool again = why && b->list.n > 1;
	struct link *k;

	b->busy = false;
	b->single = again; /* so that one does not spoil the others */
	while ((k = list_first(&b->list))) {
		struct fetch *x = LINK_OF(k, struct fetch, link);

		list_remove(&b->list, k);
		if (why && !again && x->moved) {
			x->moved = false; /* somebody took the address */
			x->taken = true;
			list_add(&f->pending, k);
		} else if (again) {
			list_add(&f->pending, k);
		} else {
			finish_fetch(x, why);
		}
	}
}

static void
write_pending(struct fetcher *f)
{
	struct batch *b = &f->batch;
	struct err e;
	struct link *k;

	if (b->busy || f->pending.n == 0)
		return;
	while ((k = list_first(&f->pending)) &&
	       b->list.n < (b->single ? 1 : FETCH_BATCH_MAX)) {
		list_remove(&f->pending, k);
		list_add(&b->list, k);
	}
	b->busy = fetcher_post(f, &b->j, batch_fn, batched, &e) == OK;
	while (!b->busy && (k = list_last(&b->list))) {
		list_remove(&b->list, k);
		list_add_after(&f->pending, &f->pending.head, k);
	}
}

static void
judge_fetch(struct fetch *x)
{
	unsigned jitter;

	rand_bytes(&jitter, sizeof(jitter));
	verdict_fetch(&x->seen, &x->before, clock_now_us(),
	    x->f->o.conf->time_scale, jitter & 0xffff, &x->verdict);
}

/* It will be written with others; what was large goes at once. */
static void
settle_fetch(struct fetch *x)
{
	arena_free(x->heavy);
	x->heavy = NULL;
	x->parsed = NULL;
	judge_fetch(x);
	list_add(&x->f->pending, &x->link);
}

/* What came was not read, or not all of it: why, instead of articles. */
static void
unread(struct fetch *x, const struct err *why)
{
	if (why->word && strcmp(why->word, CAGED_AWAY) == 0)
		x->seen.outcome = FETCH_NOT_READ;
	else
		x->seen.outcome = why->code == ERR_INVALID ? FETCH_UNREADABLE
							   : FETCH_TOO_LARGE;
	(void)snprintf(x->error, sizeof(x->error), "%s", why->text);
	x->seen.error = str_of(x->error);
	settle_fetch(x);
}

/*
 * No plan could be made. That of its articles which ends their reader is the
 * feed's affair; else it is ours, and the lease ends. A hub may send again
 * what nobody could read.
 */
static void
not_planned(struct fetch *x, const struct err *why)
{
	bool ended = why->word && strcmp(why->word, CAGED_ENDED) == 0;
	bool away = why->word && strcmp(why->word, CAGED_AWAY) == 0;

	if (ended || (away && !x->push))
		unread(x, why);
	else
		finish_fetch(x, why);
}

/* ---- articles ---- */

static int make_plan(struct fetch *x, struct err *e);

static void
planned(struct fetcher *f, struct fetch_note *n)
{
	struct fetch *x = MAIL_OF(n, struct fetch, j.note);
	struct err e = x->j.job.err;
	bool more = x->plan.more;

	f->n_storing--;
	f->storing_bytes -= x->heavy_bytes;
	if (e.code == ERR_CONFLICT && ++x->conflicts < FETCH_CONFLICTS_MAX) {
		if (make_plan(x, &e) == OK)
			return;
	} else if (e.code == OK) {
		x->inserted += x->plan.inserted;
		x->updated += x->plan.updated;
		metric_add(M_ITEMS_UPSERTED,
		    (int64_t)(x->plan.inserted + x->plan.updated));
		x->part = x->plan.done;
		if (!more) {
			finish_fetch(x, NULL);
			return;
		}
		if (make_plan(x, &e) == OK)
			return;
	}
	not_planned(x, &e);
}

static int
post_plan(struct fetch *x, struct err *e)
{
	int rc;

	x->j.ctx = x;
	x->j.entries = x->plan.entries;
	x->j.n_entries = x->plan.n_entries;
	rc = fetcher_post(x->f, &x->j, plan_fn, planned, e);
	if (rc < 0)
		return rc;
	x->heavy_bytes = arena_used(x->heavy);
	x->f->storing_bytes += x->heavy_bytes;
	x->f->n_storing++;
	return OK;
}

/* The next part of x->parsed, to the commit thread. */
static int
make_plan(struct fetch *x, struct err *e)
{
	struct fetcher *f = x->f;
	char uid[UUID_LEN + 1];
	struct items_from from = {.feed = x->id,
	    .feed_url = x->url,
	    .parsed = x->parsed,
	    .tags = strcmp(f->o.conf->reader_sanitize_tags, "article") == 0
			? SANITIZE_ARTICLE
			: SANITIZE_BASIC,
	    .caged = f->caged,
	    .now_us = x->at_us,
	    .done = x->part,
	    .doc = x->plan.doc};
	int rc;

	uuid_format(x->uid, uid);
	from.feed_uid = arena_dup(x->heavy, str_of(uid));
	x->plan = (struct items_plan){.feed = 0};
	rc = items_plan(f->db, x->heavy, &from, &x->plan, e);
	if (rc < 0)
		return rc;
	if (x->push) /* it may show less than the feed does */
		x->plan.n_gone = 0;
	if (x->plan.n_changes == 0 && x->plan.n_gone == 0 && !x->plan.more) {
		settle_fetch(x);
		return OK;
	}
	return post_plan(x, e);
}

static void
take_meta(struct fetch *x)
{
	const struct feed *p = x->parsed;

	if (p->title.n > 0)
		x->title =
		    arena_dup(x->arena, str_chars(p->title, FEED_TITLE_MAX));
	if (p->link.n > 0 && p->link.n <= URL_MAX)
		x->site_url = arena_dup(x->arena, p->link);
}

void
fetch_store_parsed(struct fetch *x)
{
	struct err e = {0};

	if (!x->push) {
		take_meta(x);
		hub_look(x);
	}
	judge_fetch(x);
	x->plan.doc = NULL;
	if (make_plan(x, &e) < 0)
		not_planned(x, &e);
}

/* Only the topic's feed: a hub may be everybody's, and so may its mistakes. */
static void
read_push(struct fetch *x, const struct feed_from *from)
{
	struct err e = {0};
	int rc =
	    caged_feed(x->f->caged, x->heavy, x->body, from, &x->parsed, &e);

	if (rc == OK && x->parsed->self.n > 0 &&
	    !websub_same(x->parsed->self, x->push->topic))
		rc = err_set(&e, ERR_INVALID, "it is another feed's");
	if (rc == OK)
		fetch_store_parsed(x);
	else
		not_planned(x, &e);
}

static void
read_answer(struct fetch *x)
{
	struct feed_from from = {.url = x->final_url.p ? x->final_url : x->url,
	    .content_type = x->content_type.p ? x->content_type : STR_EMPTY};
	struct err e = {0};

	if (x->push) {
		read_push(x, &from);
		return;
	}
	if (x->seen.outcome != FETCH_UPDATED) {
		settle_fetch(x);
		return;
	}
	digest_sha256(x->body, x->hash);
	if (x->body_hash.n == DIGEST_LEN &&
	    memcmp(x->body_hash.p, x->hash, DIGEST_LEN) == 0) {
		x->seen.outcome = FETCH_SAME;
		settle_fetch(x);
		return;
	}
	if (caged_feed(x->f->caged, x->heavy, x->body, &from, &x->parsed, &e) <
	    0)
		unread(x, &e);
	else
		fetch_store_parsed(x);
}

/* ---- turns ---- */

void
fetch_store_answer(struct fetch *x)
{
	list_add(&x->f->answers, &x->link);
}

void
fetch_store_run(struct fetcher *f)
{
	/* A document may take its reader's time to the end: who waits for bytes
	 * of another must not time out behind several of them. */
	int64_t until_ms = clock_mono_ms() + DOC_TURN_MS;
	struct link *k;

	while ((f->n_storing < FETCH_STORING_MAX ||
		   f->storing_bytes < FETCH_STORING_BYTES) &&
	       clock_mono_ms() < until_ms && (k = list_first(&f->answers))) {
		list_remove(&f->answers, k);
		read_answer(LINK_OF(k, struct fetch, link));
	}
	f->more_answers = clock_mono_ms() >= until_ms && f->answers.n > 0;
	f->slow = clock_mono_ms() >= until_ms + DOC_TURN_MS;
	write_pending(f);
}

void
fetch_store_drop(struct fetcher *f)
{
	fetch_free_all(&f->answers);
	fetch_free_all(&f->pending);
	fetch_free_all(&f->batch.list);
}
