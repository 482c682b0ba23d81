/* hook.h: a source as it is written, stored and shown. */
#include "source/hook.h"

#include "base/conf/conf.h"
#include "contract/member.h"
#include "contract/preset.h"
#include "contract/sub.h"
#include "event/envelope.h"
#include "event/limits.h"
#include "seal/digest.h"
#include "seal/tenant.h"
#include "source/limits.h"

#define HOOK(field) offsetof(struct hook, field)

static const struct member DEFAULTS[] = {
    {"tenantId", MEMBER_TEXT, HOOK(tenant_text), 1, TENANT_MAX, NULL},
    {"eventType", MEMBER_TEXT, HOOK(event_type), 1, EVENT_TYPE_MAX, NULL},
    {"schemaVersion", MEMBER_INT, HOOK(schema_version), 1, INT32_MAX, NULL},
    {"partitionKey", MEMBER_TEXT, HOOK(partition_key), 1, EVENT_KEY_MAX, NULL},
    {.name = NULL},
};
const struct member HOOK_BODY[] = {
    {"description", MEMBER_TEXT, HOOK(description), 1, SUB_NAME_MAX, NULL},
    {"scheme", MEMBER_TEXT, HOOK(scheme_name), 1, PRESET_NAME_MAX, NULL},
    {"unsafe", MEMBER_BOOL, HOOK(unsafe), 0, 0, NULL},
    {"username", MEMBER_TEXT, HOOK(username), 1, SUB_NAME_MAX, NULL},
    {"header", MEMBER_TEXT, HOOK(header), 1, SUB_HEADER_NAME_MAX, NULL},
    {"toleranceSeconds", MEMBER_INT, HOOK(tolerance_s), 1, HOOK_TOLERANCE_MAX_S,
	NULL},
    {"template", MEMBER_LONG, HOOK(template), 1, SUB_PROGRAM_MAX, NULL},
    {"deliveryId", MEMBER_TEXT, HOOK(delivery_id), 1, SUB_NAME_MAX, NULL},
    {"ratePerSecond", MEMBER_INT, HOOK(rate_per_s), 1, HOOK_RATE_MAX, NULL},
    {"enabled", MEMBER_BOOL, HOOK(enabled), 0, 0, NULL},
    {.name = "secret",
	.kind = MEMBER_OWN,
	.schema = "{\"type\":\"string\"}",
	.about = "absent: one is made, and shown once"},
    {.name = "defaults", .kind = MEMBER_PART, .part = DEFAULTS},
    {.name = "networks",
	.kind = MEMBER_OWN,
	.schema = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
	.about = "whose requests are taken; empty: anybody's"},
    /* What we show beside it, and get back with a change. */
    {.name = "name", .kind = MEMBER_OWN},
    {.name = "path", .kind = MEMBER_OWN},
    {.name = "id", .kind = MEMBER_OWN},
    {.name = "secrets", .kind = MEMBER_OWN},
    {.name = "version", .kind = MEMBER_OWN},
    {.name = "createdAt", .kind = MEMBER_OWN},
    {.name = "changedAt", .kind = MEMBER_OWN},
    {.name = NULL},
};

static const struct hook INITIAL = {
    .enabled = true,
    .tolerance_s = RECEIVE_TOLERANCE_S,
    .schema_version = 1,
    .program = -1,
};

int
hook_name_check(struct str name, struct err *e)
{
	bool good = name.n >= 1 && name.n <= HOOK_NAME_MAX;

	for (size_t i = 0; good && i < name.n; i++) {
		char c = name.p[i];

		good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		       (i > 0 && (c == '-' || c == '_'));
	}
	return good ? OK
		    : err_set(e, ERR_INVALID,
			  "a source's name is 1 to %d of a-z 0-9 - _, a letter "
			  "or digit first",
			  HOOK_NAME_MAX);
}

/* Reading -------------------------------------------------------------------- */

static int
read_networks(struct hook *h, const struct json *list, struct err *e)
{
	if (!list || list->type == JSON_NULL)
		return OK;
	TRY(member_want(list, JSON_ARRAY, "/networks", e));
	if (list->n > HOOK_NETS_MAX)
		return json_wrong(
		    e, "/networks", "has over %d networks", HOOK_NETS_MAX);
	h->nets = arena_array(h->arena, list->n + 1, sizeof(*h->nets));
	h->networks = arena_array(h->arena, list->n + 1, sizeof(*h->networks));
	for (const struct json *j = list->child; j; j = j->next) {
		char at[JSON_POINTER_MAX + 1];

		(void)snprintf(at, sizeof(at), "/networks/%zu", h->n_nets);
		if (j->type != JSON_STRING || j->text.n > 64 ||
		    !hook_net_read(j->text, &h->nets[h->n_nets]))
			return err_at(e, ERR_INVALID, at,
			    "a network is an address, or one with a length as 192.0.2.0/24");
		h->networks[h->n_nets++] = arena_dup(h->arena, j->text);
	}
	return OK;
}

