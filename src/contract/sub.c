#include "contract/sub.h"

#include "base/conf/conf.h"
#include "contract/limits.h"
#include "contract/sub_priv.h"
#include "seal/digest.h"

static const char *const ORDERS[] = {"none", "key", NULL};
static const char *const ON_DEAD[] = {"continue", "block", NULL};
static const char *const MODES[] = {"immediate", "batched", "summary", NULL};

/* What is shown beside a subscription, and comes back with a change. */
#define SHOWN_MEMBERS(X)                                                       \
	X("id")                                                                \
	X("managedBy")                                                         \
	X("publicKey")                                                         \
	X("createdAt")                                                         \
	X("changedAt")                                                         \
	X("version")                                                           \
	X("disabledReason")                                                    \
	X("heldReason")                                                        \
	X("delivery")

#define AT(field) offsetof(struct sub_conf, field)
static const struct member BATCH[] = {
    {"mode", MEMBER_CHOICE, AT(batch.mode), .words = MODES},
    {"windowSeconds", MEMBER_INT, AT(batch.window_s), 1,
	SUB_BATCH_WINDOW_MAX_S},
    {"maxSize", MEMBER_INT, AT(batch.max_size), 1, SUB_BATCH_MAX},
    {.name = NULL},
};
static const struct member MANAGED[] = {
    {"by", MEMBER_TEXT, AT(managed.by), 0, SUB_TEXT_MAX},
    {"objectId", MEMBER_TEXT, AT(managed.object_id), 0, SUB_TEXT_MAX},
    {"objectPath", MEMBER_TEXT, AT(managed.object_path), 0, SUB_TEXT_MAX},
    {"webhookId", MEMBER_TEXT, AT(managed.webhook_id), 0, SUB_TEXT_MAX},
    {"ackWaitSeconds", MEMBER_INT, AT(managed.ack_wait_s), 1,
	CONSUMER_WAIT_MAX_S},
    {"expiresAt", MEMBER_TIME, AT(managed.expires_us)},
    {.name = NULL},
};
#undef AT

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

void
sub_freep(struct sub_conf **s)
{
	sub_free(*s);
}

/* Members ------------------------------------------------------------------- */

/* What all the others depend on: before them. */
static int
preset_read_name(const struct presets *presets, const struct json *j,
    bool stored, struct sub_conf *s, struct err *e)
{
	struct str name = json_is(j, JSON_STRING) ? j->text : STR("standard");
	const struct preset *p;

	if (j && j->type != JSON_NULL)
		TRY(member_want(j, JSON_STRING, "/preset", e));
	if (!j && s->preset)
		return OK;
	p = presets_find(presets, name);
	if (!p)
		return err_at(e, stored ? ERR_ABSENT : ERR_INVALID, "/preset",
		    "preset %.*s is not known", name.n < 64 ? (int)name.n : 64,
		    name.p);
	p = preset_ref(p);
	preset_unref(s->preset);
	s->preset = p;
	return OK;
}

static int
preset_write(
    const struct member_io *, const void *base, struct buf *b, struct err *)
{
	const struct sub_conf *s = base;

	put_text(b, "preset", s->preset->name);
	return OK;
}

static int
order_read(
    const struct member_io *, const struct json *j, void *base, struct err *e)
{
	struct sub_conf *s = base;
	unsigned i = 0;

	s->has_order = j->type != JSON_NULL;
	if (s->has_order)
		TRY(member_choice(j, "/order", ORDERS, &i, e));
	s->ordered = i == 1;
	return OK;
}

static int
order_write(
    const struct member_io *io, const void *base, struct buf *b, struct err *)
{
	const struct sub_conf *s = base;
	bool said = s->has_order || io->form == FORM_USER;

	put_z(b, "order",
	    said ? ORDERS[s->has_order ? s->ordered : s->preset->ordered]
		 : NULL);
	return OK;
}

static int
managed_read(
    const struct member_io *io, const struct json *j, void *base, struct err *e)
{
	return j->type == JSON_NULL
		   ? OK
		   : member_read(io, MANAGED, j, "/managed", &INITIAL, base, e);
}

static int
managed_write(
    const struct member_io *io, const void *base, struct buf *b, struct err *e)
{
	if (io->form == FORM_USER)
		return OK;
	put_open(b, "managed", '{');
	TRY(member_write(io, MANAGED, base, b, e));
	put_close(b, '}');
	return OK;
}

#define AT(field) offsetof(struct sub_conf, field)
#define OWN(name, r, w, ...)                                                   \
	{                                                                      \
		name, MEMBER_OWN, .read = (r), .write = (w), ##__VA_ARGS__     \
	}
