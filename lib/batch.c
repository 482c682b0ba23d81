#include "contract/limits.h"
#include "hk_priv.h"

/*
 * Many events by few requests. The queue is a list; a request takes items from
 * its head, which leave it when the server has said what became of them:
 *
 *   add -> [ queue ] -> try --202, 4xx of the item--------> done()
 *             ^          |--429, 5xx, no answer: back-off--+
 *             +----------+---- tries used up ------------> done()
 *
 * A batch that is refused as a whole may hold one event that is too much for
 * the server: it is halved until the culprit stands alone.
 */

struct item {
	struct item *next;
	void *tag;
	char *json;
	size_t n;
	int64_t added_ms;
	unsigned tries;
	char id[HK_ID_LEN + 1];
};

struct hk_publisher {
	struct hk_client *client;
	struct hk_publisher_opts o;
	struct item *head, **tail;
	size_t n, bytes;
	size_t most;           /* events a request, now */
	unsigned failures;     /* in a row */
	int64_t not_before_ms; /* the back-off's end */
	bool flushing;
};

static void
set_default(size_t *at, size_t otherwise)
{
	if (*at == 0)
		*at = otherwise;
}

int
hk_publisher_new(struct hk_client *c, const struct hk_publisher_opts *opts,
    struct hk_publisher **ret, struct hk_error *e)
{
	struct hk_publisher *p;
	LIB_ERROR(e);

	p = calloc(1, sizeof(*p));
	if (!p)
		return lib_nomem(e);
	if (opts)
		p->o = *opts;
	p->client = c;
	p->tail = &p->head;
	set_default(&p->o.queue_max, 10000);
	set_default(&p->o.queue_bytes_max, 16 * MIB);
	set_default(&p->o.batch_max, 500);
	set_default(&p->o.batch_bytes_max, MIB);
	if (p->o.batch_max > EVENT_BATCH_MAX)
		p->o.batch_max = EVENT_BATCH_MAX;
	if (p->o.linger_ms <= 0)
		p->o.linger_ms = 20;
	p->most = p->o.batch_max;
	*ret = p;
	return HK_OK;
}

int
hk_publisher_add(struct hk_publisher *p, const char *json, size_t n, void *tag,
    char ret_id[HK_ID_LEN + 1], struct hk_error *e)
{
	struct item *it;
	int rc;
	LIB_ERROR(e);

	/* An event longer than the whole queue is taken when it is empty. */
	if (p->n >= p->o.queue_max ||
	    (p->n > 0 && p->bytes + n > p->o.queue_bytes_max))
		return hk_fail(
		    e, HK_FULL, "%zu events of %zu bytes wait", p->n, p->bytes);
	it = calloc(1, sizeof(*it));
	if (!it)
		return lib_nomem(e);
	rc = hk_event_prepare(json, n, &it->json, &it->n, it->id, e);
	if (rc < 0) {
		free(it);
		return rc;
	}
	it->tag = tag;
	it->added_ms = clock_mono_ms();
	*p->tail = it;
	p->tail = &it->next;
	p->n++;
	p->bytes += it->n;
	if (ret_id)
		memcpy(ret_id, it->id, sizeof(it->id));
	return HK_OK;
}

/* Takes the head off, tells of it and frees it. */
static void
finish(struct hk_publisher *p, struct hk_result *r)
{
	struct item *it = p->head;

	p->head = it->next;
	if (!p->head)
		p->tail = &p->head;
	p->n--;
	p->bytes -= it->n;
	r->event_id = it->id;
	r->tag = it->tag;
	r->tries = it->tries;
	if (p->o.done)
		p->o.done(p->o.ctx, r);
	free(it->json);
	free(it);
}

static void
fail(struct hk_publisher *p, const struct hk_error *e)
{
	struct hk_result r = {.code = e->code, .error = e};

	finish(p, &r);
}

void
hk_publisher_free(struct hk_publisher *p)
{
	struct hk_error e;

	if (!p)
		return;
	p->o.queue_max = 0; /* done() may not add any more */
	(void)hk_fail(&e, HK_STOPPED, "the publisher was ended");
	while (p->head)
		fail(p, &e);
	free(p);
}

size_t
hk_publisher_waiting(const struct hk_publisher *p)
{
	return p->n;
}

int64_t
hk_publisher_due_ms(const struct hk_publisher *p)
{
	int64_t now = clock_mono_ms(), at;

	if (!p->head)
		return -1;
	at = p->head->added_ms + p->o.linger_ms;
	/* What was tried before, and what fills a batch, waits for no more. */
	if (p->flushing || p->head->tries > 0 || p->n >= p->most ||
	    p->bytes >= p->o.batch_bytes_max)
		at = now;
	if (at < p->not_before_ms)
		at = p->not_before_ms;
	return at > now ? at - now : 0;
}