static int
read_scheme(struct hook *h, const struct presets *presets, struct err *e)
{
	static const struct {
		const char *name, *text;
	} PROVIDERS[] = {
#define PRESET(name, text) {name, text},
#include "contract/providers.tbl"
#undef PRESET
	};
	static const struct conf conf; /* its numbers are about sending */
	const struct preset *p;

	if (h->scheme_name.n == 0)
		return json_wrong(e, "/scheme", "is required");
	h->scheme = hook_scheme_find(h->scheme_name);
	for (size_t i = 0; i < COUNT_OF(PROVIDERS); i++)
		if (str_eq(h->scheme_name, str_of(PROVIDERS[i].name)))
			return preset_parse(h->scheme_name,
			    str_of(PROVIDERS[i].text), &conf, &h->preset, e);
	if (h->scheme->verify)
		return OK;
	p = presets_find(presets, h->scheme_name);
	if (!p || p->n_signatures == 0)
		return json_wrong(e, "/scheme",
		    "must be standard, github, stripe, cloudevents, "
		    "cloudevents-binary, repository, task, basic, bearer or none");
	h->preset = preset_ref(p);
	return OK;
}

/* Texts with variables: each { has its }, and something between. */
static int
check_vars(struct str s, const char *at, struct err *e)
{
	while (str_has(s, '{')) {
		struct str name;

		(void)str_cut(&s, '{');
		if (!str_has(s, '}'))
			return json_wrong(e, at, "has a { without its }");
		name = str_cut(&s, '}');
		if (name.n == 0 || (name.p[0] == '/' ? !member_pointer_ok(name)
						     : !member_token_ok(name)))
			return json_wrong(e, at,
			    "has a variable that is neither {/json/pointer} nor {Header-Name}");
	}
	return OK;
}

/* What a scheme's provider means, unless somebody says otherwise. */
static void
fill_in(struct hook *h)
{
	if (h->delivery_id.n == 0)
		h->delivery_id = h->scheme->id;
	if (h->event_type.n == 0)
		h->event_type = h->scheme->type;
	if (h->partition_key.n == 0)
		h->partition_key = h->scheme->key;
}

bool
hook_takes_cloudevents(const struct hook *h)
{
	return h->preset && str_starts(h->scheme_name, STR("cloudevents"));
}

static int
check_parts(struct hook *h, struct err *e)
{
	const struct hook_scheme *s = h->scheme;
	struct uuid tenant;

	if (s->open && !h->unsafe)
		return json_wrong(e, "/unsafe",
		    "must be true for a source that anybody can post to");
	if (s->username && h->username.n == 0)
		return json_wrong(e, "/username", "is required with basic");
	if (!s->username && h->username.n > 0)
		return json_wrong(e, "/username", "is for basic alone");
	if (h->header.n > 0 && !s->header)
		return json_wrong(e, "/header", "is for bearer alone");
	if (h->header.n > 0 && !member_token_ok(h->header))
		return json_wrong(e, "/header", "must be the name of a header");
	if (h->tenant_text.n > 0 && !tenant_parse(h->tenant_text, &tenant))
		return json_wrong(
		    e, "/defaults/tenantId", "must be " TENANT_WORDS);
	TRY(check_vars(h->delivery_id, "/deliveryId", e));
	TRY(check_vars(h->event_type, "/defaults/eventType", e));
	TRY(check_vars(h->partition_key, "/defaults/partitionKey", e));
	if (h->event_type.n > 0 && !str_has(h->event_type, '{') &&
	    envelope_type_wrong(h->event_type))
		return json_wrong(e, "/defaults/eventType", "%s",
		    envelope_type_wrong(h->event_type));
	if (h->template.n > 0 || hook_takes_cloudevents(h))
		return OK;
	if (h->event_type.n == 0)
		return json_wrong(
		    e, "/defaults/eventType", "is required without a template");
	return OK;
}

static struct hook *
hook_new(struct str name)
{
	struct arena *a = arena_new(HOOK_MEM_MAX);
	struct hook *h = arena_alloc(a, sizeof(*h));

	*h = INITIAL;
	h->arena = a;
	h->name = arena_dup(a, name);
	return h;
}