const struct member SUB_BODY[] = {
    {"name", MEMBER_TEXT, AT(name), 1, SUB_NAME_MAX},
    {"url", MEMBER_TEXT, AT(url), 1, SUB_URL_MAX},
    {"enabled", MEMBER_BOOL, AT(enabled)},
    {"filter", MEMBER_LONG, AT(filter), 1, SUB_PROGRAM_MAX},
    {"template", MEMBER_LONG, AT(template), 1, SUB_PROGRAM_MAX},
    {"onDead", MEMBER_EITHER, AT(block), .words = ON_DEAD},
    {"dropStale", MEMBER_BOOL, AT(drop_stale)},
    {"coalesce", MEMBER_BOOL, AT(coalesce)},
    {"deadlineSeconds", MEMBER_INT, AT(deadline_s), 1, SUB_DEADLINE_MAX_S},
    {"timeoutMs", MEMBER_INT, AT(timeout_ms), 1, SUB_TIMEOUT_MAX_MS},
    {"concurrency", MEMBER_INT, AT(concurrency), 1, SUB_CONCURRENCY_MAX},
    {"ratePerSecond", MEMBER_INT, AT(rate_per_second), 1, SUB_RATE_MAX},
    OWN("preset", NULL, preset_write, .schema = "PresetName"),
    OWN("order", order_read, order_write,
	.schema = "{\"type\":\"string\",\"enum\":[\"none\",\"key\"]}",
	.about = "absent: as the preset has it"),
    OWN("secret", sub_secret_read, sub_secret_write,
	.schema = "{\"type\":\"string\"}",
	.about = "signs what is sent; absent: one is made, and shown once"),
    OWN("secrets", sub_secrets_read, sub_secrets_write),
    OWN("types", sub_types_read, sub_types_write, .schema = "Types",
	.about = "absent: all"),
    {"tenants", MEMBER_TENANTS, AT(tenants), 1, SUB_TENANTS_MAX},
    OWN("headers", sub_headers_read, sub_headers_write,
	.schema = "HeaderValues"),
    OWN("auth", sub_auth_read, sub_auth_write, .schema = "Auth"),
    OWN("retry", sub_retry_read, sub_retry_write, .schema = "Retry",
	.about = "absent: as the preset has it"),
    {.name = "batch", .kind = MEMBER_PART, .part = BATCH},
    OWN("managed", managed_read, managed_write),
    OWN("hub", sub_hub_read, sub_hub_write, .part = SUB_HUB),
#define X(name) OWN(name, NULL, NULL),
    SHOWN_MEMBERS(X)
#undef X
	{.name = NULL},
};
#undef OWN
#undef AT

/* Names that are known in other forms, or when something is changed. */
static int
refuse(const struct json *doc, bool change, struct err *e)
{
#define X(name) name,
	static const char *const NAMES[] = {
	    "secrets", "managed", SHOWN_MEMBERS(X)};
#undef X
	size_t n = change ? 2 : COUNT_OF(NAMES);

	for (size_t i = 0; i < n; i++)
		if (json_get(doc, NAMES[i]))
			return member_wrong(
			    e, "", NAMES[i], "is not a known field");
	return OK;
}

/* What a subscription has that says nothing: the settings. */
static struct sub_batch
batch_initial(const struct sub_rules *rules)
{
	struct sub_batch b = INITIAL.batch;

	if (rules) {
		b.window_s = rules->conf->webhook_child_event_batch_window_s;
		b.max_size = rules->conf->webhook_child_event_batch_max_size;
	}
	return b;
}

static int
read_doc(const struct member_io *io, const struct presets *presets,
    struct str text, bool change, struct sub_conf *s, struct err *e)
{
	struct arena *scratch CLEANUP(arena_freep) = arena_new(8 * SUB_MEM_MAX);
	struct sub_conf initial = INITIAL;
	struct json *doc = NULL;

	initial.batch = batch_initial(io->ctx);
	TRY(json_parse(scratch, text, &doc, e));
	if (io->form == FORM_USER)
		TRY(refuse(doc, change, e));
	TRY(preset_read_name(presets, json_get(doc, "preset"), !io->ctx, s, e));
	TRY(member_read(io, SUB_BODY, doc, "", &initial, s, e));
	/* What the preset has no use for goes with the preset that had. */
	if (!s->preset->uses_hub)
		s->hub = (struct sub_hub){.there = false};
	if (s->preset->secret == PRESET_SECRET_NONE)
		sub_secrets_done(s);
	return OK;
}

