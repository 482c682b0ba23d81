/* Pull consumers (consumers.c): fetching events and answering for them. */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "contract/limits.h"
#include "deliver/engine/letter.h"
#include "event/append.h"
#include "event/envelope.h"
#include "sink/pull/pull.h"

/* Both kinds of requests. */
struct work {
	struct req *r;
	uint32_t sub;
	struct pull_fetch fetch;
	struct pull_answers answers;
	bool counted;             /* among the long polls */
	const struct json *names; /* of the cursors, as they were given */
	int64_t delay; /* a nack's in ms, an extension in s; -1: not given */
	bool looked;
};

/* The consumer of the path, when the caller may see it: then `next` asks the
 * engine. */
static int
consumer_work_find(struct req *r, struct db *db,
    int (*next)(struct req *r, struct err *e), struct err *e)
{
	struct work *w = r->ctx;
	struct sql_consumer_id_row row;

	if (TRY(sql_consumer_id_one(
		db, r->arena, &row, e, .name = r->params[0])) == 0 ||
	    !seen_visible(r, row.tenants))
		return err_set(e, ERR_ABSENT, "there is no such consumer");
	w->sub = (uint32_t)row.id;
	return api_next(r, next);
}

static struct work *
consumer_work_begin(struct req *r)
{
	struct work *w = arena_alloc(r->arena, sizeof(*w));

	w->r = r;
	r->ctx = w;
	return w;
}

/* GET …/events ---------------------------------------------------------------- */

static void
consumer_work_show(
    const struct work *w, const struct pull_got *g, struct buf *b)
{
	struct api *api = w->r->app;
	struct delivery_cursor c = {
	    .seq = g->seq,
	    .sub = w->sub,
	    .rep = (uint16_t)g->rep,
	    .n = (uint32_t)g->n,
	};
	char cursor[DELIVERY_CURSOR_LEN + 1];

	delivery_cursor_make(&api->id_key, &c, cursor);
	envelope_show_open(b, g->letter->body, g->seq, g->letter->received_us);
	put_z(b, "cursor", cursor);
	put_uuid(b, "deliveryId",
	    delivery_id_make(&api->id_key, c.seq, c.sub, c.rep));
	put_int(b, "attempt", g->n + 1);
	put_time(b, "leaseUntil", g->until_us);
	put_close(b, '}');
}

/* Another node has leased them: what they are stands in the log. One that has
 * gone from there is left to its lease. */
static int
read_letters(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct work *w = r->ctx;
	struct pull_fetch *f = &w->fetch;
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct rows *rows CLEANUP(rows_closep) = NULL;
		struct sql_log_feed_row row;
		struct pull_got got = f->v[i];

		TRY(sql_log_feed(db, &rows, e, .after = got.seq - 1,
		    .upto = got.seq, .most = 1));
		if (TRY(sql_log_feed_next(rows, &row, e)) == 0)
			continue;
		got.letter = letter_new(&row);
		letter_open(got.letter, api->keyring);
		f->v[n++] = got;
	}
	f->n = n;
	return OK;
}

static int
fetched(struct req *r, struct err *e)
{
	struct work *w = r->ctx;
	const struct pull_fetch *f = &w->fetch;

	if (r->rc < 0)
		return api_said(r, e);
	if (f->n > 0 && !f->v[0].letter)
		return api_read(r, read_letters, e);
	api_list(r);
	for (size_t i = 0; i < f->n; i++) {
		put_name(&r->out, NULL);
		consumer_work_show(w, &f->v[i], &r->out);
	}
	buf_addz(&r->out, "]}");
	return OK;
}

static int
fetch(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct work *w = r->ctx;

	w->fetch.pull = (struct pull_ask){
	    .ask = {.kind = ASK_SINK,
		.sub = w->sub,
		.behind = append_last_seq(api->append),
		.anyway = true}, /* who waits needs not wait for that first */
	    .what = PULL_FETCH};
	r->then = fetched;
	return api_ask(r, &w->fetch.pull.ask, e);
}