void
hook_free(struct hook *h)
{
	if (!h)
		return;
	preset_unref(h->preset);
	for (size_t i = 0; i < h->n_secrets; i++)
		digest_wipe((char *)(uintptr_t)h->secrets[i].text.p,
		    h->secrets[i].text.n);
	arena_free(h->arena);
}

void
hook_freep(struct hook **h)
{
	hook_free(*h);
}

static int
read_conf(struct hook *h, const struct json *doc,
    const struct hook_rules *rules, struct err *e)
{
	const struct member_io io = {.form = FORM_PLAIN, .arena = h->arena};
	int rc = OK;

	TRY(member_read(&io, HOOK_BODY, doc, "", &INITIAL, h, e));
	TRY(read_networks(h, json_get(doc, "networks"), e));
	TRY(read_scheme(h, rules->presets, e));
	fill_in(h);
	TRY(check_parts(h, e));
	if (h->template.n > 0 && rules->program_check)
		rc = rules->program_check(rules->arg, h->template, e);
	if (rc == ERR_INVALID)
		(void)snprintf(e->at, sizeof(e->at), "/template");
	return rc;
}

/* Secrets -------------------------------------------------------------------- */

static bool
is_standard(const struct hook *h)
{
	return h->preset && h->preset->secret == PRESET_SECRET_STANDARD;
}

/* Can it verify? A public key will do. */
static int
check_secret(const struct hook *h, struct str text, struct err *e)
{
	struct signer *s = NULL;
	int rc;

	if (text.n < HOOK_SECRET_MIN || text.n > HOOK_SECRET_MAX)
		return json_wrong(e, "/secret", "must be %d to %d bytes",
		    HOOK_SECRET_MIN, HOOK_SECRET_MAX);
	if (!is_standard(h))
		return OK;
	rc = signer_new(text, SECRET_STANDARD, "/secret", &s, e);
	signer_free(s);
	return rc;
}

static struct str
make_secret(const struct hook *h)
{
	char made[SECRET_TEXT_LEN];
	struct str ret;

	if (is_standard(h))
		sign_make_secret(SIGN_HMAC_SHA256, made);
	else
		sign_make_text(made);
	ret = arena_dup(h->arena, str_of(made));
	digest_wipe(made, sizeof(made));
	return ret;
}

static int
keep_secrets(struct hook *h, const struct hook *old, struct err *e)
{
	for (size_t i = 0; i < old->n_secrets; i++) {
		struct str text = arena_dup(h->arena, old->secrets[i].text);

		TRY(check_secret(h, text, e));
		h->secrets[h->n_secrets++] =
		    (struct hook_secret){text, old->secrets[i].until_us};
	}
	return OK;
}

/* The one that is given; .n 0: one is made, where the provider takes ours. */
static int
new_secret(
    const struct hook *h, struct str given, struct str *ret, struct err *e)
{
	if (given.n == 0 && h->scheme->secret_from)
		return json_wrong(
		    e, "/secret", "is required: %s", h->scheme->secret_from);
	if (given.n > 0)
		TRY(check_secret(h, given, e));
	*ret = given.n > 0 ? arena_dup(h->arena, given) : make_secret(h);
	return OK;
}

static int
read_secret(
    struct hook *h, const struct json *j, const struct hook *old, struct err *e)
{
	bool given = j && j->type != JSON_NULL, masked;

	if (given && h->scheme->open)
		return json_wrong(e, "/secret",
		    "has no meaning: the scheme none checks nothing");
	if (h->scheme->open)
		return OK;
	if (given)
		TRY(member_want(j, JSON_STRING, "/secret", e));
	masked = given && str_eq(j->text, STR(SUB_MASK));
	if ((!given || masked || j->text.n == 0) && old && old->n_secrets > 0)
		return keep_secrets(h, old, e);
	if (masked)
		return json_wrong(e, "/secret",
		    "is the mask that secrets are shown as; there is none yet");
	if (given && j->text.n == 0)
		return json_wrong(e, "/secret", "must not be empty");
	TRY(new_secret(h, given ? j->text : STR_EMPTY, &h->secrets[0].text, e));
	h->n_secrets = 1;
	return OK;
}

int
hook_rotate(struct hook *h, struct str given, int64_t overlap_s, int64_t now_us,
    struct err *e)
{
	struct hook_secret kept[SUB_SECRETS_MAX] = {0};
	size_t n = 1;

