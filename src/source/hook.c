/* hook.h: a source as it is written, stored and shown. */
#include "source/hook.h"

#include <arpa/inet.h>
#include <assert.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "contract/member.h"
#include "contract/preset.h"
#include "contract/sub.h"
#include "event/envelope.h"
#include "event/limits.h"
#include "seal/digest.h"
#include "source/limits.h"

#define HOOK(field) offsetof(struct hook, field)

static const struct member TOP[] = {
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
    {.name = "secret", .kind = MEMBER_OWN},
    {.name = "defaults", .kind = MEMBER_OWN},
    {.name = "networks", .kind = MEMBER_OWN},
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
static const struct member DEFAULTS[] = {
    {"tenantId", MEMBER_TEXT, HOOK(tenant_text), 1, UUID_LEN, NULL},
    {"eventType", MEMBER_TEXT, HOOK(event_type), 1, EVENT_TYPE_MAX, NULL},
    {"schemaVersion", MEMBER_INT, HOOK(schema_version), 1, INT32_MAX, NULL},
    {"partitionKey", MEMBER_TEXT, HOOK(partition_key), 1, EVENT_KEY_MAX, NULL},
    {.name = NULL},
};

static const struct hook INITIAL = {
    .enabled = true,
    .tolerance_s = RECEIVE_TOLERANCE_S,
    .schema_version = 1,
    .program = -1,
};

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for a source");
}

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

static bool
net_read(struct arena *a, struct str text, struct hook_net *ret)
{
	struct str rest = text, addr = str_cut(&rest, '/');
	const char *z = arena_z(a, addr);
	int64_t bits = -1, most = 128;

	*ret = (struct hook_net){.b = {[10] = 0xff, [11] = 0xff}};
	if (!z)
		return false;
	if (inet_pton(AF_INET, z, ret->b + 12) == 1)
		most = 32;
	else if (inet_pton(AF_INET6, z, ret->b) != 1)
		return false;
	if (addr.n == text.n)
		bits = most;
	else if (!str_int(rest, &bits) || bits < 0 || bits > most)
		return false;
	ret->bits = (unsigned)(bits + (128 - most));
	return true;
}

static int
read_networks(struct hook *h, const struct json *list, struct err *e)
{
	int rc;

	if (!list || list->type == JSON_NULL)
		return OK;
	rc = member_want(list, JSON_ARRAY, "/networks", e);
	if (rc < 0)
		return rc;
	if (list->n > HOOK_NETS_MAX)
		return json_wrong(
		    e, "/networks", "has over %d networks", HOOK_NETS_MAX);
	h->nets = arena_array(h->arena, list->n + 1, sizeof(*h->nets));
	h->networks = arena_array(h->arena, list->n + 1, sizeof(*h->networks));
	if (!h->nets || !h->networks)
		return no_room(e);
	for (const struct json *j = list->child; j; j = j->next) {
		char at[JSON_POINTER_MAX + 1] = "/networks", place[24];
		struct str *text = &h->networks[h->n_nets];

		(void)snprintf(place, sizeof(place), "%zu", h->n_nets);
		json_point(at, str_of(place));
		if (j->type != JSON_STRING || j->text.n > 64 ||
		    !net_read(h->arena, j->text, &h->nets[h->n_nets]))
			return err_at(e, ERR_INVALID, at,
			    "a network is an address, or one with a length as 192.0.2.0/24");
		*text = arena_dup(h->arena, j->text);
		if (!text->p)
			return no_room(e);
		h->n_nets++;
	}
	return OK;
}