#define UNSAID ((struct str){.p = NULL})

/* What it says nothing of is as the settings are. */
static void
settings_fill(struct sub_conf *s)
{
	const struct preset *p = s->preset;
	struct sub_hub *h = &s->hub;

	s->own_url = s->url.n > 0;
	if (!s->own_url && p->uses_hub)
		s->url = p->endpoint_root;
	h->own_user_path = h->user_path.p;
	if (!h->own_user_path)
		h->user_path = p->user_path;
	h->own_organization_path = h->organization_path.p;
	if (!h->own_organization_path)
		h->organization_path = p->organization_path;
}

/* The setting's value, shown and written back, is not its own now. */
static void
settings_keep(struct sub_conf *s, const struct sub_conf *was)
{
	struct sub_hub *h = &s->hub;

	if (!was->own_url && !s->preset->uses_hub && s->url.n == 0)
		s->url = arena_dup(s->arena, was->url);
	else if (!was->own_url && str_eq(s->url, was->url))
		s->url = UNSAID;
	if (!was->hub.own_user_path && str_eq(h->user_path, was->hub.user_path))
		h->user_path = UNSAID;
	if (!was->hub.own_organization_path &&
	    str_eq(h->organization_path, was->hub.organization_path))
		h->organization_path = UNSAID;
}

/* As an object, without what the settings say. */
static int
write_doc(const struct member_io *io, const struct sub_conf *s, struct buf *b,
    struct err *e)
{
	struct sub_conf said = *s;

	if (!s->own_url)
		said.url = UNSAID;
	if (!s->hub.own_user_path)
		said.hub.user_path = UNSAID;
	if (!s->hub.own_organization_path)
		said.hub.organization_path = UNSAID;
	put_open(b, NULL, '{');
	TRY(member_write(io, SUB_BODY, &said, b, e));
	put_close(b, '}');
	return b->failed ? too_large(e) : OK;
}

/* Checks -------------------------------------------------------------------- */

/* The URL may have {tenant}, which is no secret and no surprise. */
static int
url_compile(struct sub_conf *s, struct err *e)
{
	TRY(vars_compile(s->arena, s->url, VARS_URL, "/url", &s->url_vars, e));
	for (size_t i = 0; i < s->url_vars.n; i++)
		if (s->url_vars.pieces[i].var != VAR_LITERAL &&
		    s->url_vars.pieces[i].var != VAR_TENANT)
			return json_wrong(e, "/url",
			    "may have {tenant} and no other variable");
	if (s->hub.health_url.n > 0)
		TRY(vars_compile(s->arena, s->hub.health_url, VARS_URL,
		    "/hub/healthUrl", &s->health_vars, e));
	return OK;
}

static int
program_check(const struct sub_rules *k, struct str program, const char *at,
    struct err *e)
{
	return k->program_check && program.n > 0
		   ? k->program_check(k->arg, program, at, e)
		   : OK;
}

bool
sub_called(const struct sub_conf *s)
{
	return s->url.n > 0 && memmem(s->url.p, s->url.n, "://", 3) != NULL;
}

/* All that concerns more than one member. */
static int
check_whole(struct sub_conf *s, const struct sub_rules *k, struct err *e)
{
	int taken = 0; /* by a sink; else its URL is to be one of the web */

	TRY(member_need(s->name.n > 0, "", "name", e));
	TRY(member_need(s->url.n > 0, "", "url", e));
	if (!sub_called(s) && k->sink_check)
		taken = TRY(k->sink_check(k->arg, s, e));
	if (!taken)
		TRY(sub_url_check(k, s->url, "/url", e));
	TRY(sub_auth_check(s, k, e));
	TRY(sub_headers_check(s, e));
	TRY(sub_hub_check(s, k, e));
	TRY(program_check(k, s->filter, "/filter", e));
	TRY(program_check(k, s->template, "/template", e));
	if (s->retry.has_count && s->retry.count > s->preset->retries_max)
		return json_wrong(e, "/retry/count", "must be at most %lld",
		    (long long)s->preset->retries_max);
	if (s->batch.mode != BATCH_IMMEDIATE && s->preset->n_paths > 0)
		return json_wrong(e, "/batch/mode",
		    "must be immediate: the preset sends each type to a path of its own");
	if (s->retry.list.retries > s->preset->retries_max)
		return json_wrong(e, "/retry/delaysMs",
		    "must hold at most %lld",
		    (long long)s->preset->retries_max);
	return OK;
}

/* Forms --------------------------------------------------------------------- */

