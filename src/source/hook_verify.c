/* hook.h: is a request from the provider? */
#include <arpa/inet.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/sign.h"
#include "source/hook.h"
#include "source/limits.h"

#define SIGNATURES_MAX 16 /* in one header; Stripe sends one a secret */

/* Those that are good now. */
static size_t
good_secrets(
    const struct hook *h, int64_t now_us, struct str ret[SUB_SECRETS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_secrets; i++)
		if (h->secrets[i].until_us == 0 ||
		    h->secrets[i].until_us > now_us)
			ret[n++] = h->secrets[i].text;
	return n;
}

static bool
hex_read(struct str text, unsigned char ret[DIGEST_LEN])
{
	return text.n == 2 * (size_t)DIGEST_LEN && str_unhex(text, ret);
}

struct macs {
	unsigned char b[SIGNATURES_MAX][DIGEST_LEN];
	size_t n;
};

static void
macs_take(struct macs *m, struct str hex)
{
	if (m->n < SIGNATURES_MAX && hex_read(hex, m->b[m->n]))
		m->n++;
}

/* Any of the signatures by any of the secrets, each computed once. */
static enum receive_result
macs_fit(const struct hook *h, const struct hook_request *q,
    const struct str *parts, size_t n_parts, const struct macs *m)
{
	struct str secrets[SUB_SECRETS_MAX];
	size_t n = good_secrets(h, q->now_us, secrets);
	bool fits = false;

	for (size_t i = 0; i < n; i++) {
		struct hmac *k = hmac_new(secrets[i]);
		unsigned char mac[DIGEST_LEN];

		hmac_sum(k, parts, n_parts, mac);
		hmac_free(k);
		for (size_t j = 0; j < m->n; j++)
			fits |= digest_eq(mac, m->b[j], DIGEST_LEN);
	}
	return fits ? RECEIVE_OK : RECEIVE_WRONG;
}

/* X-Hub-Signature-256: sha256=HEX, over the body. */
static enum receive_result
github(const struct hook *h, const struct hook_request *q)
{
	struct str value = receive_header(&q->in, "X-Hub-Signature-256");
	struct macs m = {.n = 0};

	if (value.n == 0)
		return RECEIVE_UNSIGNED;
	if (str_starts(value, STR("sha256=")))
		macs_take(&m, str_from(value, 7));
	return macs_fit(h, q, &q->in.body, 1, &m);
}

/* Stripe-Signature: t=SECONDS,v1=HEX,v1=HEX,v0=…, over "t.body". */
static enum receive_result
stripe(const struct hook *h, const struct hook_request *q)
{
	struct str value = receive_header(&q->in, "Stripe-Signature");
	struct str t = STR_EMPTY, parts[3];
	struct macs m = {.n = 0};
	int64_t at = 0;

	if (value.n == 0)
		return RECEIVE_UNSIGNED;
	while (value.n > 0) {
		struct str one = str_trim(str_cut(&value, ','));
		struct str name = str_cut(&one, '=');

		if (str_eq(name, STR("t")))
			t = one;
		else if (str_eq(name, STR("v1")))
			macs_take(&m, one);
	}
	if (t.n == 0)
		return RECEIVE_NO_FIELD;
	if (!str_int(t, &at) || at < 0 || at > INT64_MAX / US_PER_S ||
	    at * US_PER_S < q->now_us - h->tolerance_s * US_PER_S ||
	    at * US_PER_S > q->now_us + h->tolerance_s * US_PER_S)
		return RECEIVE_TIME;
	parts[0] = t;
	parts[1] = STR(".");
	parts[2] = q->in.body;
	return macs_fit(h, q, parts, COUNT_OF(parts), &m);
}

/* By their digests: their lengths tell nothing either. */
static bool
same_text(struct str a, struct str b)
{
	unsigned char x[DIGEST_LEN], y[DIGEST_LEN];

	digest_sha256(a, x);
	digest_sha256(b, y);
	return digest_eq(x, y, DIGEST_LEN);
}

static bool
word(struct str *s, struct str scheme)
{
	struct str head = str_cut(s, ' ');

	*s = str_trim(*s);
	return str_eq_nocase(head, scheme);
}

