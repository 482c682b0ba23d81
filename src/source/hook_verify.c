/* hook.h: is a request from the provider? */
#include <arpa/inet.h>

#include "seal/base64.h"
#include "seal/digest.h"
#include "seal/sign.h"
#include "source/hook.h"
#include "source/limits.h"

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
	struct str secrets[SUB_SECRETS_MAX];
	struct str token = receive_header(
	    &q->in, h->header.n > 0 ? h->header.p : "Authorization");
	size_t n = good_secrets(h, q->now_us, secrets);
	bool fits = false;

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
	    {STR("svix-id"), STR("webhook-id")},
	    {STR("svix-timestamp"), STR("webhook-timestamp")},
	    {STR("svix-signature"), STR("webhook-signature")},
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
	struct arena *a CLEANUP(arena_freep) = arena_new(KIB * KIB);
	UNINIT struct str_pair headers[REQUEST_HEADERS_MAX];
	struct str secrets[SUB_SECRETS_MAX];
	size_t n = good_secrets(h, q->now_us, secrets);
	struct received in = q->in;

	if (h->scheme->stripe) {
		in = receive_stripe(a, &q->in);
	} else if (receive_header(&in, "webhook-id").n == 0 &&
		   in.n <= COUNT_OF(headers)) {
		for (size_t i = 0; i < in.n; i++)
			headers[i] =
			    (struct str_pair){standard_name(in.headers[i].name),
				in.headers[i].value};
		in.headers = headers;
	}
	if (n == 0) {
		*ret = RECEIVE_WRONG;
		return OK;
	}
	TRY(receive_verify(h->preset, secrets, n, &in,
	    (struct receive_time){q->now_us, h->tolerance_s}, ret, e));
	/* Stripe's header, with none of the signatures that count. */
	if (h->scheme->stripe && *ret == RECEIVE_UNSIGNED &&
	    receive_header(&q->in, "Stripe-Signature").n > 0)
		*ret = RECEIVE_WRONG;
	return OK;
}

static enum receive_result
anybody(const struct hook *, const struct hook_request *)
{
	return RECEIVE_OK;
}

const struct hook_scheme *
hook_scheme_find(struct str name)
{
	static const struct hook_scheme SCHEMES[] = {
	    {
		.name = "github",
		.id = STR("{X-GitHub-Delivery}"),
		.type = STR("github.{X-GitHub-Event}"),
		.key = STR("{/repository/full_name}"),
		.form = "payload",
		.ping = "X-GitHub-Event",
	    },
	    {
		.name = "stripe",
		.stripe = true,
		.secret_from = "Stripe makes it, whsec_…",
		.id = STR("{/id}"),
		.type = STR("stripe.{/type}"),
		.key = STR("{/data/object/id}"),
	    },
	    {.name = "basic", .verify = basic, .username = true},
	    {.name = "bearer", .verify = bearer, .header = true},
	    {.name = "none", .verify = anybody, .open = true},
	    {.name = ""},
	};
	const struct hook_scheme *s = SCHEMES;

	while (*s->name && !str_eq(name, str_of(s->name)))
		s++;
	return s;
}

int
hook_verify(const struct hook *h, const struct hook_request *q,
    enum receive_result *ret, struct err *e)
{
	if (!h->scheme->verify)
		return by_preset(h, q, ret, e);
	*ret = h->scheme->verify(h, q);
	return OK;
}

bool
hook_net_read(struct str text, struct hook_net *ret)
{
	struct str rest = text, addr = str_cut(&rest, '/');
	int64_t bits = -1, most = 128;
	char z[INET6_ADDRSTRLEN];

	if (addr.n >= sizeof(z))
		return false;
	(void)snprintf(z, sizeof(z), "%.*s", STR_ARG(addr));
	*ret = (struct hook_net){.b = {[10] = 0xff, [11] = 0xff}};
	if (inet_pton(AF_INET, z, ret->b + 12) == 1)
		most = 32;
	else if (inet_pton(AF_INET6, z, ret->b) != 1)
		return false;
	if (addr.n == text.n)
		bits = most;
	else if (!str_int(rest, &bits) || bits < 0 || bits > most)
		return false;
	ret->bits = (unsigned)(bits + (128 - most));
	return true;
}

bool
hook_peer_ok(const struct hook *h, struct str peer)
{
	struct hook_net ip;

	if (h->n_nets == 0)
		return true;
	if (!hook_net_read(peer, &ip) || ip.bits != 128)
		return false;
	for (size_t i = 0; i < h->n_nets; i++) {
		const struct hook_net *net = &h->nets[i];
		unsigned whole = net->bits / 8, rest = net->bits % 8;
		unsigned mask = 0xff00U >> rest & 0xff;

		if (memcmp(ip.b, net->b, whole) == 0 &&
		    (rest == 0 || ((ip.b[whole] ^ net->b[whole]) & mask) == 0))
			return true;
	}
	return false;
}
