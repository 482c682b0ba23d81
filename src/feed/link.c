#include "feed/link.h"

#include "feed/limits.h"
#include "markup/href.h"

bool
link_absolute(struct str link)
{
	return href_scheme(link).n > 0;
}

bool
link_web(struct str s)
{
	struct str scheme = href_scheme(s);

	return (str_eq_nocase(scheme, STR("http")) ||
		   str_eq_nocase(scheme, STR("https"))) &&
	       str_starts(str_from(s, scheme.n), STR("://")) &&
	       s.n > scheme.n + 3;
}

static bool
runs(struct str s)
{
	static const struct str BAD[] = {
	    STR("javascript"), STR("data"), STR("vbscript"), STR("file")};

	for (size_t i = 0; i < COUNT_OF(BAD); i++)
		if (str_eq_nocase(href_scheme(s), BAD[i]))
			return true;
	return false;
}

static struct str
tidy(struct arena *a, struct str s)
{
	size_t n = 0;
	char *p;

	s = str_trim(s);
	if (s.n == 0 || s.n > FEED_LINK_MAX)
		return STR_EMPTY;
	p = arena_try(a, 3 * s.n);
	if (!p)
		return STR_EMPTY;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == ' ') {
			p[n++] = '%';
			p[n++] = '2';
			p[n++] = '0';
		} else if (c > ' ' && c != 0x7f) {
			p[n++] = (char)c;
		}
	}
	return (struct str){p, n};
}

struct str
link_resolve(struct arena *a, struct str base, struct str link)
{
	struct str s = tidy(a, link);

	if (s.n == 0 || runs(s))
		return STR_EMPTY;
	base = str_trim(base);
	if (link_absolute(s) || !link_absolute(base) || base.n > FEED_LINK_MAX)
		return s;
	s = href_join(a, base, s);
	return runs(s) ? STR_EMPTY : s;
}
