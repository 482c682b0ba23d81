#include "base/conf/conf.h"
#include "contract/limits.h"
#include "contract/preset.h"
#include "contract/receive.h"
#include "hk_priv.h"
#include "seal/digest.h"

/*
 * What is signed, with what and in which header, is a preset's to say, here as
 * in the server: the built-in ones are read from the same table, GitHub's and
 * Stripe's are two rows of another.
 */

static const struct {
	const char *name, *text;
} PRESETS[] = {
#define PRESET(name, text) {name, text},
#include "contract/presets.tbl"
#include "contract/providers.tbl"
#undef PRESET
};

static const char *const SCHEMES[] = {
    [HK_STANDARD] = "standard",
    [HK_CLOUDEVENTS] = "cloudevents",
    [HK_CLOUDEVENTS_BINARY] = "cloudevents-binary",
    [HK_REPOSITORY] = "repository",
    [HK_TASK] = "task",
    [HK_HUB] = "hub",
    [HK_GITHUB] = "github",
    [HK_STRIPE] = "stripe",
};

struct hk_verifier {
	enum hk_scheme scheme;
	const struct preset *preset;
	struct hk_verify_opts o;
	struct hk_otp otp;
	char *salt, *bound, *template;
	char *secrets[SUB_SECRETS_MAX];
	size_t n;
};

static int
load(struct hk_verifier *v, struct hk_error *e)
{
	const char *name = SCHEMES[v->scheme];
	/* Its numbers are about sending, which is none of ours. */
	static const struct conf conf;
	struct err why = {0};

	for (size_t i = 0; i < COUNT_OF(PRESETS); i++)
		if (strcmp(PRESETS[i].name, name) == 0)
			return preset_parse(str_of(name),
				   str_of(PRESETS[i].text), &conf, &v->preset,
				   &why) < 0
				   ? lib_from(&why, e)
				   : HK_OK;
	return hk_fail(e, HK_INVALID, "no such scheme");
}

/* True also when there is nothing to copy. */
static bool
copy(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return !from || *ret;
}

static int
set_opts(
    struct hk_verifier *v, const struct hk_verify_opts *o, struct hk_error *e)
{
	const char *template = o && o->otp_template ? o->otp_template : "{otp}";

	if (o)
		v->o = *o;
	if (v->o.tolerance_s <= 0)
		v->o.tolerance_s = RECEIVE_TOLERANCE_S;
	if (v->o.tolerance_s > 366 * 86400)
		return hk_fail(e, HK_INVALID, "a tolerance of over a year");
	if (v->o.otp)
		v->otp = *v->o.otp;
	if (!strstr(template, "{otp}"))
		return hk_fail(e, HK_INVALID, "the template needs {otp}");
	if (!copy(template, &v->template) || !copy(v->otp.salt, &v->salt) ||
	    !copy(v->otp.bound, &v->bound))
		return lib_nomem(e);
	v->otp.salt = v->salt;
	v->otp.bound = v->bound;
	return HK_OK;
}

static int
set_secrets(struct hk_verifier *v, const char *const *secrets, size_t n,
    struct hk_error *e)
{
	if (n < 1 || n > SUB_SECRETS_MAX)
		return hk_fail(e, HK_INVALID, "1 to %d secrets can be tried",
		    SUB_SECRETS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (!secrets[i] || !*secrets[i])
			return hk_fail(e, HK_INVALID, "a secret is empty");
		v->secrets[i] = strdup(secrets[i]);
		if (!v->secrets[i])
			return lib_nomem(e);
		v->n++;
	}
	return HK_OK;
}

/* What is wrong with a secret or a code's settings shows now, not later. */
static int
try_secrets(struct hk_verifier *v, struct hk_error *e)
{
	const struct hk_request none = {.body = ""};
	int rc = hk_verifier_check(v, &none, 1, e);

	return rc == HK_INVALID || rc == HK_NOMEM ? rc : HK_OK;
}

int
hk_verifier_new(enum hk_scheme scheme, const char *const *secrets,
    size_t n_secrets, const struct hk_verify_opts *opts,
    struct hk_verifier **ret, struct hk_error *e)
{
	struct hk_verifier *v;
	int rc;
	LIB_ERROR(e);

	if ((unsigned)scheme >= COUNT_OF(SCHEMES))
		return hk_fail(e, HK_INVALID, "no such scheme");
	v = calloc(1, sizeof(*v));
	if (!v)
		return lib_nomem(e);
	v->scheme = scheme;
	rc = set_opts(v, opts, e);
	if (rc == HK_OK)
		rc = set_secrets(v, secrets, n_secrets, e);
	if (rc == HK_OK && scheme != HK_HUB)
		rc = load(v, e);
	if (rc == HK_OK)
		rc = try_secrets(v, e);
	if (rc < 0)
		hk_verifier_free(v);
	else
		*ret = v;
	return rc;
}

void
hk_verifier_free(struct hk_verifier *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->n; i++) {
		digest_wipe(v->secrets[i], strlen(v->secrets[i]));
		free(v->secrets[i]);
	}
	preset_unref(v->preset);
	free(v->salt);
	free(v->bound);
	free(v->template);
	free(v);
}

