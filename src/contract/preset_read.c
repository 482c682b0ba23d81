/* preset.h, the parser: from JSON to struct preset. */
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
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
static const char *const GATHERS[] = {"mode", "child", NULL};
static const char *const SETTINGS[] = {"none", "dispatcher", "callback", NULL};
static const char *const FAILS[] = {"dead_letter", "retry", "hold", NULL};
static const char *const BODIES[] = {
    "any", "standard-error", "not-standard-error", NULL};
static const char *const VERDICTS[] = {
    "success", "retry", "dead", "gone", NULL};

struct reader {
	struct member_io io;
	struct preset *p;
	struct err *e;
};

/* The object's own place, and room for the pointer of one member. */
struct spot {
	char at[JSON_POINTER_MAX + 1];
	char member[JSON_POINTER_MAX + 1];
};

static struct spot
spot_at(const char *at)
{
	struct spot s = {.at = ""};

	(void)snprintf(s.at, sizeof(s.at), "%s", at);
	return s;
}

/* The pointer of a member of the object at the spot. */
static const char *
in(struct spot *s, const char *name)
{
	member_at(s->member, s->at, name);
	return s->member;
}

static int
required(struct reader *r, struct spot *s, const char *name)
{
	return json_wrong(r->e, in(s, name), "is required");
}

/* A member that is a text with variables; absent or null: nothing happens. */
static int
read_vars(struct reader *r, const struct json *o, struct spot *s,
    const char *name, enum vars_place place, struct vars *ret)
{
	const struct json *j = json_get(o, name);
	int rc;

	if (!j || j->type == JSON_NULL)
		return OK;
	rc = member_want(j, JSON_STRING, in(s, name), r->e);
	return rc < 0 ? rc
		      : vars_compile(r->io.arena, j->text, place, in(s, name),
			    ret, r->e);
}

/* The name of a variable that must have a value. */
static int
read_when(struct reader *r, const struct json *o, struct spot *s, enum var *ret)
{
	const struct json *j = json_get(o, "when");

	*ret = VAR_COUNT;
	if (!j || j->type == JSON_NULL)
		return OK;
	if (j->type != JSON_STRING || !vars_find(j->text, ret))
		return json_wrong(
		    r->e, in(s, "when"), "must be the name of a variable");
	return OK;
}

static int
check_header_name(
    struct reader *r, struct str name, struct spot *s, const char *member)
{
	static const char *const NEVER[] = {"host", "content-length",
	    "transfer-encoding", "connection", "content-type", NULL};

	if (!member_token_ok(name))
		return json_wrong(
		    r->e, in(s, member), "must be a header's name");
	for (const char *const *n = NEVER; *n; n++)
		if (str_eq_nocase(name, str_of(*n)))
			return json_wrong(r->e, in(s, member),
			    "must not be %s, which is set for you", *n);
	return OK;
}

