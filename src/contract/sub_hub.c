/* sub.h: the object `hub`, and URLs. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/conf/conf.h"
#include "base/str.h"
#include "contract/host.h"
#include "contract/limits.h"
#include "contract/sub_priv.h"

static const char *const FAILS[] = {"dead_letter", "retry", "hold", NULL};
static const char *const BINDS[] = {"none", "tenant", "issuer", NULL};

#define HUB(field) offsetof(struct sub_hub, field)
static const struct member TABLE[] = {
    {"tenant", MEMBER_VALUE, HUB(tenant), 1, SUB_TEXT_MAX, NULL},
    {"domain", MEMBER_TEXT, HUB(domain), 1, 253, NULL},
    {"healthUrl", MEMBER_TEXT, HUB(health_url), 1, SUB_URL_MAX, NULL},
    {"sharedInternalKey", MEMBER_SECRET, HUB(shared_internal_key), 1,
	SUB_HEADER_VALUE_MAX, NULL},
    {"eventApiKey", MEMBER_SECRET, HUB(event_api_key), 1, SUB_HEADER_VALUE_MAX,
	NULL},
    {"organizationId", MEMBER_VALUE, HUB(organization_id), 1, SUB_TEXT_MAX,
	NULL},
    {"servicePartition", MEMBER_VALUE, HUB(service_partition), 1, SUB_TEXT_MAX,
	NULL},
    {"sender", MEMBER_VALUE, HUB(sender), 1, SUB_TEXT_MAX, NULL},
    {"userPath", MEMBER_TEXT, HUB(user_path), 0, 1024, NULL},
    {"organizationPath", MEMBER_TEXT, HUB(organization_path), 0, 1024, NULL},
    {"organizationEvents", MEMBER_BOOL, HUB(organization_events), 0, 0, NULL},
    {"accountPointer", MEMBER_POINTER, HUB(account_pointer), 0, 0, NULL},
    {"preflightFail", MEMBER_CHOICE, HUB(preflight_fail), 0, 0, FAILS},
    {.name = "otp", .kind = MEMBER_OWN},
    {.name = NULL},
};

/* The code's settings as JSON has them: all numbers 64 bits. */
struct otp_fields {
	struct otp otp;
	int64_t digits;
	enum sub_bind bind;
	struct str template;
};
#define OTP(field) offsetof(struct otp_fields, field)
static const struct member OTP_TABLE[] = {
    {"secret", MEMBER_SECRET, OTP(otp.secret), 1, SUB_TEXT_MAX, NULL},
    {"algorithm", MEMBER_CHOICE, OTP(otp.hash), 0, 0, OTP_HASHES},
    {"digits", MEMBER_INT, OTP(digits), 1, OTP_MAX, NULL},
    {"step", MEMBER_INT, OTP(otp.step_s), 1, 86400, NULL},
    {"t0", MEMBER_INT, OTP(otp.t0_s), 0, INT32_MAX, NULL},
    {"encoding", MEMBER_CHOICE, OTP(otp.encoding), 0, 0, OTP_ENCODINGS},
    {"salt", MEMBER_SECRET, OTP(otp.salt), 1, SUB_TEXT_MAX, NULL},
    {"saltMode", MEMBER_CHOICE, OTP(otp.salt_mode), 0, 0, OTP_SALTS},
    {"bind", MEMBER_CHOICE, OTP(bind), 0, 0, BINDS},
    {"template", MEMBER_TEXT, OTP(template), 1, SUB_HEADER_VALUE_MAX, NULL},
    {.name = NULL},
};

static const struct otp_fields OTP_INITIAL = {
    .otp = {.hash = OTP_SHA1, .step_s = 30},
    .digits = 8,
    .template = {"{otp}", 5},
};

static struct otp_fields
fields_of(const struct sub_hub *h)
{
	return (struct otp_fields){
	    h->otp, h->otp.digits, h->otp_bind, h->otp_template};
}

/* {otp} once, and nothing else that looks like a variable. */
static bool
template_ok(struct str t)
{
	size_t at = t.n;

	for (size_t i = 0; i + 5 <= t.n; i++)
		if (memcmp(t.p + i, "{otp}", 5) == 0) {
			if (at < t.n)
				return false;
			at = i;
		}
	return at < t.n;
}

static void
otp_read(struct sub_reader *r, const struct json *j)
{
	struct sub_hub *h = &r->s->hub;
	struct otp_fields f = h->has_otp ? fields_of(h) : OTP_INITIAL;
	struct reading *g = &r->g;

	h->has_otp = false;
	if (j->type == JSON_NULL)
		return;
	reading_members(g, OTP_TABLE, j, "/hub/otp", &OTP_INITIAL, &f);
	f.otp.digits = (unsigned)f.digits;
	/* One that is closed has no secret. */
	if (g->rc == OK && (g->io.form != FORM_STORED || g->io.seal))
		g->rc = otp_valid(&f.otp, "/hub/otp", g->e);
	if (!template_ok(f.template))
		reading_wrong(g, "/hub/otp/template", "must have {otp}, once");
	h->has_otp = true;
	h->otp = f.otp;
	h->otp_bind = f.bind;
	h->otp_template = f.template;
}