static void
events_done(struct req *r)
{
	const struct work *w = r->ctx;

	for (size_t i = 0; i < w->fetch.n; i++)
		letter_unref(w->fetch.v[i].letter);
	if (w->counted)
		api_uncount_stream(r);
}

struct fetch_query {
	int64_t max, wait_s;
};

const struct member FETCH_QUERY[] = {
    {"max", MEMBER_INT, offsetof(struct fetch_query, max), 1,
	CONSUMER_FETCH_MAX, .absent = CONSUMER_FETCH,
	.about = "how many events at most"},
    {"wait", MEMBER_INT, offsetof(struct fetch_query, wait_s), 0, WAIT_MAX_S,
	.about = "seconds to wait for an event when there is none"},
    {.name = NULL},
};

int
api_consumers_events(struct req *r, struct db *db, struct err *e)
{
	struct fetch_query q;
	struct work *w = consumer_work_begin(r);

	TRY(api_query(r, FETCH_QUERY, &q, e));
	w->fetch.max = (size_t)q.max;
	w->fetch.wait_us = q.wait_s * US_PER_S;
	w->fetch.v = arena_array(r->arena, (size_t)q.max, sizeof(*w->fetch.v));
	if (q.wait_s > 0) {
		TRY(api_count_stream(r, e));
		w->counted = true;
	}
	r->done = events_done;
	return consumer_work_find(r, db, fetch, e);
}

/* POST …/ack, …/nack, …/extend --------------------------------------------------- */

/* Those that the engine no longer has: the store knows what became of them. */
static int
look_up(struct req *r, struct db *db, struct err *e)
{
	struct work *w = r->ctx;

	for (size_t i = 0; i < w->answers.n; i++) {
		struct pull_answer *a = &w->answers.v[i];
		struct sql_consumer_settled_row row = {0};

		if (a->how != ANSWER_UNKNOWN)
			continue;
		TRY(sql_consumer_settled_one(
		    db, &row, e, .seq = a->seq, .sub = w->sub, .rep = a->rep));
		if (row.ok == 0)
			a->how = row.dead > 0 ? ANSWER_DEAD : ANSWER_EXPIRED;
	}
	return OK;
}

static const char *
word(const struct pull_answers *a, enum pull_answer_how how)
{
	static const char *const DID[] = {
	    [ANSWER_ACK] = "acked",
	    [ANSWER_NACK] = "retry",
	    [ANSWER_EXTEND] = "extended",
	};
	static const char *const WORDS[] = {
	    [ANSWER_RETRY] = "retry",
	    [ANSWER_DEAD] = "dead",
	    [ANSWER_EXPIRED] = "expired",
	    [ANSWER_UNKNOWN] = "done",
	    [ANSWER_NO_CURSOR] = "invalid",
	};

	return how == ANSWERED ? DID[a->kind] : WORDS[how];
}

static int
show_results(struct req *r, struct err *e)
{
	struct work *w = r->ctx;
	const struct pull_answers *a = &w->answers;
	const struct json *name = w->names->child;
	bool unknown = false;

	if (r->rc < 0)
		return api_said(r, e);
	for (size_t i = 0; i < a->n; i++)
		unknown = unknown || a->v[i].how == ANSWER_UNKNOWN;
	if (unknown && !w->looked) {
		w->looked = true;
		return api_read(r, look_up, e);
	}
	buf_addz(&r->out, "{\"results\":[");
	for (size_t i = 0; i < a->n; i++, name = name->next) {
		put_open(&r->out, NULL, '{');
		put_text(&r->out, "cursor", name->text);
		put_z(&r->out, "status", word(a, a->v[i].how));
		if (a->v[i].at_us > 0)
			put_time(&r->out,
			    a->kind == ANSWER_EXTEND ? "leaseUntil"
						     : "nextAttemptAt",
			    a->v[i].at_us);
		put_close(&r->out, '}');
	}
	buf_addz(&r->out, "]}");
	return OK;
}

