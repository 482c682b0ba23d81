#include "contract/sub.h"

#include <assert.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/conf/conf.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/sub_priv.h"
#include "seal/digest.h"

static const char *const ORDERS[] = {"none", "key", NULL};
static const char *const ON_DEAD[] = {"continue", "block", NULL};

/* Whose word it is: anybody's; of the stored form alone; what is shown beside
 * a subscription, and comes back with a change. */
enum own_form { ANY, STORED, SHOWN };
/* The members that are not a value by themselves, in the order of need. */
#define OWN_MEMBERS(X)                                                         \
	X("preset", NULL, ANY)                                                 \
	X("secrets", sub_secrets_read, STORED)                                 \
	X("managed", sub_managed_read, STORED)                                 \
	X("types", sub_types_read, ANY)                                        \
	X("tenants", sub_tenants_read, ANY)                                    \
	X("secret", sub_secret_read, ANY)                                      \
	X("headers", sub_headers_read, ANY)                                    \
	X("auth", sub_auth_read, ANY)                                          \
	X("order", order_read, ANY)                                            \
	X("retry", sub_retry_read, ANY)                                        \
	X("batch", sub_batch_read, ANY)                                        \
	X("hub", sub_hub_read, ANY)                                            \
	X("id", NULL, SHOWN)                                                   \
	X("managedBy", NULL, SHOWN)                                            \
	X("publicKey", NULL, SHOWN)                                            \
	X("createdAt", NULL, SHOWN)                                            \
	X("changedAt", NULL, SHOWN)                                            \
	X("version", NULL, SHOWN)                                              \
	X("disabledReason", NULL, SHOWN)                                       \
	X("heldReason", NULL, SHOWN)                                           \
	X("delivery", NULL, SHOWN)

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
#define X(name_, read, form) {.name = (name_), .kind = MEMBER_OWN},
    OWN_MEMBERS(X)
#undef X
	{.name = NULL},
};

static const struct sub_conf INITIAL = {
    .enabled = true,
    .batch = {BATCH_IMMEDIATE, 5, 100},
};

static int
too_large(struct err *e)
{
	return err_set(e, ERR_LIMIT, "a subscription has at most %zu bytes",
	    SUB_STORED_MAX);
}

