/* preset.h, the parser: from JSON to struct preset. */
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/member.h"
#include "contract/preset_priv.h"
#include "contract/reading.h"
#include "event/limits.h"

static const char *const SECRETS[] = {
    "standard", "text", "optional", "none", NULL};
static const char *const ALGORITHMS[] = {"hmac-sha256", "ed25519", NULL};
static const char *const ENCODINGS[] = {"hex", "base64", NULL};
static const char *const ENCODES[] = {"none", "percent", NULL};
static const char *const KEYS[] = {"text", "decoded", NULL};
static const char *const ORDERS[] = {"none", "key", NULL};
static const char *const GATHERS[] = {"mode", "child", NULL};
static const char *const SETTINGS[] = {"none", "dispatcher", "callback", NULL};
static const char *const FAILS[] = {"dead_letter", "retry", "hold", NULL};
static const char *const BODIES[] = {
    "any", "standard-error", "not-standard-error", NULL};
static const char *const VERDICTS[] = {
    "success", "retry", "dead", "gone", NULL};

struct reader {
	struct reading g;
	struct preset *p;
};

/* What null brings, where that is nothing. */
static const struct preset NOTHING;

/* An object; absent or null: nothing happens. */
static void
read_object(struct reader *r, const struct member *table, const struct json *o,
    const char *at, void *base)
{
	reading_members(&r->g, table, o, at, &NOTHING, base);
}

/* A member that is a text with variables. */
static void
read_vars(struct reader *r, const struct json *o, const char *at,
    const char *name, enum vars_place place, struct vars *ret)
{
	struct reading *g = &r->g;
	const struct json *j = reading_given(o, name);

	if (j && reading_want(g, j, JSON_STRING, reading_at(g, at, name)))
		g->rc =
		    vars_compile(g->io.arena, j->text, place, g->at, ret, g->e);
}

/* The name of a variable that must have a value. */
static void
read_when(struct reader *r, const struct json *o, const char *at, enum var *ret)
{
	const struct json *j = reading_given(o, "when");

	*ret = VAR_COUNT;
	if (j && (j->type != JSON_STRING || !vars_find(j->text, ret)))
		reading_wrong(&r->g, reading_at(&r->g, at, "when"),
		    "must be the name of a variable");
}

static void
check_header_name(
    struct reader *r, struct str name, const char *at, const char *member)
{
	static const char *const NEVER[] = {"host", "content-length",
	    "transfer-encoding", "connection", "content-type", NULL};

	reading_need(&r->g, name.n > 0, at, member);
	if (!member_token_ok(name))
		reading_wrong(&r->g, reading_at(&r->g, at, member),
		    "must be a header's name");
	for (const char *const *n = NEVER; *n; n++)
		if (str_eq_nocase(name, str_of(*n)))
			reading_wrong(&r->g, reading_at(&r->g, at, member),
			    "must not be %s, which is set for you", *n);
}