static int
tell_engine(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct work *w = r->ctx;
	struct pull_answers *a = &w->answers;
	size_t i = 0;

	for (const struct json *j = w->names->child; j; j = j->next, i++) {
		struct delivery_cursor c = {0};
		bool ours = delivery_cursor_open(&api->id_key, j->text, &c) &&
			    c.sub == w->sub;

		a->v[i] = (struct pull_answer){
		    .seq = c.seq,
		    .rep = c.rep,
		    .n = (int)c.n,
		    .how = ours ? ANSWERED : ANSWER_NO_CURSOR,
		};
	}
	a->pull = (struct pull_ask){
	    .ask = {.kind = ASK_SINK, .sub = w->sub}, .what = PULL_ANSWER};
	r->then = show_results;
	return api_ask(r, &a->pull.ask, e);
}

static int
read_cursors(struct work *w, struct err *e)
{
	struct pull_answers *a = &w->answers;

	if (!json_is(w->names, JSON_ARRAY) || w->names->n < 1 ||
	    w->names->n > CONSUMER_CURSORS_MAX)
		return json_wrong(e, "/cursors",
		    "must be an array of 1 to %d cursors",
		    CONSUMER_CURSORS_MAX);
	for (const struct json *j = w->names->child; j; j = j->next, a->n++)
		if (!json_is(j, JSON_STRING)) {
			char at[JSON_POINTER_MAX + 1];

			(void)snprintf(at, sizeof(at), "/cursors/%zu", a->n);
			return json_wrong(e, at, "must be a string");
		}
	a->v = arena_array(w->r->arena, a->n, sizeof(*a->v));
	return OK;
}

#define WORK(field) offsetof(struct work, field)
#define CURSORS                                                                \
	{                                                                      \
		"cursors", MEMBER_JSON, WORK(names),                           \
		    .must = true, .schema = "Cursors",                         \
		    .about = "of the events that it is about"                  \
	}
const struct member ACK_BODY[] = {CURSORS, {.name = NULL}};
const struct member NACK_BODY[] = {
    CURSORS,
    {"delayMs", MEMBER_INT, WORK(delay), 0, RETRY_DELAY_MAX_MS,
	.about = "absent: as the consumer has it"},
    {"dead", MEMBER_BOOL, WORK(answers.dead), .about = "never again"},
    NOTE_REASON(struct work, answers.note),
    {.name = NULL},
};
const struct member EXTEND_BODY[] = {
    CURSORS,
    {"seconds", MEMBER_INT, WORK(delay), 1, CONSUMER_WAIT_MAX_S},
    {.name = NULL},
};

static int
consumer_work_answer(struct req *r, struct db *db, enum pull_answer_kind kind,
    const struct member *body, struct err *e)
{
	struct work *w = consumer_work_begin(r);
	struct pull_answers *a = &w->answers;

	a->kind = kind;
	a->delay_us = w->delay = -1;
	TRY(api_query_none(r, e));
	TRY(api_body_maybe(r, body, NULL, w, e));
	TRY(read_cursors(w, e));
	if (a->dead && w->delay >= 0)
		return json_wrong(e, "/delayMs",
		    "is of no use with dead: it is never tried again");
	if (w->delay >= 0)
		a->delay_us =
		    w->delay * (kind == ANSWER_NACK ? US_PER_MS : US_PER_S);
	return consumer_work_find(r, db, tell_engine, e);
}

int
api_consumers_ack(struct req *r, struct db *db, struct err *e)
{
	return consumer_work_answer(r, db, ANSWER_ACK, ACK_BODY, e);
}

int
api_consumers_nack(struct req *r, struct db *db, struct err *e)
{
	return consumer_work_answer(r, db, ANSWER_NACK, NACK_BODY, e);
}

int
api_consumers_extend(struct req *r, struct db *db, struct err *e)
{
	return consumer_work_answer(r, db, ANSWER_EXTEND, EXTEND_BODY, e);
}
