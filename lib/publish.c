#include "hk_priv.h"

/*
 * One event: its id is made before the first try, so that however often it is
 * sent, and whatever became of the answers, it is in the log once.
 */

static int
invalid_at(struct hk_error *e, const char *pointer, const char *what)
{
	(void)hk_fail(e, HK_INVALID, "%s", what);
	lib_text(e->pointer, sizeof(e->pointer), str_of(pointer));
	return HK_INVALID;
}

/* The pool of random bytes is forgotten: fork() would have copied it. */
static void
new_id(char ret[UUID_LEN + 1])
{
	rand_forget();
	uuid_format(uuid_v7(clock_now_us()), ret);
}

/* What is missing, behind the opening brace; the rest byte for byte. */
static int
fill_in(const struct json *j, struct buf *b, char id[HK_ID_LEN + 1],
    struct hk_error *e)
{
	const struct json *given = json_get(j, "eventId");
	bool dated = json_get(j, "occurredAt") != NULL;
	struct uuid u;

	if (given &&
	    (given->type != JSON_STRING || !uuid_parse(given->text, &u)))
		return invalid_at(e, "/eventId", "eventId must be a UUID");
	if (given)
		uuid_format(u, id);
	else
		new_id(id);
	buf_addc(b, '{');
	if (!given)
		buf_fmt(b, "\"eventId\":\"%s\"", id);
	if (!dated) {
		buf_addz(b, given ? "\"occurredAt\":\"" : ",\"occurredAt\":\"");
		time_add(b, clock_now_us());
		buf_addc(b, '"');
	}
	if ((!given || !dated) && j->child)
		buf_addc(b, ',');
	buf_add(b, str_from(j->raw, 1));
	return b->failed ? lib_nomem(e) : HK_OK;
}

/* The buffer's bytes become the caller's. */
static int
give(struct buf *b, char **ret, size_t *ret_n, struct hk_error *e)
{
	buf_addc(b, '\0');
	if (b->failed) {
		buf_done(b);
		return lib_nomem(e);
	}
	*ret = b->p;
	*ret_n = b->n - 1;
	return HK_OK;
}

int
hk_event_prepare(const char *json, size_t n, char **ret, size_t *ret_n,
    char ret_id[HK_ID_LEN + 1], struct hk_error *e)
{
	struct buf b = BUF(LIB_EVENT_MAX + 256);
	struct json *j = NULL;
	struct arena *a;
	struct err why;
	int rc;
	LIB_ERROR(e);

	if (n > LIB_EVENT_MAX)
		return hk_fail(e, HK_INVALID, "an event of %zu bytes", n);
	a = arena_new(LIB_ARENA_MAX);
	if (!a)
		return lib_nomem(e);
	if (json_parse(a, (struct str){json, n}, &j, &why) < 0)
		rc = lib_from(&why, e);
	else if (j->type != JSON_OBJECT)
		rc = invalid_at(e, "", "an event is a JSON object");
	else
		rc = fill_in(j, &b, ret_id, e);
	arena_free(a);
	if (rc < 0)
		buf_done(&b);
	return rc < 0 ? rc : give(&b, ret, ret_n, e);
}

void
hk_memory_free(void *p)
{
	free(p);
}

/* A member that is a text, when there is one. */
static void
add_text(struct buf *b, const char *name, const char *value)
{
	if (!value)
		return;
	if (b->p[b->n - 1] != '{')
		buf_addc(b, ',');
	buf_fmt(b, "\"%s\":", name);
	buf_json(b, str_of(value));
}

/* By itself: what follows it must not become members beside it. */
static int
payload_ok(struct str text, struct hk_error *e)
{
	struct arena *a = arena_new(LIB_ARENA_MAX);
	struct json *j = NULL;
	struct err why;
	int rc = HK_OK;

	if (!a)
		return lib_nomem(e);
	if (text.n > 0 && json_parse(a, text, &j, &why) < 0)
		rc = lib_from(&why, e);
	else if (j && j->type != JSON_OBJECT)
		rc = invalid_at(e, "/payload", "payload must be an object");
	arena_free(a);
	return rc;
}

static int
draft_ok(const struct hk_draft *d, struct hk_error *e)
{
	const char *const texts[] = {d->event_id, d->event_type, d->tenant_id,
	    d->service, d->instance_id, d->correlation_id, d->occurred_at,
	    d->key, d->record_version, d->payload};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct str s = str_of(texts[i]);

		if (str_utf8_bad(s) < s.n)
			return hk_fail(
			    e, HK_INVALID, "an event's texts must be UTF-8");
	}
	return payload_ok(str_of(d->payload), e);
}

int
hk_draft_json(
    const struct hk_draft *d, char **ret, size_t *ret_n, struct hk_error *e)
{
	struct buf b = BUF(LIB_EVENT_MAX);
	char id[HK_ID_LEN + 1];
	int rc;
	LIB_ERROR(e);

	rc = draft_ok(d, e);
	if (rc < 0)
		return rc;
	buf_fmt(&b, "{\"schemaVersion\":%d",
	    d->schema_version ? d->schema_version : 1);
	if (b.failed)
		return lib_nomem(e);
	add_text(&b, "eventId", d->event_id);
	add_text(&b, "eventType", d->event_type);
	add_text(&b, "tenantId", d->tenant_id);
	add_text(&b, "occurredAt", d->occurred_at);
	add_text(&b, "correlationId", d->correlation_id);
	if (d->service || d->instance_id) {
		buf_addz(&b, ",\"producer\":{");
		add_text(&b, "service", d->service);
		add_text(&b, "instanceId", d->instance_id);
		buf_addc(&b, '}');
	}
	if (d->key || d->record_version) {
		buf_addz(&b, ",\"sequence\":{");
		add_text(&b, "partitionKey", d->key);
		add_text(&b, "recordVersion", d->record_version);
		buf_addc(&b, '}');
	}
	buf_addz(&b, ",\"payload\":");
	buf_addz(&b, d->payload ? d->payload : "{}");
	buf_addc(&b, '}');
	if (b.failed)
		rc = lib_nomem(e);
	else
		rc = hk_event_prepare(b.p, b.n, ret, ret_n, id, e);
	buf_done(&b);
	return rc;
}

/* {"eventId","seq","duplicate"} */
static int
read_receipt(struct str answer, struct hk_receipt *ret, struct hk_error *e)
{
	struct arena *a = arena_new(LIB_ARENA_MAX);
	const struct json *again;
	struct json *j = NULL;
	struct err why;
	int rc = HK_OK;

	if (!a)
		return lib_nomem(e);
	if (json_parse(a, answer, &j, &why) < 0 ||
	    !json_int(json_get(j, "seq"), &ret->seq))
		rc = hk_fail(e, HK_PROTOCOL,
		    "the server's answer to an event was not understood");
	again = json_get(j, "duplicate");
	ret->duplicate = json_is(again, JSON_TRUE);
	arena_free(a);
	return rc;
}

int
hk_publish(struct hk_client *c, const char *json, size_t n,
    struct hk_receipt *ret, struct hk_error *e)
{
	struct lib_call k = {.method = "POST", .path = "/v1/events"};
	char *text;
	size_t text_n;
	int rc;
	LIB_ERROR(e);

	memset(ret, 0, sizeof(*ret));
	rc = hk_event_prepare(json, n, &text, &text_n, ret->event_id, e);
	if (rc < 0)
		return rc;
	k.body = (struct str){text, text_n};
	rc = lib_call(c, &k, &ret->tries, e);
	if (rc == HK_OK)
		rc = read_receipt(lib_answer(c), ret, e);
	free(text);
	return rc;
}