static int
read_header(struct reader *r, const struct json *o, const char *at, void *row)
{
	static const struct member TABLE[] = {
	    {"name", MEMBER_TEXT, offsetof(struct preset_header, name), 1,
		SUB_HEADER_NAME_MAX, NULL},
	    {"secret", MEMBER_BOOL, offsetof(struct preset_header, secret), 0,
		0, NULL},
	    {"encode", MEMBER_EITHER, offsetof(struct preset_header, percent),
		0, 0, ENCODES},
	    {.name = "value", .kind = MEMBER_OWN},
	    {.name = "when", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	static const struct preset_header INITIAL;
	struct preset_header *h = row;
	struct spot s = spot_at(at);
	int rc = member_read(&r->io, TABLE, o, at, &INITIAL, h, r->e);

	if (rc == OK && h->name.n == 0)
		rc = required(r, &s, "name");
	if (rc == OK)
		rc = check_header_name(r, h->name, &s, "name");
	if (rc == OK && !json_get(o, "value"))
		rc = required(r, &s, "value");
	if (rc == OK)
		rc = read_vars(r, o, &s, "value",
		    h->secret ? VARS_SECRET : VARS_HEADER, &h->value);
	return rc == OK ? read_when(r, o, &s, &h->when) : rc;
}

static int
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
	static const struct preset_signature INITIAL;
	struct preset_signature *g = row;
	struct spot s = spot_at(at);
	int rc = member_read(&r->io, TABLE, o, at, &INITIAL, g, r->e);

	if (rc == OK && g->header.n == 0)
		rc = required(r, &s, "header");
	if (rc == OK)
		rc = check_header_name(r, g->header, &s, "header");
	if (rc == OK && g->algorithm == SIGN_ED25519 && !g->decoded)
		rc = json_wrong(
		    r->e, in(&s, "key"), "must be decoded with ed25519");
	if (rc == OK)
		rc = read_vars(r, o, &s, "content", VARS_SIGN, &g->content);
	if (rc == OK && !vars_has(&g->content, VAR_BODY))
		rc = json_wrong(r->e, in(&s, "content"),
		    "must have {body}: else nothing is proven of it");
	return rc;
}

static int
read_path(struct reader *r, const struct json *o, const char *at, void *row)
{
	static const struct member TABLE[] = {
	    {"types", MEMBER_TEXT, offsetof(struct preset_path, types), 1,
		EVENT_TYPE_MAX + 2, NULL},
	    {.name = "path", .kind = MEMBER_OWN},
	    {.name = "when", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	static const struct preset_path INITIAL;
	struct preset_path *p = row;
	struct spot s = spot_at(at);
	int rc = member_read(&r->io, TABLE, o, at, &INITIAL, p, r->e);

	if (rc == OK && p->types.n == 0)
		rc = required(r, &s, "types");
	if (rc == OK && !json_get(o, "path"))
		rc = required(r, &s, "path");
	if (rc == OK)
		rc = read_vars(r, o, &s, "path", VARS_URL, &p->path);
	return rc == OK ? read_when(r, o, &s, &p->when) : rc;
}

/* "200" or "500-599". */
static int
read_status(
    struct reader *r, struct str text, struct spot *s, struct verdict_row *row)
{
	struct str to = text, from = str_cut(&to, '-');
	int64_t a, b;

	if (!str_has(text, '-'))
		to = from;
	if (from.n != 3 || to.n != 3 || !str_int(from, &a) ||
	    !str_int(to, &b) || a < 100 || b > 599 || a > b)
		return json_wrong(r->e, in(s, "status"),
		    "must be a status or a range of them, 500-599");
	row->from = (int)a;
	row->to = (int)b;
	return OK;
}

static int
read_nets(struct reader *r, const struct json *list, struct spot *s,
    struct verdict_row *row)
{
	int rc = member_want(list, JSON_ARRAY, in(s, "network"), r->e);

	for (const struct json *j = list->child; rc == OK && j; j = j->next) {
		enum outcome_net net;

		if (j->type != JSON_STRING || !net_find(j->text, &net) ||
		    net == NET_ANSWER)
			rc = json_wrong(r->e, in(s, "network"),
			    "must hold timeout, network, dns, tls, refused or tooLarge");
		else
			row->nets |= 1U << net;
	}
	return rc;
}

static int
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
	static const struct verdict_row INITIAL;
	struct verdict_row *v = row;
	struct spot s = spot_at(at);
	int rc = member_read(&r->io, TABLE, o, at, &INITIAL, v, r->e);
	const struct json *status = json_get(o, "status");
	const struct json *nets = json_get(o, "network");

	if (rc == OK && !json_get(o, "verdict"))
		rc = required(r, &s, "verdict");
	if (rc == OK && !status && !nets)
		rc = json_wrong(r->e, at, "must have a status or a network");
	if (rc == OK && status)
		rc = member_want(status, JSON_STRING, in(&s, "status"), r->e);
	if (rc == OK && status)
		rc = read_status(r, status->text, &s, v);
	return rc == OK && nets ? read_nets(r, nets, &s, v) : rc;
}

/* An array of objects, each read by `one` into a row of `size` bytes. */
static int
read_rows(struct reader *r, const struct json *doc, const char *name,
    size_t size,
    int (*one)(
	struct reader *r, const struct json *o, const char *at, void *row),
    void *ret_rows, size_t *ret_n)
{
	const struct json *list = json_get(doc, name);
	char at[JSON_POINTER_MAX + 1] = "", here[JSON_POINTER_MAX + 1];
	char *rows;
	size_t i = 0;
	int rc;

	if (!list || list->type == JSON_NULL)
		return OK;
	member_at(at, "", name);
	rc = member_want(list, JSON_ARRAY, at, r->e);
	if (rc < 0)
		return rc;
	if (list->n > PRESET_ROWS_MAX)
		return json_wrong(
		    r->e, at, "must have at most %d rows", PRESET_ROWS_MAX);
	rows = arena_array(r->io.arena, list->n ? list->n : 1, size);
	if (!rows)
		return err_set(r->e, ERR_NOMEM, "no memory for a preset");
	for (const struct json *j = list->child; rc == OK && j; j = j->next) {
		char index[24];

		(void)snprintf(index, sizeof(index), "%zu", i);
		member_at(here, at, index);
		rc = one(r, j, here, rows + i * size);
		i++;
	}
	memcpy(ret_rows, &rows, sizeof(rows));
	*ret_n = i;
	return rc;
}

/* Names of members. */
static int
read_frame(struct reader *r, const struct json *doc)
{
	const struct json *list = json_get(doc, "frame");
	int rc;

	if (!list || list->type == JSON_NULL)
		return OK;
	rc = member_want(list, JSON_ARRAY, "/frame", r->e);
	if (rc == OK && list->n > PRESET_ROWS_MAX)
		rc = json_wrong(r->e, "/frame", "must have at most %d names",
		    PRESET_ROWS_MAX);
	if (rc < 0)
		return rc;
	r->p->frame =
	    arena_array(r->io.arena, list->n + 1, sizeof(*r->p->frame));
	r->p->n_frame = 0;
	for (const struct json *j = list->child; rc == OK && j; j = j->next)
		rc = member_text(j, "/frame", SUB_TEXT_MAX, r->io.arena,
		    &r->p->frame[r->p->n_frame++], r->e);
	return rc;
}

static int
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
	static const struct preset_managed INITIAL;
	const struct json *o = json_get(doc, "managed");
	struct preset_managed *m = &r->p->managed;
	int rc = OK;

	if (o && o->type != JSON_NULL)
		rc = member_read(
		    &r->io, TABLE, o, "/managed", &INITIAL, m, r->e);
	if (rc == OK && m->key_name.n > 0 && !member_token_ok(m->key_name))
		rc = json_wrong(r->e, "/managed/keyName",
		    "must be a name: letters, digits, - and _");
	return rc;
}

/* [from, to, step]. */
static int
read_jitter(
    struct reader *r, const struct json *j, const char *at, int64_t ret[3])
{
	const struct json *c;
	int rc = member_want(j, JSON_ARRAY, at, r->e);

	if (rc == OK && j->n != 3)
		rc = json_wrong(r->e, at, "must be [from, to, step]");
	c = rc == OK ? j->child : NULL;
	for (int i = 0; c && rc == OK; i++, c = c->next)
		rc = member_int(c, at, 0, RETRY_DELAY_MAX_MS, &ret[i], r->e);
	return rc;
}

struct retry_numbers {
	int64_t base_ms, most_ms, count, percent;
	bool heed;
};

static int
read_delays(struct reader *r, const struct json *list, const char *at,
    struct retry_schedule *t)
{
	int rc = member_want(list, JSON_ARRAY, at, r->e);

	if (rc == OK && list->n > RETRY_DELAYS_MAX)
		rc = json_wrong(
		    r->e, at, "must hold at most %d", RETRY_DELAYS_MAX);
	if (rc < 0)
		return rc;
	t->kind = RETRY_LIST;
	t->retries = 0;
	t->most_ms = 0;
	for (const struct json *j = list->child; j && rc == OK; j = j->next) {
		int64_t ms = 0;

		rc = member_int(j, at, 0, RETRY_DELAY_MAX_MS, &ms, r->e);
		t->delays_ms[t->retries++] = ms;
		t->most_ms = ms > t->most_ms ? ms : t->most_ms;
	}
	return rc;
}

static int
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
	const struct json *o = json_get(doc, "retry");
	const struct json *list = json_get(o, "delaysMs");
	const struct json *spread = json_get(o, "jitterMs");
	struct retry_schedule *t = &r->p->retry;
	int64_t jitter[3] = {0, 0, 1};
	struct spot s = spot_at("/retry");
	int rc = OK;

	if (o && o->type != JSON_NULL)
		rc =
		    member_read(&r->io, TABLE, o, "/retry", &INITIAL, &n, r->e);
	*t = (struct retry_schedule){.kind = RETRY_DOUBLING,
	    .retries = (unsigned)n.count,
	    .base_ms = n.base_ms,
	    .most_ms = n.most_ms,
	    .jitter_pct = (unsigned)n.percent,
	    .heed = n.heed};
	if (rc == OK && list)
		rc = read_delays(r, list, in(&s, "delaysMs"), t);
	if (rc == OK && spread)
		rc = read_jitter(r, spread, in(&s, "jitterMs"), jitter);
	t->jitter_from_ms = jitter[0];
	t->jitter_to_ms = jitter[1];
	t->jitter_step_ms = jitter[2];
	return rc == OK ? retry_check(t, "/retry", r->e) : rc;
}

