#include "http/url.h"

#include <arpa/inet.h>

#include "base/log/log.h"
#include "http/nets.h"

#define LABEL_MAX 63 /* of DNS */

/* ---- the host ---- */

/* %xx to bytes. What has no room is too long for a host anyway. */
static int
decode(struct str s, char *to, size_t room, size_t *ret_n, struct err *e)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '%') {
			if (s.n - i < 3 ||
			    !str_unhex((struct str){s.p + i + 1, 2}, &c))
				return err_set(e, ERR_INVALID,
				    "the host of the URL has a %% without two hex digits behind it");
			i += 2;
		}
		if (n == room)
			return err_set(e, ERR_INVALID,
			    "the host of the URL is over %d characters",
			    URL_HOST_MAX);
		to[n++] = c;
	}
	*ret_n = n;
	return OK;
}

/*
 * The ASCII character that a code point of three bytes stands for in a host:
 * the dots of ideographic scripts and the full-width forms. 0: none.
 */
static char
narrow(const unsigned char *p)
{
	unsigned code = (unsigned)(p[0] & 0x0f) << 12 |
			(unsigned)(p[1] & 0x3f) << 6 | (p[2] & 0x3fU);

	if (code == 0x3002 || code == 0xff61)
		return '.';
	if (code >= 0xff01 && code <= 0xff5e)
		return (char)(code - 0xff01 + 0x21);
	return 0;
}

/* In place: full-width to ASCII, lower case, and nothing else is left. */
static int
fold(char *p, size_t *n, struct err *e)
{
	size_t to = 0;

	for (size_t i = 0; i < *n; i++) {
		char c = p[i];

		if ((unsigned char)c >= 0x80) {
			c = 0;
			if ((p[i] & 0xf0) == 0xe0 && *n - i > 2 &&
			    (p[i + 1] & 0xc0) == 0x80 &&
			    (p[i + 2] & 0xc0) == 0x80)
				c = narrow((const unsigned char *)p + i);
			if (!c)
				return err_set(e, ERR_INVALID,
				    "the host of the URL is not ASCII: write an international name in its xn-- form");
			i += 2;
		}
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '_' && c != '.')
			return err_set(e, ERR_INVALID,
			    "the host of the URL has a character that no host has");
		p[to++] = c;
	}
	*n = to;
	return OK;
}

static int
check_labels(struct str host, struct err *e)
{
	if (host.n == 0)
		return err_set(e, ERR_INVALID, "the URL has no host");
	if (host.n > URL_HOST_MAX)
		return err_set(e, ERR_INVALID,
		    "the host of the URL is over %d characters", URL_HOST_MAX);
	for (bool more = true; more;) {
		struct str label;

		more = str_has(host, '.');
		label = str_cut(&host, '.');
		if (label.n == 0)
			return err_set(e, ERR_INVALID,
			    "the host of the URL has an empty part between dots");
		if (label.n > LABEL_MAX)
			return err_set(e, ERR_INVALID,
			    "the host of the URL has a part of over %d characters",
			    LABEL_MAX);
	}
	return OK;
}

/* One part of an IPv4 address: decimal, 0octal or 0xhex. */
static bool
read_part(struct str s, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (s.n > 1 && s.p[0] == '0') {
		bool hex = s.p[1] == 'x';

		base = hex ? 16 : 8;
		s = str_from(s, hex ? 2 : 1);
	}
	for (size_t i = 0; i < s.n; i++) {
		int d = str_hex_digit(s.p[i]);

		if (d < 0 || (unsigned)d >= base || v > UINT32_MAX)
			return false;
		v = v * base + (unsigned)d;
	}
	*ret = v;
	return s.n > 0 || base == 16; /* "0x" is 0, as inet_aton() has it */
}

static bool
ends_in_number(struct str host)
{
	const char *dot = memrchr(host.p, '.', host.n);
	struct str label = str_from(host, dot ? (size_t)(dot + 1 - host.p) : 0);
	bool hex = str_starts(label, STR("0x"));

	for (size_t i = hex ? 2 : 0; i < label.n; i++)
		if (hex ? str_hex_digit(label.p[i]) < 0
			: !str_is_digit(label.p[i]))
			return false;
	return true;
}