void
sub_hub_read(struct sub_reader *r, const struct json *j)
{
	struct sub_hub initial = {
	    .account_pointer = STR("/user/accountId"),
	    .preflight_fail = r->s->preset->preflight.fail,
	};
	struct sub_hub *h = &r->s->hub;
	const struct json *otp = json_get(j, "otp");
	struct arena *a = r->g.io.arena;

	if (j->type == JSON_NULL) {
		*h = (struct sub_hub){.there = false};
		return;
	}
	if (!r->s->preset->uses_hub)
		reading_wrong(&r->g, "/hub",
		    "has no meaning for the preset %.*s",
		    STR_ARG(r->s->preset->name));
	if (r->rules) {
		const struct conf *c = r->rules->conf;

		/* The settings may end before the subscription does. */
		initial.user_path = arena_dup(a, str_of(c->webhooks_user_path));
		initial.organization_path =
		    arena_dup(a, str_of(c->webhooks_organization_path));
	}
	if (!h->there)
		*h = initial;
	h->there = true;
	reading_members(&r->g, TABLE, j, "/hub", &initial, h);
	if (otp && r->g.rc == OK)
		otp_read(r, otp);
}

static bool
is_domain(struct str s)
{
	bool ok = s.n > 0 && s.p[s.n - 1] != '.';

	/* A port may follow, so that a hub can be tried out. */
	if (str_has(s, ':')) {
		struct str port = s;
		int64_t n;

		s = str_cut(&port, ':');
		ok = ok && str_int(port, &n) && n >= 1 && n <= 65535;
	}
	while (ok && s.n > 0)
		ok = host_label_ok(str_cut(&s, '.'));
	return ok;
}

static bool
url_char(char c)
{
	return c > ' ' && c < 0x7f && !str_has(STR("\"<>\\^`|"), c);
}

static void
path_check(struct sub_reader *r, struct str path, const char *at)
{
	bool ok = path.n == 0 || path.p[0] == '/';

	for (size_t i = 0; ok && i < path.n; i++)
		ok = url_char(path.p[i]);
	if (!ok)
		reading_wrong(&r->g, at, "must be a path that begins with /");
}

void
sub_hub_check(struct sub_reader *r)
{
	const struct sub_hub *h = &r->s->hub;
	struct reading *g = &r->g;
	const struct {
		bool there;
		const char *name;
	} NEEDED[] = {
	    {h->tenant.text.n > 0, "tenant"},
	    {h->event_api_key.n > 0, "eventApiKey"},
	    {h->organization_id.text.n > 0, "organizationId"},
	    {h->service_partition.text.n > 0, "servicePartition"},
	    {h->sender.text.n > 0, "sender"},
	    {!h->has_otp || h->shared_internal_key.n > 0, "sharedInternalKey"},
	    {h->domain.n > 0 || (h->health_url.n > 0 && !h->has_otp), "domain"},
	};

	if (!r->s->preset->uses_hub)
		return;
	if (!h->there)
		reading_wrong(g, "/hub", "is required by the preset");
	for (size_t i = 0; i < COUNT_OF(NEEDED); i++)
		reading_need(g, NEEDED[i].there, "/hub", NEEDED[i].name);
	reading_one_line(g, h->event_api_key, "/hub/eventApiKey");
	reading_one_line(g, h->shared_internal_key, "/hub/sharedInternalKey");
	if (!h->tenant.pointer && !host_label_ok(h->tenant.text))
		reading_wrong(g, "/hub/tenant",
		    "must be one DNS label: letters, digits and - only");
	if (h->domain.n > 0 && !is_domain(h->domain))
		reading_wrong(g, "/hub/domain", "must be a domain name");
	path_check(r, h->user_path, "/hub/userPath");
	path_check(r, h->organization_path, "/hub/organizationPath");
	if (h->health_url.n > 0)
		sub_url_check(r, h->health_url, "/hub/healthUrl");
}

void
sub_url_check(struct sub_reader *r, struct str url, const char *at)
{
	const struct sub_rules *k = r->rules;
	struct reading *g = &r->g;
	struct str host = STR_EMPTY;

	for (size_t i = 0; i < url.n; i++)
		if (!url_char(url.p[i]))
			reading_wrong(g, at,
			    "must be a URL: no blanks, controls or non-ASCII letters");
	if (!host_of(url, &host) || host.n == 0 || host.p[0] == ':')
		reading_wrong(g, at, "must be http:// or https:// and a host");
	if (str_has(host, '@'))
		reading_wrong(g, at,
		    "must not have user or password; `auth` is for those");
	if (g->rc == OK && k && k->url_check)
		g->rc = k->url_check(k->arg, url, at, g->e);
}

int
sub_hub_write(const struct member_io *io, const struct sub_hub *h,
    struct buf *b, struct err *e)
{
	struct otp_fields f = fields_of(h);
	int rc;

	buf_addz(b, ",\"hub\":");
	if (!h->there) {
		buf_addz(b, "null");
		return OK;
	}
	buf_addc(b, '{');
	rc = member_write(io, TABLE, h, b, e);
	buf_addz(b, ",\"otp\":");
	if (rc == OK && h->has_otp) {
		buf_addc(b, '{');
		rc = member_write(io, OTP_TABLE, &f, b, e);
		buf_addc(b, '}');
	} else {
		buf_addz(b, "null");
	}
	buf_addc(b, '}');
	return rc;
}
