/* hook.h: what a request means. */

#include "event/cloud/cloudevent.h"
#include "event/limits.h"
#include "http/server/query.h"
#include "match/jq/jq.h"
#include "seal/digest.h"
#include "source/hook.h"
#include "source/limits.h"

#define INSTANCE "in" /* of the producer: the route that took it */

struct maker {
	const struct hook *h;
	const struct hook_request *q;
	struct arena *a;
	struct str json;         /* the body as JSON; .p NULL: it is none */
	const struct json *tree; /* of it */
	struct str ref;
	struct err *e;
};

static int
no_room(struct err *e)
{
	return err_set(e, ERR_LIMIT, "the request takes too much memory");
}

/* Variables ------------------------------------------------------------------- */

static bool
scalar(const struct json *j, struct str *ret)
{
	if (!j || j->type == JSON_NULL || j->type >= JSON_ARRAY)
		return false;
	*ret = j->type == JSON_STRING ? j->text : j->raw;
	return true;
}

static bool
variable(const struct maker *m, struct str name, struct str *ret)
{
	const struct received *in = &m->q->in;

	if (name.p[0] == '/')
		return m->tree && scalar(json_at(m->tree, name), ret);
	for (size_t i = 0; i < in->n; i++)
		if (str_eq_nocase(in->headers[i].name, name)) {
			*ret = in->headers[i].value;
			return ret->n > 0 && str_utf8_bad(*ret) == ret->n;
		}
	return false;
}

/* Empty when a variable has no value, or there is no text. */
static struct str
expand(const struct maker *m, struct str text)
{
	struct buf b CLEANUP(buf_done) = BUF(SUB_TEXT_MAX);

	while (text.n > 0) {
		bool more = str_has(text, '{');
		struct str value = STR_EMPTY;

		buf_add(&b, str_cut(&text, '{'));
		if (more && !variable(m, str_cut(&text, '}'), &value))
			return STR_EMPTY;
		buf_add(&b, value);
	}
	return b.failed ? STR_EMPTY : arena_dup(m->a, buf_str(&b));
}

/* What names a request ---------------------------------------------------------- */

static struct str
first_of(const struct maker *m, const char *const *names)
{
	struct str value = STR_EMPTY;

	for (; value.n == 0 && *names; names++)
		value = receive_header(&m->q->in, *names);
	return str_utf8_bad(value) == value.n ? value : STR_EMPTY;
}

static struct str
bytes_ref(const struct maker *m, struct str time)
{
	struct hmac *k = hmac_new(time);
	unsigned char digest[DIGEST_LEN];
	struct buf b CLEANUP(buf_done) = BUF(2 * DIGEST_LEN);

	hmac_sum(k, &m->q->in.body, 1, digest);
	hmac_free(k);
	buf_hex(&b, (struct str){(const char *)digest, DIGEST_SHORT_LEN});
	return arena_dup(m->a, buf_str(&b));
}

static void
name_it(struct maker *m)
{
	static const char *const IDS[] = {"webhook-id", "svix-id",
	    "X-NemakiWare-Delivery", "X-Webhook-Id", "Idempotency-Key", NULL};
	static const char *const TIMES[] = {
	    "webhook-timestamp", "X-Timestamp", NULL};
	char fresh[UUID_LEN + 1];
	struct str time;

	m->ref = expand(m, m->h->delivery_id);
	if (m->ref.n == 0)
		m->ref = first_of(m, IDS);
	if (m->ref.n > EVENT_KEY_MAX)
		m->ref = bytes_ref(m, m->ref);
	if (m->ref.n > 0)
		return;
	time = first_of(m, TIMES);
	if (time.n > 0) {
		m->ref = bytes_ref(m, time);
	} else {
		uuid_format(uuid_v7(m->q->now_us), fresh);
		m->ref = arena_dup(m->a, str_of(fresh));
	}
}

static struct uuid
event_id(const struct maker *m, size_t index)
{
	struct buf text CLEANUP(buf_done) =
	    BUF(HOOK_NAME_MAX + EVENT_KEY_MAX + 64);
	unsigned char digest[DIGEST_LEN];

	buf_fmt(&text, "hook\n%.*s\n%zu\n", STR_ARG(m->h->name), index);
	buf_add(&text, m->ref);
	assert(!text.failed);
	digest_sha256(buf_str(&text), digest);
	return uuid_from_digest(digest);
}

/* The body -------------------------------------------------------------------- */

static bool
is_form(const struct maker *m)
{
	struct str type = receive_header(&m->q->in, "Content-Type");

	type = str_trim(str_cut(&type, ';'));
	return str_eq_nocase(type, STR("application/x-www-form-urlencoded"));
}

static void
add_pairs(struct buf *b, const char *name, const struct str_pair *v, size_t n)
{
	put_open(b, name, '{');
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && !str_eq(v[k].name, v[i].name))
			k++;
		if (k < i)
			continue; /* the first of a name counts */
		put_text(b, NULL, v[i].name);
		buf_addc(b, ':');
		buf_json(b, v[i].value);
	}
	put_close(b, '}');
}