/* The word of a body, or a text with variables. */
static int
read_body(struct reader *r, const struct json *doc)
{
	const struct json *j = json_get(doc, "body");
	struct spot s = spot_at("");

	r->p->body = PRESET_ENVELOPE;
	if (!j || j->type == JSON_NULL ||
	    (j->type == JSON_STRING && str_eq(j->text, STR("envelope"))))
		return OK;
	r->p->body = PRESET_PAYLOAD;
	if (j->type == JSON_STRING && str_eq(j->text, STR("payload")))
		return OK;
	r->p->body = PRESET_TEXT;
	return read_vars(r, doc, &s, "body", VARS_BODY, &r->p->text);
}

static int
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
	int rc = OK;

	if (o && o->type == JSON_NULL)
		n.failures = 0;
	else if (o)
		rc = member_read(
		    &r->io, TABLE, o, "/breaker", &INITIAL, &n, r->e);
	r->p->breaker_failures = (unsigned)n.failures;
	r->p->breaker_open_ms = n.open_ms;
	return rc;
}

static int
read_spacing(struct reader *r, const struct json *doc)
{
	static const struct member TABLE[] = {
	    {"ms", MEMBER_INT, offsetof(struct preset, spacing_ms), 1,
		RETRY_DELAY_MAX_MS, NULL},
	    {.name = "key", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	static const struct preset INITIAL;
	const struct json *o = json_get(doc, "spacing");
	struct spot s = spot_at("/spacing");
	int rc;

	if (!o || o->type == JSON_NULL)
		return OK;
	rc = member_read(&r->io, TABLE, o, "/spacing", &INITIAL, r->p, r->e);
	if (rc == OK && r->p->spacing_ms == 0)
		rc = required(r, &s, "ms");
	if (rc == OK && !json_get(o, "key"))
		rc = required(r, &s, "key");
	return rc == OK
		   ? read_vars(r, o, &s, "key", VARS_KEY, &r->p->spacing_key)
		   : rc;
}

static int
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
	static const struct preflight INITIAL;
	const struct json *o = json_get(doc, "preflight");
	const struct json *equals = json_get(o, "equals");
	struct preflight *f = &r->p->preflight;
	struct spot s = spot_at("/preflight");
	int rc;

	if (!o || o->type == JSON_NULL)
		return OK;
	rc = member_read(&r->io, TABLE, o, "/preflight", &INITIAL, f, r->e);
	if (rc == OK && !json_get(o, "url"))
		rc = required(r, &s, "url");
	if (rc == OK)
		rc = read_vars(r, o, &s, "url", VARS_URL, &f->url);
	if (rc == OK && (!equals || equals->type >= JSON_ARRAY))
		rc = json_wrong(r->e, in(&s, "equals"),
		    "must be a number, string, true, false or null");
	if (rc < 0 || !equals)
		return rc;
	f->on = true;
	f->equals = arena_dup(r->io.arena, equals->raw);
	return f->equals.p ? OK
			   : err_set(r->e, ERR_NOMEM, "no memory for a preset");
}

static int
read_log(struct reader *r, const struct json *doc)
{
	static const struct member TABLE[] = {
	    {"tracePointer", MEMBER_POINTER,
		offsetof(struct preset, trace_pointer), 0, 0, NULL},
	    {.name = "call", .kind = MEMBER_OWN},
	    {.name = "error", .kind = MEMBER_OWN},
	    {.name = NULL},
	};
	static const struct preset INITIAL;
	const struct json *o = json_get(doc, "log");
	struct spot s = spot_at("/log");
	int rc;

	if (!o || o->type == JSON_NULL)
		return OK;
	rc = member_read(&r->io, TABLE, o, "/log", &INITIAL, r->p, r->e);
	if (rc == OK)
		rc = read_vars(r, o, &s, "call", VARS_LOG, &r->p->log_call);
	return rc == OK
		   ? read_vars(r, o, &s, "error", VARS_LOG, &r->p->log_error)
		   : rc;
}

static int
read_timeout(struct reader *r, const struct json *doc)
{
	static const struct member TABLE[] = {
	    {"connectMs", MEMBER_INT, offsetof(struct preset, connect_ms), 1,
		SUB_TIMEOUT_MAX_MS, NULL},
	    {"totalMs", MEMBER_INT, offsetof(struct preset, total_ms), 1,
		SUB_TIMEOUT_MAX_MS, NULL},
	    {.name = NULL},
	};
	const struct json *o = json_get(doc, "timeout");
	struct preset initial = *r->p;
	int rc = OK;

	if (o && o->type != JSON_NULL)
		rc = member_read(
		    &r->io, TABLE, o, "/timeout", &initial, r->p, r->e);
	if (rc == OK && r->p->connect_ms > r->p->total_ms)
		rc = json_wrong(r->e, "/timeout/connectMs",
		    "must not be more than totalMs");
	/* The lock must outlive the call it protects (W14). */
	if (rc == OK && r->p->lock_ms > 0 && r->p->total_ms * 2 > r->p->lock_ms)
		rc = json_wrong(
		    r->e, "/lockMs", "must be at least twice timeout.totalMs");
	return rc;
}

static int
read_tables(struct reader *r, const struct json *doc)
{
	struct preset *p = r->p;
	struct spot s = spot_at("");
	int rc = read_rows(r, doc, "headers", sizeof(*p->headers), read_header,
	    &p->headers, &p->n_headers);

	if (rc == OK)
		rc = read_rows(r, doc, "signatures", sizeof(*p->signatures),
		    read_signature, &p->signatures, &p->n_signatures);
	if (rc == OK)
		rc = read_rows(r, doc, "paths", sizeof(*p->paths), read_path,
		    &p->paths, &p->n_paths);
	if (rc == OK)
		rc = read_rows(r, doc, "verdicts", sizeof(*p->verdicts),
		    read_verdict, &p->verdicts, &p->n_verdicts);
	if (rc == OK && p->n_verdicts == 0)
		rc = required(r, &s, "verdicts");
	if (!json_get(doc, "secret"))
		p->secret = p->n_signatures > 0 ? PRESET_SECRET_TEXT
						: PRESET_SECRET_NONE;
	if (rc == OK &&
	    (p->secret == PRESET_SECRET_NONE) != (p->n_signatures == 0))
		rc = json_wrong(r->e, "/secret",
		    "must be none exactly when there are no signatures");
	return rc;
}

static int
read_keys(struct reader *r, const struct json *doc)
{
	struct spot s = spot_at("");
	int rc = vars_compile(r->io.arena, STR("{key}"), VARS_KEY, "/orderKey",
	    &r->p->order_key, r->e);

	if (rc == OK)
		rc = read_vars(
		    r, doc, &s, "orderKey", VARS_KEY, &r->p->order_key);
	r->p->keyed_by_event = rc == OK && r->p->order_key.n == 1 &&
			       r->p->order_key.pieces[0].var == VAR_KEY;
	return rc;
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
	static int (*const PARTS[])(
	    struct reader * r, const struct json *doc) = {read_body,
	    read_tables, read_retry, read_timeout, read_breaker, read_keys,
	    read_spacing, read_preflight, read_log, read_frame, read_managed};
	static struct str FRAME[] = {
	    {"event", 5}, {"webhookConfig", 13}, {"truncated", 9}};
	struct preset initial = {
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
	struct reader r = {{FORM_PLAIN, a, NULL}, ret, e};
	struct json *doc;
	int rc;

	if (!initial.name.p || !initial.json.p)
		return err_set(e, ERR_NOMEM, "no memory for a preset");
	rc = json_parse(a, initial.json, &doc, e);
	if (rc < 0)
		return rc;
	*ret = initial;
	rc = member_read(&r.io, TOP, doc, "", &initial, ret, e);
	for (size_t i = 0; i < COUNT_OF(PARTS) && rc == OK; i++)
		rc = PARTS[i](&r, doc);
	return rc;
}
