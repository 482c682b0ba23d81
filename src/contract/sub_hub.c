/* subscription.h: the object `hub`, and URLs. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/conf/conf.h"
#include "base/str.h"
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

static int
otp_read(struct sub_reader *r, const struct json *j)
{
	struct sub_hub *h = &r->s->hub;
	struct otp_fields f = h->has_otp ? fields_of(h) : OTP_INITIAL;
	int rc;

	h->has_otp = false;
	if (j->type == JSON_NULL)
		return OK;
	rc = member_read(
	    &r->io, OTP_TABLE, j, "/hub/otp", &OTP_INITIAL, &f, r->e);
	if (rc < 0)
		return rc;
	f.otp.digits = (unsigned)f.digits;
	if (r->io.form != FORM_STORED || r->io.seal) /* closed: no secret */
		rc = otp_valid(&f.otp, "/hub/otp", r->e);
	if (rc == OK && !template_ok(f.template))
		rc = json_wrong(
		    r->e, "/hub/otp/template", "must have {otp}, once");
	if (rc < 0)
		return rc;
	h->has_otp = true;
	h->otp = f.otp;
	h->otp_bind = f.bind;
	h->otp_template = f.template;
	return OK;
}

int
sub_hub_read(struct sub_reader *r, const struct json *j)
{
	struct sub_hub initial = {
	    .account_pointer = STR("/user/accountId"),
	    .preflight_fail = r->s->preset->preflight.fail,
	};
	struct sub_hub *h = &r->s->hub;
	const struct json *otp = json_get(j, "otp");
	int rc;

	if (j->type == JSON_NULL) {
		*h = (struct sub_hub){.there = false};
		return OK;
	}
	if (!r->s->preset->uses_hub)
		return json_wrong(r->e, "/hub",
		    "has no meaning for the preset %.*s",
		    STR_ARG(r->s->preset->name));
	if (r->rules) {
		initial.user_path = str_of(r->rules->conf->webhooks_user_path);
		initial.organization_path =
		    str_of(r->rules->conf->webhooks_organization_path);
		/* The settings may end before the subscription does. */
		initial.user_path = arena_dup(r->io.arena, initial.user_path);
		initial.organization_path =
		    arena_dup(r->io.arena, initial.organization_path);
		if (!initial.user_path.p || !initial.organization_path.p)
			return err_set(
			    r->e, ERR_NOMEM, "no memory for a subscription");
	}
	if (!h->there)
		*h = initial;
	h->there = true;
	rc = member_read(&r->io, TABLE, j, "/hub", &initial, h, r->e);
	return rc == OK && otp ? otp_read(r, otp) : rc;
}

static bool
is_label(struct str s)
{
	bool ok = s.n >= 1 && s.n <= 63 && s.p[0] != '-' && s.p[s.n - 1] != '-';

	for (size_t i = 0; ok && i < s.n; i++) {
		char c = s.p[i], low = (char)(c | 0x20);

		ok = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
		     c == '-';
	}
	return ok;
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
		ok = is_label(str_cut(&s, '.'));
	return ok;
}

static int
need(struct sub_reader *r, bool there, const char *at)
{
	return there ? OK : json_wrong(r->e, at, "is required");
}

static int
one_line(struct sub_reader *r, struct str s, const char *at)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20)
			return json_wrong(
			    r->e, at, "must not have control characters");
	return OK;
}

static bool
url_char(char c)
{
	return c > ' ' && c < 0x7f && !str_has(STR("\"<>\\^`|"), c);
}

static int
path_check(struct sub_reader *r, struct str path, const char *at)
{
	bool ok = path.n == 0 || path.p[0] == '/';

	for (size_t i = 0; ok && i < path.n; i++)
		ok = url_char(path.p[i]);
	return ok ? OK
		  : json_wrong(r->e, at, "must be a path that begins with /");
}

int
sub_hub_check(struct sub_reader *r)
{
	const struct sub_hub *h = &r->s->hub;
	bool otp = h->has_otp;
	int rc;

	if (!r->s->preset->uses_hub)
		return OK;
	if (!h->there)
		return json_wrong(r->e, "/hub", "is required by the preset");
	rc = need(r, h->tenant.text.n > 0, "/hub/tenant");
	if (rc == OK)
		rc = need(r, h->event_api_key.n > 0, "/hub/eventApiKey");
	if (rc == OK)
		rc = need(
		    r, h->organization_id.text.n > 0, "/hub/organizationId");
	if (rc == OK)
		rc = need(r, h->service_partition.text.n > 0,
		    "/hub/servicePartition");
	if (rc == OK)
		rc = need(r, h->sender.text.n > 0, "/hub/sender");
	if (rc == OK)
		rc = need(r, !otp || h->shared_internal_key.n > 0,
		    "/hub/sharedInternalKey");
	if (rc == OK)
		rc = need(r, h->domain.n > 0 || (h->health_url.n > 0 && !otp),
		    "/hub/domain");
	if (rc == OK)
		rc = one_line(r, h->event_api_key, "/hub/eventApiKey");
	if (rc == OK)
		rc = one_line(
		    r, h->shared_internal_key, "/hub/sharedInternalKey");
	if (rc == OK && !h->tenant.pointer && !is_label(h->tenant.text))
		rc = json_wrong(r->e, "/hub/tenant",
		    "must be one DNS label: letters, digits and - only");
	if (rc == OK && h->domain.n > 0 && !is_domain(h->domain))
		rc = json_wrong(r->e, "/hub/domain", "must be a domain name");
	if (rc == OK)
		rc = path_check(r, h->user_path, "/hub/userPath");
	if (rc == OK)
		rc = path_check(
		    r, h->organization_path, "/hub/organizationPath");
	if (rc == OK && h->health_url.n > 0)
		rc = sub_url_check(r, h->health_url, "/hub/healthUrl");
	return rc;
}

/* The host of an http URL, with its port; false when it is none. */
static bool
host_of(struct str url, struct str *ret)
{
	struct str rest;

	if (str_starts(url, STR("https://")))
		rest = str_from(url, 8);
	else if (str_starts(url, STR("http://")))
		rest = str_from(url, 7);
	else
		return false;
	*ret = rest;
	for (size_t i = 0; i < rest.n; i++)
		if (str_has(STR("/?#"), rest.p[i])) {
			ret->n = i;
			break;
		}
	return ret->n > 0 && ret->p[0] != ':';
}

int
sub_url_check(struct sub_reader *r, struct str url, const char *at)
{
	struct str host;

	for (size_t i = 0; i < url.n; i++)
		if (!url_char(url.p[i]))
			return json_wrong(r->e, at,
			    "must be a URL: no blanks, controls or non-ASCII letters");
	if (!host_of(url, &host))
		return json_wrong(
		    r->e, at, "must be http:// or https:// and a host");
	if (str_has(host, '@'))
		return json_wrong(r->e, at,
		    "must not have user or password; `auth` is for those");
	return r->rules && r->rules->url_check
		   ? r->rules->url_check(r->rules->arg, url, at, r->e)
		   : OK;
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