/* A form's fields; of GitHub's, its one field `payload`. */
static int
read_form(struct maker *m, struct err *wrong)
{
	const char *field = m->h->scheme->form;
	const struct str_pair *v = NULL;
	struct buf b CLEANUP(buf_done) = BUF(HOOK_SCRATCH_MAX / 4);
	size_t n = 0;

	TRY(query_parse(m->a, m->q->in.body, &v, &n, wrong));
	for (size_t i = 0; i < n && field; i++)
		if (str_eq(v[i].name, str_of(field))) {
			m->json = v[i].value;
			return OK;
		}
	add_pairs(&b, NULL, v, n);
	m->json = arena_dup(m->a, buf_str(&b));
	return b.failed ? no_room(wrong) : OK;
}

/* *wrong says why there is no tree: no JSON, or too much of it. */
static int
read_body(struct maker *m, struct err *wrong)
{
	struct json *tree = NULL;
	int rc = OK;

	m->json = str_trim(m->q->in.body);
	if (m->json.n == 0)
		m->json = STR("null");
	else if (is_form(m))
		rc = read_form(m, wrong);
	if (rc == OK)
		rc = json_parse(m->a, m->json, &tree, wrong);
	if (rc < 0)
		m->json = (struct str){.p = NULL};
	m->tree = tree;
	return rc;
}

/* Envelopes --------------------------------------------------------------------- */

/* What `given` (NULL: nothing) lacks and the source knows. */
static void
add_missing(const struct maker *m, const struct json *given, size_t index,
    struct buf *b)
{
	const struct hook *h = m->h;
	struct str type = expand(m, h->event_type);
	struct str key = expand(m, h->partition_key);

	if (!json_get(given, "eventId"))
		put_uuid(b, "eventId", event_id(m, index));
	if (!json_get(given, "schemaVersion"))
		put_int(b, "schemaVersion", h->schema_version);
	if (!json_get(given, "eventType") && type.n > 0)
		put_text(b, "eventType", type);
	if (!json_get(given, "tenantId") && h->tenant_text.n > 0)
		put_text(b, "tenantId", h->tenant_text);
	if (!json_get(given, "producer")) {
		put_open(b, "producer", '{');
		put_text(b, "service", h->name);
		put_z(b, "instanceId", INSTANCE);
		put_close(b, '}');
	}
	if (!json_get(given, "sequence") && key.n > 0) {
		put_open(b, "sequence", '{');
		put_text(b, "partitionKey", key);
		put_close(b, '}');
	}
}

/* An object that a template made: an envelope, perhaps with gaps. */
static int
complete(
    struct maker *m, const struct json *j, size_t index, struct hook_item *ret)
{
	struct buf b CLEANUP(buf_done) = BUF(j->raw.n + 16 * KIB);

	ret->text = j->raw;
	if (j->type != JSON_OBJECT) {
		(void)err_set(&ret->wrong, ERR_INVALID,
		    "the template must make an object, not %s",
		    json_type_name(j->type));
		return OK;
	}
	put_open(&b, NULL, '{');
	add_missing(m, j, index, &b);
	if (j->child)
		put_name(&b, NULL);
	buf_add(&b, str_from(j->raw, 1));
	ret->text = arena_dup(m->a, buf_str(&b));
	return b.failed ? no_room(m->e) : OK;
}

/* Without a template: the body is the payload, byte for byte. */
static int
plain(struct maker *m, const struct err *unread, struct hook_item *ret)
{
	struct buf b CLEANUP(buf_done) = BUF(m->q->in.body.n + 16 * KIB);

	ret->text = m->q->in.body;
	if (!m->tree) {
		ret->wrong = *unread;
		return OK;
	}
	if (m->tree->type != JSON_OBJECT) {
		(void)err_at(&ret->wrong, ERR_INVALID, "/payload",
		    "payload must be an object, not %s",
		    json_type_name(m->tree->type));
		return OK;
	}
	b.limit = m->tree->raw.n + 16 * KIB;
	put_open(&b, NULL, '{');
	add_missing(m, NULL, 0, &b);
	put_raw(&b, "payload", m->tree->raw);
	put_close(&b, '}');
	ret->text = arena_dup(m->a, buf_str(&b));
	return b.failed ? no_room(m->e) : OK;
}

/* What is wrong with it, ret->wrong says. */
static int
cloudevent(struct maker *m, const struct err *unread, struct hook_item *ret)
{
	struct str tenant = m->h->tenant_text;
	const struct received *in = &m->q->in;
	struct str type = receive_header(in, "Content-Type");

	ret->text = in->body;
	type = str_trim(str_cut(&type, ';'));
	if (str_eq_nocase(type, STR("application/cloudevents+json"))) {
		if (m->tree)
			return cloudevent_structured(
			    m->a, m->tree, tenant, &ret->text, &ret->wrong);
		ret->wrong = *unread;
		return unread->code;
	}
	return cloudevent_binary(m->a, in->headers, in->n, in->body, tenant,
	    &ret->text, &ret->wrong);
}

