#include "reader/websub.h"

#include "http/url.h"
#include "reader/limits.h"
#include "seal/digest.h"

/* ---- Link (RFC 8288) ---- */

/* Up to `sep`, which does not count within quotes; moves *s behind it. */
static struct str
cut_quoted(struct str *s, char sep)
{
	struct str part = *s;
	bool quoted = false;
	size_t i = 0;

	for (; i < s->n && (quoted || s->p[i] != sep); i++) {
		if (s->p[i] == '"')
			quoted = !quoted;
		else if (quoted && s->p[i] == '\\' && i + 1 < s->n)
			i++;
	}
	part.n = i;
	*s = str_from(*s, i + 1);
	return part;
}

/* Is the word among those of a rel? */
static bool
has_rel(struct str rel, struct str word)
{
	if (rel.n > 1 && rel.p[0] == '"' && rel.p[rel.n - 1] == '"')
		rel = (struct str){rel.p + 1, rel.n - 2};
	while (rel.n > 0)
		if (str_eq_nocase(str_cut(&rel, ' '), word))
			return true;
	return false;
}

/* One value: "<url>; rel=hub, <url>; rel=self". A URL may have a comma. */
static void
read_links(struct str v, struct str *hub, struct str *self)
{
	while ((v = str_trim(v)).n > 0) {
		struct str url, params;

		if (v.p[0] != '<' || !str_has(v, '>')) {
			(void)cut_quoted(&v, ',');
			continue;
		}
		url = str_cut(&v, '>');
		url = str_trim(str_from(url, 1));
		params = cut_quoted(&v, ',');
		while (params.n > 0) {
			struct str value = cut_quoted(&params, ';'), name;

			name = str_trim(str_cut(&value, '='));
			value = str_trim(value);
			if (!str_eq_nocase(name, STR("rel")) || url.n == 0)
				continue;
			if (!hub->p && has_rel(value, STR("hub")))
				*hub = url;
			if (!self->p && has_rel(value, STR("self")))
				*self = url;
		}
	}
}

void
websub_links(struct str head, struct str *ret_hub, struct str *ret_self)
{
	*ret_hub = *ret_self = (struct str){.p = NULL};
	while (head.n > 0) {
		struct str value = str_cut(&head, '\n');

		if (str_has(value, ':') &&
		    str_eq_nocase(str_cut(&value, ':'), STR("link")))
			read_links(value, ret_hub, ret_self);
	}
}

/* ---- the signature ---- */

bool
websub_signed(struct str header, struct str secret, struct str body)
{
	unsigned char want[HMAC_MAX], got[HMAC_MAX];
	struct str hex = str_trim(header);
	struct str hash = str_cut(&hex, '=');
	size_t n;

	if (secret.n == 0 || hex.n == 0 || hex.n > sizeof(got) * 2 ||
	    !str_unhex(hex, got))
		return false;
	n = hmac_named(hash, secret, body, want);
	return n > 0 && hex.n == 2 * n && digest_eq(want, got, n);
}

/* ---- what a call means ---- */

bool
websub_same(struct str a, struct str b)
{
	char x[URL_TEXT_MAX], y[URL_TEXT_MAX];
	struct url u, v;
	struct err e;

	if (str_eq(a, b))
		return true;
	if (url_parse(a, &u, &e) < 0 || url_parse(b, &v, &e) < 0)
		return false;
	return str_eq(
	    (struct str){x, url_show(&u, x)}, (struct str){y, url_show(&v, y)});
}

bool
websub_sends(struct str state)
{
	return str_eq(state, STR("asked")) || str_eq(state, STR("verified")) ||
	       str_eq(state, STR("failed"));
}

enum websub_answer
websub_called(struct str state, struct str topic, const struct websub_call *c)
{
	if (!str_eq(c->topic, topic))
		return WEBSUB_NO;
	if (str_eq(c->mode, STR("denied")))
		return websub_sends(state) ? WEBSUB_DENIED : WEBSUB_NO;
	if (c->challenge.n == 0)
		return WEBSUB_NO;
	if (str_eq(c->mode, STR("subscribe")))
		return websub_sends(state) ? WEBSUB_SUBSCRIBED : WEBSUB_NO;
	if (str_eq(c->mode, STR("unsubscribe")))
		return str_eq(state, STR("leaving")) ? WEBSUB_LEFT : WEBSUB_NO;
	return WEBSUB_NO;
}

int64_t
websub_lease_s(struct str lease)
{
	int64_t s = 0;

	if (lease.n == 0 || !str_int(lease, &s) || s <= 0)
		return HUB_LEASE_S;
	return s < HUB_LEASE_LEAST_S  ? HUB_LEASE_LEAST_S
	       : s > HUB_LEASE_MOST_S ? HUB_LEASE_MOST_S
				      : s;
}

int64_t
websub_pause_min(int64_t nth)
{
	int64_t min;

	if (nth < 1)
		nth = 1;
	min = nth > 6 ? FETCH_MOST_MIN : (int64_t)FETCH_LEAST_MIN << (nth - 1);
	return min > FETCH_MOST_MIN ? FETCH_MOST_MIN : min;
}
