/* sub.h: the object `hub`, and URLs. */
#include "base/conf/conf.h"
#include "contract/host.h"
#include "contract/limits.h"
#include "contract/sub_priv.h"

static const char *const FAILS[] = {"dead_letter", "retry", "hold", NULL};
static const char *const BINDS[] = {"none", "tenant", "issuer", NULL};

#define OTP(field) offsetof(struct sub_otp, field)
static const struct member OTP_TABLE[] = {
    {"secret", MEMBER_SECRET, OTP(secret), 1, SUB_TEXT_MAX},
    {"secretEncoding", MEMBER_CHOICE, OTP(secret_encoding), .words = OTP_KEYS},
    {"algorithm", MEMBER_CHOICE, OTP(otp.hash), .words = OTP_HASHES},
    {"digits", MEMBER_INT, OTP(digits), 1, OTP_MAX},
    {"step", MEMBER_INT, OTP(otp.step_s), 1, 86400},
    {"t0", MEMBER_INT, OTP(otp.t0_s), 0, INT32_MAX},
    {"encoding", MEMBER_CHOICE, OTP(otp.encoding), .words = OTP_ENCODINGS},
    {"salt", MEMBER_SECRET, OTP(otp.salt), 1, SUB_TEXT_MAX},
    {"saltMode", MEMBER_CHOICE, OTP(otp.salt_mode), .words = OTP_SALTS},
    {"bind", MEMBER_CHOICE, OTP(bind), .words = BINDS},
    {"template", MEMBER_TEXT, OTP(template), 1, SUB_HEADER_VALUE_MAX},
    {.name = NULL},
};

#define HUB(field) offsetof(struct sub_hub, field)
const struct member SUB_HUB[] = {
    {"tenant", MEMBER_VALUE, HUB(tenant), 1, SUB_TEXT_MAX},
    {"domain", MEMBER_TEXT, HUB(domain), 1, 253},
    {"healthUrl", MEMBER_TEXT, HUB(health_url), 1, SUB_URL_MAX},
    {"sharedInternalKey", MEMBER_SECRET, HUB(shared_internal_key), 1,
	SUB_HEADER_VALUE_MAX},
    {"eventApiKey", MEMBER_SECRET, HUB(event_api_key), 1, SUB_HEADER_VALUE_MAX},
    {"organizationId", MEMBER_VALUE, HUB(organization_id), 1, SUB_TEXT_MAX},
    {"servicePartition", MEMBER_VALUE, HUB(service_partition), 1, SUB_TEXT_MAX},
    {"sender", MEMBER_VALUE, HUB(sender), 1, SUB_TEXT_MAX},
    {"userPath", MEMBER_TEXT, HUB(user_path), 0, 1024},
    {"organizationPath", MEMBER_TEXT, HUB(organization_path), 0, 1024},
    {"organizationEvents", MEMBER_BOOL, HUB(organization_events)},
    {"accountPointer", MEMBER_POINTER, HUB(account_pointer)},
    {"preflightFail", MEMBER_CHOICE, HUB(preflight_fail), .words = FAILS},
    {.name = "otp", .kind = MEMBER_OWN, .part = OTP_TABLE},
    {.name = NULL},
};

static const struct sub_otp OTP_INITIAL = {
    .otp = {.hash = OTP_SHA1, .step_s = 30},
    .digits = 8,
    .template = {"{otp}", 5},
};

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

/* The key of a secret that is open. */
static int
otp_open(struct arena *a, struct sub_otp *o, struct err *e)
{
	char *key = arena_alloc(a, o->secret.n + 1);
	size_t n = 0;

	if (!otp_key(o->secret_encoding, o->secret, key, &n))
		return json_wrong(e, "/hub/otp/secret",
		    "must be %s, as secretEncoding says",
		    OTP_KEYS[o->secret_encoding]);
	o->otp.secret = (struct str){key, n};
	return otp_valid(&o->otp, "/hub/otp", e);
}

static int
otp_read(const struct member_io *io, const struct json *j, struct sub_hub *h,
    struct err *e)
{
	struct sub_otp *o = &h->otp;

