/* subscription.h: the secrets that sign, and changing them. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "contract/sub_priv.h"
#include "seal/digest.h"

static void
secret_done(struct sub_secret *k)
{
	signer_free(k->text_signer);
	signer_free(k->decode_signer);
	*k = (struct sub_secret){.until_us = 0};
}

void
sub_secrets_done(struct sub_conf *s)
{
	for (size_t i = 0; i < s->n_secrets; i++)
		secret_done(&s->secrets[i]);
	s->n_secrets = 0;
}

static void
replace(struct sub_conf *s, struct str text)
{
	sub_secrets_done(s);
	s->n_secrets = text.n > 0;
	s->secrets[0].text = text;
}

int
sub_secret_read(struct sub_reader *r, const struct json *j)
{
	struct str text =
	    r->s->n_secrets > 0 ? r->s->secrets[0].text : STR_EMPTY;
	struct str was = text;
	int rc = OK;

	if (j->type == JSON_NULL) {
		sub_secrets_done(r->s);
		return OK;
	}
	if (r->s->preset->secret == PRESET_SECRET_NONE)
		return json_wrong(r->e, "/secret",
		    "has no meaning: the preset %.*s signs nothing",
		    STR_ARG(r->s->preset->name));
	rc =
	    member_secret_read(&r->io, j, "/secret", SUB_TEXT_MAX, &text, r->e);
	if (rc == OK && text.p != was.p)
		replace(r->s, text);
	return rc;
}

/* [{"text": …, "until": null | µs}] */
int
sub_secrets_read(struct sub_reader *r, const struct json *list)
{
	size_t n = 0;
	int rc = member_want(list, JSON_ARRAY, "/secrets", r->e);

	for (const struct json *j = list->child; rc == OK && j; j = j->next) {
		const struct json *text = json_get(j, "text");
		struct sub_secret *k = &r->s->secrets[n];

		if (n == SUB_SECRETS_MAX || !text)
			return json_wrong(r->e, "/secrets", "can't be read");
		rc = member_secret_read(
		    &r->io, text, "/secrets", SUB_TEXT_MAX, &k->text, r->e);
		(void)json_int(json_get(j, "until"), &k->until_us);
		n++;
	}
	r->s->n_secrets = n;
	return rc;
}

static int
sign_with(struct sub_conf *s, struct sub_secret *k, struct err *e)
{
	enum secret_form form = s->preset->secret == PRESET_SECRET_STANDARD
				    ? SECRET_STANDARD
				    : SECRET_EITHER;
	int rc = OK;

	if (!k->text_signer)
		rc = signer_new(
		    k->text, SECRET_TEXT, "/secret", &k->text_signer, e);
	if (rc == OK && !k->decode_signer)
		rc = signer_new(k->text, form, "/secret", &k->decode_signer, e);
	if (rc == OK && !signer_can_sign(k->decode_signer))
		rc = err_at(e, ERR_INVALID, "/secret",
		    "the secret is a public key, which can't sign");
	return rc;
}

static int
make_text(struct sub_conf *s, enum sign_algorithm algorithm, struct str *ret,
    struct err *e)
{
	char made[SECRET_TEXT_LEN];

	if (s->preset->secret == PRESET_SECRET_STANDARD)
		secret_make(algorithm, made);
	else
		secret_make_text(made);
	*ret = arena_dup(s->arena, str_of(made));
	digest_wipe(made, sizeof(made));
	return ret->p ? OK
		      : err_set(e, ERR_NOMEM, "no memory for a subscription");
}

int
sub_secrets_arm(struct sub_conf *s, struct err *e)
{
	bool wanted = (s->preset->secret == PRESET_SECRET_STANDARD ||
			  s->preset->secret == PRESET_SECRET_TEXT) &&
		      sub_called(s); /* else nothing is signed */
	int rc = OK;

	if (s->n_secrets == 0 && wanted) {
		rc = make_text(s, SIGN_HMAC_SHA256, &s->secrets[0].text, e);
		s->n_secrets = rc == OK;
	}
	for (size_t i = 0; rc == OK && i < s->n_secrets; i++)
		rc = sign_with(s, &s->secrets[i], e);
	return rc;
}

int
sub_rotate(struct sub_conf *s, int64_t overlap_s, int64_t now_us, struct err *e)
{
	struct sub_secret made = {.until_us = 0}, kept[SUB_SECRETS_MAX];
	size_t n = 0;
	int rc;

	if (s->n_secrets == 0)
		return err_set(e, ERR_CONFLICT,
		    "this subscription has no secret to rotate");
	if (overlap_s < 0 || overlap_s > SUB_OVERLAP_MAX_S)
		return json_wrong(e, "/overlapSeconds",
		    "must be a whole number from 0 to %d", SUB_OVERLAP_MAX_S);
	for (size_t i = 1; i < s->n_secrets; i++)
		n += s->secrets[i].until_us > now_us;
	if (n + 2 > SUB_SECRETS_MAX)
		return err_set(e, ERR_LIMIT,
		    "%zu secrets are in use already; wait for one to end",
		    n + 1);
	rc = make_text(
	    s, signer_algorithm(s->secrets[0].decode_signer), &made.text, e);
	if (rc == OK)
		rc = sign_with(s, &made, e);
	if (rc < 0) {
		secret_done(&made);
		return rc;
	}
	s->secrets[0].until_us = now_us + overlap_s * US_PER_S;
	kept[0] = made;
	n = 1;
	for (size_t i = 0; i < s->n_secrets; i++)
		if (s->secrets[i].until_us > now_us)
			kept[n++] = s->secrets[i];
		else
			secret_done(&s->secrets[i]);
	memcpy(s->secrets, kept, n * sizeof(kept[0]));
	s->n_secrets = n;
	return OK;
}
