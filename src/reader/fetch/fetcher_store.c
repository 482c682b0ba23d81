#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "doc/caged.h"
#include "doc/limits.h"
#include "feed/feed.h"
#include "http/url.h"
#include "reader/changes.h"
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

	TRY(sql_hub_fetched(db, e, .feed = x->id, .at = x->at_us,
	    .took = clock_now_us() - x->at_us,
	    .outcome = str_of(fetch_outcome_word(x->seen.outcome)),
	    .bytes = x->bytes,
	    .inserted = (int64_t)(x->inserted + x->plan.inserted),
	    .updated = (int64_t)(x->updated + x->plan.updated),
	    .error =
		good ? (struct str){.p = NULL} : str_of(x->verdict.message),
	    .why = STR("as planned: a push changes nothing about that")));
	if (good)
		TRY(sql_hub_pushed(db, e, .id = x->push->hub, .now = x->at_us));
	return OK;
}

/* To where it moved, unless another feed is there; *ret_taken says so. */
static int
move(struct db *db, const struct fetch *x, bool *ret_taken, struct err *e)
{
	*ret_taken = x->taken;
	if (x->verdict.good && x->moved && !str_eq(x->final_url, x->url))
		*ret_taken =
		    TRY(sql_fetch_move(db, e, .id = x->id, .url = x->final_url,
			.private = secret_url(x->final_url))) == 0;
	return OK;
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
	int64_t next = v->stop ? x->at_us : v->next_us;
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
	TRY(move(db, x, &taken, e));
	if (taken)
		say_taken(x, &verdict);
	if (TRY(sql_fetch_done(db, e, .id = x->id, .title = x->title,
		.site_url = x->site_url, .etag = etag,
		.last_modified = modified, .body_hash = hash,
		.status = v->stop ? STR("stopped") : STR("active"),
		.errors = v->errors, .parse_errors = v->parse_errors,
		.message = or_null(v->message), .next = next, .now = x->at_us,
		.lease = x->lease_us)) == 0)
		return OK; /* it was removed, or is asked for anew */
	if (x->hub_secret.p)
		TRY(sql_hub_put(db, e, .feed = x->id,
		    .uid = uuid_str(&x->hub_uid), .hub = x->hub,
		    .topic = x->topic, .secret = x->hub_secret,
		    .now = x->at_us));
	TRY(sql_fetch_add(db, e, .feed = x->id, .at = x->at_us,
	    .took = x->took_us,
	    .outcome = str_of(fetch_outcome_word(x->seen.outcome)),
	    .status = x->seen.status, .bytes = x->bytes,
	    .inserted = (int64_t)(x->inserted + x->plan.inserted),
	    .updated = (int64_t)(x->updated + x->plan.updated),
	    .error = or_null(v->message), .next = v->stop ? NULL : &next,
	    .why = str_of(v->why)));
	return OK;
}

/* Who has the feed is told when it works no longer, or again. */
static int
note_result(
    struct db *db, const struct fetch *x, struct fetch_job *j, struct err *e)
{
	bool was = x->before.errors > 0, is = x->verdict.errors > 0;

	if (x->push || (was == is && !x->verdict.stop))
		return OK;
	j->changed = true;
	return changes_feed(db, 0, x->id, "fetch", e);
}

static int
batch_fn(struct db *db, void *ctx, struct err *e)
{
	struct fetcher *f = ctx;

	list_each (struct fetch, x, &f->batch.list, link)
		TRY(write_result(db, x, e));
	/* Last, since others wait for it: reader/changes.h. */
	list_each (struct fetch, x, &f->batch.list, link)
		TRY(note_result(db, x, &f->batch.j, e));
	return OK;
}

static int
plan_fn(struct db *db, void *ctx, struct err *e)
{
	struct fetch *x = ctx;

	x->j.changed = x->plan.n_changes > 0;
	TRY(items_write(db, &x->plan, e));
	if (x->plan.more)
		return OK;
	TRY(write_result(db, x, e));
	return note_result(db, x, &x->j, e);
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
	if (!why && x->hub_secret.p && !(x->reg && x->reg->instead))
		x->f->hubs.more = true; /* else when somebody has it */
	if (x->push)
		hub_pushed(x, why);
	else if (why)
		log_err(LOG_WARN, "a fetch can't be stored", why);
	else if (!x->reg || x->seen.outcome != FETCH_UPDATED)
		tell_fetch(x);
	/* Its feed is there and will be fetched, whatever became of this. */
	if (x->reg)
		register_stored(x->reg, why);
	if (why && x->begun)
		due_forget(x);
	else
		fetch_free(x);
}

/* ---- results without articles: many in one job ---- */