static enum receive_result
bearer(const struct hook *h, const struct hook_request *q)
{
	struct str secrets[SUB_SECRETS_MAX], token = STR_EMPTY;
	size_t n = good_secrets(h, q->now_us, secrets);
	bool fits = false;

	for (size_t i = 0; i < q->in.n; i++)
		if (str_eq_nocase(q->in.headers[i].name,
			h->header.n > 0 ? h->header : STR("Authorization"))) {
			token = q->in.headers[i].value;
			break;
		}
	if (token.n == 0)
		return RECEIVE_UNSIGNED;
	if (h->header.n == 0 && !word(&token, STR("Bearer")))
		return RECEIVE_UNSIGNED;
	for (size_t i = 0; i < n; i++)
		fits |= same_text(token, secrets[i]);
	return fits ? RECEIVE_OK : RECEIVE_WRONG;
}

static enum receive_result
basic(const struct hook *h, const struct hook_request *q)
{
	struct str secrets[SUB_SECRETS_MAX];
	struct str text = receive_header(&q->in, "Authorization");
	size_t n = good_secrets(h, q->now_us, secrets), got = 0;
	char given[SUB_NAME_MAX + 1 + HOOK_SECRET_MAX];
	bool fits = false;

	if (text.n == 0 || !word(&text, STR("Basic")))
		return RECEIVE_UNSIGNED;
	if (!base64_read(text, given, sizeof(given), &got))
		return RECEIVE_WRONG;
	for (size_t i = 0; i < n; i++) {
		struct buf b = BUF(sizeof(given));

		buf_add(&b, h->username);
		buf_addc(&b, ':');
		buf_add(&b, secrets[i]);
		fits |= same_text(buf_str(&b), (struct str){given, got});
		digest_wipe(b.p, b.n);
		buf_done(&b);
	}
	digest_wipe(given, sizeof(given));
	return fits ? RECEIVE_OK : RECEIVE_WRONG;
}

/* Svix signs as Standard Webhooks does, under names of its own. */
static struct str
standard_name(struct str name)
{
	static const struct {
		struct str svix, standard;
	} NAMES[] = {
	    {{"svix-id", 7}, {"webhook-id", 10}},
	    {{"svix-timestamp", 14}, {"webhook-timestamp", 17}},
	    {{"svix-signature", 14}, {"webhook-signature", 17}},
	};

	for (size_t i = 0; i < COUNT_OF(NAMES); i++)
		if (str_eq_nocase(name, NAMES[i].svix))
			return NAMES[i].standard;
	return name;
}

static int
by_preset(const struct hook *h, const struct hook_request *q,
    enum receive_result *ret, struct err *e)
{
	UNINIT struct received_header headers[REQUEST_HEADERS_MAX];
	struct str secrets[SUB_SECRETS_MAX];
	size_t n = good_secrets(h, q->now_us, secrets);
	struct received in = q->in;

	if (receive_header(&in, "webhook-id").n == 0 &&
	    in.n <= COUNT_OF(headers)) {
		for (size_t i = 0; i < in.n; i++)
			headers[i] = (struct received_header){
			    standard_name(in.headers[i].name),
			    in.headers[i].value};
		in.headers = headers;
	}
	if (n == 0) {
		*ret = RECEIVE_WRONG;
		return OK;
	}
	return receive_verify(h->preset, secrets, n, &in,
	    (struct receive_time){q->now_us, h->tolerance_s}, ret, e);
}

int
hook_verify(const struct hook *h, const struct hook_request *q,
    enum receive_result *ret, struct err *e)
{
	switch (h->scheme) {
	case HOOK_PRESET:
		return by_preset(h, q, ret, e);
	case HOOK_GITHUB:
		*ret = github(h, q);
		break;
	case HOOK_STRIPE:
		*ret = stripe(h, q);
		break;
	case HOOK_BASIC:
		*ret = basic(h, q);
		break;
	case HOOK_BEARER:
		*ret = bearer(h, q);
		break;
	case HOOK_NONE:
		*ret = RECEIVE_OK;
		break;
	}
	return OK;
}

bool
hook_peer_ok(const struct hook *h, struct str peer)
{
	unsigned char ip[16] = {[10] = 0xff, [11] = 0xff};
	char z[64];

	if (h->n_nets == 0)
		return true;
	if (peer.n >= sizeof(z))
		return false;
	memcpy(z, peer.p, peer.n);
	z[peer.n] = '\0';
	if (inet_pton(AF_INET, z, ip + 12) != 1 &&
	    inet_pton(AF_INET6, z, ip) != 1)
		return false;
	for (size_t i = 0; i < h->n_nets; i++) {
		const struct hook_net *net = &h->nets[i];
		unsigned whole = net->bits / 8, rest = net->bits % 8;
		unsigned mask = 0xff00U >> rest & 0xff;

		if (memcmp(ip, net->b, whole) == 0 &&
		    (rest == 0 || ((ip[whole] ^ net->b[whole]) & mask) == 0))
			return true;
	}
	return false;
}