/* How many go into one request, and its text. */
static size_t
gather(const struct hk_publisher *p, struct buf *b)
{
	size_t n = 0, bytes = 0;

	buf_addc(b, '[');
	for (const struct item *it = p->head; it && n < p->most;
	     it = it->next) {
		if (n > 0 && bytes + it->n > p->o.batch_bytes_max)
			break;
		if (n > 0)
			buf_addc(b, ',');
		buf_add(b, (struct str){it->json, it->n});
		bytes += it->n;
		n++;
	}
	buf_addc(b, ']');
	return n;
}

/* One member of "results": HK_OK, or what the server has against it. */
static void
take_result(struct hk_publisher *p, const struct json *j)
{
	struct hk_result r = {.code = HK_OK};
	struct hk_error e;
	int64_t status = 0;

	if (!json_int(json_get(j, "status"), &status) || status < 0 ||
	    status > 999)
		status = 0;
	r.duplicate = json_is(json_get(j, "duplicate"), JSON_TRUE);
	if (status / 100 != 2 || !json_int(json_get(j, "seq"), &r.seq)) {
		lib_server_error(json_get(j, "error"), (int)status, &e);
		r.code = e.code == HK_OK ? HK_PROTOCOL : e.code;
		e.code = r.code;
		r.error = &e;
	}
	finish(p, &r);
}

/* HK_PROTOCOL, with nothing told to anybody, when the answer is not ours. */
static int
take_results(struct hk_publisher *p, size_t n, struct hk_error *e)
{
	struct arena *a = arena_new(LIB_ARENA_MAX);
	const struct json *results;
	struct json *j = NULL;
	struct err why;
	int rc = HK_OK;

	if (!a)
		return lib_nomem(e);
	if (json_parse(a, lib_answer(p->client), &j, &why) < 0)
		j = NULL;
	results = json_get(j, "results");
	if (!json_is(results, JSON_ARRAY) || results->n != n)
		rc = hk_fail(e, HK_PROTOCOL,
		    "the answer does not tell of the %zu events sent", n);
	else
		for (j = results->child; j; j = j->next)
			take_result(p, j);
	arena_free(a);
	return rc;
}

/* A request that failed as a whole. */
static void
failed(struct hk_publisher *p, size_t n, const struct hk_error *e)
{
	size_t most = n;
	bool again = lib_transient(e->code) || e->code == HK_PROTOCOL ||
		     e->code == HK_NOMEM;

	if (!again && e->code == HK_REFUSED && n > 1) {
		/* That was no try of theirs. */
		for (struct item *it = p->head; n > 0; n--, it = it->next)
			it->tries--;
		p->most = most / 2;
		return;
	}
	if (again) {
		p->failures++;
		p->not_before_ms =
		    clock_mono_ms() + lib_backoff_ms(p->client, p->failures, e);
	}
	/* Those at the head have been tried as often as those behind, or more. */
	for (; n > 0; n--) {
		if (again && p->head->tries < lib_tries(p->client))
			break;
		fail(p, e);
	}
}

int
hk_publisher_poll(struct hk_publisher *p, struct hk_error *e)
{
	struct lib_call k = {.method = "POST", .path = "/v1/events"};
	struct buf b = BUF(p->o.batch_bytes_max + LIB_EVENT_MAX + MIB);
	struct item *it;
	size_t n;
	int rc;
	LIB_ERROR(e);

	if (hk_publisher_due_ms(p) != 0)
		return HK_OK;
	rc = lib_wait(p->client, 0, e); /* only to ask stop() */
	if (rc < 0)
		return rc;
	n = gather(p, &b);
	if (b.failed) {
		buf_done(&b);
		return lib_nomem(e);
	}
	it = p->head;
	for (size_t i = 0; i < n; i++, it = it->next)
		it->tries++;
	k.body = buf_str(&b);
	rc = lib_call_once(p->client, &k, e);
	if (rc == HK_OK)
		rc = take_results(p, n, e);
	buf_done(&b);
	if (rc < 0) {
		failed(p, n, e);
		return HK_OK;
	}
	p->failures = 0;
	p->not_before_ms = 0;
	p->most = 2 * p->most < p->o.batch_max ? 2 * p->most : p->o.batch_max;
	return HK_OK;
}

int
hk_publisher_flush(
    struct hk_publisher *p, int64_t timeout_ms, struct hk_error *e)
{
	int64_t end_ms = clock_mono_ms() + timeout_ms, due;
	int rc = HK_OK;
	LIB_ERROR(e);

	p->flushing = true;
	while (rc == HK_OK && p->head) {
		int64_t left = end_ms - clock_mono_ms();

		due = hk_publisher_due_ms(p);
		if (timeout_ms >= 0 && left <= 0) {
			rc =
			    hk_fail(e, HK_EMPTY, "%zu events still wait", p->n);
			break;
		}
		if (timeout_ms >= 0 && due > left)
			due = left;
		rc = due > 0 ? lib_wait(p->client, due, e)
			     : hk_publisher_poll(p, e);
	}
	p->flushing = false;
	return rc;
}
