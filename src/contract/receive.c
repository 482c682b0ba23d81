#include "contract/receive.h"

#include "contract/limits.h"
#include "seal/base64.h"
#include "seal/digest.h"

struct keys {
	struct signer *text[SUB_SECRETS_MAX], *decoded[SUB_SECRETS_MAX];
	size_t n;
};

static struct str
header(const struct received *r, struct str name)
{
	for (size_t i = 0; i < r->n; i++)
		if (str_eq_nocase(r->headers[i].name, name))
			return r->headers[i].value;
	return STR_EMPTY;
}

struct str
receive_header(const struct received *r, const char *name)
{
	return header(r, str_of(name));
}

/* A name, a colon, a value. */
static int
parse_header(struct str line, struct str_pair *h, struct err *e)
{
	struct str rest = line, name = str_cut(&rest, ':');

	if (name.n == 0 || name.n == line.n)
		return err_set(e, ERR_SYNTAX,
		    "\"%.*s\" is no header: a name, a colon, a value",
		    line.n < 60 ? (int)line.n : 60, line.p);
	*h = (struct str_pair){str_trim(name), str_trim(rest)};
	return OK;
}

int
receive_parse(
    struct arena *a, struct str text, struct received *ret, struct err *e)
{
	struct str_pair *list =
	    arena_array(a, REQUEST_HEADERS_MAX, sizeof(*list));
	struct received r = {.line = STR_EMPTY, .headers = list};
	bool first = true;
	int64_t length;

	while (text.n > 0) {
		struct str line = str_trim(str_cut(&text, '\n'));

		if (line.n == 0)
			break;
		if (first && (str_ends(line, STR(" HTTP/1.1")) ||
				 str_ends(line, STR(" HTTP/1.0")) ||
				 str_ends(line, STR(" HTTP/2"))))
			r.line = line;
		else if (r.n == REQUEST_HEADERS_MAX)
			return err_set(e, ERR_LIMIT, "too many headers");
		else
			TRY(parse_header(line, &list[r.n++], e));
		first = false;
	}
	r.body = text;
	if (str_int(receive_header(&r, "content-length"), &length) &&
	    length >= 0 && (uint64_t)length < text.n)
		r.body.n = (size_t)length;
	*ret = r;
	return OK;
}

/* "t=1492774577,v1=5257…,v1=…,v0=…". Ours come first, and the first of a name is
 * the one that counts. */
struct received
receive_stripe(struct arena *a, const struct received *r)
{
	struct str rest = receive_header(r, "Stripe-Signature");
	struct str_pair *list = arena_array(a, r->n + 2, sizeof(*list));
	struct str time = STR_EMPTY, signatures;
	struct buf b CLEANUP(buf_done) = BUF(rest.n + 1);

	while (rest.n > 0) {
		struct str part = str_trim(str_cut(&rest, ','));

		if (str_starts(part, STR("t=")) && time.n == 0)
			time = str_from(part, 2);
		if (!str_starts(part, STR("v1=")))
			continue;
		if (b.n > 0)
			buf_addc(&b, ' ');
		buf_add(&b, part);
	}
	signatures = arena_dup(a, buf_str(&b));
	list[0] = (struct str_pair){STR("Stripe-Time"), time};
	list[1] = (struct str_pair){STR("Stripe-Signature"), signatures};
	if (r->n > 0)
		memcpy(list + 2, r->headers, r->n * sizeof(*list));
	return (struct received){r->line, list, r->n + 2, r->body};
}

/* The header that carries a variable and nothing else. */
static struct str
carrier(const struct preset *p, enum var var)
{
	for (size_t i = 0; i < p->n_headers; i++) {
		const struct vars *v = &p->headers[i].value;

		if (v->n == 1 && v->pieces[0].var == var)
			return p->headers[i].name;
	}
	/* Two names of one thing. */
	if (var == VAR_ID)
		return carrier(p, VAR_DELIVERY_ID);
	return STR_EMPTY;
}

static bool
in_time(enum var var, struct str value, struct receive_time now)
{
	int64_t t, unit = var == VAR_TIMESTAMP ? US_PER_S : US_PER_MS;

	if (!str_int(value, &t) || t < 0 || t > INT64_MAX / unit)
		return false;
	return t * unit >= now.us - now.tolerance_s * US_PER_S &&
	       t * unit <= now.us + now.tolerance_s * US_PER_S;
}

/* What was signed, as parts, from what came. */
static enum receive_result
parts_of(const struct preset *p, const struct vars *content,
    const struct received *r, struct receive_time now, struct str *parts)
{
	for (size_t i = 0; i < content->n; i++) {
		const struct vars_piece *piece = &content->pieces[i];

		parts[i] = piece->text;
		if (piece->var == VAR_LITERAL)
			continue;
		if (piece->var == VAR_BODY) {
			parts[i] = r->body;
			continue;
		}
		parts[i] = header(r, carrier(p, piece->var));
		if (parts[i].n == 0)
			return RECEIVE_NO_FIELD;
		if ((piece->var == VAR_TIMESTAMP ||
			piece->var == VAR_TIMESTAMP_MS) &&
		    !in_time(piece->var, parts[i], now))
			return RECEIVE_TIME;
	}
	return RECEIVE_OK;
}

static bool
decode(struct str text, enum preset_encoding encoding, char ret[SIGN_MAX],
    size_t *ret_n)
{
	if (encoding == PRESET_BASE64)
		return base64_read(text, ret, SIGN_MAX, ret_n);
	*ret_n = text.n / 2;
	return *ret_n <= SIGN_MAX && str_unhex(text, ret);
}

