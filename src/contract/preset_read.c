/* preset.h, the parser: from JSON to struct preset. */
#include "contract/limits.h"
#include "contract/member.h"
#include "contract/preset_priv.h"
#include "event/limits.h"

static const char *const SECRETS[] = {
    "standard", "text", "optional", "none", NULL};
static const char *const ALGORITHMS[] = {"hmac-sha256", "ed25519", NULL};
static const char *const ENCODINGS[] = {"hex", "base64", NULL};
static const char *const ENCODES[] = {"none", "percent", NULL};
static const char *const KEYS[] = {"text", "decoded", NULL};
static const char *const ORDERS[] = {"none", "key", NULL};
static const char *const HOLDS[] = {"all", "first", NULL};
static const char *const AUDITS[] = {"failures", "all", "off", NULL};
static const char *const GATHERS[] = {"mode", "child", NULL};
static const char *const SETTINGS[] = {"none", "dispatcher", "callback", NULL};
static const char *const FAILS[] = {"dead_letter", "retry", "hold", NULL};
static const char *const BODIES[] = {
    "any", "standard-error", "not-standard-error", NULL};
static const char *const VERDICTS[] = {
    "success", "retry", "dead", "gone", NULL};

/* For those who read about it. */
#define TEXT    "{\"type\":\"string\"}"
#define NUMBERS "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"

struct reader {
	struct member_io io;
	struct preset *p;
	struct err *e;
};

/* What null brings to a row. */
static const struct preset NOTHING;

/* A member that is a text with variables. */
static int
read_vars(struct reader *r, const struct json *o, const char *at,
    const char *name, enum vars_place place, struct vars *ret)
{
	const struct json *j = member_given(o, name);
	char here[JSON_POINTER_MAX + 1];

	if (!j)
		return OK;
	member_at(here, at, name);
	TRY(member_want(j, JSON_STRING, here, r->e));
	return vars_compile(r->io.arena, j->text, place, here, ret, r->e);
}

/* The name of a variable that must have a value. */
static int
read_when(struct reader *r, const struct json *o, const char *at, enum var *ret)
{
	const struct json *j = member_given(o, "when");

	*ret = VAR_COUNT;
	if (j && (j->type != JSON_STRING || !vars_find(j->text, ret)))
		return member_wrong(
		    r->e, at, "when", "must be the name of a variable");
	return OK;
}

static int
check_header_name(
    struct reader *r, struct str name, const char *at, const char *member)
{
	static const char *const NEVER[] = {"host", "content-length",
	    "transfer-encoding", "connection", "content-type", NULL};

	TRY(member_need(name.n > 0, at, member, r->e));
	if (!member_token_ok(name))
		return member_wrong(
		    r->e, at, member, "must be a header's name");
	for (const char *const *n = NEVER; *n; n++)
		if (str_eq_nocase(name, str_of(*n)))
			return member_wrong(r->e, at, member,
			    "must not be %s, which is set for you", *n);
	return OK;
}

#define AT(field) offsetof(struct preset_header, field)
static const struct member HEADER[] = {
    {"name", MEMBER_TEXT, AT(name), 1, SUB_HEADER_NAME_MAX},
    {"secret", MEMBER_BOOL, AT(secret)},
    {"encode", MEMBER_EITHER, AT(percent), .words = ENCODES},
    {.name = "value", .kind = MEMBER_OWN, .must = true, .schema = TEXT},
    {.name = "when",
	.kind = MEMBER_OWN,
	.schema = TEXT,
	.about = "a variable that must have a value"},
    {.name = NULL},
};
#undef AT

static int
read_header(struct reader *r, const struct json *o, const char *at, void *row)
{
	struct preset_header *h = row;

	TRY(check_header_name(r, h->name, at, "name"));
	TRY(member_need(json_get(o, "value"), at, "value", r->e));
	TRY(read_vars(r, o, at, "value", h->secret ? VARS_SECRET : VARS_HEADER,
	    &h->value));
	return read_when(r, o, at, &h->when);
}

