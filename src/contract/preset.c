#include "contract/preset.h"

#include "base/conf/conf.h"
#include "contract/limits.h"
#include "contract/preset_priv.h"

struct presets {
	const struct preset *by_name[PRESETS_MAX]; /* sorted */
	size_t n;
};

static const struct {
	const char *name, *text;
} BUILTIN[] = {
#define PRESET(name, text) {name, text},
#include "contract/presets.tbl"
#undef PRESET
};

static int
check_name(struct str name, struct err *e)
{
	bool ok = name.n >= 1 && name.n <= PRESET_NAME_MAX &&
		  name.p[0] >= 'a' && name.p[0] <= 'z';

	for (size_t i = 0; i < name.n && ok; i++)
		ok = (name.p[i] >= 'a' && name.p[i] <= 'z') ||
		     (name.p[i] >= '0' && name.p[i] <= '9') ||
		     name.p[i] == '-' || name.p[i] == '_';
	return ok ? OK
		  : err_at(e, ERR_INVALID, "/name",
			"name must be 1 to %d of a-z 0-9 - _, a letter first",
			PRESET_NAME_MAX);
}

/* Does any of its texts name what stands in a subscription's `hub`? */
static bool
uses_hub(const struct preset *p)
{
	bool uses = p->text.hub || p->order_key.hub || p->spacing_key.hub ||
		    p->preflight.url.hub || p->log_call.hub || p->log_error.hub;

	for (size_t i = 0; i < p->n_headers; i++)
		uses |= p->headers[i].value.hub;
	for (size_t i = 0; i < p->n_paths; i++)
		uses |= p->paths[i].path.hub;
	for (size_t i = 0; i < p->n_signatures; i++)
		uses |= p->signatures[i].content.hub;
	return uses;
}

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* More than its list has: the last wait, again and again. */
static void
set_retries(struct retry_schedule *r, int64_t n)
{
	for (int64_t i = r->retries; r->retries > 0 && i < n; i++)
		r->delays_ms[i] = r->delays_ms[r->retries - 1];
	r->retries = n;
}

/* Its numbers that the server's settings give. */
static void
apply_settings(struct preset *p, const struct conf *c)
{
	static const char *const AUDITS[] = {
	    [PRESET_AUDIT_FAILURES] = "failures",
	    [PRESET_AUDIT_ALL] = "all",
	    [PRESET_AUDIT_OFF] = "off"};

	for (size_t i = 0; c->webhook_audit_deliveries && i < COUNT_OF(AUDITS);
	     i++)
		if (strcmp(c->webhook_audit_deliveries, AUDITS[i]) == 0)
			p->audit = (enum preset_audit)i;
	switch (p->settings) {
	case PRESET_SETTINGS_NONE:
		break;
	case PRESET_SETTINGS_DISPATCHER:
		p->retries_max = c->webhook_retry_max_count;
		set_retries(&p->retry, smaller(c->webhook_retry_default_count,
					   c->webhook_retry_max_count));
		p->retry.base_ms = c->webhook_retry_backoff_base_ms;
		p->retry.most_ms = c->webhook_retry_backoff_max_ms;
		if (p->retry.most_ms < p->retry.base_ms)
			p->retry.most_ms = p->retry.base_ms;
		p->connect_ms = c->webhook_http_connect_timeout_ms;
		p->total_ms = p->connect_ms + c->webhook_http_read_timeout_ms;
		p->concurrency = c->webhook_dispatcher_pool_size;
		p->ordered |= c->webhook_ordering_per_object;
		break;
	case PRESET_SETTINGS_CALLBACK:
		set_retries(&p->retry, c->webhook_max_retries);
		p->total_ms = c->webhook_timeout_ms;
		p->connect_ms = smaller(p->connect_ms, p->total_ms);
		break;
	}
}