/* The header's signatures of this row's form: the first few. */
static size_t
signatures_of(const struct preset_signature *g, struct str value,
    char bytes[RECEIVE_SIGNATURES_MAX][SIGN_MAX],
    size_t lengths[RECEIVE_SIGNATURES_MAX])
{
	size_t n = 0;

	while (value.n > 0 && n < RECEIVE_SIGNATURES_MAX) {
		struct str token = str_cut(&value, ' ');

		if (str_starts(token, g->prefix) &&
		    decode(str_from(token, g->prefix.n), g->encoding, bytes[n],
			&lengths[n]))
			n++;
	}
	return n;
}

/*
 * Any of the header's signatures by any of the keys. An HMAC is made once a
 * key, however many signatures a stranger sends over a long body.
 */
static bool
row_fits(const struct preset_signature *g, const struct keys *k,
    const struct str *parts, struct str value)
{
	UNINIT char bytes[RECEIVE_SIGNATURES_MAX][SIGN_MAX];
	size_t lengths[RECEIVE_SIGNATURES_MAX] = {0};
	size_t n = signatures_of(g, value, bytes, lengths);
	bool fits = false;

	for (size_t i = 0; i < k->n; i++) {
		struct signer *s = g->decoded ? k->decoded[i] : k->text[i];
		unsigned char mac[SIGN_MAX];
		struct err e;

		if (signer_algorithm(s) != g->algorithm)
			continue;
		if (g->algorithm == SIGN_HMAC_SHA256 &&
		    signer_sign(s, parts, g->content.n, mac, &e) != DIGEST_LEN)
			continue;
		for (size_t j = 0; j < n; j++)
			fits |= g->algorithm == SIGN_HMAC_SHA256
				    ? lengths[j] == DIGEST_LEN &&
					  digest_eq(mac, bytes[j], DIGEST_LEN)
				    : signer_verify(s, parts, g->content.n,
					  (struct str){bytes[j], lengths[j]});
	}
	return fits;
}

/* All rows of one header: one that fits is enough. */
static enum receive_result
check_header(const struct preset *p, struct str name, const struct keys *k,
    const struct received *r, struct receive_time now)
{
	struct str parts[VARS_PIECES_MAX], value = header(r, name);
	enum receive_result result = RECEIVE_WRONG;

	for (size_t i = 0; i < p->n_signatures; i++) {
		const struct preset_signature *g = &p->signatures[i];
		enum receive_result found;

		if (!str_eq_nocase(g->header, name))
			continue;
		found = parts_of(p, &g->content, r, now, parts);
		if (found != RECEIVE_OK)
			return found;
		if (row_fits(g, k, parts, value))
			result = RECEIVE_OK;
	}
	return result;
}

static enum receive_result
check_all(const struct preset *p, const struct keys *k,
    const struct received *r, struct receive_time now)
{
	enum receive_result result = RECEIVE_UNSIGNED;

	for (size_t i = 0; i < p->n_signatures; i++) {
		struct str name = p->signatures[i].header;

		if (header(r, name).n == 0)
			continue;
		result = check_header(p, name, k, r, now);
		if (result != RECEIVE_OK)
			return result;
	}
	return result;
}

static int
keys_open(const struct preset *p, const struct str *secrets, size_t n,
    struct keys *k, struct err *e)
{
	enum secret_form form = p->secret == PRESET_SECRET_STANDARD
				    ? SECRET_STANDARD
				    : SECRET_EITHER;
	bool decodes = false;

	/* A scheme whose keys are text may have one that looks like ours. */
	for (size_t i = 0; i < p->n_signatures; i++)
		decodes |= p->signatures[i].decoded;
	if (n < 1 || n > SUB_SECRETS_MAX)
		return err_at(e, ERR_INVALID, "/secret",
		    "1 to %d secrets can be tried", SUB_SECRETS_MAX);
	for (size_t i = 0; i < n; i++) {
		k->n++;
		TRY(signer_new(
		    secrets[i], SECRET_TEXT, "/secret", &k->text[i], e));
		if (decodes)
			TRY(signer_new(
			    secrets[i], form, "/secret", &k->decoded[i], e));
	}
	return OK;
}

static void
keys_done(struct keys *k)
{
	for (size_t i = 0; i < k->n; i++) {
		signer_free(k->text[i]);
		signer_free(k->decoded[i]);
	}
}

int
receive_verify(const struct preset *p, const struct str *secrets, size_t n,
    const struct received *r, struct receive_time now, enum receive_result *ret,
    struct err *e)
{
	struct keys k CLEANUP(keys_done) = {.n = 0};

	if (p->n_signatures > 0)
		TRY(keys_open(p, secrets, n, &k, e));
	*ret =
	    p->n_signatures > 0 ? check_all(p, &k, r, now) : RECEIVE_NO_SCHEME;
	return OK;
}

const char *
receive_text(enum receive_result r)
{
	static const char *const TEXTS[] = {
	    [RECEIVE_OK] = "verified",
	    [RECEIVE_NO_SCHEME] = "this scheme signs nothing",
	    [RECEIVE_UNSIGNED] = "there is no signature header",
	    [RECEIVE_NO_FIELD] = "a header that is signed is missing",
	    [RECEIVE_TIME] = "its time is too far from now",
	    [RECEIVE_WRONG] = "no signature fits the secret and the body",
	};

	return TEXTS[r];
}
