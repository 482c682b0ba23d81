#include "api/hand.h"

#include "api/api.h"
#include "base/put.h"
#include "deliver/engine/letter.h"
#include "deliver/limits.h"
#include "node/errand.h"
#include "sink/pull/pull.h"
#include "sql.h"

#define QUESTION_MAX (8 * MIB) /* a test's event, all of it escaped */

/* Words and not numbers: nodes of two versions may talk. */
enum hand_word {
	HAND_REQUEUE,
	HAND_SKIP,
	HAND_LOOK,
	HAND_TEST,
	HAND_TRY,
	HAND_NOW,
	HAND_FETCH,
	HAND_ANSWER,
	HAND_WORDS,
};
static const char *const WORDS[] = {
    "requeue", "skip", "look", "test", "try", "now", "fetch", "answer", NULL};

/* Any of the questions: the first member is the head of all. */
union question {
	struct deliver_ask ask;
	struct ask_decide decide;
	struct ask_requeue requeue;
	struct ask_look look;
	struct ask_test test;
	struct pull_ask pull;
	struct pull_fetch fetch;
	struct pull_answers answers;
};

static enum hand_word
word_of(const struct deliver_ask *q)
{
	switch (q->kind) {
	case ASK_REQUEUE:
		return HAND_REQUEUE;
	case ASK_SKIP:
		return HAND_SKIP;
	case ASK_LOOK:
		return HAND_LOOK;
	case ASK_TEST:
		return ((const struct ask_test *)q)->conf.n > 0 ? HAND_TRY
								: HAND_TEST;
	case ASK_NOW:
		return HAND_NOW;
	case ASK_SINK:
		break;
	}
	switch (((const struct pull_ask *)q)->what) {
	case PULL_FETCH:
		return HAND_FETCH;
	case PULL_ANSWER:
		return HAND_ANSWER;
	case PULL_COUNT:
		break;
	}
	return HAND_WORDS;
}

/* The question --------------------------------------------------------------- */

static void
put_decide(struct buf *b, const struct ask_decide *q)
{
	put_int(b, "seq", q->seq);
	put_int(b, "rep", q->rep);
	put_text(b, "who", q->who);
	put_text(b, "note", q->note);
}

static void
put_requeue(struct buf *b, const struct ask_requeue *q)
{
	put_decide(b, &q->decide);
	put_int(b, "okey", (int64_t)q->okey);
	put_int(b, "skey", (int64_t)q->skey);
	put_int(b, "n", q->n);
	put_int(b, "reason", q->reason);
	put_bool(b, "letter", q->letter != NULL);
}

static void
put_answers(struct buf *b, const struct pull_answers *a)
{
	put_int(b, "what", a->kind);
	put_int(b, "delay", a->delay_us);
	put_bool(b, "dead", a->dead);
	put_text(b, "note", a->note);
	put_open(b, "v", '[');
	for (size_t i = 0; i < a->n; i++) {
		put_open(b, NULL, '{');
		put_int(b, "seq", a->v[i].seq);
		put_int(b, "rep", a->v[i].rep);
		put_int(b, "n", a->v[i].n);
		put_int(b, "how", a->v[i].how);
		put_close(b, '}');
	}
	put_close(b, ']');
}

static void
put_test(struct buf *b, const struct ask_test *q)
{
	put_text(b, "body", q->body);
	put_text(b, "type", q->type);
	put_bool(b, "made", q->made);
	put_text(b, "rendered", q->rendered);
	put_text(b, "conf", q->conf);
	put_uuid(b, "uid", q->uid);
}