#define AT(field) offsetof(struct preset_signature, field)
static const struct member SIGNATURE[] = {
    {"header", MEMBER_TEXT, AT(header), 1, SUB_HEADER_NAME_MAX},
    {"algorithm", MEMBER_CHOICE, AT(algorithm), .words = ALGORITHMS},
    {"encoding", MEMBER_CHOICE, AT(encoding), .words = ENCODINGS},
    {"content", MEMBER_VARS, AT(content), VARS_SIGN},
    {"prefix", MEMBER_TEXT, AT(prefix), 0, SUB_HEADER_NAME_MAX},
    {"key", MEMBER_EITHER, AT(decoded), .words = KEYS},
    {"all", MEMBER_BOOL, AT(all)},
    {.name = NULL},
};
#undef AT

static int
read_signature(struct reader *r, const struct json *, const char *at, void *row)
{
	const struct preset_signature *s = row;

	TRY(check_header_name(r, s->header, at, "header"));
	if (s->algorithm == SIGN_ED25519 && !s->decoded)
		return member_wrong(
		    r->e, at, "key", "must be decoded with ed25519");
	if (!vars_has(&s->content, VAR_BODY))
		return member_wrong(r->e, at, "content",
		    "must have {body}: else nothing is proven of it");
	return OK;
}

#define AT(field) offsetof(struct preset_path, field)
static const struct member PATH[] = {
    {"types", MEMBER_TEXT, AT(types), 1, EVENT_TYPE_MAX + 2},
    {"path", MEMBER_VARS, AT(path), VARS_URL},
    {.name = "when",
	.kind = MEMBER_OWN,
	.schema = TEXT,
	.about = "a variable that must have a value"},
    {.name = NULL},
};
#undef AT

static int
read_path(struct reader *r, const struct json *o, const char *at, void *row)
{
	struct preset_path *p = row;

	TRY(member_need(p->types.n > 0, at, "types", r->e));
	TRY(member_need(json_get(o, "path"), at, "path", r->e));
	return read_when(r, o, at, &p->when);
}

/* "200" or "500-599". */
static int
read_status(struct reader *r, const struct json *j, const char *at,
    struct verdict_row *row)
{
	struct str to = j->text, from = str_cut(&to, '-');
	char here[JSON_POINTER_MAX + 1];
	int64_t a, b;

	member_at(here, at, "status");
	TRY(member_want(j, JSON_STRING, here, r->e));
	if (!str_has(j->text, '-'))
		to = from;
	if (from.n != 3 || to.n != 3 || !str_int(from, &a) ||
	    !str_int(to, &b) || a < 100 || b > 599 || a > b)
		return json_wrong(
		    r->e, here, "must be a status or a range of them, 500-599");
	row->from = (int)a;
	row->to = (int)b;
	return OK;
}

static int
read_nets(struct reader *r, const struct json *list, const char *at,
    struct verdict_row *row)
{
	char here[JSON_POINTER_MAX + 1];

	member_at(here, at, "network");
	TRY(member_want(list, JSON_ARRAY, here, r->e));
	for (const struct json *j = list->child; j; j = j->next) {
		enum outcome_net net;

		if (j->type != JSON_STRING ||
		    !outcome_net_find(j->text, &net) || net == NET_ANSWER)
			return json_wrong(r->e, here,
			    "must hold timeout, network, dns, tls, refused or tooLarge");
		row->nets |= 1U << net;
	}
	return OK;
}

