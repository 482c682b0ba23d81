#include "reader/fetch/typed.h"

#include "http/limits.h"

/* ---- Punycode (RFC 3492) ---- */

enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700 };
#define LABEL_MAX 63

static uint32_t
adapt(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / points;
	for (; delta > ((BASE - TMIN) * TMAX) / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static char
digit(uint32_t d)
{
	return (char)(d < 26 ? 'a' + d : '0' + d - 26);
}

static void
put_delta(struct buf *b, uint32_t q, uint32_t bias)
{
	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = k <= bias          ? TMIN
			     : k >= bias + TMAX ? TMAX
						: k - bias;

		if (q < t)
			break;
		buf_addc(b, digit(t + (q - t) % (BASE - t)));
		q = (q - t) / (BASE - t);
	}
	buf_addc(b, digit(q));
}

static void
punycode(struct buf *b, const uint32_t *cp, uint32_t n)
{
	uint32_t code = 128, delta = 0, bias = 72, done = 0, ascii;

	buf_addz(b, "xn--");
	for (uint32_t i = 0; i < n; i++)
		if (cp[i] < 128) {
			buf_addc(b, (char)cp[i]);
			done++;
		}
	ascii = done;
	if (ascii > 0)
		buf_addc(b, '-');
	while (done < n) {
		uint32_t least = UINT32_MAX;

		for (uint32_t i = 0; i < n; i++)
			if (cp[i] >= code && cp[i] < least)
				least = cp[i];
		/* A label has at most LABEL_MAX points: no overflow. */
		delta += (least - code) * (done + 1);
		code = least;
		for (uint32_t i = 0; i < n; i++) {
			if (cp[i] < code)
				delta++;
			if (cp[i] != code)
				continue;
			put_delta(b, delta, bias);
			bias = adapt(delta, done + 1, done == ascii);
			delta = 0;
			done++;
		}
		delta++;
		code++;
	}
}

static uint32_t
code_point(struct str *s)
{
	size_t n = str_utf8_len(*s);
	uint32_t c = (unsigned char)s->p[0];

	if (n > 1)
		c &= 0x7fU >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s->p[i] & 0x3f);
	*s = str_from(*s, n ? n : 1);
	return c;
}

/* One label, and the dot behind it. */
static void
put_label(struct buf *b, const uint32_t *cp, uint32_t n)
{
	bool ascii = true;

	for (uint32_t i = 0; i < n; i++)
		ascii = ascii && cp[i] < 128;
	if (!ascii) {
		punycode(b, cp, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		buf_addc(b, (char)cp[i]);
}

static void
put_host(struct buf *b, struct str host)
{
	uint32_t cp[LABEL_MAX] = {0}, n = 0;

	while (host.n > 0) {
		uint32_t c = code_point(&host);

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c == '.' || c == 0x3002 || c == 0xff0e) {
			put_label(b, cp, n);
			buf_addc(b, '.');
			n = 0;
		} else if (n < LABEL_MAX) {
			cp[n++] = c;
		}
	}
	put_label(b, cp, n);
}

/* ---- the address ---- */

static struct str
peel(struct str s)
{
	s = str_trim(s);
	if (s.n > 1 && ((s.p[0] == '<' && s.p[s.n - 1] == '>') ||
			   (s.p[0] == '"' && s.p[s.n - 1] == '"')))
		s = str_trim((struct str){s.p + 1, s.n - 2});
	return s;
}

static bool
take_prefix(struct str *s, struct str prefix)
{
	if (s->n < prefix.n ||
	    !str_eq_nocase((struct str){s->p, prefix.n}, prefix))
		return false;
	*s = str_from(*s, prefix.n);
	return true;
}

/* "host:80/x" has none, "ftp://x" and "javascript:x" have. */
static bool
other_scheme(struct str s)
{
	size_t i = 0;

	while (i < s.n && ((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z'))
		i++;
	if (i == 0 || i + 1 >= s.n || s.p[i] != ':')
		return false;
	return !(s.p[i + 1] >= '0' && s.p[i + 1] <= '9');
}

static struct str
put_url(struct arena *a, const char *scheme, struct str rest)
{
	struct buf b = BUF(4 * URL_MAX);
	struct str host = rest, out;

	for (size_t i = 0; i < rest.n; i++)
		if (strchr("/?#", rest.p[i])) {
			host.n = i;
			break;
		}
	buf_addz(&b, scheme);
	put_host(&b, host);
	rest = str_from(rest, host.n);
	for (size_t i = 0; i < rest.n; i++)
		if (rest.p[i] == ' ')
			buf_addz(&b, "%20");
		else if (rest.p[i] != '\t' && rest.p[i] != '\r' &&
			 rest.p[i] != '\n')
			buf_addc(&b, rest.p[i]);
	out = b.failed ? (struct str){.p = NULL} : arena_dup(a, buf_str(&b));
	buf_done(&b);
	return out;
}

int
typed_urls(struct arena *a, struct str typed, struct str ret[TYPED_MAX],
    size_t *ret_n, struct err *e)
{
	struct str s = peel(typed), bare;
	size_t n = 0;

	if (s.n > URL_MAX)
		return err_at(e, ERR_INVALID, "/url",
		    "url is longer than %d bytes", URL_MAX);
	if (str_utf8_bad(s) < s.n)
		return err_at(e, ERR_INVALID, "/url", "url is no UTF-8");
	if (!take_prefix(&s, STR("feed://")))
		(void)take_prefix(&s, STR("feed:"));
	bare = s = str_trim(s);
	if (take_prefix(&bare, STR("https://")))
		ret[n++] = put_url(a, "https://", bare);
	else if (take_prefix(&bare, STR("http://")))
		ret[n++] = put_url(a, "http://", bare);
	else if (other_scheme(bare))
		ret[n++] = arena_dup(a, bare);
	if (n == 0) {
		(void)take_prefix(&bare, STR("//"));
		if (bare.n > 0) {
			ret[n++] = put_url(a, "https://", bare);
			ret[n++] = put_url(a, "http://", bare);
		}
	}
	if (bare.n == 0)
		return err_at(e, ERR_INVALID, "/url",
		    "url is empty: it should be that of a feed or of a page");
	for (size_t i = 0; i < n; i++)
		if (!ret[i].p)
			return err_at(
			    e, ERR_INVALID, "/url", "url is too long");
	*ret_n = n;
	return OK;
}
