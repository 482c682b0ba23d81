#include "contract/subscription.h"

#include <assert.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/conf/conf.h"
#include "base/limits.h"
#include "base/str.h"
#include "contract/sub_priv.h"
#include "seal/digest.h"

static const char *const ORDERS[] = {"none", "key", NULL};
static const char *const ON_DEAD[] = {"continue", "block", NULL};

#define SUB(field) offsetof(struct sub_conf, field)
static const struct member TOP[] = {
    {"name", MEMBER_TEXT, SUB(name), 1, SUB_NAME_MAX, NULL},
    {"url", MEMBER_TEXT, SUB(url), 1, SUB_URL_MAX, NULL},
    {"enabled", MEMBER_BOOL, SUB(enabled), 0, 0, NULL},
    {"filter", MEMBER_LONG, SUB(filter), 1, SUB_PROGRAM_MAX, NULL},
    {"template", MEMBER_LONG, SUB(template), 1, SUB_PROGRAM_MAX, NULL},
    {"onDead", MEMBER_EITHER, SUB(block), 0, 0, ON_DEAD},
    {"dropStale", MEMBER_BOOL, SUB(drop_stale), 0, 0, NULL},
    {"coalesce", MEMBER_BOOL, SUB(coalesce), 0, 0, NULL},
    {"deadlineSeconds", MEMBER_INT, SUB(deadline_s), 1, SUB_DEADLINE_MAX_S,
	NULL},
    {"timeoutMs", MEMBER_INT, SUB(timeout_ms), 1, SUB_TIMEOUT_MAX_MS, NULL},
    {"concurrency", MEMBER_INT, SUB(concurrency), 1, SUB_CONCURRENCY_MAX, NULL},
    {"ratePerSecond", MEMBER_INT, SUB(rate_per_second), 1, SUB_RATE_MAX, NULL},
    {.name = "preset", .kind = MEMBER_OWN},
    {.name = "types", .kind = MEMBER_OWN},
    {.name = "tenants", .kind = MEMBER_OWN},
    {.name = "secret", .kind = MEMBER_OWN},
    {.name = "headers", .kind = MEMBER_OWN},
    {.name = "auth", .kind = MEMBER_OWN},
    {.name = "order", .kind = MEMBER_OWN},
    {.name = "retry", .kind = MEMBER_OWN},
    {.name = "batch", .kind = MEMBER_OWN},
    {.name = "hub", .kind = MEMBER_OWN},
    /* Of the stored form alone. */
    {.name = "secrets", .kind = MEMBER_OWN},
    {.name = "managed", .kind = MEMBER_OWN},
    /* What we show beside it, and get back with a change. */
    {.name = "id", .kind = MEMBER_OWN},
    {.name = "managedBy", .kind = MEMBER_OWN},
    {.name = "publicKey", .kind = MEMBER_OWN},
    {.name = "createdAt", .kind = MEMBER_OWN},
    {.name = "changedAt", .kind = MEMBER_OWN},
    {.name = "version", .kind = MEMBER_OWN},
    {.name = "disabledReason", .kind = MEMBER_OWN},
    {.name = "heldReason", .kind = MEMBER_OWN},
    {.name = "delivery", .kind = MEMBER_OWN},
    {.name = NULL},
};

static const struct sub_conf INITIAL = {
    .enabled = true,
    .batch = {BATCH_IMMEDIATE, 5, 100},
};

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for a subscription");
}

static int
make(struct sub_conf **ret, struct err *e)
{
	struct arena *a = arena_new(SUB_MEM_MAX);
	struct sub_conf *s = a ? arena_alloc(a, sizeof(*s)) : NULL;

	if (!s) {
		arena_free(a);
		return no_room(e);
	}
	*s = INITIAL;
	s->arena = a;
	*ret = s;
	return OK;
}

void
sub_free(struct sub_conf *s)
{
	if (!s)
		return;
	sub_secrets_done(s);
	preset_unref(s->preset);
	arena_free(s->arena);
}