/* As one reads it again. */
static int
copy_in(struct sub_conf *s, const struct sub_conf *old,
    const struct presets *presets, struct err *e)
{
	struct member_io plain = {FORM_PLAIN, s->arena, NULL, NULL};
	struct buf b = BUF(SUB_STORED_MAX);
	int rc = write_doc(&plain, old, &b, e);

	s->preset = preset_ref(old->preset);
	if (rc == OK)
		rc = read_doc(&plain, presets, buf_str(&b), true, s, e);
	if (b.p)
		digest_wipe(b.p, b.n);
	buf_done(&b);
	return rc;
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
	    .expires_us = m->expires_us,
	};
}

int
sub_read(struct str json, const struct sub_conf *old,
    const struct sub_rules *rules, struct sub_conf **ret, struct err *e)
{
	struct sub_conf *s CLEANUP(sub_freep) = sub_new();
	struct member_io io = {FORM_USER, s->arena, NULL, rules};
	struct sub_conf was;

	if (json.n > SUB_STORED_MAX)
		return too_large(e);
	s->batch = batch_initial(rules);
	if (old)
		TRY(copy_in(s, old, rules->presets, e));
	was = *s;
	if (old)
		settings_fill(&was);
	TRY(read_doc(&io, rules->presets, json, old != NULL, s, e));
	if (old)
		settings_keep(s, &was);
	settings_fill(s);
	if (rules->managed)
		s->managed = managed_copy(s->arena, rules->managed);
	TRY(check_whole(s, rules, e));
	if (old && sub_called(s))
		TRY(sub_kept_check(s, &was, e));
	TRY(url_compile(s, e));
	TRY(sub_secrets_arm(s, e));
	*ret = s;
	s = NULL;
	return OK;
}

int
sub_load(struct str stored, const struct presets *presets,
    const struct sub_seal *seal, struct sub_conf **ret, struct err *e)
{
	struct sub_conf *s CLEANUP(sub_freep) = sub_new();
	struct member_io io = {FORM_STORED, s->arena, seal, NULL};

	TRY(read_doc(&io, presets, stored, true, s, e));
	settings_fill(s);
	TRY(url_compile(s, e));
	if (seal)
		TRY(sub_secrets_arm(s, e));
	*ret = s;
	s = NULL;
	return OK;
}

int
sub_store(const struct sub_conf *s, const struct sub_seal *seal,
    struct arena *a, struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(SUB_STORED_MAX);
	struct member_io io = {FORM_STORED, a, seal, NULL};

	TRY(write_doc(&io, s, &b, e));
	*ret = arena_dup(a, buf_str(&b));
	return OK;
}

void
sub_show(const struct sub_conf *s, bool once, struct buf *b)
{
	struct sub_conf shown = *s;
	struct err e;
	struct member_io io = {FORM_USER, NULL, NULL, once ? s : NULL};
	char public[SECRET_TEXT_LEN];
	int rc;

	/* What counts, also where the preset said it. */
	if (!shown.timeout_ms)
		shown.timeout_ms = s->preset->total_ms;
	if (!shown.concurrency)
		shown.concurrency = s->preset->concurrency;
	rc = member_write(&io, SUB_BODY, &shown, b, &e);
	assert(rc == OK);
	put_z(b, "publicKey",
	    s->n_secrets > 0 && s->secrets[0].decode_signer &&
		    sign_public(s->secrets[0].decode_signer, public)
		? public
		: NULL);
	put_text(b, "managedBy",
	    s->managed.by.n > 0 ? s->managed.by : (struct str){.p = NULL});
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
	    .concurrency_floor = p->concurrency_floor,
	    .breaker_failures = p->breaker_failures,
	    .breaker_first = p->breaker_first,
	    .breaker_open_ms = retry_scaled(p->breaker_open_ms, scale),
	    .spacing_ms = retry_scaled(p->spacing_ms, scale),
	    .lock_ms = retry_scaled(p->lock_ms, scale),
	};

	if (s->retry.has_count)
		y.retry.retries = s->retry.count;
	/* More than the preset's list has: its last, again and again. */
	for (int64_t i = 1; s->retry.has_count && i < y.retry.retries; i++)
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
	y.concurrency_floor = smaller(y.concurrency_floor, y.concurrency);
	*ret = y;
}

struct preset_managed
sub_managed_by(const struct sub_conf *s)
{
	static const struct preset_managed NOBODY = {.key_name = {"", 0}};

	return s->managed.by.n > 0 ? s->preset->managed : NOBODY;
}