/* *ret_takes: what it may take by itself. */
static void
put_question(struct buf *b, const struct deliver_ask *q, int64_t *ret_takes)
{
	const union question *u = (const union question *)q;
	enum hand_word word = word_of(q);

	*ret_takes = ASK_WAIT_US;
	put_open(b, NULL, '{');
	put_z(b, "ask", WORDS[word]);
	put_int(b, "sub", q->sub);
	put_int(b, "behind", q->behind);
	put_bool(b, "anyway", q->anyway);
	switch (word) {
	case HAND_REQUEUE:
		put_requeue(b, &u->requeue);
		break;
	case HAND_SKIP:
		put_decide(b, &u->decide);
		break;
	case HAND_LOOK:
		put_int(b, "seq", u->look.seq);
		put_int(b, "rep", u->look.rep);
		break;
	case HAND_TEST:
	case HAND_TRY:
		put_test(b, &u->test);
		*ret_takes += TEST_SEND_MS * US_PER_MS;
		break;
	case HAND_FETCH:
		put_int(b, "max", (int64_t)u->fetch.max);
		put_int(b, "wait", u->fetch.wait_us);
		*ret_takes += u->fetch.wait_us;
		break;
	case HAND_ANSWER:
		put_answers(b, &u->answers);
		break;
	case HAND_NOW:
	case HAND_WORDS:
		break;
	}
	put_close(b, '}');
}

static struct str
text_of(const struct json *j, const char *name)
{
	return json_is(json_get(j, name), JSON_STRING)
		   ? json_text(j, name)
		   : (struct str){.p = NULL};
}

static void
get_decide(const struct json *j, struct ask_decide *q)
{
	q->seq = json_number(j, "seq");
	q->rep = (int)json_number(j, "rep");
	q->who = text_of(j, "who");
	q->note = text_of(j, "note");
}

static int
get_requeue(
    const struct json *j, struct db *db, struct ask_requeue *q, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_log_feed_row row;

	get_decide(j, &q->decide);
	q->okey = (uint64_t)json_number(j, "okey");
	q->skey = (uint64_t)json_number(j, "skey");
	q->n = (int)json_number(j, "n");
	q->reason = (int)json_number(j, "reason");
	if (!json_true(j, "letter"))
		return OK;
	TRY(sql_log_feed(db, &rows, e, .after = q->decide.seq - 1,
	    .upto = q->decide.seq, .most = 1));
	if (TRY(sql_log_feed_next(rows, &row, e)) == 0)
		return err_set(e, ERR_CONFLICT,
		    "the log no longer holds the event: it can't be sent again");
	q->letter = letter_new(&row);
	return OK;
}

static void
get_answers(const struct json *j, struct arena *a, struct pull_answers *q)
{
	const struct json *list = json_get(j, "v");

	q->kind = (enum pull_answer_kind)json_number(j, "what");
	q->delay_us = json_number(j, "delay");
	q->dead = json_true(j, "dead");
	q->note = text_of(j, "note");
	q->v = arena_array(a, list ? list->n : 0, sizeof(*q->v));
	for (const struct json *x = json_first(j, "v"); x; x = x->next)
		q->v[q->n++] = (struct pull_answer){
		    .seq = json_number(x, "seq"),
		    .rep = (int)json_number(x, "rep"),
		    .n = (int)json_number(x, "n"),
		    .how = (enum pull_answer_how)json_number(x, "how"),
		};
}

static int
get_question(const struct json *j, struct arena *a, struct db *db,
    union question *u, struct err *e)
{
	static const enum deliver_ask_kind KINDS[] = {ASK_REQUEUE, ASK_SKIP,
	    ASK_LOOK, ASK_TEST, ASK_TEST, ASK_NOW, ASK_SINK, ASK_SINK};
	struct str word = json_text(j, "ask");
	unsigned w = 0;

	while (w < HAND_WORDS && !str_eq(word, str_of(WORDS[w])))
		w++;
	if (w == HAND_WORDS)
		return err_set(e, ERR_AWAY,
		    "the server that delivers does not know of this yet");
	u->ask.kind = KINDS[w];
	u->ask.sub = (uint32_t)json_number(j, "sub");
	u->ask.behind = json_number(j, "behind");
	u->ask.anyway = json_true(j, "anyway");
	switch ((enum hand_word)w) {
	case HAND_REQUEUE:
		return get_requeue(j, db, &u->requeue, e);
	case HAND_SKIP:
		get_decide(j, &u->decide);
		break;
	case HAND_LOOK:
		u->look.seq = json_number(j, "seq");
		u->look.rep = (int)json_number(j, "rep");
		break;
	case HAND_TEST:
	case HAND_TRY:
		u->test.body = json_text(j, "body");
		u->test.type = json_text(j, "type");
		u->test.made = json_true(j, "made");
		u->test.rendered = text_of(j, "rendered");
		u->test.conf = json_text(j, "conf");
		(void)uuid_parse(json_text(j, "uid"), &u->test.uid);
		break;
	case HAND_FETCH:
		u->pull.what = PULL_FETCH;
		u->fetch.max = (size_t)json_number(j, "max");
		u->fetch.wait_us = json_number(j, "wait");
		u->fetch.v = arena_array(a, u->fetch.max, sizeof(*u->fetch.v));
		break;
	case HAND_ANSWER:
		u->pull.what = PULL_ANSWER;
		get_answers(j, a, &u->answers);
		break;
	case HAND_NOW:
	case HAND_WORDS:
		break;
	}
	return OK;
}

