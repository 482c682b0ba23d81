/* sub.h: the secrets that sign, and changing them. */
#include "contract/limits.h"
#include "contract/sub_priv.h"
#include "seal/digest.h"
#include "seal/keyring.h"

static int
seal(const struct sub_seal *by, struct arena *a, struct str plain,
    struct str *ret, struct err *e)
{
	return keyring_seal(by->ring, a, by->where, plain, ret, e);
}

static int
unseal(const struct sub_seal *by, struct arena *a, struct str sealed,
    struct str *ret, struct err *e)
{
	return keyring_unseal(by->ring, a, by->where, sealed, ret, e);
}

struct sub_seal
sub_seal_by(struct keyring *ring, struct arena *a, struct uuid uid)
{
	struct str where = keyring_where(a, "subscription.conf", uid);

	return (struct sub_seal){seal, unseal, ring, where, NULL};
}

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

int
sub_secret_read(
    const struct member_io *io, const struct json *j, void *base, struct err *e)
{
	struct sub_conf *s = base;
	struct str was = s->n_secrets > 0 ? s->secrets[0].text : STR_EMPTY;
	struct str text = was;

	if (j->type == JSON_NULL) {
		sub_secrets_done(s);
		return OK;
	}
	if (s->preset->secret == PRESET_SECRET_NONE)
		return json_wrong(e, "/secret",
		    "has no meaning: the preset %.*s signs nothing",
		    STR_ARG(s->preset->name));
	TRY(member_secret_read(io, j, "/secret", SUB_TEXT_MAX, &text, e));
	if (text.p == was.p)
		return OK;
	sub_secrets_done(s);
	s->n_secrets = text.n > 0;
	s->secrets[0].text = text;
	return OK;
}

int
sub_secret_write(
    const struct member_io *io, const void *base, struct buf *b, struct err *e)
{
	const struct sub_conf *s = base;
	const struct member_io plain = {FORM_PLAIN, NULL, NULL};

	if (io->form != FORM_USER)
		return OK;
	return member_secret_write(io->ctx ? &plain : io, "secret",
	    s->n_secrets ? s->secrets[0].text : STR_EMPTY, b, e);
}

/* [{"text": …, "until": null | µs}] */
int
sub_secrets_read(const struct member_io *io, const struct json *list,
    void *base, struct err *e)
{
	struct sub_conf *s = base;
	size_t n = 0;

	TRY(member_want(list, JSON_ARRAY, "/secrets", e));
	for (const struct json *j = list->child; j; j = j->next) {
		const struct json *text = json_get(j, "text");
		struct sub_secret *k = &s->secrets[n];

		if (n++ == SUB_SECRETS_MAX || !text)
			return json_wrong(e, "/secrets", "can't be read");
		TRY(member_secret_read(
		    io, text, "/secrets", SUB_TEXT_MAX, &k->text, e));
		(void)json_int(json_get(j, "until"), &k->until_us);
	}
	s->n_secrets = n;
	return OK;
}

int
sub_secrets_write(
    const struct member_io *io, const void *base, struct buf *b, struct err *e)
{
	const struct sub_conf *s = base;
	if (io->form == FORM_USER)
		return OK;
	put_open(b, "secrets", '[');
	for (size_t i = 0; i < s->n_secrets; i++) {
		const struct sub_secret *k = &s->secrets[i];

		put_open(b, NULL, '{');
		TRY(member_secret_write(io, "text", k->text, b, e));
		put_int(b, "until", k->until_us);
		put_close(b, '}');
	}
	put_close(b, ']');
	return OK;
}

static int
sign_with(struct sub_conf *s, struct sub_secret *k, struct err *e)
{
	enum secret_form form = s->preset->secret == PRESET_SECRET_STANDARD
				    ? SECRET_STANDARD
				    : SECRET_EITHER;

	if (!k->text_signer)
		TRY(signer_new(
		    k->text, SECRET_TEXT, "/secret", &k->text_signer, e));
	if (!k->decode_signer)
		TRY(signer_new(k->text, form, "/secret", &k->decode_signer, e));
	if (!signer_can_sign(k->decode_signer))
		return err_at(e, ERR_INVALID, "/secret",
		    "the secret is a public key, which can't sign");
	return OK;
}

static struct str
make_text(const struct sub_conf *s, enum sign_algorithm algorithm)
{
	char made[SECRET_TEXT_LEN];
	struct str text;

	if (s->preset->secret == PRESET_SECRET_STANDARD)
		sign_make_secret(algorithm, made);
	else
		sign_make_text(made);
	text = arena_dup(s->arena, str_of(made));
	digest_wipe(made, sizeof(made));
	return text;
}

int
sub_secrets_arm(struct sub_conf *s, struct err *e)
{
	bool wanted = (s->preset->secret == PRESET_SECRET_STANDARD ||
			  s->preset->secret == PRESET_SECRET_TEXT) &&
		      sub_called(s); /* else nothing is signed */

	if (s->n_secrets == 0 && wanted)
		s->secrets[s->n_secrets++].text =
		    make_text(s, SIGN_HMAC_SHA256);
	for (size_t i = 0; i < s->n_secrets; i++)
		TRY(sign_with(s, &s->secrets[i], e));
	return OK;
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
	made.text = make_text(s, signer_algorithm(s->secrets[0].decode_signer));
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