	h->otp_said = true;
	if (!h->has_otp)
		*o = OTP_INITIAL;
	h->has_otp = j->type != JSON_NULL;
	if (!h->has_otp)
		return OK;
	TRY(member_read(io, OTP_TABLE, j, "/hub/otp", &OTP_INITIAL, o, e));
	o->otp.digits = (unsigned)o->digits;
	/* One that is closed has no secret. */
	if (io->form != FORM_STORED || io->seal)
		TRY(otp_open(io->arena, o, e));
	if (!template_ok(o->template))
		return json_wrong(
		    e, "/hub/otp/template", "must have {otp}, once");
	return OK;
}

int
sub_hub_read(
    const struct member_io *io, const struct json *j, void *base, struct err *e)
{
	struct sub_conf *s = base;
	struct sub_hub initial = {
	    .account_pointer = STR("/user/accountId"),
	    .preflight_fail = s->preset->preflight.fail,
	};
	struct sub_hub *h = &s->hub;
	const struct json *otp = json_get(j, "otp");

	if (j->type == JSON_NULL) {
		*h = (struct sub_hub){.there = false};
		return OK;
	}
	if (!s->preset->uses_hub)
		return json_wrong(e, "/hub",
		    "has no meaning for the preset %.*s",
		    STR_ARG(s->preset->name));
	if (!h->there)
		*h = initial;
	h->there = true;
	TRY(member_read(io, SUB_HUB, j, "/hub", &initial, h, e));
	return otp ? otp_read(io, otp, h, e) : OK;
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

static int
path_check(struct str path, const char *at, struct err *e)
{
	bool ok = path.n == 0 || path.p[0] == '/';

	for (size_t i = 0; ok && i < path.n; i++)
		ok = url_char(path.p[i]);
	return ok ? OK : json_wrong(e, at, "must be a path that begins with /");
}

int
sub_hub_check(
    const struct sub_conf *s, const struct sub_rules *k, struct err *e)
{
	const struct sub_hub *h = &s->hub;
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

	if (!s->preset->uses_hub)
		return OK;
	if (!h->there)
		return json_wrong(e, "/hub", "is required by the preset");
	for (size_t i = 0; i < COUNT_OF(NEEDED); i++)
		TRY(member_need(NEEDED[i].there, "/hub", NEEDED[i].name, e));
	if (!h->otp_said)
		return json_wrong(e, "/hub/otp",
		    "is required; with null calls have no one-time code, no shared key and no issuer");
	TRY(member_one_line(h->event_api_key, "/hub/eventApiKey", e));
	TRY(member_one_line(
	    h->shared_internal_key, "/hub/sharedInternalKey", e));
	if (!h->tenant.pointer && !host_label_ok(h->tenant.text))
		return json_wrong(e, "/hub/tenant",
		    "must be one DNS label: letters, digits and - only");
	if (h->domain.n > 0 && !is_domain(h->domain))
		return json_wrong(e, "/hub/domain", "must be a domain name");
	TRY(path_check(h->user_path, "/hub/userPath", e));
	TRY(path_check(h->organization_path, "/hub/organizationPath", e));
	return h->health_url.n > 0
		   ? sub_url_check(k, h->health_url, "/hub/healthUrl", e)
		   : OK;
}

int
sub_url_check(
    const struct sub_rules *k, struct str url, const char *at, struct err *e)
{
	struct str host = STR_EMPTY;

	for (size_t i = 0; i < url.n; i++)
		if (!url_char(url.p[i]))
			return json_wrong(e, at,
			    "must be a URL: no blanks, controls or non-ASCII letters");
	if (!host_of(url, &host) || host.n == 0 || host.p[0] == ':')
		return json_wrong(
		    e, at, "must be http:// or https:// and a host");
	if (str_has(host, '@'))
		return json_wrong(e, at,
		    "must not have user or password; `auth` is for those");
	return k && k->url_check ? k->url_check(k->arg, url, at, e) : OK;
}

int
sub_hub_write(
    const struct member_io *io, const void *base, struct buf *b, struct err *e)
{
	const struct sub_conf *s = base;
	const struct sub_hub *h = &s->hub;

	if (!h->there) {
		put_null(b, "hub");
		return OK;
	}
	put_open(b, "hub", '{');
	TRY(member_write(io, SUB_HUB, h, b, e));
	if (h->has_otp) {
		put_open(b, "otp", '{');
		TRY(member_write(io, OTP_TABLE, &h->otp, b, e));
		put_close(b, '}');
	} else {
		put_null(b, "otp");
	}
	put_close(b, '}');
	return OK;
}