int
preset_parse(struct str name, struct str json, const struct conf *conf,
    const struct preset **ret, struct err *e)
{
	struct preset *p;
	struct arena *a;
	int rc;

	TRY(check_name(name, e));
	if (json.n > PRESET_TEXT_MAX)
		return err_set(e, ERR_LIMIT, "a preset has at most %zu bytes",
		    PRESET_TEXT_MAX);
	a = arena_new(PRESET_MEM_MAX);
	p = arena_alloc(a, sizeof(*p));
	rc = preset_read(a, name, json, p, e);
	if (rc < 0) {
		arena_free(a);
		return rc;
	}
	p->arena = a;
	atomic_init(&p->refs, 1);
	p->uses_hub = uses_hub(p);
	p->body_max = p->truncate ? conf->webhook_max_payload_size
				  : (int64_t)REQUEST_BODY_MAX;
	p->retries_max = RETRY_DELAYS_MAX;
	p->endpoint_root = arena_dup(a, str_of(conf->webhooks_endpoint_root));
	p->user_path = arena_dup(a, str_of(conf->webhooks_user_path));
	p->organization_path =
	    arena_dup(a, str_of(conf->webhooks_organization_path));
	apply_settings(p, conf);
	*ret = p;
	return OK;
}

/* What is counted is no part of what never changes. */
static struct preset *
counted(const struct preset *p)
{
	return (struct preset *)(uintptr_t)p;
}

const struct preset *
preset_ref(const struct preset *p)
{
	(void)atomic_fetch_add(&counted(p)->refs, 1);
	return p;
}

void
preset_unref(const struct preset *p)
{
	if (p && atomic_fetch_sub(&counted(p)->refs, 1) == 1)
		arena_free(p->arena);
}

bool
preset_owns_header(const struct preset *p, struct str name)
{
	/* What does not prove or name anything may be replaced. */
	if (str_eq_nocase(name, STR("User-Agent")))
		return false;
	for (size_t i = 0; i < p->n_headers; i++)
		if (str_eq_nocase(p->headers[i].name, name))
			return true;
	for (size_t i = 0; i < p->n_signatures; i++)
		if (str_eq_nocase(p->signatures[i].header, name))
			return true;
	return false;
}

/* Where the name is, or where it would be. */
static size_t
place_of(const struct presets *ps, struct str name)
{
	size_t i = 0;

	while (i < ps->n && str_cmp(ps->by_name[i]->name, name) < 0)
		i++;
	return i;
}

static void
insert(struct presets *ps, size_t at, const struct preset *p)
{
	memmove(&ps->by_name[at + 1], &ps->by_name[at],
	    (ps->n - at) * sizeof(ps->by_name[0]));
	ps->by_name[at] = p;
	ps->n++;
}

struct presets *
presets_load(const struct conf *conf)
{
	struct presets *ps = mem_get(sizeof(*ps));

	for (size_t i = 0; i < COUNT_OF(BUILTIN); i++) {
		struct str name = str_of(BUILTIN[i].name);
		const struct preset *p = NULL;
		struct err e;
		int rc =
		    preset_parse(name, str_of(BUILTIN[i].text), conf, &p, &e);

		assert(rc == OK);
		counted(p)->builtin = true;
		insert(ps, place_of(ps, name), p);
	}
	return ps;
}

void
presets_free(struct presets *ps)
{
	for (size_t i = 0; ps && i < ps->n; i++)
		preset_unref(ps->by_name[i]);
	free(ps);
}

void
presets_freep(struct presets **ps)
{
	presets_free(*ps);
}

const struct preset *
presets_find(const struct presets *ps, struct str name)
{
	size_t i = place_of(ps, name);

	return i < ps->n && str_eq(ps->by_name[i]->name, name) ? ps->by_name[i]
							       : NULL;
}

int
presets_put(struct presets *ps, const struct preset *p, struct err *e)
{
	size_t i = place_of(ps, p->name);
	const struct preset *old = presets_find(ps, p->name);

	if (old && old->builtin)
		return err_set(e, ERR_CONFLICT,
		    "the preset %.*s is built in; take another name",
		    STR_ARG(p->name));
	if (old) {
		ps->by_name[i] = p;
		preset_unref(old);
		return OK;
	}
	if (ps->n == PRESETS_MAX)
		return err_set(
		    e, ERR_LIMIT, "there are %d presets already", PRESETS_MAX);
	insert(ps, i, p);
	return OK;
}

const struct preset *
presets_each(const struct presets *ps, size_t *at)
{
	return *at < ps->n ? ps->by_name[(*at)++] : NULL;
}