static int
read_scheme(struct hook *h, const struct presets *presets, struct err *e)
{
	static const struct {
		const char *name;
		enum hook_scheme scheme;
	} OWN[] = {
	    {"github", HOOK_GITHUB},
	    {"stripe", HOOK_STRIPE},
	    {"basic", HOOK_BASIC},
	    {"bearer", HOOK_BEARER},
	    {"none", HOOK_NONE},
	};
	const struct preset *p;

	if (h->scheme_name.n == 0)
		return json_wrong(e, "/scheme", "is required");
	for (size_t i = 0; i < COUNT_OF(OWN); i++)
		if (str_eq(h->scheme_name, str_of(OWN[i].name))) {
			h->scheme = OWN[i].scheme;
			return OK;
		}
	p = presets_find(presets, h->scheme_name);
	if (!p || p->n_signatures == 0)
		return json_wrong(e, "/scheme",
		    "must be standard, github, stripe, cloudevents, "
		    "cloudevents-binary, repository, task, basic, bearer or none");
	h->scheme = HOOK_PRESET;
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
	static const struct {
		enum hook_scheme scheme;
		struct str id, type, key;
	} SAY[] = {
	    {HOOK_GITHUB, {"{X-GitHub-Delivery}", 19},
		{"github.{X-GitHub-Event}", 23},
		{"{/repository/full_name}", 23}},
	    {HOOK_STRIPE, {"{/id}", 5}, {"stripe.{/type}", 14},
		{"{/data/object/id}", 17}},
	};

	for (size_t i = 0; i < COUNT_OF(SAY); i++) {
		if (h->scheme != SAY[i].scheme)
			continue;
		if (h->delivery_id.n == 0)
			h->delivery_id = SAY[i].id;
		if (h->event_type.n == 0)
			h->event_type = SAY[i].type;
		if (h->partition_key.n == 0)
			h->partition_key = SAY[i].key;
	}
}

static bool
takes_cloudevents(const struct hook *h)
{
	return h->scheme == HOOK_PRESET &&
	       str_starts(h->scheme_name, STR("cloudevents"));
}

static int
check_parts(struct hook *h, struct err *e)
{
	int rc = OK;

	if (h->scheme == HOOK_NONE && !h->unsafe)
		return json_wrong(e, "/unsafe",
		    "must be true for a source that anybody can post to");
	if (h->scheme == HOOK_BASIC && h->username.n == 0)
		return json_wrong(e, "/username", "is required with basic");
	if (h->scheme != HOOK_BASIC && h->username.n > 0)
		return json_wrong(e, "/username", "is for basic alone");
	if (h->header.n > 0 && h->scheme != HOOK_BEARER)
		return json_wrong(e, "/header", "is for bearer alone");
	if (h->header.n > 0 && !member_token_ok(h->header))
		return json_wrong(e, "/header", "must be the name of a header");
	if (h->tenant_text.n > 0 && !uuid_parse(h->tenant_text, &h->tenant))
		return json_wrong(e, "/defaults/tenantId", "must be a UUID");
	h->has_tenant = h->tenant_text.n > 0;
	rc = check_vars(h->delivery_id, "/deliveryId", e);
	if (rc == OK)
		rc = check_vars(h->event_type, "/defaults/eventType", e);
	if (rc == OK)
		rc = check_vars(h->partition_key, "/defaults/partitionKey", e);
	if (rc == OK && h->event_type.n > 0 && !str_has(h->event_type, '{') &&
	    envelope_type_wrong(h->event_type))
		rc = json_wrong(e, "/defaults/eventType", "%s",
		    envelope_type_wrong(h->event_type));
	if (rc < 0 || h->template.n > 0)
		return rc;
	if (!h->has_tenant && !takes_cloudevents(h))
		return json_wrong(
		    e, "/defaults/tenantId", "is required without a template");
	if (h->event_type.n == 0 && !takes_cloudevents(h))
		return json_wrong(
		    e, "/defaults/eventType", "is required without a template");
	return OK;
}

