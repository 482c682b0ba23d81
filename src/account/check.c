#include "account/check.h"

#include "account/limits.h"
#include "base/log/metric.h"
#include "seal/digest.h"
#include "seal/password.h"

/* Name, password and stored hash, as one HMAC. */
struct verified {
	unsigned char mark[DIGEST_LEN];
	int64_t until_us;
};

struct check {
	struct lockout *lockout;
	struct hmac *hmac;
	struct verified verified[AUTH_VERIFIED_MAX];
};

struct check *
check_new(const struct lockout_opts *o)
{
	struct check *c = mem_get(sizeof(*c));
	char key[32];

	c->lockout = lockout_new(o);
	rand_bytes(key, sizeof(key));
	c->hmac = hmac_new((struct str){key, sizeof(key)});
	digest_wipe(key, sizeof(key));
	return c;
}

void
check_free(struct check *c)
{
	if (!c)
		return;
	lockout_free(c->lockout);
	hmac_free(c->hmac);
	free(c);
}

/* Lengths go in too: no two triples make the same bytes. */
static void
mark_of(
    struct check *c, const struct check_ask *q, unsigned char ret[DIGEST_LEN])
{
	size_t lengths[2] = {q->name.n, q->password.n};
	struct str parts[] = {{(const char *)lengths, sizeof(lengths)}, q->name,
	    q->password, q->hash};

	hmac_sum(c->hmac, parts, COUNT_OF(parts), ret);
}

static int
locked(int64_t wait_us, struct err *e)
{
	metric_add(M_LOGIN_LOCKED, 1);
	(void)err_set(e, ERR_BUSY,
	    "too many wrong passwords for this name from your network");
	e->retry_after_s = (int)((wait_us + US_PER_S - 1) / US_PER_S);
	return ERR_BUSY;
}

int
check_password(struct check *c, const struct check_ask *q, int64_t now_us,
    int64_t *ret_until_us, struct err *e)
{
	struct lockout_key pair = lockout_pair(q->name, q->hash, q->peer);
	int64_t wait_us = lockout_wait_us(c->lockout, &pair, now_us);
	unsigned char m[DIGEST_LEN];
	uint32_t place;
	struct verified *v;
	bool same = false;
	int rc = OK;

	mark_of(c, q, m);
	memcpy(&place, m, sizeof(place));
	v = &c->verified[place % AUTH_VERIFIED_MAX];
	if (q->hash.p && v->until_us > now_us &&
	    digest_eq(v->mark, m, sizeof(m))) {
		*ret_until_us = v->until_us;
		return OK;
	}
	if (wait_us > 0)
		return locked(wait_us, e);
	if (q->hash.p)
		rc = password_verify(q->hash, q->password, &same, e);
	else
		password_waste(q->password);
	if (rc < 0)
		return rc;
	if (!same) {
		lockout_failed(c->lockout, &pair, now_us);
		return err_set(e, ERR_UNKNOWN, "wrong name or password");
	}
	lockout_passed(c->lockout, &pair);
	memcpy(v->mark, m, sizeof(m));
	v->until_us = now_us + AUTH_VERIFIED_S * US_PER_S;
	*ret_until_us = v->until_us;
	return OK;
}
