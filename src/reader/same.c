#include "reader/same.h"

#include "feed/limits.h"

/* Parameters that say who sent the reader, not what is read. */
static bool
decoration(struct str name)
{
	static const char *const NAMES[] = {"fbclid", "gclid", "dclid",
	    "msclkid", "mc_cid", "mc_eid", "igshid", "yclid", "_hsenc", "_hsmi",
	    "ref", "ref_src", "cmpid"};

	if (str_starts(name, STR("utm_")))
		return true;
	for (size_t i = 0; i < COUNT_OF(NAMES); i++)
		if (str_eq(name, str_of(NAMES[i])))
			return true;
	return false;
}

static void
add_lower(struct buf *b, struct str s)
{
	for (size_t i = 0; s.p && i < s.n; i++)
		buf_addc(b, s.p[i] >= 'A' && s.p[i] <= 'Z'
				? (char)(s.p[i] + ('a' - 'A'))
				: s.p[i]);
}

static void
add_query(struct buf *b, struct str query)
{
	char mark = '?';

	while (query.n > 0) {
		struct str one = str_cut(&query, '&'), rest = one;

		if (one.n == 0 || decoration(str_cut(&rest, '=')))
			continue;
		buf_addc(b, mark);
		buf_add(b, one);
		mark = '&';
	}
}

bool
same_link(struct str link, struct buf *b)
{
	struct str scheme, host, path, query, rest = link;
	size_t at = 0;

	scheme = str_cut(&rest, ':');
	if ((!str_eq_nocase(scheme, STR("http")) &&
		!str_eq_nocase(scheme, STR("https"))) ||
	    !str_starts(rest, STR("//")))
		return false;
	rest = str_from(rest, 2);
	while (at < rest.n && rest.p[at] != '/' && rest.p[at] != '?' &&
	       rest.p[at] != '#')
		at++;
	host = (struct str){rest.p, at};
	rest = str_from(rest, at);
	if (host.n > 4 && str_eq_nocase((struct str){host.p, 4}, STR("www.")))
		host = str_from(host, 4);
	if (str_ends(host, STR(":443")))
		host.n -= 4;
	else if (str_ends(host, STR(":80")))
		host.n -= 3;
	if (host.n == 0)
		return false;
	add_lower(b, host);
	link = str_cut(&rest, '#'); /* rest: the fragment */
	path = str_cut(&link, '?');
	query = link;
	while (path.n > 0 && path.p[path.n - 1] == '/')
		path.n--;
	buf_add(b, path);
	add_query(b, query);
	if (rest.n > 0) {
		buf_addc(b, '#');
		buf_add(b, rest);
	}
	return true;
}

bool
same_hash(struct str link, unsigned char ret[DIGEST_SHORT_LEN])
{
	struct buf b = BUF(2 * FEED_LINK_MAX);
	bool ok = same_link(link, &b) && !b.failed;

	if (ok)
		digest_short(buf_str(&b), ret);
	buf_done(&b);
	return ok;
}