static struct hook *
hook_new(struct str name)
{
	struct arena *a = arena_new(HOOK_MEM_MAX);
	struct hook *h = a ? arena_alloc(a, sizeof(*h)) : NULL;

	if (h) {
		*h = INITIAL;
		h->arena = a;
		h->name = arena_dup(a, name);
	}
	if (h && h->name.p)
		return h;
	arena_free(a);
	return NULL;
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

static int
read_conf(struct hook *h, const struct json *doc,
    const struct hook_rules *rules, struct err *e)
{
	const struct member_io io = {.form = FORM_PLAIN, .arena = h->arena};
	const struct json *defaults = json_get(doc, "defaults");
	int rc = member_want(doc, JSON_OBJECT, "", e);

	if (rc == OK)
		rc = member_read(&io, TOP, doc, "", &INITIAL, h, e);
	if (rc == OK && defaults && defaults->type != JSON_NULL)
		rc = member_read(
		    &io, DEFAULTS, defaults, "/defaults", &INITIAL, h, e);
	if (rc == OK)
		rc = read_networks(h, json_get(doc, "networks"), e);
	if (rc == OK)
		rc = read_scheme(h, rules->presets, e);
	if (rc < 0)
		return rc;
	fill_in(h);
	rc = check_parts(h, e);
	if (rc == OK && h->template.n > 0 && rules->program_check) {
		rc = rules->program_check(rules->arg, h->template, e);
		if (rc == ERR_INVALID)
			(void)snprintf(e->at, sizeof(e->at), "/template");
	}
	return rc;
}

/* Secrets -------------------------------------------------------------------- */

static bool
is_standard(const struct hook *h)
{
	return h->scheme == HOOK_PRESET &&
	       h->preset->secret == PRESET_SECRET_STANDARD;
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

static int
make_secret(const struct hook *h, struct str *ret, struct err *e)
{
	char made[SECRET_TEXT_LEN];

	if (is_standard(h))
		sign_make_secret(SIGN_HMAC_SHA256, made);
	else
		sign_make_text(made);
	*ret = arena_dup(h->arena, str_of(made));
	digest_wipe(made, sizeof(made));
	return ret->p ? OK : no_room(e);
}

static int
keep_secrets(struct hook *h, const struct hook *old, struct err *e)
{
	for (size_t i = 0; i < old->n_secrets; i++) {
		struct str text = arena_dup(h->arena, old->secrets[i].text);
		int rc = text.p ? check_secret(h, text, e) : no_room(e);

		if (rc < 0)
			return rc;
		h->secrets[h->n_secrets++] =
		    (struct hook_secret){text, old->secrets[i].until_us};
	}
	return OK;
}

static int
read_secret(
    struct hook *h, const struct json *j, const struct hook *old, struct err *e)
{
	struct str text = STR_EMPTY;
	int rc = OK;

	if (h->scheme == HOOK_NONE)
		return j && j->type != JSON_NULL
			   ? json_wrong(e, "/secret",
				 "has no meaning: the scheme none checks nothing")
			   : OK;
	if (j && j->type == JSON_STRING && !str_eq(j->text, STR(SUB_MASK)))
		text = arena_dup(h->arena, j->text);
	else if (j && j->type != JSON_STRING && j->type != JSON_NULL)
		return member_want(j, JSON_STRING, "/secret", e);
	if (!text.p)
		return no_room(e);
	if (text.n == 0 && old && old->n_secrets > 0)
		return keep_secrets(h, old, e);
	if (j && j->type == JSON_STRING && str_eq(j->text, STR(SUB_MASK)))
		return json_wrong(e, "/secret",
		    "is the mask that secrets are shown as; there is none yet");
	if (j && j->type == JSON_STRING && text.n == 0)
		return json_wrong(e, "/secret", "must not be empty");
	if (text.n == 0 && h->scheme == HOOK_STRIPE)
		return json_wrong(
		    e, "/secret", "is required: Stripe makes it, whsec_…");
	if (text.n > 0)
		rc = check_secret(h, text, e);
	else
		rc = make_secret(h, &text, e);
	if (rc == OK)
		h->secrets[h->n_secrets++] = (struct hook_secret){.text = text};
	return rc;
}

int
hook_rotate(struct hook *h, struct str given, int64_t overlap_s, int64_t now_us,
    struct err *e)
{
	struct hook_secret kept[SUB_SECRETS_MAX];
	struct str text = given;
	size_t n = 1;
	int rc;

	if (h->n_secrets == 0)
		return err_set(
		    e, ERR_CONFLICT, "this source has no secret to rotate");
	if (given.n == 0 && h->scheme == HOOK_STRIPE)
		return json_wrong(
		    e, "/secret", "is required: Stripe makes it, whsec_…");
	rc = given.n > 0 ? check_secret(h, given, e) : make_secret(h, &text, e);
	if (rc == OK) {
		text = arena_dup(h->arena, text);
		rc = text.p ? OK : no_room(e);
	}
	if (rc < 0)
		return rc;
	kept[0] = (struct hook_secret){.text = text};
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
	struct hook *h = hook_new(name);
	struct json *doc = NULL;
	int rc = h ? hook_name_check(name, e) : no_room(e);

	if (rc == OK)
		rc = json_parse(h->arena, json, &doc, e);
	if (rc == OK)
		rc = read_conf(h, doc, rules, e);
	if (rc == OK)
		rc = read_secret(h, json_get(doc, "secret"), old, e);
	if (rc < 0)
		hook_free(h);
	else
		*ret = h;
	return rc;
}

static int
load_secrets(struct hook *h, struct str text, struct err *e)
{
	struct json *list = NULL;
	int rc = json_parse(h->arena, text, &list, e);

	for (const struct json *j = rc == OK ? list->child : NULL; j;
	     j = j->next) {
		const struct json *secret = json_get(j, "text");
		struct hook_secret *k = &h->secrets[h->n_secrets];

		if (h->n_secrets == SUB_SECRETS_MAX ||
		    !json_is(secret, JSON_STRING))
			return err_set(
			    e, ERR_INVALID, "the secrets can't be read");
		k->text = arena_dup(h->arena, secret->text);
		if (!k->text.p)
			return no_room(e);
		(void)json_int(json_get(j, "until"), &k->until_us);
		h->n_secrets++;
	}
	return rc;
}

int
hook_load(struct str name, struct str conf, struct str secrets,
    const struct hook_rules *rules, struct hook **ret, struct err *e)
{
	struct hook *h = hook_new(name);
	struct str text = h ? arena_dup(h->arena, conf) : STR_EMPTY;
	struct json *doc = NULL;
	int rc = h && text.p ? json_parse(h->arena, text, &doc, e) : no_room(e);

	if (rc == OK)
		rc = read_conf(h, doc, rules, e);
	if (rc == OK && secrets.p)
		rc = load_secrets(h, secrets, e);
	if (rc < 0)
		hook_free(h);
	else
		*ret = h;
	return rc;
}

void
hook_conf(const struct hook *h, struct buf *b)
{
	const struct member_io io = {.form = FORM_PLAIN};
	struct err e;
	int rc;

	buf_addc(b, '{');
	rc = member_write(&io, TOP, h, b, &e);
	assert(rc == OK); /* nothing is sealed in it */
	buf_addz(b, ",\"defaults\":{");
	rc = member_write(&io, DEFAULTS, h, b, &e);
	assert(rc == OK);
	(void)rc;
	buf_addz(b, "},\"networks\":[");
	for (size_t i = 0; i < h->n_nets; i++) {
		if (i > 0)
			buf_addc(b, ',');
		buf_json(b, h->networks[i]);
	}
	buf_addz(b, "]}");
}

void
hook_secrets(const struct hook *h, struct buf *b)
{
	buf_addc(b, '[');
	for (size_t i = 0; i < h->n_secrets; i++) {
		buf_addz(b, i ? ",{\"text\":" : "{\"text\":");
		buf_json(b, h->secrets[i].text);
		buf_fmt(
		    b, ",\"until\":%lld}", (long long)h->secrets[i].until_us);
	}
	buf_addc(b, ']');
}

static void
show_time(struct buf *b, const char *name, int64_t us)
{
	buf_fmt(b, ",\"%s\":", name);
	if (us == 0) {
		buf_addz(b, "null");
		return;
	}
	buf_addc(b, '"');
	time_add(b, us);
	buf_addc(b, '"');
}

void
hook_show(const struct hook *h, bool once, struct buf *b)
{
	buf_addz(b, "{\"id\":\"");
	uuid_add(b, h->uid);
	buf_addz(b, "\",\"name\":");
	buf_json(b, h->name);
	buf_addz(b, ",\"path\":\"/in/");
	buf_add(b, h->name);
	buf_addz(b, "\",");
	{
		struct buf conf = BUF(HOOK_MEM_MAX);

		hook_conf(h, &conf);
		if (!conf.failed && conf.n > 2) /* its members, no braces */
			buf_add(b, (struct str){conf.p + 1, conf.n - 2});
		buf_done(&conf);
	}
	buf_addz(b, ",\"secret\":");
	if (h->n_secrets == 0 && !h->closed)
		buf_addz(b, "null");
	else
		buf_json(b, once ? h->secrets[0].text : STR(SUB_MASK));
	buf_addz(b, ",\"secrets\":[");
	for (size_t i = 0; i < h->n_secrets; i++) {
		buf_addz(b, i ? ",{\"newest\":false" : "{\"newest\":true");
		show_time(b, "until", h->secrets[i].until_us);
		buf_addc(b, '}');
	}
	buf_fmt(b, "],\"version\":%lld", (long long)h->version);
	show_time(b, "createdAt", h->created_us);
	show_time(b, "changedAt", h->changed_us);
	buf_addc(b, '}');
}