static int
order_read(struct sub_reader *r, const struct json *j)
{
	unsigned i = 0;
	int rc = OK;

	if (j->type != JSON_NULL)
		rc = member_choice(j, "/order", ORDERS, &i, r->e);
	if (rc == OK) {
		r->s->has_order = j->type != JSON_NULL;
		r->s->ordered = i == 1;
	}
	return rc;
}

static int
preset_member(
    struct sub_reader *r, const struct presets *presets, const struct json *doc)
{
	const struct json *j = json_get(doc, "preset");
	const struct preset *p = r->s->preset;

	if (j && j->type != JSON_NULL && j->type != JSON_STRING)
		return member_want(j, JSON_STRING, "/preset", r->e);
	if (j || !p) {
		struct str name =
		    j && j->type == JSON_STRING ? j->text : STR("standard");
		int shown = name.n < 64 ? (int)name.n : 64;

		p = presets_find(presets, name);
		if (!p)
			return err_at(r->e, r->rules ? ERR_INVALID : ERR_ABSENT,
			    "/preset", "preset %.*s is not known", shown,
			    name.p);
	}
	if (p != r->s->preset) {
		preset_unref(r->s->preset);
		r->s->preset = preset_ref(p);
	}
	return OK;
}

/* The members that are not a value by themselves, in the order of need. */
static const struct {
	const char *name;
	int (*read)(struct sub_reader *r, const struct json *j);
} OWN[] = {
    {"secrets", sub_secrets_read},
    {"managed", sub_managed_read},
    {"types", sub_types_read},
    {"tenants", sub_tenants_read},
    {"secret", sub_secret_read},
    {"headers", sub_headers_read},
    {"auth", sub_auth_read},
    {"order", order_read},
    {"retry", sub_retry_read},
    {"batch", sub_batch_read},
    {"hub", sub_hub_read},
};

/* Names that are known in other forms, or when something is changed. */
static int
refuse(struct sub_reader *r, const struct json *doc, bool change)
{
	static const char *const STORED[] = {"secrets", "managed", NULL};
	static const char *const SHOWN[] = {"id", "managedBy", "publicKey",
	    "createdAt", "changedAt", "version", "disabledReason", "heldReason",
	    "delivery", NULL};
	char at[JSON_POINTER_MAX + 1];

	for (int k = 0; k < 2; k++)
		for (const char *const *n = k ? SHOWN : STORED; *n; n++) {
			if (!json_get(doc, *n) || (k == 1 && change))
				continue;
			member_at(at, "", *n);
			return json_wrong(r->e, at, "is not a known field");
		}
	return OK;
}

static int
read_doc(struct sub_reader *r, const struct presets *presets, struct str text,
    bool change)
{
	struct arena *scratch = arena_new(8 * SUB_MEM_MAX);
	struct json *doc = NULL;
	int rc =
	    scratch ? json_parse(scratch, text, &doc, r->e) : no_room(r->e);

	if (rc == OK)
		rc = member_read(&r->io, TOP, doc, "", &INITIAL, r->s, r->e);
	if (rc == OK && r->io.form == FORM_USER)
		rc = refuse(r, doc, change);
	if (rc == OK)
		rc = preset_member(r, presets, doc);
	for (size_t i = 0; rc == OK && i < COUNT_OF(OWN); i++) {
		const struct json *j = json_get(doc, OWN[i].name);

		if (j)
			rc = OWN[i].read(r, j);
	}
	if (rc == OK && r->rules && !change && !json_get(doc, "batch"))
		r->s->batch = sub_batch_initial(r);
	/* What the preset has no use for goes with the preset that had. */
	if (rc == OK && !r->s->preset->uses_hub)
		r->s->hub = (struct sub_hub){.there = false};
	if (rc == OK && r->s->preset->secret == PRESET_SECRET_NONE)
		sub_secrets_done(r->s);
	arena_free(scratch);
	return rc;
}

