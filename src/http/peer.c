#include "http/peer.h"

#include "http/limits.h"

/* The last ones of a list; .p NULL: one that is no address. */
struct hops {
	struct str v[PEER_HOPS_MAX];
	size_t n; /* all of them, also those that were overwritten */
};

static void
hops_add(struct hops *h, struct str node)
{
	h->v[h->n++ % PEER_HOPS_MAX] = node;
}

/* Digits, as a port is written; RFC 7239 lets it be hidden as well. */
static bool
is_port(struct str s)
{
	int64_t port;

	return (s.n > 1 && s.p[0] == '_') ||
	       (s.n <= 5 && str_int(s, &port) && port >= 0 && port <= 65535);
}

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80". */
static bool
read_node(struct str s, struct ip *ret)
{
	const char *colon = s.n ? memchr(s.p, ':', s.n) : NULL;
	const char *end;
	struct str rest;

	if (s.n > 0 && s.p[0] == '[') {
		end = memchr(s.p, ']', s.n);
		if (!end)
			return false;
		rest = str_from(s, (size_t)(end - s.p) + 1);
		s = (struct str){s.p + 1, (size_t)(end - s.p) - 1};
		if (rest.n > 0 &&
		    (rest.p[0] != ':' || !is_port(str_from(rest, 1))))
			return false;
		return ip_read(s, ret) && ret->n == 16;
	}
	if (colon && s.p[0] != ':' &&
	    !memchr(colon + 1, ':', s.n - (size_t)(colon + 1 - s.p))) {
		if (!is_port(str_from(s, (size_t)(colon + 1 - s.p))))
			return false;
		s.n = (size_t)(colon - s.p);
	}
	return ip_read(s, ret);
}

static struct ip
walk(const struct nets *trusted, struct ip hop, const struct hops *h)
{
	size_t n = h->n < PEER_HOPS_MAX ? h->n : PEER_HOPS_MAX;
	struct ip ip;

	for (size_t i = 1; i <= n; i++) {
		if (!read_node(h->v[(h->n - i) % PEER_HOPS_MAX], &ip))
			return hop;
		ip_unmap(&ip);
		hop = ip;
		if (!nets_has(trusted, &ip))
			return hop;
	}
	return hop;
}

/* ---- RFC 7239 ---- */

static void
skip_blanks(struct str *s)
{
	while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t'))
		*s = str_from(*s, 1);
}

static struct str
take_token(struct str *s)
{
	struct str t = {s->p, 0};

	while (t.n < s->n && str_is_tchar(s->p[t.n]))
		t.n++;
	*s = str_from(*s, t.n);
	return t;
}

/*
 * A value: a token or a quoted text. One with an escape in it is no address, so
 * that nothing has to be unescaped. False: neither.
 */
static bool
take_value(struct str *s, struct str *ret)
{
	bool escaped = false;
	size_t i = 1;

	if (s->n == 0 || s->p[0] != '"') {
		*ret = take_token(s);
		return ret->n > 0;
	}
	for (; i < s->n && s->p[i] != '"'; i++)
		if (s->p[i] == '\\') {
			escaped = true;
			i++;
		}
	if (i >= s->n)
		return false;
	*ret = escaped ? STR_EMPTY : (struct str){s->p + 1, i - 1};
	*s = str_from(*s, i + 1);
	return true;
}

/* One element, "for=…;proto=…": its node, empty when it names none. */
static bool
take_element(struct str *s, struct str *ret_node)
{
	bool has_for = false;

	*ret_node = STR_EMPTY;
	for (;;) {
		struct str name, value;

		skip_blanks(s);
		name = take_token(s);
		if (name.n > 0) {
			if (s->n == 0 || s->p[0] != '=')
				return false;
			*s = str_from(*s, 1);
			if (!take_value(s, &value))
				return false;
			if (str_eq_nocase(name, STR("for"))) {
				if (has_for)
					return false;
				has_for = true;
				*ret_node = value;
			}
			skip_blanks(s);
		}
		if (s->n == 0 || s->p[0] != ';')
			return s->n == 0 || s->p[0] == ',';
		*s = str_from(*s, 1);
	}
}

/*
 * Read from its beginning, since a quoted text may hold commas. One that can't
 * be read names nobody: a quote that the caller left open would swallow what
 * the proxy added.
 */
static void
forwarded(struct str text, struct hops *ret)
{
	while (text.n > 0) {
		struct str node;

		if (!take_element(&text, &node)) {
			hops_add(ret, STR_EMPTY);
			return;
		}
		hops_add(ret, node);
		text = text.n ? str_from(text, 1) : text;
	}
}

struct ip
peer_find(const struct nets *trusted, struct ip hop, struct str fwd,
    struct str x_fwd_for)
{
	struct hops f = {.n = 0}, x = {.n = 0};
	struct ip by_f, by_x;

	forwarded(fwd, &f);
	for (struct str rest = x_fwd_for; rest.n > 0;)
		hops_add(&x, str_trim(str_cut(&rest, ',')));
	by_f = walk(trusted, hop, &f);
	by_x = walk(trusted, hop, &x);
	if (!fwd.p)
		return by_x;
	if (!x_fwd_for.p)
		return by_f;
	return by_f.n == by_x.n && memcmp(by_f.b, by_x.b, by_f.n) == 0 ? by_f
								       : hop;
}