/* The answer ----------------------------------------------------------------- */

static void
put_got(struct buf *b, const struct pull_fetch *q)
{
	put_open(b, "v", '[');
	for (size_t i = 0; i < q->n; i++) {
		put_open(b, NULL, '{');
		put_int(b, "seq", q->v[i].seq);
		put_int(b, "rep", q->v[i].rep);
		put_int(b, "n", q->v[i].n);
		put_int(b, "until", q->v[i].until_us);
		put_close(b, '}');
	}
	put_close(b, ']');
}

static void
put_told(struct buf *b, const struct pull_answers *a)
{
	put_open(b, "v", '[');
	for (size_t i = 0; i < a->n; i++) {
		put_open(b, NULL, '{');
		put_int(b, "how", a->v[i].how);
		put_int(b, "at", a->v[i].at_us);
		put_close(b, '}');
	}
	put_close(b, ']');
}

static void
put_answer(struct buf *b, const union question *u)
{
	const struct err *e = &u->ask.err;
	const struct deliver_test *t = &u->test.test;

	put_open(b, NULL, '{');
	put_int(b, "code", e->code);
	put_int(b, "retryAfter", e->retry_after_s);
	put_text(
	    b, "text", (struct str){e->text, str_utf8_bad(str_of(e->text))});
	switch (word_of(&u->ask)) {
	case HAND_LOOK:
		put_int(b, "front", u->look.look.front);
		break;
	case HAND_TEST:
	case HAND_TRY:
		put_bool(b, "success", t->success);
		put_int(b, "status", t->status);
		put_int(b, "took", t->took_us);
		put_text(b, "error",
		    (struct str){t->error, str_utf8_bad(str_of(t->error))});
		break;
	case HAND_FETCH:
		put_got(b, &u->fetch);
		break;
	case HAND_ANSWER:
		put_told(b, &u->answers);
		break;
	case HAND_REQUEUE:
	case HAND_SKIP:
	case HAND_NOW:
	case HAND_WORDS:
		break;
	}
	put_close(b, '}');
}

static void
get_test(const struct json *j, struct deliver_test *t)
{
	t->success = json_true(j, "success");
	t->status = (int)json_number(j, "status");
	t->took_us = json_number(j, "took");
	(void)snprintf(
	    t->error, sizeof(t->error), "%.*s", STR_ARG(json_text(j, "error")));
}

static void
get_answer(const struct json *j, union question *u)
{
	const struct json *x = json_first(j, "v");
	enum err_code code = (enum err_code)json_number(j, "code");
	size_t i = 0;

	u->ask.err = (struct err){.code = OK};
	if (code < 0)
		(void)err_set(
		    &u->ask.err, code, "%.*s", STR_ARG(json_text(j, "text")));
	u->ask.err.retry_after_s = (int)json_number(j, "retryAfter");
	switch (word_of(&u->ask)) {
	case HAND_LOOK:
		u->look.look =
		    (struct deliver_look){.front = json_number(j, "front")};
		break;
	case HAND_TEST:
	case HAND_TRY:
		get_test(j, &u->test.test);
		break;
	case HAND_FETCH:
		for (; x && u->fetch.n < u->fetch.max; x = x->next)
			u->fetch.v[u->fetch.n++] = (struct pull_got){
			    .seq = json_number(x, "seq"),
			    .rep = (int)json_number(x, "rep"),
			    .n = (int)json_number(x, "n"),
			    .until_us = json_number(x, "until"),
			};
		break;
	case HAND_ANSWER:
		for (; x && i < u->answers.n; x = x->next, i++) {
			u->answers.v[i].how =
			    (enum pull_answer_how)json_number(x, "how");
			u->answers.v[i].at_us = json_number(x, "at");
		}
		break;
	case HAND_REQUEUE:
	case HAND_SKIP:
	case HAND_NOW:
	case HAND_WORDS:
		break;
	}
}