/* The URL may have {tenant}, which is no secret and no surprise. */
static int
url_compile(struct sub_reader *r)
{
	struct sub_conf *s = r->s;
	int rc = vars_compile(
	    s->arena, s->url, VARS_URL, "/url", &s->url_vars, r->e);

	for (size_t i = 0; rc == OK && i < s->url_vars.n; i++)
		if (s->url_vars.pieces[i].var != VAR_LITERAL &&
		    s->url_vars.pieces[i].var != VAR_TENANT)
			rc = json_wrong(r->e, "/url",
			    "may have {tenant} and no other variable");
	if (rc == OK && s->hub.health_url.n > 0)
		rc = vars_compile(s->arena, s->hub.health_url, VARS_URL,
		    "/hub/healthUrl", &s->health_vars, r->e);
	return rc;
}

static int
programs_check(struct sub_reader *r)
{
	const struct sub_rules *k = r->rules;
	int rc = OK;

	if (k->program_check && r->s->filter.n > 0)
		rc = k->program_check(k->arg, r->s->filter, "/filter", r->e);
	if (rc == OK && k->program_check && r->s->template.n > 0)
		rc =
		    k->program_check(k->arg, r->s->template, "/template", r->e);
	return rc;
}

bool
sub_called(const struct sub_conf *s)
{
	return s->url.n > 0 && memmem(s->url.p, s->url.n, "://", 3) != NULL;
}

/* All that concerns more than one member. */
static int
check_whole(struct sub_reader *r)
{
	struct sub_conf *s = r->s;
	int rc = OK;

	if (s->name.n == 0)
		return json_wrong(r->e, "/name", "is required");
	if (s->url.n == 0 && s->preset->uses_hub) {
		s->url = arena_dup(
		    s->arena, str_of(r->rules->conf->webhooks_endpoint_root));
		if (!s->url.p)
			return no_room(r->e);
	}
	if (s->url.n == 0)
		return json_wrong(r->e, "/url", "is required");
	if (!sub_called(s) && r->rules->sink_check)
		rc = r->rules->sink_check(r->rules->arg, s, r->e);
	if (rc == 0)
		rc = sub_url_check(r, s->url, "/url");
	rc = rc < 0 ? rc : OK;
	if (rc == OK)
		rc = sub_auth_check(r);
	if (rc == OK)
		rc = sub_headers_check(r);
	if (rc == OK)
		rc = sub_hub_check(r);
	if (rc == OK)
		rc = programs_check(r);
	if (rc == OK && s->retry.has_count &&
	    s->retry.count > s->preset->retries_max)
		rc = json_wrong(r->e, "/retry/count", "must be at most %u",
		    s->preset->retries_max);
	if (rc == OK && s->batch.mode != BATCH_IMMEDIATE &&
	    s->preset->n_paths > 0)
		rc = json_wrong(r->e, "/batch/mode",
		    "must be immediate: the preset sends each type to a path of its own");
	if (rc == OK && s->retry.list.retries > s->preset->retries_max)
		rc = json_wrong(r->e, "/retry/delaysMs", "must hold at most %u",
		    s->preset->retries_max);
	return rc;
}

static int
own_write(const struct member_io *io, const struct sub_conf *s, bool once,
    struct buf *b, struct err *e)
{
	const struct member_io plain = {FORM_PLAIN, NULL, NULL};
	bool user = io->form == FORM_USER;
	bool ordered = s->has_order ? s->ordered : s->preset->ordered;
	int rc = OK;

	buf_addz(b, ",\"preset\":");
	buf_json(b, s->preset->name);
	buf_addz(b, ",\"order\":");
	if (s->has_order || user)
		buf_fmt(b, "\"%s\"", ORDERS[ordered]);
	else
		buf_addz(b, "null");
	buf_addz(b, user ? ",\"secret\":" : ",\"secrets\":[");
	if (user)
		return member_secret_write(once ? &plain : io,
		    s->n_secrets ? s->secrets[0].text : STR_EMPTY, b, e);
	for (size_t i = 0; rc == OK && i < s->n_secrets; i++) {
		buf_addz(b, i ? ",{\"text\":" : "{\"text\":");
		rc = member_secret_write(io, s->secrets[i].text, b, e);
		buf_addz(b, ",\"until\":");
		buf_int(b, s->secrets[i].until_us);
		buf_addc(b, '}');
	}
	buf_addc(b, ']');
	return rc;
}

