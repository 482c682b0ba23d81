#include "seal/otp.h"

#include "contract/limits.h"
#include "hk_priv.h"
#include "seal/digest.h"

/* The server's codes (seal/otp.h), with a memory of those that were used. */

#define NOW_MAX_S (INT64_MAX / US_PER_S)

struct used {
	int64_t until_s; /* 0: free */
	unsigned char what[DIGEST_SHORT_LEN];
};

struct hk_otp_memory {
	size_t n;
	struct used used[];
};

struct hk_otp_memory *
hk_otp_memory_new(size_t max)
{
	struct hk_otp_memory *m;

	if (max == 0 || max > SIZE_MAX / 2 / sizeof(struct used))
		return NULL;
	m = calloc(1, sizeof(*m) + max * sizeof(m->used[0]));
	if (m)
		m->n = max;
	return m;
}

void
hk_otp_memory_free(struct hk_otp_memory *m)
{
	free(m);
}

static int
read_opts(
    const struct hk_otp *o, int64_t now_s, struct otp *ret, struct hk_error *e)
{
	struct err why;

	*ret = (struct otp){
	    .secret = {o->secret, o->secret_n},
	    .hash = (enum otp_hash)o->hash,
	    .encoding = (enum otp_encoding)o->encoding,
	    .salt_mode = (enum otp_salt)o->salt_mode,
	    .salt = str_of(o->salt),
	    .step_s = o->step_s ? o->step_s : 30,
	    .t0_s = o->t0_s,
	    .digits = o->digits ? o->digits : 8,
	};
	if ((unsigned)o->hash > HK_OTP_SHA512 ||
	    (unsigned)o->encoding > HK_OTP_BASE64 ||
	    (unsigned)o->salt_mode > HK_OTP_SALT_MESSAGE_AFTER)
		return hk_fail(e, HK_INVALID, "no such one-time code");
	if (!o->secret || o->secret_n == 0)
		return hk_fail(e, HK_INVALID, "a one-time code needs a secret");
	if (now_s < 0 || now_s > NOW_MAX_S)
		return hk_fail(e, HK_INVALID, "no such time");
	if (str_of(o->bound).n > SUB_TEXT_MAX)
		return hk_fail(e, HK_INVALID, "bound is too long");
	return otp_valid(ret, "", &why) < 0 ? lib_from(&why, e) : HK_OK;
}

int
hk_otp_make(const struct hk_otp *o, int64_t now_s, char ret[HK_OTP_MAX + 1],
    struct hk_error *e)
{
	struct otp otp;
	int rc;
	LIB_ERROR(e);

	rc = read_opts(o, now_s, &otp, e);
	if (rc == HK_OK)
		(void)otp_make(&otp, str_of(o->bound), now_s * US_PER_S, ret);
	return rc;
}

/* A code is (step, bound, secret): a digest of these names it. */
static int
remember(struct hk_otp_memory *m, const struct hk_otp *o, int64_t step,
    int64_t step_s, int64_t now_s, struct hk_error *e)
{
	unsigned char sum[DIGEST_LEN], number[8];
	struct hmac *h = hmac_new((struct str){o->secret, o->secret_n});
	struct str parts[] = {
	    {(const char *)number, sizeof(number)}, str_of(o->bound)};
	struct used *place = NULL;

	if (!h)
		return lib_nomem(e);
	for (size_t i = 0; i < sizeof(number); i++)
		number[i] = (unsigned char)((uint64_t)step >> (8 * i));
	hmac_sum(h, parts, COUNT_OF(parts), sum);
	hmac_free(h);
	for (size_t i = 0; i < m->n; i++) {
		struct used *u = &m->used[i];

		if (u->until_s > now_s &&
		    memcmp(u->what, sum, sizeof(u->what)) == 0)
			return hk_fail(e, HK_REPLAYED,
			    "this one-time code was used before");
		if (u->until_s <= now_s && !place)
			place = u;
	}
	if (!place)
		return hk_fail(e, HK_FULL,
		    "more one-time codes are live than can be remembered");
	/* Past three steps no code of this one is taken any more. */
	place->until_s = now_s + 3 * step_s;
	memcpy(place->what, sum, sizeof(place->what));
	return HK_OK;
}

int
hk_otp_check(const struct hk_otp *o, const char *code, int64_t now_s,
    struct hk_otp_memory *m, struct hk_error *e)
{
	struct otp otp;
	int64_t step = 0;
	int rc;
	LIB_ERROR(e);

	rc = read_opts(o, now_s, &otp, e);
	if (rc < 0)
		return rc;
	if (!code || !*code)
		return hk_fail(e, HK_UNSIGNED, "there is no one-time code");
	if (!otp_check(
		&otp, str_of(o->bound), str_of(code), now_s * US_PER_S, &step))
		return hk_fail(
		    e, HK_WRONG, "the one-time code is wrong or too old");
	return m ? remember(m, o, step, otp.step_s, now_s, e) : HK_OK;
}