static bool
read_v4(struct str host, struct in_addr *ret)
{
	uint64_t parts[4], v = 0;
	size_t n = 0;

	while (host.n > 0) {
		if (n == 4 || !read_part(str_cut(&host, '.'), &parts[n]))
			return false;
		n++;
	}
	for (size_t i = 0; i + 1 < n; i++) {
		if (parts[i] > 255)
			return false;
		v |= parts[i] << (24 - 8 * i);
	}
	/* The last part fills what is left. */
	if (n == 0 || parts[n - 1] >> (8 * (5 - n)) != 0)
		return false;
	ret->s_addr = htonl((uint32_t)(v | parts[n - 1]));
	return true;
}

static void
set_literal(struct url *u)
{
	u->literal = true;
	addr_format(&u->addr.sa, u->host);
	u->n_host = (uint16_t)strlen(u->host);
}

static int
read_v6(struct str s, struct url *u, struct err *e)
{
	struct ip ip;

	if (!ip_read(s, &ip) || ip.n != 16)
		return err_set(e, ERR_INVALID,
		    "the host of the URL is in brackets and no IPv6 address");
	memcpy(&u->addr.v6.sin6_addr, ip.b, ip.n);
	u->addr.sa.sa_family = AF_INET6;
	set_literal(u);
	return OK;
}

static int
read_name(struct str text, struct url *u, struct err *e)
{
	/* A full-width character is three bytes of one. */
	char room[3 * (URL_HOST_MAX + 1)];
	struct str host;
	size_t n = 0;

	TRY(decode(text, room, sizeof(room), &n, e));
	TRY(fold(room, &n, e));
	if (n > 1 && room[n - 1] == '.')
		n--;
	host = (struct str){room, n};
	TRY(check_labels(host, e));
	if (ends_in_number(host)) {
		if (!read_v4(host, &u->addr.v4.sin_addr))
			return err_set(e, ERR_INVALID,
			    "the host of the URL ends in a number and is no IPv4 address");
		u->addr.sa.sa_family = AF_INET;
		set_literal(u);
		return OK;
	}
	memcpy(u->host, host.p, host.n);
	u->host[host.n] = '\0';
	u->n_host = (uint16_t)host.n;
	return OK;
}

static int
read_host(struct str s, struct url *u, struct err *e)
{
	if (s.n > 0 && s.p[0] == '[') {
		if (s.p[s.n - 1] != ']')
			return err_set(e, ERR_INVALID,
			    "the host of the URL lacks its closing bracket");
		return read_v6((struct str){s.p + 1, s.n - 2}, u, e);
	}
	return read_name(s, u, e);
}

int
url_host(struct str text, struct url *ret, struct err *e)
{
	struct url u = {.path = STR_EMPTY, .query = STR_EMPTY};

	TRY(str_has(text, ':') && text.p[0] != '[' ? read_v6(text, &u, e)
						   : read_host(text, &u, e));
	*ret = u;
	return OK;
}

/* ---- the whole ---- */

/* What stands nowhere in a URL, since somebody would read it differently. */
static int
check_bytes(struct str s, struct err *e)
{
	size_t bad = str_utf8_bad(s);

	if (s.n > URL_MAX)
		return err_set(
		    e, ERR_LIMIT, "the URL is over %d characters", URL_MAX);
	if (bad < s.n)
		return err_set(e, ERR_INVALID,
		    "the URL is no valid UTF-8 at byte %zu", bad + 1);
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c == 0x7f)
			return err_set(e, ERR_INVALID,
			    "the URL has a blank or control character at byte %zu",
			    i + 1);
		if (c == '\\')
			return err_set(e, ERR_INVALID,
			    "the URL has a backslash at byte %zu", i + 1);
	}
	return OK;
}

static int
read_scheme(struct str *s, struct url *u, struct err *e)
{
	u->https = str_starts_nocase(*s, STR("https://"));
	if (!u->https && !str_starts_nocase(*s, STR("http://")))
		return err_set(e, ERR_INVALID,
		    "the URL must begin with https:// or http://");
	*s = str_from(*s, u->https ? 8 : 7);
	return OK;
}