/* The template -------------------------------------------------------------------- */

/* Names that hold what proves the caller; no program needs to see them. */
static bool
is_secret(const struct hook *h, struct str name)
{
	return str_eq_nocase(name, STR("authorization")) ||
	       str_eq_nocase(name, STR("proxy-authorization")) ||
	       str_eq_nocase(name, STR("cookie")) ||
	       (h->header.n > 0 && str_eq_nocase(name, h->header));
}

/* A copy that is UTF-8. */
static struct str
clean(const struct maker *m, struct str s)
{
	struct str copy = arena_dup(m->a, s);

	str_clean_utf8((char *)(uintptr_t)copy.p, copy.n);
	return copy;
}

static void
add_headers(const struct maker *m, struct buf *b)
{
	const struct received *in = &m->q->in;

	put_open(b, "headers", '{');
	for (size_t i = 0; i < in->n; i++) {
		struct str name = in->headers[i].name;
		size_t k = 0;

		while (k < i && !str_eq_nocase(in->headers[k].name, name))
			k++;
		if (k < i || is_secret(m->h, name))
			continue;
		name = clean(m, name);
		for (char *p = (char *)(uintptr_t)name.p; p < name.p + name.n;
		     p++)
			if (*p >= 'A' && *p <= 'Z')
				*p = (char)(*p - 'A' + 'a');
		put_text(b, NULL, name);
		buf_addc(b, ':');
		buf_json(b, clean(m, in->headers[i].value));
	}
	put_close(b, '}');
}

static int
input_of(struct maker *m, struct str *ret)
{
	struct buf b CLEANUP(buf_done) = BUF(HOOK_SCRATCH_MAX / 4);

	put_open(&b, NULL, '{');
	add_headers(m, &b);
	add_pairs(&b, "query", m->q->query, m->q->n_query);
	if (m->json.p)
		put_raw(&b, "body", m->json);
	else
		put_text(&b, "body", clean(m, m->q->in.body));
	put_close(&b, '}');
	*ret = arena_dup(m->a, buf_str(&b));
	return b.failed ? no_room(m->e) : OK;
}

static int
make_many(struct maker *m, const struct json *made, struct hook_made *ret)
{
	ret->many = true;
	ret->n = 0;
	if (made->n > HOOK_EVENTS_MAX) {
		ret->n = 1;
		(void)err_set(&ret->items[0].wrong, ERR_LIMIT,
		    "the template made %u events, at most %d are taken",
		    made->n, HOOK_EVENTS_MAX);
		return OK;
	}
	if (made->n == 0)
		ret->why = "the template made no event";
	for (const struct json *j = made->child; j; j = j->next, ret->n++)
		TRY(complete(m, j, ret->n, &ret->items[ret->n]));
	return OK;
}

static int
by_template(struct maker *m, struct jq *jq, struct hook_made *ret)
{
	struct err why = {0};
	struct json *made = NULL;
	struct str input, text = STR_EMPTY;
	int rc;

	TRY(input_of(m, &input));
	ret->items[0].text = m->q->in.body;
	ret->n = 1;
	rc = jq_render(jq, m->h->program, input, m->a, &text, &why);
	if (rc == OK)
		rc = json_parse(m->a, text, &made, &why);
	if (rc == ERR_INVALID || rc == ERR_LIMIT || rc == ERR_SYNTAX) {
		ret->items[0].wrong = why;
		return OK;
	}
	if (rc < 0) {
		*m->e = why;
		return rc;
	}
	assert(made);
	if (made->type == JSON_NULL) {
		ret->n = 0;
		ret->why = "the template made nothing";
		return OK;
	}
	return made->type == JSON_ARRAY ? make_many(m, made, ret)
					: complete(m, made, 0, &ret->items[0]);
}

int
hook_events(const struct hook *h, const struct hook_request *q, struct jq *jq,
    struct arena *a, struct hook_made *ret, struct err *e)
{
	struct maker m = {.h = h, .q = q, .a = a, .e = e};
	struct err unread = {0};

	*ret = (struct hook_made){
	    .items = arena_array(a, HOOK_EVENTS_MAX, sizeof(*ret->items))};
	(void)read_body(&m, &unread); /* what can't be read has no tree */
	name_it(&m);
	ret->ref = m.ref;
	/* GitHub's first call, which tells of no change. */
	if (h->scheme->ping &&
	    str_eq(receive_header(&q->in, h->scheme->ping), STR("ping"))) {
		ret->why = "a ping";
		return OK;
	}
	if (h->template.n > 0)
		return by_template(&m, jq, ret);
	ret->n = 1;
	if (!hook_takes_cloudevents(h))
		return plain(&m, &unread, &ret->items[0]);
	(void)cloudevent(&m, &unread, &ret->items[0]);
	return OK;
}