static const char *
value_of(const struct hk_request *r, const char *name)
{
	for (size_t i = 0; i < r->n_headers; i++)
		if (str_eq_nocase(str_of(r->headers[i].name), str_of(name)))
			return r->headers[i].value;
	return NULL;
}

/* Is the Authorization header the template around a code? */
static int
check_code(struct hk_verifier *v, const struct hk_request *r, int64_t now_s,
    struct hk_error *e)
{
	struct str value = str_of(value_of(r, "Authorization"));
	const char *place = strstr(v->template, "{otp}");
	struct str before = {v->template, (size_t)(place - v->template)};
	struct str after = str_of(place + 5);
	char code[HK_OTP_MAX + 1] = "";
	int rc = HK_WRONG;

	if (value.n > 0 &&
	    (value.n < before.n + after.n || !str_starts(value, before) ||
		!str_ends(value, after) ||
		value.n - before.n - after.n > HK_OTP_MAX))
		return hk_fail(e, HK_WRONG, "this is no one-time code");
	if (value.n > 0)
		lib_text(code, sizeof(code),
		    (struct str){
			value.p + before.n, value.n - before.n - after.n});
	for (size_t i = 0; i < v->n && rc == HK_WRONG; i++) {
		v->otp.secret = v->secrets[i];
		v->otp.secret_n = strlen(v->secrets[i]);
		rc = hk_otp_check(&v->otp, code, now_s, v->o.used, e);
	}
	return rc;
}

static int
result_of(enum receive_result r, struct hk_error *e)
{
	static const int CODES[] = {
	    [RECEIVE_OK] = HK_OK,
	    [RECEIVE_NO_SCHEME] = HK_INVALID,
	    [RECEIVE_UNSIGNED] = HK_UNSIGNED,
	    [RECEIVE_NO_FIELD] = HK_FIELD,
	    [RECEIVE_TIME] = HK_TIME,
	    [RECEIVE_WRONG] = HK_WRONG,
	};

	return r == RECEIVE_OK ? HK_OK
			       : hk_fail(e, CODES[r], "%s", receive_text(r));
}

/* The signatures, by the server's own code. */
static int
check_signed(struct hk_verifier *v, struct arena *a, const struct hk_request *r,
    int64_t now_s, struct hk_error *e)
{
	struct str_pair *list = arena_array(a, r->n_headers + 1, sizeof(*list));
	struct received got = {.headers = list, .body = {r->body, r->body_n}};
	enum receive_result result = RECEIVE_WRONG;
	struct str secrets[SUB_SECRETS_MAX];
	struct err why;

	if (!list)
		return lib_nomem(e);
	for (; got.n < r->n_headers; got.n++)
		list[got.n] = (struct str_pair){str_of(r->headers[got.n].name),
		    str_of(r->headers[got.n].value)};
	if (v->scheme == HK_STRIPE)
		got = receive_stripe(a, &got);
	for (size_t i = 0; i < v->n; i++)
		secrets[i] = str_of(v->secrets[i]);
	if (receive_verify(v->preset, secrets, v->n, &got,
		(struct receive_time){now_s * US_PER_S, v->o.tolerance_s},
		&result, &why) < 0)
		return lib_from(&why, e);
	return result_of(result, e);
}

static int
time_wanted(
    const struct hk_verifier *v, const struct hk_request *r, struct hk_error *e)
{
	if (!v->o.need_time)
		return HK_OK;
	if (v->scheme == HK_GITHUB ||
	    (v->scheme == HK_REPOSITORY && !value_of(r, "webhook-signature")))
		return hk_fail(
		    e, HK_UNSIGNED, "there is no signature that covers a time");
	return HK_OK;
}

int
hk_verifier_check(struct hk_verifier *v, const struct hk_request *r,
    int64_t now_s, struct hk_error *e)
{
	struct arena *a;
	int rc;
	LIB_ERROR(e);

	if (now_s == 0)
		now_s = clock_now_us() / US_PER_S;
	if (now_s < 0 || now_s > INT64_MAX / US_PER_S / 2)
		return hk_fail(e, HK_INVALID, "no such time");
	if (r->n_headers > REQUEST_HEADERS_MAX)
		return hk_fail(
		    e, HK_INVALID, "over %d headers", REQUEST_HEADERS_MAX);
	if (v->scheme == HK_HUB)
		return check_code(v, r, now_s, e);
	rc = time_wanted(v, r, e);
	if (rc < 0)
		return rc;
	a = arena_new(MIB);
	if (!a)
		return lib_nomem(e);
	rc = check_signed(v, a, r, now_s, e);
	arena_free(a);
	return rc;
}

int
hk_verify(enum hk_scheme scheme, const char *const *secrets, size_t n_secrets,
    const struct hk_request *r, int64_t now_s,
    const struct hk_verify_opts *opts, struct hk_error *e)
{
	struct hk_verifier *v;
	int rc = hk_verifier_new(scheme, secrets, n_secrets, opts, &v, e);

	if (rc == HK_OK) {
		rc = hk_verifier_check(v, r, now_s, e);
		hk_verifier_free(v);
	}
	return rc;
}