/* The authority's ":port", taken off. */
static int
read_port(struct str *authority, struct url *u, struct err *e)
{
	struct str s = *authority;
	size_t at = s.n;
	int64_t port = u->https ? 443 : 80;

	while (at > 0 && str_is_digit(s.p[at - 1]))
		at--;
	if (at > 0 && s.p[at - 1] == ':') {
		struct str digits = str_from(s, at);

		if (digits.n > 0 && (digits.n > 5 || !str_int(digits, &port) ||
					port < 1 || port > 65535))
			return err_set(e, ERR_INVALID,
			    "the port of the URL must be from 1 to 65535");
		authority->n = at - 1;
	}
	u->port = (uint16_t)port;
	return OK;
}

static struct str
until(struct str s, const char *ends)
{
	for (size_t i = 0; i < s.n; i++)
		if (strchr(ends, s.p[i]))
			return (struct str){s.p, i};
	return s;
}

int
url_parse(struct str text, struct url *ret, struct err *e)
{
	struct url u = {.path = STR("/"), .query = STR_EMPTY};
	struct str rest = text, authority;

	TRY(check_bytes(text, e));
	TRY(read_scheme(&rest, &u, e));
	authority = until(rest, "/?#");
	rest = str_from(rest, authority.n);
	if (str_has(authority, '@'))
		return err_set(e, ERR_INVALID,
		    "the URL must not have a user name or password before the host");
	TRY(read_port(&authority, &u, e));
	TRY(read_host(authority, &u, e));
	if (rest.n > 0 && rest.p[0] == '/')
		u.path = until(rest, "?#");
	rest = until(rest, "#");
	u.query = str_from(rest, until(rest, "?").n);
	if (u.literal && u.addr.sa.sa_family == AF_INET)
		u.addr.v4.sin_port = htons(u.port);
	else if (u.literal)
		u.addr.v6.sin6_port = htons(u.port);
	*ret = u;
	return OK;
}

/* ---- writing ---- */

/* Behind byte `at`, with a NUL; returns where that stands. */
static size_t
url_put(char *to, size_t at, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x80)
			to[at++] = s.p[i];
		else
			at += (size_t)snprintf(to + at, 4, "%%%02X", c);
	}
	to[at] = '\0';
	return at;
}

static size_t
put_origin(const struct url *u, bool port, char ret[URL_TEXT_MAX])
{
	bool v6 = u->literal && u->addr.sa.sa_family == AF_INET6;
	int n = snprintf(ret, URL_TEXT_MAX, "%s://%s%s%s",
	    u->https ? "https" : "http", v6 ? "[" : "", u->host, v6 ? "]" : "");

	if (port)
		n +=
		    snprintf(ret + n, URL_TEXT_MAX - (size_t)n, ":%u", u->port);
	return (size_t)n;
}

size_t
url_origin(const struct url *u, char ret[URL_TEXT_MAX])
{
	return put_origin(u, u->port != (u->https ? 443 : 80), ret);
}

size_t
url_show(const struct url *u, char ret[URL_TEXT_MAX])
{
	size_t at = url_put(ret, url_origin(u, ret), u->path);

	return url_put(ret, at, u->query);
}

size_t
url_endpoint(const struct url *u, char ret[URL_TEXT_MAX])
{
	return url_put(ret, put_origin(u, true, ret), u->path);
}

size_t
url_format(const struct url *u, char ret[URL_TEXT_MAX])
{
	return url_put(ret, url_endpoint(u, ret), u->query);
}

void
addr_format(const struct sockaddr *sa, char ret[ADDR_TEXT_MAX])
{
	struct ip ip;

	ret[0] = '\0';
	if (ip_of(sa, &ip))
		ip_format(&ip, ret);
}

struct str
url_masked(struct str url, char *to, size_t cap)
{
	struct str rest = url;
	size_t host = str_pass(&rest, STR("://")) ? url.n - rest.n : 0;
	size_t user = host + until(rest, "/?#").n, tail;
	int n;

	tail = user + until(str_from(url, user), "?#").n;
	while (user > host && url.p[user - 1] != '@')
		user--;
	if (user == host && tail == url.n)
		return url;
	n = snprintf(to, cap, "%.*s%s%.*s%s", (int)host, url.p,
	    user > host ? URL_MASK "@" : "", (int)(tail - user), url.p + user,
	    tail < url.n ? "?" URL_MASK : "");
	return (struct str){to, (size_t)n < cap ? (size_t)n : cap - 1};
}

void
url_log(struct log_line *l, const char *key, struct str url)
{
	char text[URL_MAX];

	log_str(l, key, url_masked(url, text, sizeof(text)));
}