#define AT(field) offsetof(struct verdict_row, field)
static const struct member VERDICT[] = {
    {"verdict", MEMBER_CHOICE, AT(verdict), .words = VERDICTS},
    {"body", MEMBER_CHOICE, AT(body), .words = BODIES},
    {.name = "status",
	.kind = MEMBER_OWN,
	.schema = TEXT,
	.about = "200, or 500-599"},
    {.name = "network",
	.kind = MEMBER_OWN,
	.schema = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    {.name = NULL},
};
#undef AT

static int
read_verdict(struct reader *r, const struct json *o, const char *at, void *row)
{
	const struct json *status = json_get(o, "status");
	const struct json *nets = json_get(o, "network");

	TRY(member_need(json_get(o, "verdict"), at, "verdict", r->e));
	if (!status && !nets)
		return json_wrong(r->e, at, "must have a status or a network");
	if (status)
		TRY(read_status(r, status, at, row));
	return nets ? read_nets(r, nets, at, row) : OK;
}

/* The members that are arrays of objects. */
static const struct rows {
	const char *name;
	const struct member *table;
	/* What the table can't say. */
	int (*read)(
	    struct reader *r, const struct json *o, const char *at, void *row);
	size_t size, list, n; /* of a row; where the preset has them */
} ROWS[] = {
#define X(field, table, read)                                                  \
	{                                                                      \
#field, table, read, sizeof(*((struct preset *)0)->field),     \
		    offsetof(struct preset, field),                            \
		    offsetof(struct preset, n_##field)                         \
	}
    X(headers, HEADER, read_header),
    X(signatures, SIGNATURE, read_signature),
    X(paths, PATH, read_path),
    X(verdicts, VERDICT, read_verdict),
#undef X
};

static int
read_rows(struct reader *r, const struct json *doc, const struct rows *t)
{
	const struct json *list = member_given(doc, t->name);
	char at[JSON_POINTER_MAX + 1], here[JSON_POINTER_MAX + 1];
	char *rows;
	size_t i = 0;

	if (!list)
		return OK;
	member_at(at, "", t->name);
	TRY(member_want(list, JSON_ARRAY, at, r->e));
	if (list->n > PRESET_ROWS_MAX)
		return json_wrong(
		    r->e, at, "must have at most %d rows", PRESET_ROWS_MAX);
	rows = arena_array(r->io.arena, list->n + 1, t->size);
	for (const struct json *j = list->child; j; j = j->next) {
		char *row = rows + i * t->size;

		member_at_index(here, at, i++);
		TRY(member_read(
		    &r->io, t->table, j, here, &NOTHING, row, r->e));
		TRY(t->read(r, j, here, row));
	}
	memcpy((char *)r->p + t->list, &rows, sizeof(rows));
	memcpy((char *)r->p + t->n, &i, sizeof(i));
	return OK;
}

static int
read_tables(struct reader *r, const struct json *doc)
{
	struct preset *p = r->p;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		TRY(read_rows(r, doc, &ROWS[i]));
	TRY(member_need(p->n_verdicts > 0, "", "verdicts", r->e));
	if (!json_get(doc, "secret"))
		p->secret = p->n_signatures > 0 ? PRESET_SECRET_TEXT
						: PRESET_SECRET_NONE;
	if ((p->secret == PRESET_SECRET_NONE) != (p->n_signatures == 0))
		return json_wrong(r->e, "/secret",
		    "must be none exactly when there are no signatures");
	return OK;
}

/* Names of members. */
static int
read_frame(struct reader *r, const struct json *doc)
{
	const struct json *list = member_given(doc, "frame");
	struct preset *p = r->p;

	if (!list)
		return OK;
	TRY(member_want(list, JSON_ARRAY, "/frame", r->e));
	if (list->n > PRESET_ROWS_MAX)
		return json_wrong(r->e, "/frame", "must have at most %d names",
		    PRESET_ROWS_MAX);
	p->frame = arena_array(r->io.arena, list->n + 1, sizeof(*p->frame));
	p->n_frame = 0;
	for (const struct json *j = list->child; j; j = j->next)
		TRY(member_text(j, "/frame", SUB_TEXT_MAX, r->io.arena,
		    &p->frame[p->n_frame++], r->e));
	return OK;
}

/* The waits one by one; and [from, to, step]. */
static int
read_retry(struct reader *r, const struct json *doc)
{
	const struct json *o = json_get(doc, "retry");
	const struct json *delays = json_get(o, "delaysMs");
	const struct json *spread = json_get(o, "jitterMs");
	const char *at = "/retry/jitterMs";
	struct retry_schedule *t = &r->p->retry;
	int64_t *const jitter[] = {
	    &t->jitter_from_ms, &t->jitter_to_ms, &t->jitter_step_ms};
	size_t i = 0;

	if (delays)
		TRY(retry_delays_read(delays, "/retry/delaysMs", t, r->e));
	else if (t->most_ms < t->base_ms)
		return json_wrong(r->e, "/retry/maxMs",
		    "must be at least baseMs and at most 30 days");
	if (!spread)
		return OK;
	TRY(member_want(spread, JSON_ARRAY, at, r->e));
	if (spread->n != COUNT_OF(jitter))
		return json_wrong(r->e, at, "must be [from, to, step]");
	for (const struct json *j = spread->child; j && i < COUNT_OF(jitter);
	     j = j->next)
		TRY(member_int(
		    j, at, 0, RETRY_DELAY_MAX_MS, jitter[i++], r->e));
	if (t->jitter_from_ms > t->jitter_to_ms)
		return json_wrong(
		    r->e, at, "must run from 0 or more to 30 days or less");
	if (t->jitter_step_ms < 1)
		return json_wrong(r->e, at, "must have a step above 0");
	return OK;
}

/* The word of a body, or a text with variables. */
static int
read_body(struct reader *r, const struct json *doc)
{
	const struct json *j = member_given(doc, "body");
	struct str word = json_is(j, JSON_STRING) ? j->text : STR_EMPTY;

	r->p->body = PRESET_TEXT;
	if (!j || str_eq(word, STR("envelope")))
		r->p->body = PRESET_ENVELOPE;
	else if (str_eq(word, STR("payload")))
		r->p->body = PRESET_PAYLOAD;
	else
		return read_vars(r, doc, "", "body", VARS_BODY, &r->p->text);
	return OK;
}

static int
read_preflight(struct reader *r, const struct json *doc)
{
	const struct json *o = member_given(doc, "preflight");
	const struct json *equals = json_get(o, "equals");
	struct preflight *f = &r->p->preflight;

	if (!o)
		return OK;
	TRY(member_need(json_get(o, "url"), "/preflight", "url", r->e));
	if (!equals || equals->type >= JSON_ARRAY)
		return json_wrong(r->e, "/preflight/equals",
		    "must be a number, string, true, false or null");
	f->on = true;
	f->equals = arena_dup(r->io.arena, equals->raw);
	return OK;
}

/* What must hold for members together. */
static int
check_parts(struct reader *r, const struct json *doc)
{
	const struct json *spacing = member_given(doc, "spacing");
	struct preset *p = r->p;
	struct str key_name = p->managed.key_name;

	if (spacing) {
		TRY(member_need(p->spacing_ms > 0, "/spacing", "ms", r->e));
		TRY(member_need(
		    json_get(spacing, "key"), "/spacing", "key", r->e));
	}
	if (json_is(json_get(doc, "breaker"), JSON_NULL))
		p->breaker_failures = 0;
	if (p->connect_ms > p->total_ms)
		return json_wrong(r->e, "/timeout/connectMs",
		    "must not be more than totalMs");
	/* The lock must outlive the call it protects (W14). */
	if (p->lock_ms > 0 && p->total_ms * 2 > p->lock_ms)
		return json_wrong(
		    r->e, "/lockMs", "must be at least twice timeout.totalMs");
	if (key_name.n > 0 && !member_token_ok(key_name))
		return json_wrong(r->e, "/managed/keyName",
		    "must be a name: letters, digits, - and _");
	p->keyed_by_event =
	    p->order_key.n == 1 && p->order_key.pieces[0].var == VAR_KEY;
	return OK;
}

#define AT(field) offsetof(struct preset, field)
static const struct member TIMEOUT[] = {
    {"connectMs", MEMBER_INT, AT(connect_ms), 1, SUB_TIMEOUT_MAX_MS},
    {"totalMs", MEMBER_INT, AT(total_ms), 1, SUB_TIMEOUT_MAX_MS},
    {.name = NULL},
};
static const struct member BREAKER[] = {
    {"failures", MEMBER_INT, AT(breaker_failures), 1, 1000},
    {"openMs", MEMBER_INT, AT(breaker_open_ms), 1, RETRY_DELAY_MAX_MS},
    {"holds", MEMBER_EITHER, AT(breaker_first), .words = HOLDS},
    {.name = NULL},
};
static const struct member SPACING[] = {
    {"ms", MEMBER_INT, AT(spacing_ms), 1, RETRY_DELAY_MAX_MS},
    {"key", MEMBER_VARS, AT(spacing_key), VARS_KEY},
    {.name = NULL},
};
static const struct member LOG[] = {
    {"tracePointer", MEMBER_POINTER, AT(trace_pointer)},
    {"call", MEMBER_VARS, AT(log_call), VARS_LOG},
    {"error", MEMBER_VARS, AT(log_error), VARS_LOG},
    {.name = NULL},
};
static const struct member RETRY[] = {
    {"baseMs", MEMBER_INT, AT(retry.base_ms), 1, RETRY_DELAY_MAX_MS},
    {"maxMs", MEMBER_INT, AT(retry.most_ms), 1, RETRY_DELAY_MAX_MS},
    {"count", MEMBER_INT, AT(retry.retries), 0, RETRY_DELAYS_MAX},
    {"jitterPercent", MEMBER_INT, AT(retry.jitter_pct), 0, 100},
    {"retryAfter", MEMBER_BOOL, AT(retry.heed)},
    {.name = "delaysMs", .kind = MEMBER_OWN, .schema = NUMBERS},
    {.name = "jitterMs",
	.kind = MEMBER_OWN,
	.schema = NUMBERS,
	.about = "from, to and step"},
    {.name = NULL},
};
static const struct member PREFLIGHT[] = {
    {"url", MEMBER_VARS, AT(preflight.url), VARS_URL},
    {"pointer", MEMBER_POINTER, AT(preflight.pointer)},
    {"fail", MEMBER_CHOICE, AT(preflight.fail), .words = FAILS},
    {.name = "equals",
	.kind = MEMBER_OWN,
	.schema = "{\"type\":[\"string\",\"number\",\"boolean\"]}"},
    {.name = NULL},
};
static const struct member MANAGED[] = {
    {"directed", MEMBER_BOOL, AT(managed.directed)},
    {"keepAnswers", MEMBER_BOOL, AT(keep_answers)}, /* as stored once */
    {"keyName", MEMBER_TEXT, AT(managed.key_name), 1, SUB_HEADER_NAME_MAX},
    {.name = NULL},
};
const struct member PRESET_BODY[] = {
    {"description", MEMBER_TEXT, AT(description), 0, SUB_TEXT_MAX},
    {"contentType", MEMBER_TEXT, AT(content_type), 1, SUB_HEADER_NAME_MAX},
    {"truncate", MEMBER_BOOL, AT(truncate)},
    {"truncatePointer", MEMBER_POINTER, AT(truncate_pointer)},
    {"truncateMark", MEMBER_TEXT, AT(truncate_mark), 1, SUB_TEXT_MAX},
    {"keepAnswers", MEMBER_BOOL, AT(keep_answers)},
    {"gathers", MEMBER_CHOICE, AT(gathers), .words = GATHERS},
    {"audit", MEMBER_CHOICE, AT(audit), .words = AUDITS},
    {"settings", MEMBER_CHOICE, AT(settings), .words = SETTINGS},
    {"secret", MEMBER_CHOICE, AT(secret), .words = SECRETS},
    {"concurrency", MEMBER_INT, AT(concurrency), 1, SUB_CONCURRENCY_MAX},
    {"concurrencyFloor", MEMBER_INT, AT(concurrency_floor), 1,
	SUB_CONCURRENCY_MAX},
    {"ratePerSecond", MEMBER_INT, AT(rate_per_second), 1, SUB_RATE_MAX},
    {"order", MEMBER_EITHER, AT(ordered), .words = ORDERS},
    {"orderKey", MEMBER_VARS, AT(order_key), VARS_KEY},
    {"lockMs", MEMBER_INT, AT(lock_ms), 1, RETRY_DELAY_MAX_MS},
    {.name = "timeout", .kind = MEMBER_PART, .part = TIMEOUT},
    {.name = "breaker", .kind = MEMBER_PART, .part = BREAKER},
    {.name = "spacing", .kind = MEMBER_PART, .part = SPACING},
    {.name = "log", .kind = MEMBER_PART, .part = LOG},
    {.name = "retry", .kind = MEMBER_PART, .part = RETRY},
    {.name = "preflight", .kind = MEMBER_PART, .part = PREFLIGHT},
    {.name = "managed", .kind = MEMBER_PART, .part = MANAGED},
    {.name = "body",
	.kind = MEMBER_OWN,
	.schema = TEXT,
	.about = "envelope, payload, or a text with variables"},
    {.name = "headers", .kind = MEMBER_OWN, .part = HEADER, .rows = true},
    {.name = "signatures", .kind = MEMBER_OWN, .part = SIGNATURE, .rows = true},
    {.name = "paths", .kind = MEMBER_OWN, .part = PATH, .rows = true},
    {.name = "verdicts", .kind = MEMBER_OWN, .part = VERDICT, .rows = true},
    {.name = "frame",
	.kind = MEMBER_OWN,
	.schema = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    {.name = NULL},
};
#undef AT

int
preset_read(struct arena *a, struct str name, struct str text,
    struct preset *ret, struct err *e)
{
	static int (*const PARTS[])(
	    struct reader * r, const struct json *doc) = {read_body,
	    read_tables, read_retry, read_preflight, read_frame, check_parts};
	static struct str FRAME[] = {
	    {"event", 5}, {"webhookConfig", 13}, {"truncated", 9}};
	struct preset initial = {
	    .name = arena_dup(a, name),
	    .json = arena_dup(a, text),
	    .content_type = STR("application/json"),
	    .connect_ms = 10000,
	    .total_ms = 15000,
	    .concurrency = 16,
	    .concurrency_floor = 1,
	    .breaker_failures = BREAKER_FAILURES,
	    .breaker_open_ms = BREAKER_OPEN_MS,
	    .retry = {.retries = 10,
		.base_ms = 1000,
		.most_ms = INT64_C(3600) * 1000,
		.jitter_step_ms = 1,
		.heed = true},
	    .truncate_pointer = STR("/changes/properties"),
	    .truncate_mark = STR("truncated"),
	    .frame = FRAME,
	    .n_frame = COUNT_OF(FRAME),
	};
	struct reader r = {{FORM_PLAIN, a, NULL}, ret, e};
	struct json *doc = NULL;

	TRY(vars_compile(
	    a, STR("{key}"), VARS_KEY, "/orderKey", &initial.order_key, e));
	*ret = initial;
	TRY(json_parse(a, initial.json, &doc, e));
	TRY(member_read(&r.io, PRESET_BODY, doc, "", &initial, ret, e));
	for (size_t i = 0; i < COUNT_OF(PARTS); i++)
		TRY(PARTS[i](&r, doc));
	return OK;
}