/* Handing on ----------------------------------------------------------------- */

struct hand {
	struct api *api;
	struct deliver_ask *q;
	void (*done)(struct deliver_ask *q);
	void *arg;
	struct errand errand;
	struct buf text;
};

static void
hand_end(struct hand *h)
{
	struct deliver_ask *q = h->q;

	q->done = h->done;
	q->arg = h->arg;
	buf_done(&h->text);
	free(h);
	q->done(q);
}

static void
hand_came(struct errand *x)
{
	struct hand *h = MAIL_OF(x, struct hand, errand);
	struct arena *a CLEANUP(arena_freep) =
	    arena_new(64 * KIB + 32 * x->answer.n);
	struct json *j = NULL;
	struct err e;

	if (x->err.code < 0)
		h->q->err = x->err;
	else if (json_parse(a, x->answer, &j, &e) < 0)
		h->q->err = e;
	else
		get_answer(j, (union question *)h->q);
	hand_end(h);
}

static void
hand_on(struct hand *h)
{
	h->text = BUF(QUESTION_MAX);
	put_question(&h->text, h->q, &h->errand.takes_us);
	if (h->text.failed) {
		(void)err_set(
		    &h->q->err, ERR_LIMIT, "it is too large to be handed on");
		hand_end(h);
		return;
	}
	h->errand.question = buf_str(&h->text);
	h->errand.done = hand_came;
	errands_post(h->api->errands, &h->errand);
}

/* The engine of this node has answered. */
static void
hand_asked(struct deliver_ask *q)
{
	struct hand *h = q->arg;

	if (q->err.code == ERR_AWAY && q->elsewhere)
		hand_on(h);
	else
		hand_end(h);
}

bool
hand_post(struct api *api, struct deliver_ask *q)
{
	struct hand *h;

	if (api->held)
		return false; /* no node delivers then */
	if (!api->errands || q->here)
		return api->deliver && deliver_post(api->deliver, q);
	h = mem_get(sizeof(*h));
	*h = (struct hand){.api = api, .q = q, .done = q->done, .arg = q->arg};
	q->done = hand_asked;
	q->arg = h;
	if (!api->deliver || !deliver_post(api->deliver, q))
		hand_on(h);
	return true;
}

/* Running what another node asks --------------------------------------------- */

struct run {
	union question u; /* first */
	struct errand_task *task;
};

static void
hand_ran(struct deliver_ask *q)
{
	struct run *run = q->arg;
	struct errand_task *t = run->task;
	bool leave = q->err.code == ERR_AWAY && q->elsewhere;

	if (q->kind == ASK_REQUEUE)
		letter_unref(run->u.requeue.letter);
	if (word_of(q) == HAND_FETCH)
		for (size_t i = 0; i < run->u.fetch.n; i++)
			letter_unref(run->u.fetch.v[i].letter);
	if (!leave)
		put_answer(&t->answer, &run->u);
	if (leave)
		errands_leave(t);
	else
		errands_answer(t);
}

bool
hand_owns(void *arg)
{
	const struct api *api = arg;

	return api->deliver && deliver_owns(api->deliver);
}

void
hand_run(void *arg, struct errand_task *t, struct db *db)
{
	struct api *api = arg;
	struct run *run = arena_alloc(t->arena, sizeof(*run));
	struct deliver_ask *q = &run->u.ask;
	struct json *j = NULL;
	struct err e = {0};
	int rc = json_parse(t->arena, t->question, &j, &e);

	if (rc == OK)
		rc = get_question(j, t->arena, db, &run->u, &e);
	run->task = t;
	q->done = hand_ran;
	q->arg = run;
	if (rc < 0) {
		q->err = e;
		hand_ran(q);
	} else if (!deliver_post(api->deliver, q)) {
		errands_leave(t);
	}
}