static int
write_members(const struct member_io *io, const struct sub_conf *s, bool once,
    struct buf *b, struct err *e)
{
	int rc = member_write(io, TOP, s, b, e);

	if (rc == OK)
		rc = own_write(io, s, once, b, e);
	if (rc == OK)
		rc = sub_parts_write(io, s, b, e);
	if (rc == OK)
		rc = sub_hub_write(io, &s->hub, b, e);
	return rc;
}

/* As one reads it again. */
static int
copy_in(struct sub_reader *r, const struct sub_conf *old)
{
	struct member_io plain = {FORM_PLAIN, r->io.arena, NULL};
	struct sub_reader again = {plain, r->s, NULL, r->e};
	struct buf b = BUF(SUB_STORED_MAX);
	int rc;

	buf_addc(&b, '{');
	rc = write_members(&plain, old, false, &b, r->e);
	buf_addc(&b, '}');
	if (rc == OK && b.failed)
		rc = no_room(r->e);
	r->s->preset = preset_ref(old->preset);
	if (rc == OK)
		rc = read_doc(&again, r->rules->presets, buf_str(&b), true);
	if (b.p)
		digest_wipe(b.p, b.n);
	buf_done(&b);
	return rc;
}

static int
managed_copy(struct sub_conf *s, const struct sub_managed *m, struct err *e)
{
	s->managed = (struct sub_managed){
	    .by = arena_dup(s->arena, m->by),
	    .object_id = arena_dup(s->arena, m->object_id),
	    .object_path = arena_dup(s->arena, m->object_path),
	    .webhook_id = arena_dup(s->arena, m->webhook_id),
	    .ack_wait_s = m->ack_wait_s,
	};
	return s->managed.by.p && s->managed.object_id.p &&
		       s->managed.object_path.p && s->managed.webhook_id.p
		   ? OK
		   : no_room(e);
}

int
sub_read(struct str json, const struct sub_conf *old,
    const struct sub_rules *rules, struct sub_conf **ret, struct err *e)
{
	struct sub_conf *s = NULL, was;
	struct sub_reader r;
	int rc;

	if (json.n > SUB_STORED_MAX)
		return err_set(e, ERR_LIMIT,
		    "a subscription has at most %zu bytes", SUB_STORED_MAX);
	rc = make(&s, e);
	if (rc < 0)
		return rc;
	r = (struct sub_reader){{FORM_USER, s->arena, NULL}, s, rules, e};
	if (old)
		rc = copy_in(&r, old);
	was = *s;
	if (rc == OK)
		rc = read_doc(&r, rules->presets, json, old != NULL);
	if (rc == OK && rules->managed)
		rc = managed_copy(s, rules->managed, e);
	if (rc == OK)
		rc = check_whole(&r);
	if (rc == OK && old && sub_called(s))
		rc = sub_kept_check(&r, &was);
	if (rc == OK)
		rc = url_compile(&r);
	if (rc == OK)
		rc = sub_secrets_arm(s, e);
	if (rc < 0)
		sub_free(s);
	else
		*ret = s;
	return rc;
}

int
sub_load(struct str stored, const struct presets *presets,
    const struct sub_seal *seal, struct sub_conf **ret, struct err *e)
{
	struct sub_conf *s = NULL;
	struct sub_reader r;
	int rc = make(&s, e);

	if (rc < 0)
		return rc;
	r = (struct sub_reader){{FORM_STORED, s->arena, seal}, s, NULL, e};
	rc = read_doc(&r, presets, stored, true);
	if (rc == OK)
		rc = url_compile(&r);
	if (rc == OK && seal)
		rc = sub_secrets_arm(s, e);
	if (rc < 0)
		sub_free(s);
	else
		*ret = s;
	return rc;
}