static void
read_header(struct reader *r, const struct json *o, const char *at, void *row)
{
#define AT(field) offsetof(struct preset_header, field)
	static const struct member TABLE[] = {
	    {"name", MEMBER_TEXT, AT(name), 1, SUB_HEADER_NAME_MAX, NULL},
	    {"secret", MEMBER_BOOL, AT(secret), 0, 0, NULL},
	    {"encode", MEMBER_EITHER, AT(percent), 0, 0, ENCODES},
	    {.name = "value", .kind = MEMBER_OWN},
	    {.name = "when", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
#undef AT
	struct preset_header *h = row;

	read_object(r, TABLE, o, at, h);
	check_header_name(r, h->name, at, "name");
	reading_need(&r->g, json_get(o, "value"), at, "value");
	read_vars(r, o, at, "value", h->secret ? VARS_SECRET : VARS_HEADER,
	    &h->value);
	read_when(r, o, at, &h->when);
}

static void
read_signature(
    struct reader *r, const struct json *o, const char *at, void *row)
{
#define AT(field) offsetof(struct preset_signature, field)
	static const struct member TABLE[] = {
	    {"header", MEMBER_TEXT, AT(header), 1, SUB_HEADER_NAME_MAX, NULL},
	    {"algorithm", MEMBER_CHOICE, AT(algorithm), 0, 0, ALGORITHMS},
	    {"encoding", MEMBER_CHOICE, AT(encoding), 0, 0, ENCODINGS},
	    {"prefix", MEMBER_TEXT, AT(prefix), 0, SUB_HEADER_NAME_MAX, NULL},
	    {"key", MEMBER_EITHER, AT(decoded), 0, 0, KEYS},
	    {"all", MEMBER_BOOL, AT(all), 0, 0, NULL},
	    {.name = "content", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
#undef AT
	struct preset_signature *s = row;

	read_object(r, TABLE, o, at, s);
	check_header_name(r, s->header, at, "header");
	if (s->algorithm == SIGN_ED25519 && !s->decoded)
		reading_wrong(&r->g, reading_at(&r->g, at, "key"),
		    "must be decoded with ed25519");
	read_vars(r, o, at, "content", VARS_SIGN, &s->content);
	if (!vars_has(&s->content, VAR_BODY))
		reading_wrong(&r->g, reading_at(&r->g, at, "content"),
		    "must have {body}: else nothing is proven of it");
}

static void
read_path(struct reader *r, const struct json *o, const char *at, void *row)
{
	static const struct member TABLE[] = {
	    {"types", MEMBER_TEXT, offsetof(struct preset_path, types), 1,
		EVENT_TYPE_MAX + 2, NULL},
	    {.name = "path", .kind = MEMBER_OWN},
	    {.name = "when", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	struct preset_path *p = row;

	read_object(r, TABLE, o, at, p);
	reading_need(&r->g, p->types.n > 0, at, "types");
	reading_need(&r->g, json_get(o, "path"), at, "path");
	read_vars(r, o, at, "path", VARS_URL, &p->path);
	read_when(r, o, at, &p->when);
}

/* "200" or "500-599". */
static void
read_status(struct reader *r, const struct json *j, const char *at,
    struct verdict_row *row)
{
	struct str to, from;
	int64_t a, b;

	if (!reading_want(&r->g, j, JSON_STRING, at))
		return;
	to = j->text;
	from = str_cut(&to, '-');
	if (!str_has(j->text, '-'))
		to = from;
	if (from.n != 3 || to.n != 3 || !str_int(from, &a) ||
	    !str_int(to, &b) || a < 100 || b > 599 || a > b) {
		reading_wrong(
		    &r->g, at, "must be a status or a range of them, 500-599");
		return;
	}
	row->from = (int)a;
	row->to = (int)b;
}

static void
read_nets(struct reader *r, const struct json *list, const char *at,
    struct verdict_row *row)
{
	if (!reading_want(&r->g, list, JSON_ARRAY, at))
		return;
	for (const struct json *j = list->child; j; j = j->next) {
		enum outcome_net net;

		if (j->type != JSON_STRING ||
		    !outcome_net_find(j->text, &net) || net == NET_ANSWER)
			reading_wrong(&r->g, at,
			    "must hold timeout, network, dns, tls, refused or tooLarge");
		else
			row->nets |= 1U << net;
	}
}

static void
read_verdict(struct reader *r, const struct json *o, const char *at, void *row)
{
	static const struct member TABLE[] = {
	    {"verdict", MEMBER_CHOICE, offsetof(struct verdict_row, verdict), 0,
		0, VERDICTS},
	    {"body", MEMBER_CHOICE, offsetof(struct verdict_row, body), 0, 0,
		BODIES},
	    {.name = "status", .kind = MEMBER_OWN},
	    {.name = "network", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	const struct json *status = json_get(o, "status");
	const struct json *nets = json_get(o, "network");

	read_object(r, TABLE, o, at, row);
	reading_need(&r->g, json_get(o, "verdict"), at, "verdict");
	if (!status && !nets)
		reading_wrong(&r->g, at, "must have a status or a network");
	if (status)
		read_status(r, status, reading_at(&r->g, at, "status"), row);
	if (nets)
		read_nets(r, nets, reading_at(&r->g, at, "network"), row);
}

/* The members that are arrays of objects. */
struct rows {
	const char *name;
	void (*read)(
	    struct reader *r, const struct json *o, const char *at, void *row);
	size_t size, list, n; /* of a row; where the preset has them */
};
#define ROWS(field, read)                                                      \
	{                                                                      \
#field, read, sizeof(*((struct preset *)0)->field),            \
		    offsetof(struct preset, field),                            \
		    offsetof(struct preset, n_##field)                         \
	}
static const struct rows TABLES[] = {
    ROWS(headers, read_header),
    ROWS(signatures, read_signature),
    ROWS(paths, read_path),
    ROWS(verdicts, read_verdict),
};
#undef ROWS

static void
read_rows(struct reader *r, const struct json *doc, const struct rows *t)
{
	const struct json *list = reading_given(doc, t->name);
	char at[JSON_POINTER_MAX + 1], here[JSON_POINTER_MAX + 1];
	char *rows;
	size_t i = 0;

	member_at(at, "", t->name);
	if (!list || !reading_want(&r->g, list, JSON_ARRAY, at))
		return;
	if (list->n > PRESET_ROWS_MAX)
		reading_wrong(
		    &r->g, at, "must have at most %d rows", PRESET_ROWS_MAX);
	rows = arena_array(r->g.io.arena, list->n + 1, t->size);
	for (const struct json *j = list->child; r->g.rc == OK && j;
	     j = j->next) {
		char index[24];

		(void)snprintf(index, sizeof(index), "%zu", i);
		member_at(here, at, index);
		t->read(r, j, here, rows + i++ * t->size);
	}
	memcpy((char *)r->p + t->list, &rows, sizeof(rows));
	memcpy((char *)r->p + t->n, &i, sizeof(i));
}

static void
read_tables(struct reader *r, const struct json *doc)
{
	struct preset *p = r->p;

	for (size_t i = 0; i < COUNT_OF(TABLES); i++)
		read_rows(r, doc, &TABLES[i]);
	reading_need(&r->g, p->n_verdicts > 0, "", "verdicts");
	if (!json_get(doc, "secret"))
		p->secret = p->n_signatures > 0 ? PRESET_SECRET_TEXT
						: PRESET_SECRET_NONE;
	if ((p->secret == PRESET_SECRET_NONE) != (p->n_signatures == 0))
		reading_wrong(&r->g, "/secret",
		    "must be none exactly when there are no signatures");
}

/* Names of members. */
static void
read_frame(struct reader *r, const struct json *doc)
{
	const struct json *list = reading_given(doc, "frame");
	struct reading *g = &r->g;
	struct preset *p = r->p;

	if (!list || !reading_want(g, list, JSON_ARRAY, "/frame"))
		return;
	if (list->n > PRESET_ROWS_MAX)
		reading_wrong(
		    g, "/frame", "must have at most %d names", PRESET_ROWS_MAX);
	p->frame = arena_array(g->io.arena, list->n + 1, sizeof(*p->frame));
	p->n_frame = 0;
	for (const struct json *j = list->child; g->rc == OK && j; j = j->next)
		g->rc = member_text(j, "/frame", SUB_TEXT_MAX, g->io.arena,
		    &p->frame[p->n_frame++], g->e);
}

static void
read_managed(struct reader *r, const struct json *doc)
{
#define AT(field) offsetof(struct preset_managed, field)
	static const struct member TABLE[] = {
	    {"directed", MEMBER_BOOL, AT(directed), 0, 0, NULL},
	    {"keepAnswers", MEMBER_BOOL, AT(keep_answers), 0, 0, NULL},
	    {"keyName", MEMBER_TEXT, AT(key_name), 1, SUB_HEADER_NAME_MAX,
		NULL},
	    {.name = NULL},
	};
#undef AT
	struct preset_managed *m = &r->p->managed;

	read_object(r, TABLE, reading_given(doc, "managed"), "/managed", m);
	if (m->key_name.n > 0 && !member_token_ok(m->key_name))
		reading_wrong(&r->g, "/managed/keyName",
		    "must be a name: letters, digits, - and _");
}

/* [from, to, step]. */
static void
read_jitter(struct reader *r, const struct json *list, int64_t ret[3])
{
	const char *at = "/retry/jitterMs";
	struct reading *g = &r->g;
	int i = 0;

	if (!reading_want(g, list, JSON_ARRAY, at))
		return;
	if (list->n != 3)
		reading_wrong(g, at, "must be [from, to, step]");
	for (const struct json *j = list->child; g->rc == OK && j; j = j->next)
		g->rc =
		    member_int(j, at, 0, RETRY_DELAY_MAX_MS, &ret[i++], g->e);
}

struct retry_numbers {
	int64_t base_ms, most_ms, count, percent;
	bool heed;
};

static void
read_retry(struct reader *r, const struct json *doc)
{
#define AT(field) offsetof(struct retry_numbers, field)
	static const struct member TABLE[] = {
	    {"baseMs", MEMBER_INT, AT(base_ms), 1, RETRY_DELAY_MAX_MS, NULL},
	    {"maxMs", MEMBER_INT, AT(most_ms), 1, RETRY_DELAY_MAX_MS, NULL},
	    {"count", MEMBER_INT, AT(count), 0, RETRY_DELAYS_MAX, NULL},
	    {"jitterPercent", MEMBER_INT, AT(percent), 0, 100, NULL},
	    {"retryAfter", MEMBER_BOOL, AT(heed), 0, 0, NULL},
	    {.name = "delaysMs", .kind = MEMBER_OWN},
	    {.name = "jitterMs", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
#undef AT
	static const struct retry_numbers INITIAL = {
	    1000, INT64_C(3600) * 1000, 10, 0, true};
	struct retry_numbers n = INITIAL;
	const struct json *o = reading_given(doc, "retry");
	const struct json *list = json_get(o, "delaysMs");
	const struct json *spread = json_get(o, "jitterMs");
	struct retry_schedule *t = &r->p->retry;
	int64_t jitter[3] = {0, 0, 1};
	struct reading *g = &r->g;

	reading_members(g, TABLE, o, "/retry", &INITIAL, &n);
	*t = (struct retry_schedule){.kind = RETRY_DOUBLING,
	    .retries = (unsigned)n.count,
	    .base_ms = n.base_ms,
	    .most_ms = n.most_ms,
	    .jitter_pct = (unsigned)n.percent,
	    .heed = n.heed};
	if (g->rc == OK && list)
		g->rc = retry_delays_read(list, "/retry/delaysMs", t, g->e);
	if (spread)
		read_jitter(r, spread, jitter);
	t->jitter_from_ms = jitter[0];
	t->jitter_to_ms = jitter[1];
	t->jitter_step_ms = jitter[2];
	if (g->rc == OK)
		g->rc = retry_check(t, "/retry", g->e);
}

/* The word of a body, or a text with variables. */
static void
read_body(struct reader *r, const struct json *doc)
{
	const struct json *j = reading_given(doc, "body");
	struct str word = json_is(j, JSON_STRING) ? j->text : STR_EMPTY;

	r->p->body = PRESET_TEXT;
	if (!j || str_eq(word, STR("envelope")))
		r->p->body = PRESET_ENVELOPE;
	else if (str_eq(word, STR("payload")))
		r->p->body = PRESET_PAYLOAD;
	else
		read_vars(r, doc, "", "body", VARS_BODY, &r->p->text);
}

static void
read_breaker(struct reader *r, const struct json *doc)
{
	struct numbers {
		int64_t failures, open_ms;
	};
	static const struct numbers INITIAL = {
	    BREAKER_FAILURES, BREAKER_OPEN_MS};
	static const struct member TABLE[] = {
	    {"failures", MEMBER_INT, offsetof(struct numbers, failures), 1,
		1000, NULL},
	    {"openMs", MEMBER_INT, offsetof(struct numbers, open_ms), 1,
		RETRY_DELAY_MAX_MS, NULL},
	    {.name = NULL},
	};
	const struct json *o = json_get(doc, "breaker");
	struct numbers n = INITIAL;

	if (o && o->type == JSON_NULL)
		n.failures = 0;
	else
		reading_members(&r->g, TABLE, o, "/breaker", &INITIAL, &n);
	r->p->breaker_failures = (unsigned)n.failures;
	r->p->breaker_open_ms = n.open_ms;
}

static void
read_spacing(struct reader *r, const struct json *doc)
{
	static const struct member TABLE[] = {
	    {"ms", MEMBER_INT, offsetof(struct preset, spacing_ms), 1,
		RETRY_DELAY_MAX_MS, NULL},
	    {.name = "key", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	const struct json *o = reading_given(doc, "spacing");
	const char *at = "/spacing";

	read_object(r, TABLE, o, at, r->p);
	if (o)
		reading_need(&r->g, r->p->spacing_ms > 0, at, "ms");
	if (o)
		reading_need(&r->g, json_get(o, "key"), at, "key");
	read_vars(r, o, at, "key", VARS_KEY, &r->p->spacing_key);
}

static void
read_preflight(struct reader *r, const struct json *doc)
{
	static const struct member TABLE[] = {
	    {"pointer", MEMBER_POINTER, offsetof(struct preflight, pointer), 0,
		0, NULL},
	    {"fail", MEMBER_CHOICE, offsetof(struct preflight, fail), 0, 0,
		FAILS},
	    {.name = "url", .kind = MEMBER_OWN},
	    {.name = "equals", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	const struct json *o = reading_given(doc, "preflight");
	const struct json *equals = json_get(o, "equals");
	const char *at = "/preflight";
	struct preflight *f = &r->p->preflight;

	if (!o)
		return;
	read_object(r, TABLE, o, at, f);
	reading_need(&r->g, json_get(o, "url"), at, "url");
	read_vars(r, o, at, "url", VARS_URL, &f->url);
	if (!equals || equals->type >= JSON_ARRAY) {
		reading_wrong(&r->g, reading_at(&r->g, at, "equals"),
		    "must be a number, string, true, false or null");
		return;
	}
	f->on = true;
	f->equals = arena_dup(r->g.io.arena, equals->raw);
}

static void
read_log(struct reader *r, const struct json *doc)
{
	static const struct member TABLE[] = {
	    {"tracePointer", MEMBER_POINTER,
		offsetof(struct preset, trace_pointer), 0, 0, NULL},
	    {.name = "call", .kind = MEMBER_OWN},
	    {.name = "error", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	const struct json *o = reading_given(doc, "log");

	read_object(r, TABLE, o, "/log", r->p);
	read_vars(r, o, "/log", "call", VARS_LOG, &r->p->log_call);
	read_vars(r, o, "/log", "error", VARS_LOG, &r->p->log_error);
}

static void
read_timeout(struct reader *r, const struct json *doc)
{
	static const struct member TABLE[] = {
	    {"connectMs", MEMBER_INT, offsetof(struct preset, connect_ms), 1,
		SUB_TIMEOUT_MAX_MS, NULL},
	    {"totalMs", MEMBER_INT, offsetof(struct preset, total_ms), 1,
		SUB_TIMEOUT_MAX_MS, NULL},
	    {.name = NULL},
	};
	const struct json *o = reading_given(doc, "timeout");
	struct preset *p = r->p, initial = *p;

	reading_members(&r->g, TABLE, o, "/timeout", &initial, p);
	if (p->connect_ms > p->total_ms)
		reading_wrong(&r->g, "/timeout/connectMs",
		    "must not be more than totalMs");
	/* The lock must outlive the call it protects (W14). */
	if (p->lock_ms > 0 && p->total_ms * 2 > p->lock_ms)
		reading_wrong(
		    &r->g, "/lockMs", "must be at least twice timeout.totalMs");
}

static void
read_keys(struct reader *r, const struct json *doc)
{
	struct vars *key = &r->p->order_key;

	if (r->g.rc == OK)
		r->g.rc = vars_compile(r->g.io.arena, STR("{key}"), VARS_KEY,
		    "/orderKey", key, r->g.e);
	read_vars(r, doc, "", "orderKey", VARS_KEY, key);
	r->p->keyed_by_event =
	    r->g.rc == OK && key->n == 1 && key->pieces[0].var == VAR_KEY;
}

#define AT(field) offsetof(struct preset, field)
static const struct member TOP[] = {
    {"description", MEMBER_TEXT, AT(description), 0, SUB_TEXT_MAX, NULL},
    {"contentType", MEMBER_TEXT, AT(content_type), 1, SUB_HEADER_NAME_MAX,
	NULL},
    {"truncate", MEMBER_BOOL, AT(truncate), 0, 0, NULL},
    {"truncatePointer", MEMBER_POINTER, AT(truncate_pointer), 0, 0, NULL},
    {"truncateMark", MEMBER_TEXT, AT(truncate_mark), 1, SUB_TEXT_MAX, NULL},
    {"gathers", MEMBER_CHOICE, AT(gathers), 0, 0, GATHERS},
    {"settings", MEMBER_CHOICE, AT(settings), 0, 0, SETTINGS},
    {"secret", MEMBER_CHOICE, AT(secret), 0, 0, SECRETS},
    {"concurrency", MEMBER_INT, AT(concurrency), 1, SUB_CONCURRENCY_MAX, NULL},
    {"ratePerSecond", MEMBER_INT, AT(rate_per_second), 1, SUB_RATE_MAX, NULL},
    {"order", MEMBER_EITHER, AT(ordered), 0, 0, ORDERS},
    {"lockMs", MEMBER_INT, AT(lock_ms), 1, RETRY_DELAY_MAX_MS, NULL},
    {.name = "body", .kind = MEMBER_OWN},
    {.name = "headers", .kind = MEMBER_OWN},
    {.name = "signatures", .kind = MEMBER_OWN},
    {.name = "paths", .kind = MEMBER_OWN},
    {.name = "verdicts", .kind = MEMBER_OWN},
    {.name = "retry", .kind = MEMBER_OWN},
    {.name = "timeout", .kind = MEMBER_OWN},
    {.name = "breaker", .kind = MEMBER_OWN},
    {.name = "orderKey", .kind = MEMBER_OWN},
    {.name = "spacing", .kind = MEMBER_OWN},
    {.name = "preflight", .kind = MEMBER_OWN},
    {.name = "log", .kind = MEMBER_OWN},
    {.name = "frame", .kind = MEMBER_OWN},
    {.name = "managed", .kind = MEMBER_OWN},
    {.name = NULL},
};
#undef AT

int
preset_read(struct arena *a, struct str name, struct str text,
    struct preset *ret, struct err *e)
{
	static void (*const PARTS[])(
	    struct reader * r, const struct json *doc) = {read_body,
	    read_tables, read_retry, read_timeout, read_breaker, read_keys,
	    read_spacing, read_preflight, read_log, read_frame, read_managed};
	static struct str FRAME[] = {
	    {"event", 5}, {"webhookConfig", 13}, {"truncated", 9}};
	const struct preset initial = {
	    .name = arena_dup(a, name),
	    .json = arena_dup(a, text),
	    .content_type = STR("application/json"),
	    .connect_ms = 10000,
	    .total_ms = 15000,
	    .concurrency = 16,
	    .truncate_pointer = STR("/changes/properties"),
	    .truncate_mark = STR("truncated"),
	    .frame = FRAME,
	    .n_frame = COUNT_OF(FRAME),
	};
	struct reader r = {
	    .g = {.io = {FORM_PLAIN, a, NULL}, .e = e}, .p = ret};
	struct json *doc = NULL;

	*ret = initial;
	r.g.rc = json_parse(a, initial.json, &doc, e);
	reading_members(&r.g, TOP, doc, "", &initial, ret);
	for (size_t i = 0; i < COUNT_OF(PARTS) && r.g.rc == OK; i++)
		PARTS[i](&r, doc);
	return r.g.rc;
}
