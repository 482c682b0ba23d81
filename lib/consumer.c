#include "contract/limits.h"
#include "hk_priv.h"

/*
 * A pull consumer: pages of events come, cursors go back. An event is leased
 * to whoever got it; one that isn't acknowledged in time comes again.
 */

#define NAME_MAX_BYTES 100
#define PATH_ROOM      256
#define REASON_MAX     200
#define CURSORS_MAX    1000 /* the server's, of a request */

enum { ACK, NACK, DEAD };

/* What is to be said of one event. */
struct word {
	struct word *next;
	int what;
	int64_t delay_ms;
	char reason[REASON_MAX];
	char cursor[];
};

struct hk_consumer {
	struct hk_client *client;
	struct hk_consumer_opts o;
	char name[NAME_MAX_BYTES + 1];
	struct arena *page;      /* of the events handed out */
	struct buf text;         /* … and the bytes they borrow from */
	const struct json *rest; /* not yet handed out */
	struct hk_event ev;
	struct word *words, **last;
	unsigned n_words;
	struct hk_consumer_counts counts;
};

/* It stands in a path, where "." and ".." mean something else. */
static bool
name_ok(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	if (n < 1 || n > NAME_MAX_BYTES || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return false;
	for (; *name; name++) {
		char low = (char)(*name | 0x20);

		if (!(low >= 'a' && low <= 'z') &&
		    !(*name >= '0' && *name <= '9') && *name != '-' &&
		    *name != '_' && *name != '.')
			return false;
	}
	return true;
}

static int
check_name(const char *name, struct hk_error *e)
{
	if (name_ok(name))
		return HK_OK;
	return hk_fail(e, HK_INVALID,
	    "a consumer's name is 1 to %d of A-Z a-z 0-9 . _ -",
	    NAME_MAX_BYTES);
}

static void
path_of(const struct hk_consumer *c, char ret[PATH_ROOM], const char *more)
{
	(void)snprintf(ret, PATH_ROOM, "/v1/consumers/%s%s", c->name, more);
}

static int
define(struct hk_consumer *c, const char *definition, struct hk_error *e)
{
	char path[PATH_ROOM];
	struct lib_call k = {
	    .method = "PUT", .path = path, .body = str_of(definition)};

	if (!definition)
		return HK_OK;
	path_of(c, path, "");
	return lib_call(c->client, &k, NULL, e);
}

int
hk_consumer_open(struct hk_client *client, const char *name,
    const struct hk_consumer_opts *opts, struct hk_consumer **ret,
    struct hk_error *e)
{
	struct hk_consumer *c;
	int rc;
	LIB_ERROR(e);

	rc = check_name(name, e);
	if (rc < 0)
		return rc;
	c = calloc(1, sizeof(*c));
	if (!c)
		return lib_nomem(e);
	if (opts)
		c->o = *opts;
	if (c->o.max == 0)
		c->o.max = 100;
	if (c->o.max > CURSORS_MAX)
		c->o.max = CURSORS_MAX;
	if (c->o.wait_s == 0)
		c->o.wait_s = 20;
	if (c->o.wait_s > WAIT_MAX_S)
		c->o.wait_s = WAIT_MAX_S;
	if (c->o.ack_max == 0)
		c->o.ack_max = 100;
	if (c->o.ack_max > CURSORS_MAX)
		c->o.ack_max = CURSORS_MAX;
	lib_text(c->name, sizeof(c->name), str_of(name));
	c->client = client;
	c->text = BUF(LIB_ANSWER_MAX);
	c->last = &c->words;
	c->page = arena_new(LIB_ARENA_MAX);
	rc = c->page ? define(c, c->o.definition, e) : lib_nomem(e);
	c->o.definition = NULL;
	if (rc < 0)
		hk_consumer_close(c);
	else
		*ret = c;
	return rc;
}

int
hk_consumer_remove(
    struct hk_client *client, const char *name, struct hk_error *e)
{
	char path[PATH_ROOM];
	struct lib_call k = {.method = "DELETE", .path = path};
	int rc;
	LIB_ERROR(e);

	rc = check_name(name, e);
	if (rc < 0)
		return rc;
	(void)snprintf(path, sizeof(path), "/v1/consumers/%s", name);
	return lib_call(client, &k, NULL, e);
}

/* The first n words, which were said, or never will be. */
static void
drop_words(struct hk_consumer *c, unsigned n)
{
	for (; n > 0 && c->words; n--) {
		struct word *w = c->words;

		c->words = w->next;
		c->n_words--;
		free(w);
	}
	if (!c->words)
		c->last = &c->words;
}

static bool
same_kind(const struct word *a, const struct word *b)
{
	return a->what == b->what && a->delay_ms == b->delay_ms &&
	       strcmp(a->reason, b->reason) == 0;
}

/* {"cursors":[…]} of those at the head that say the same; how many. */
static unsigned
gather(const struct hk_consumer *c, struct buf *b)
{
	const struct word *first = c->words;
	unsigned n = 0;

	buf_addz(b, "{\"cursors\":[");
	for (const struct word *w = first;
	     w && same_kind(first, w) && n < c->o.ack_max; w = w->next) {
		if (n++ > 0)
			buf_addc(b, ',');
		buf_json(b, str_of(w->cursor));
	}
	buf_addc(b, ']');
	if (first->what == NACK && first->delay_ms >= 0)
		buf_fmt(b, ",\"delayMs\":%lld", (long long)first->delay_ms);
	if (first->what == DEAD) {
		buf_addz(b, ",\"dead\":true,\"reason\":");
		buf_json(b, str_of(first->reason));
	}
	buf_addc(b, '}');
	return n;
}

/* The server tells of each cursor; one that is "expired" comes again. */
static unsigned
count_expired(const struct hk_consumer *c)
{
	struct arena *a = arena_new(LIB_ARENA_MAX);
	struct json *j = NULL;
	unsigned n = 0;
	struct err why;

	if (a && json_parse(a, lib_answer(c->client), &j, &why) == OK) {
		const struct json *list = json_get(j, "results");

		for (j = json_is(list, JSON_ARRAY) ? list->child : NULL; j;
		     j = j->next) {
			const struct json *state = json_get(j, "status");

			n += json_is(state, JSON_STRING) &&
			     str_eq(state->text, STR("expired"));
		}
	}
	arena_free(a);
	return n;
}

/* One request. `patient`: with repeats. */
static int
say(struct hk_consumer *c, bool patient, struct hk_error *e)
{
	bool ack = c->words->what == ACK;
	struct buf b = BUF(LIB_ANSWER_MAX);
	char path[PATH_ROOM];
	struct lib_call k = {.method = "POST", .path = path};
	unsigned n = gather(c, &b), expired;
	int rc;

	path_of(c, path, ack ? "/ack" : "/nack");
	k.body = buf_str(&b);
	if (b.failed)
		rc = lib_nomem(e);
	else
		rc = patient ? lib_call(c->client, &k, NULL, e)
			     : lib_call_once(c->client, &k, e);
	buf_done(&b);
	if (rc < 0) {
		/* Refused for good: their leases end, they come again. */
		if (!lib_transient(rc) && rc != HK_STOPPED)
			drop_words(c, n);
		return rc;
	}
	expired = count_expired(c);
	c->counts.expired += expired;
	*(ack ? &c->counts.acked : &c->counts.nacked) +=
	    n - (expired < n ? expired : n);
	drop_words(c, n);
	return HK_OK;
}

int
hk_consumer_flush(struct hk_consumer *c, struct hk_error *e)
{
	int rc = HK_OK;
	LIB_ERROR(e);

	while (rc == HK_OK && c->words)
		rc = say(c, true, e);
	return rc;
}

void
hk_consumer_close(struct hk_consumer *c)
{
	struct hk_error e;

	if (!c)
		return;
	while (c->words && say(c, false, &e) == HK_OK)
		continue;
	drop_words(c, c->n_words);
	arena_free(c->page);
	buf_done(&c->text);
	free(c);
}

static int
note(struct hk_consumer *c, const struct hk_event *ev, int what,
    int64_t delay_ms, const char *reason, struct hk_error *e)
{
	size_t n = strlen(ev->cursor);
	struct word *w = calloc(1, sizeof(*w) + n + 1);

	if (!w)
		return lib_nomem(e);
	w->what = what;
	w->delay_ms = delay_ms;
	lib_text(w->reason, sizeof(w->reason), str_of(reason));
	memcpy(w->cursor, ev->cursor, n);
	*c->last = w;
	c->last = &w->next;
	c->n_words++;
	return c->n_words < c->o.ack_max ? HK_OK : hk_consumer_flush(c, e);
}

int
hk_consumer_ack(
    struct hk_consumer *c, const struct hk_event *ev, struct hk_error *e)
{
	LIB_ERROR(e);
	return note(c, ev, ACK, -1, "", e);
}

int
hk_consumer_nack(struct hk_consumer *c, const struct hk_event *ev,
    int64_t delay_ms, struct hk_error *e)
{
	LIB_ERROR(e);
	return note(c, ev, NACK, delay_ms < 0 ? -1 : delay_ms, "", e);
}

int
hk_consumer_dead(struct hk_consumer *c, const struct hk_event *ev,
    const char *reason, struct hk_error *e)
{
	LIB_ERROR(e);
	return note(c, ev, DEAD, -1, reason, e);
}

int
hk_consumer_extend(struct hk_consumer *c, const struct hk_event *ev,
    unsigned seconds, struct hk_error *e)
{
	struct buf b = BUF(64 * KIB);
	char path[PATH_ROOM];
	struct lib_call k = {.method = "POST", .path = path};
	int rc;
	LIB_ERROR(e);

	path_of(c, path, "/extend");
	buf_addz(&b, "{\"cursors\":[");
	buf_json(&b, str_of(ev->cursor));
	buf_addc(&b, ']');
	if (seconds > 0)
		buf_fmt(&b, ",\"seconds\":%u", seconds);
	buf_addc(&b, '}');
	k.body = buf_str(&b);
	rc = b.failed ? lib_nomem(e) : lib_call(c->client, &k, NULL, e);
	buf_done(&b);
	if (rc == HK_OK && count_expired(c) > 0) {
		c->counts.expired++;
		rc = hk_fail(e, HK_ABSENT, "the lease is over");
	}
	return rc;
}

/* The next page. What was noted goes first: a lease is running. */
static int
fetch(struct hk_consumer *c, struct hk_error *e)
{
	unsigned wait_s = c->o.no_wait ? 0 : c->o.wait_s;
	char path[PATH_ROOM], query[64];
	struct lib_call k = {
	    .method = "GET", .path = path, .extra_ms = 1000L * (long)wait_s};
	const struct json *data;
	struct json *j = NULL;
	struct err why;
	int rc = hk_consumer_flush(c, e);

	if (rc < 0)
		return rc;
	(void)snprintf(
	    query, sizeof(query), "/events?max=%u&wait=%u", c->o.max, wait_s);
	path_of(c, path, query);
	rc = lib_call(c->client, &k, NULL, e);
	if (rc < 0)
		return rc;
	arena_reset(c->page);
	c->text.limit = LIB_ANSWER_MAX;
	buf_clear(&c->text);
	buf_add(&c->text, lib_answer(c->client));
	if (c->text.failed)
		return lib_nomem(e);
	if (json_parse(c->page, buf_str(&c->text), &j, &why) < 0)
		return hk_fail(e, HK_PROTOCOL, "the page: %.200s", why.text);
	data = json_get(j, "data");
	if (!json_is(data, JSON_ARRAY))
		return hk_fail(e, HK_PROTOCOL, "there is no data in the page");
	c->rest = data->child;
	return HK_OK;
}

int
hk_consumer_next(
    struct hk_consumer *c, const struct hk_event **ret, struct hk_error *e)
{
	const struct json *j;
	int rc;
	LIB_ERROR(e);

	if (!c->rest) {
		rc = fetch(c, e);
		if (rc < 0)
			return rc;
	}
	if (!c->rest)
		return hk_fail(e, HK_EMPTY, "no event came");
	j = c->rest;
	c->rest = j->next;
	rc = lib_event_read(c->page, j, &c->ev, e);
	if (rc < 0)
		return rc;
	if (!*c->ev.cursor)
		return hk_fail(e, HK_PROTOCOL, "an event has no cursor");
	c->counts.events++;
	*ret = &c->ev;
	return HK_OK;
}

void
hk_consumer_count(const struct hk_consumer *c, struct hk_consumer_counts *ret)
{
	*ret = c->counts;
}

struct hk_client *
lib_consumer_client(struct hk_consumer *c)
{
	return c->client;
}

struct hk_consumer_counts *
lib_consumer_counts(struct hk_consumer *c)
{
	return &c->counts;
}

bool
lib_consumer_ready(const struct hk_consumer *c)
{
	return c->rest != NULL;
}