int
sub_store(const struct sub_conf *s, const struct sub_seal *seal,
    struct arena *a, struct str *ret, struct err *e)
{
	struct member_io io = {FORM_STORED, a, seal};
	struct buf b = BUF(SUB_STORED_MAX);
	int rc;

	buf_addc(&b, '{');
	rc = write_members(&io, s, false, &b, e);
	buf_addc(&b, '}');
	if (rc == OK && b.failed)
		rc = err_set(e, ERR_LIMIT,
		    "a subscription has at most %zu bytes", SUB_STORED_MAX);
	if (rc == OK) {
		struct str text = arena_dup(a, buf_str(&b));

		if (text.p)
			*ret = text;
		else
			rc = no_room(e);
	}
	buf_done(&b);
	return rc;
}

void
sub_show(const struct sub_conf *s, bool once, struct buf *b)
{
	struct member_io io = {FORM_USER, NULL, NULL};
	struct sub_conf shown = *s;
	char public[SECRET_TEXT_LEN];
	struct err e;
	int rc;

	/* What counts, also where the preset said it. */
	if (!shown.timeout_ms)
		shown.timeout_ms = s->preset->total_ms;
	if (!shown.concurrency)
		shown.concurrency = s->preset->concurrency;
	rc = write_members(&io, &shown, once, b, &e);
	assert(rc == OK);
	(void)rc;
	buf_addz(b, ",\"publicKey\":");
	if (s->n_secrets > 0 && s->secrets[0].decode_signer &&
	    secret_public(s->secrets[0].decode_signer, public))
		buf_json(b, str_of(public));
	else
		buf_addz(b, "null");
	buf_addz(b, ",\"managedBy\":");
	if (s->managed.by.n > 0)
		buf_json(b, s->managed.by);
	else
		buf_addz(b, "null");
}

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void
sub_policy(const struct sub_conf *s, int64_t scale, struct sub_policy *ret)
{
	const struct preset *p = s->preset;
	struct sub_policy y = {
	    .retry = s->retry.has_list ? s->retry.list : p->retry,
	    .scale = scale,
	    .connect_ms = p->connect_ms,
	    .total_ms = s->timeout_ms ? s->timeout_ms : p->total_ms,
	    .concurrency = s->concurrency ? s->concurrency : p->concurrency,
	    .rate_per_second =
		s->rate_per_second ? s->rate_per_second : p->rate_per_second,
	    .ordered = s->has_order ? s->ordered : p->ordered,
	    .breaker_failures = p->breaker_failures,
	    .breaker_open_ms = retry_scaled(p->breaker_open_ms, scale),
	    .spacing_ms = retry_scaled(p->spacing_ms, scale),
	    .lock_ms = retry_scaled(p->lock_ms, scale),
	};

	if (s->retry.has_count)
		y.retry.retries = s->retry.count;
	/* More than the preset's list has: its last, again and again. */
	for (unsigned i = 1; s->retry.has_count && i < y.retry.retries; i++)
		if (y.retry.kind == RETRY_LIST && y.retry.delays_ms[i] == 0)
			y.retry.delays_ms[i] = y.retry.delays_ms[i - 1];
	/* A list of one's own changes the waits, not what Retry-After is. */
	y.retry.heed = p->retry.heed;
	/* W14: a call ends long before its lock does. */
	if (y.lock_ms > 0)
		y.total_ms = smaller(y.total_ms, (y.lock_ms - 1) / 2);
	if (y.total_ms < 1)
		y.total_ms = 1;
	y.connect_ms = smaller(y.connect_ms, y.total_ms);
	*ret = y;
}

struct preset_managed
sub_managed_by(const struct sub_conf *s)
{
	static const struct preset_managed NOBODY = {.key_name = {"", 0}};

	return s->managed.by.n > 0 ? s->preset->managed : NOBODY;
}