static struct sub_conf *
sub_new(void)
{
	struct arena *a = arena_new(SUB_MEM_MAX);
	struct sub_conf *s = arena_alloc(a, sizeof(*s));

	*s = INITIAL;
	s->arena = a;
	return s;
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

static void
order_read(struct sub_reader *r, const struct json *j)
{
	unsigned i = 0;

	if (j->type != JSON_NULL && r->g.rc == OK)
		r->g.rc = member_choice(j, "/order", ORDERS, &i, r->g.e);
	r->s->has_order = j->type != JSON_NULL;
	r->s->ordered = i == 1;
}

static void
preset_member(
    struct sub_reader *r, const struct presets *presets, const struct json *doc)
{
	const struct json *j = json_get(doc, "preset");
	struct str name = json_is(j, JSON_STRING) ? j->text : STR("standard");
	const struct preset *p;

	if (j && j->type != JSON_NULL &&
	    !reading_want(&r->g, j, JSON_STRING, "/preset"))
		return;
	if (r->g.rc < 0 || (!j && r->s->preset))
		return;
	p = presets_find(presets, name);
	if (!p) {
		r->g.rc = err_at(r->g.e, r->rules ? ERR_INVALID : ERR_ABSENT,
		    "/preset", "preset %.*s is not known",
		    name.n < 64 ? (int)name.n : 64, name.p);
		return;
	}
	p = preset_ref(p);
	preset_unref(r->s->preset);
	r->s->preset = p;
}

static const struct {
	const char *name;
	void (*read)(struct sub_reader *r, const struct json *j); /* or NULL */
	enum own_form form;
} OWN[] = {
#define X(name, read, form) {name, read, form},
    OWN_MEMBERS(X)
#undef X
};

/* Names that are known in other forms, or when something is changed. */
static void
refuse(struct sub_reader *r, const struct json *doc, bool change)
{
	for (size_t i = 0; i < COUNT_OF(OWN); i++)
		if (json_get(doc, OWN[i].name) &&
		    (OWN[i].form == STORED ||
			(OWN[i].form == SHOWN && !change)))
			reading_wrong(&r->g, reading_at(&r->g, "", OWN[i].name),
			    "is not a known field");
}

static void
read_doc(struct sub_reader *r, const struct presets *presets, struct str text,
    bool change)
{
	struct arena *scratch = arena_new(8 * SUB_MEM_MAX);
	struct sub_conf *s = r->s;
	struct json *doc = NULL;

	r->g.rc = json_parse(scratch, text, &doc, r->g.e);
	reading_members(&r->g, TOP, doc, "", &INITIAL, s);
	if (r->g.io.form == FORM_USER)
		refuse(r, doc, change);
	preset_member(r, presets, doc);
	for (size_t i = 0; r->g.rc == OK && i < COUNT_OF(OWN); i++) {
		const struct json *j = json_get(doc, OWN[i].name);

		if (j && OWN[i].read)
			OWN[i].read(r, j);
	}
	if (r->rules && !change && !json_get(doc, "batch"))
		s->batch = sub_batch_initial(r);
	/* What the preset has no use for goes with the preset that had. */
	if (r->g.rc == OK && !s->preset->uses_hub)
		s->hub = (struct sub_hub){.there = false};
	if (r->g.rc == OK && s->preset->secret == PRESET_SECRET_NONE)
		sub_secrets_done(s);
	arena_free(scratch);
}

/* The URL may have {tenant}, which is no secret and no surprise. */
static void
text_compile(
    struct sub_reader *r, struct str text, const char *at, struct vars *ret)
{
	if (r->g.rc == OK)
		r->g.rc =
		    vars_compile(r->s->arena, text, VARS_URL, at, ret, r->g.e);
}

static void
url_compile(struct sub_reader *r)
{
	struct sub_conf *s = r->s;

	text_compile(r, s->url, "/url", &s->url_vars);
	for (size_t i = 0; i < s->url_vars.n; i++)
		if (s->url_vars.pieces[i].var != VAR_LITERAL &&
		    s->url_vars.pieces[i].var != VAR_TENANT)
			reading_wrong(&r->g, "/url",
			    "may have {tenant} and no other variable");
	if (s->hub.health_url.n > 0)
		text_compile(
		    r, s->hub.health_url, "/hub/healthUrl", &s->health_vars);
}

static void
program_check(struct sub_reader *r, struct str program, const char *at)
{
	const struct sub_rules *k = r->rules;

	if (r->g.rc == OK && k->program_check && program.n > 0)
		r->g.rc = k->program_check(k->arg, program, at, r->g.e);
}

bool
sub_called(const struct sub_conf *s)
{
	return s->url.n > 0 && memmem(s->url.p, s->url.n, "://", 3) != NULL;
}

/* False: its URL is to be one of the web. */
static bool
taken_by_sink(struct sub_reader *r)
{
	const struct sub_rules *k = r->rules;
	int rc = OK;

	if (r->g.rc == OK && !sub_called(r->s) && k->sink_check)
		rc = k->sink_check(k->arg, r->s, r->g.e);
	if (rc < 0)
		r->g.rc = rc;
	return rc != OK;
}

/* All that concerns more than one member. */
static void
check_whole(struct sub_reader *r)
{
	struct sub_conf *s = r->s;
	struct reading *g = &r->g;

	if (g->rc < 0)
		return;
	reading_need(g, s->name.n > 0, "", "name");
	if (s->url.n == 0 && s->preset->uses_hub)
		s->url = arena_dup(
		    s->arena, str_of(r->rules->conf->webhooks_endpoint_root));
	reading_need(g, s->url.n > 0, "", "url");
	if (!taken_by_sink(r))
		sub_url_check(r, s->url, "/url");
	sub_auth_check(r);
	sub_headers_check(r);
	sub_hub_check(r);
	program_check(r, s->filter, "/filter");
	program_check(r, s->template, "/template");
	if (s->retry.has_count && s->retry.count > s->preset->retries_max)
		reading_wrong(g, "/retry/count", "must be at most %u",
		    s->preset->retries_max);
	if (s->batch.mode != BATCH_IMMEDIATE && s->preset->n_paths > 0)
		reading_wrong(g, "/batch/mode",
		    "must be immediate: the preset sends each type to a path of its own");
	if (s->retry.list.retries > s->preset->retries_max)
		reading_wrong(g, "/retry/delaysMs", "must hold at most %u",
		    s->preset->retries_max);
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
static void
copy_in(struct sub_reader *r, const struct sub_conf *old)
{
	struct member_io plain = {FORM_PLAIN, r->g.io.arena, NULL};
	struct sub_reader again = {{plain, r->g.e, OK, ""}, r->s, NULL};
	struct buf b = BUF(SUB_STORED_MAX);

	buf_addc(&b, '{');
	r->g.rc = write_members(&plain, old, false, &b, r->g.e);
	buf_addc(&b, '}');
	if (r->g.rc == OK && b.failed)
		r->g.rc = too_large(r->g.e);
	r->s->preset = preset_ref(old->preset);
	if (r->g.rc == OK) {
		read_doc(&again, r->rules->presets, buf_str(&b), true);
		r->g.rc = again.g.rc;
	}
	if (b.p)
		digest_wipe(b.p, b.n);
	buf_done(&b);
}

static struct sub_managed
managed_copy(struct arena *a, const struct sub_managed *m)
{
	return (struct sub_managed){
	    .by = arena_dup(a, m->by),
	    .object_id = arena_dup(a, m->object_id),
	    .object_path = arena_dup(a, m->object_path),
	    .webhook_id = arena_dup(a, m->webhook_id),
	    .ack_wait_s = m->ack_wait_s,
	};
}

/* It can be used from now on; *ret, unless something is wrong with it. */
static int
finish(struct sub_reader *r, bool armed, struct sub_conf **ret)
{
	url_compile(r);
	if (r->g.rc == OK && armed)
		r->g.rc = sub_secrets_arm(r->s, r->g.e);
	if (r->g.rc < 0)
		sub_free(r->s);
	else
		*ret = r->s;
	return r->g.rc;
}

int
sub_read(struct str json, const struct sub_conf *old,
    const struct sub_rules *rules, struct sub_conf **ret, struct err *e)
{
	struct sub_conf *s, was;
	struct sub_reader r;

	if (json.n > SUB_STORED_MAX)
		return too_large(e);
	s = sub_new();
	r = (struct sub_reader){
	    {{FORM_USER, s->arena, NULL}, e, OK, ""}, s, rules};
	if (old)
		copy_in(&r, old);
	was = *s;
	if (r.g.rc == OK)
		read_doc(&r, rules->presets, json, old != NULL);
	if (rules->managed)
		s->managed = managed_copy(s->arena, rules->managed);
	check_whole(&r);
	if (r.g.rc == OK && old && sub_called(s))
		sub_kept_check(&r, &was);
	return finish(&r, true, ret);
}

int
sub_load(struct str stored, const struct presets *presets,
    const struct sub_seal *seal, struct sub_conf **ret, struct err *e)
{
	struct sub_conf *s = sub_new();
	struct sub_reader r = {
	    {{FORM_STORED, s->arena, seal}, e, OK, ""}, s, NULL};

	read_doc(&r, presets, stored, true);
	return finish(&r, seal, ret);
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
		rc = too_large(e);
	if (rc == OK)
		*ret = arena_dup(a, buf_str(&b));
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
	    sign_public(s->secrets[0].decode_signer, public))
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