static void
batched(struct fetcher *f, struct fetch_job *j)
{
	struct batch *b = &f->batch;
	const struct err *why = j->job.err.code == OK ? NULL : &j->job.err;
	bool again = why && b->list.n > 1;
	struct fetch *x;

	b->single = again; /* so that one does not spoil the others */
	while ((x = list_take(&b->list, struct fetch, link))) {
		if (why && !again && x->moved) {
			x->moved = false; /* somebody took the address */
			x->taken = true;
			list_add(&f->pending, &x->link);
		} else if (again) {
			list_add(&f->pending, &x->link);
		} else {
			finish_fetch(x, why);
		}
	}
}

static void
write_pending(struct fetcher *f)
{
	struct batch *b = &f->batch;
	size_t most = b->single ? 1 : FETCH_BATCH_MAX;
	struct link *k;

	if (b->j.busy || f->pending.n == 0)
		return;
	while (b->list.n < most && (k = list_shift(&f->pending)))
		list_add(&b->list, k);
	if (fetcher_post(f, &b->j, batch_fn, batched, NULL) == OK)
		return;
	while ((k = list_last(&b->list))) {
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

static bool
has_word(const struct err *e, const char *word)
{
	return e->word && strcmp(e->word, word) == 0;
}

/* What came was not read, or not all of it: why, instead of articles. */
static void
unread(struct fetch *x, const struct err *why)
{
	x->seen.outcome = has_word(why, CAGED_AWAY)  ? FETCH_NOT_READ
			  : why->code == ERR_INVALID ? FETCH_UNREADABLE
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
	if (has_word(why, CAGED_ENDED) ||
	    (has_word(why, CAGED_AWAY) && !x->push))
		unread(x, why);
	else
		finish_fetch(x, why);
}

/* ---- articles ---- */

static int make_plan(struct fetch *x, struct err *e);

static void
planned(struct fetcher *f, struct fetch_job *j)
{
	struct fetch *x = MAIL_OF(j, struct fetch, j);
	struct err e = j->job.err;
	bool again =
	    e.code == ERR_CONFLICT && ++x->conflicts < FETCH_CONFLICTS_MAX;

	f->n_storing--;
	f->storing_bytes -= x->heavy_bytes;
	if (e.code == OK) {
		x->inserted += x->plan.inserted;
		x->updated += x->plan.updated;
		metric_add(M_ITEMS_UPSERTED,
		    (int64_t)(x->plan.inserted + x->plan.updated));
		x->part = x->plan.done;
		again = x->plan.more;
		if (!again) {
			finish_fetch(x, NULL);
			return;
		}
	}
	if (!again || make_plan(x, &e) < 0)
		not_planned(x, &e);
}

static int
post_plan(struct fetch *x, struct err *e)
{
	x->j.ctx = x;
	x->j.entries = x->plan.entries;
	x->j.n_entries = x->plan.n_entries;
	TRY(fetcher_post(x->f, &x->j, plan_fn, planned, e));
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
	    .large =
		(int64_t)x->parsed->n_items > f->o.conf->reader_events_first,
	    .done = x->part,
	    .doc = x->plan.doc};

	uuid_format(x->uid, uid);
	from.feed_uid = arena_dup(x->heavy, str_of(uid));
	x->plan = (struct items_plan){.feed = 0};
	TRY(items_plan(f->db, x->heavy, &from, &x->plan, e));
	if (x->push) /* it may show less than the feed does */
		x->plan.n_gone = 0;
	if (x->plan.n_changes == 0 && x->plan.n_gone == 0 && !x->plan.more) {
		settle_fetch(x);
		return OK;
	}
	return post_plan(x, e);
}

void
fetch_store_parsed(struct fetch *x)
{
	const struct feed *p = x->parsed;
	struct err e = {0};

	if (!x->push) {
		if (p->title.n > 0)
			x->title = arena_dup(
			    x->arena, str_chars(p->title, FEED_TITLE_MAX));
		if (p->link.n > 0 && p->link.n <= URL_MAX)
			x->site_url = arena_dup(x->arena, p->link);
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
fetch_store_run(struct fetcher *f)
{
	/* A document may take its reader's time to the end: who waits for bytes
	 * of another must not time out behind several of them. */
	int64_t until_ms = clock_mono_ms() + DOC_TURN_MS;
	struct fetch *x;

	while ((f->n_storing < FETCH_STORING_MAX ||
		   f->storing_bytes < FETCH_STORING_BYTES) &&
	       clock_mono_ms() < until_ms &&
	       (x = list_take(&f->answers, struct fetch, link)))
		read_answer(x);
	f->more_answers = clock_mono_ms() >= until_ms && f->answers.n > 0;
	f->slow = clock_mono_ms() >= until_ms + DOC_TURN_MS;
	write_pending(f);
}