	if (h->n_secrets == 0)
		return err_set(
		    e, ERR_CONFLICT, "this source has no secret to rotate");
	TRY(new_secret(h, given, &kept[0].text, e));
	for (size_t i = 0; i < h->n_secrets; i++) {
		struct hook_secret old = h->secrets[i];

		if (i == 0)
			old.until_us = now_us + overlap_s * US_PER_S;
		if (old.until_us <= now_us)
			continue;
		if (n == SUB_SECRETS_MAX)
			return err_set(e, ERR_LIMIT,
			    "%zu secrets are in use already; wait for one to end",
			    n);
		kept[n++] = old;
	}
	memcpy(h->secrets, kept, n * sizeof(kept[0]));
	h->n_secrets = n;
	return OK;
}

/* All of it ------------------------------------------------------------------ */

int
hook_read(struct str json, struct str name, const struct hook *old,
    const struct hook_rules *rules, struct hook **ret, struct err *e)
{
	struct hook *h CLEANUP(hook_freep) = hook_new(name);
	struct json *doc;

	TRY(hook_name_check(name, e));
	TRY(json_parse(h->arena, json, &doc, e));
	TRY(read_conf(h, doc, rules, e));
	TRY(read_secret(h, json_get(doc, "secret"), old, e));
	*ret = h;
	h = NULL;
	return OK;
}

static int
load_secrets(struct hook *h, struct str text, struct err *e)
{
	struct json *list;

	TRY(json_parse(h->arena, text, &list, e));
	for (const struct json *j = list->child; j; j = j->next) {
		const struct json *secret = json_get(j, "text");
		struct hook_secret *k = &h->secrets[h->n_secrets];

		if (h->n_secrets == SUB_SECRETS_MAX ||
		    !json_is(secret, JSON_STRING))
			return err_set(
			    e, ERR_INVALID, "the secrets can't be read");
		k->text = arena_dup(h->arena, secret->text);
		(void)json_int(json_get(j, "until"), &k->until_us);
		h->n_secrets++;
	}
	return OK;
}

int
hook_load(struct str name, struct str conf, struct str secrets,
    const struct hook_rules *rules, struct hook **ret, struct err *e)
{
	struct hook *h CLEANUP(hook_freep) = hook_new(name);
	struct json *doc;

	TRY(json_parse(h->arena, arena_dup(h->arena, conf), &doc, e));
	TRY(read_conf(h, doc, rules, e));
	if (secrets.p)
		TRY(load_secrets(h, secrets, e));
	*ret = h;
	h = NULL;
	return OK;
}

static void
put_conf(const struct hook *h, struct buf *b)
{
	const struct member_io io = {.form = FORM_PLAIN};
	struct err e;
	int rc;

	put_name(b, NULL);
	rc = member_write(&io, HOOK_BODY, h, b, &e);
	assert(rc == OK); /* nothing is sealed in it */
	(void)rc;
	put_open(b, "networks", '[');
	for (size_t i = 0; i < h->n_nets; i++)
		put_text(b, NULL, h->networks[i]);
	put_close(b, ']');
}

void
hook_conf(const struct hook *h, struct buf *b)
{
	put_open(b, NULL, '{');
	put_conf(h, b);
	put_close(b, '}');
}

void
hook_secrets(const struct hook *h, struct buf *b)
{
	put_open(b, NULL, '[');
	for (size_t i = 0; i < h->n_secrets; i++) {
		put_open(b, NULL, '{');
		put_text(b, "text", h->secrets[i].text);
		put_int(b, "until", h->secrets[i].until_us);
		put_close(b, '}');
	}
	put_close(b, ']');
}

void
hook_show(const struct hook *h, bool once, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", h->uid);
	put_text(b, "name", h->name);
	put_name(b, "path");
	buf_fmt(b, "\"/in/%.*s\"", STR_ARG(h->name));
	put_conf(h, b);
	if (h->n_secrets == 0 && !h->closed)
		put_null(b, "secret");
	else
		put_text(
		    b, "secret", once ? h->secrets[0].text : STR(SUB_MASK));
	put_open(b, "secrets", '[');
	for (size_t i = 0; i < h->n_secrets; i++) {
		put_open(b, NULL, '{');
		put_bool(b, "newest", i == 0);
		put_time(b, "until", h->secrets[i].until_us);
		put_close(b, '}');
	}
	put_close(b, ']');
	put_int(b, "version", h->version);
	put_time(b, "createdAt", h->created_us);
	put_time(b, "changedAt", h->changed_us);
	put_close(b, '}');
}
