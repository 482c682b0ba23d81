#include "feed/element.h"

#define URI_MAX  80
#define NAME_LEN 16 /* longer than any in the table */

static const struct element ELEMENTS[] = {
#define ELEMENT(family, name, where, kind, field, rank)                        \
	{FAMILY_##family, name, IN_##where, KIND_##kind, FIELD_##field, rank},
#include "feed/elements.tbl"
};

static const struct family_name {
	struct str name;
	enum element_family family;
} SPACES[] = {
#define SPACE(uri, family) {STR(uri), FAMILY_##family},
#include "feed/elements.tbl"
};

static const struct family_name PREFIXES[] = {
#define PREFIX(prefix, family) {STR(prefix), FAMILY_##family},
#include "feed/elements.tbl"
};

static enum element_family
family_by(struct str name, const struct family_name *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(name, in[i].name))
			return in[i].family;
	return FAMILY_OTHER;
}

enum element_family
element_family(struct str uri, struct str prefix)
{
	struct str s = str_trim(uri);
	enum element_family found = FAMILY_OTHER;

	for (size_t i = 0; i + 2 < s.n && i < 8; i++)
		if (s.p[i] == '/' && s.p[i + 1] == '/') {
			s = str_from(s, i + 2);
			break;
		}
	while (s.n > 0 && strchr("/#?", s.p[s.n - 1]))
		s.n--;
	if (s.n > 0 && s.n <= URI_MAX)
		found = family_by(s, SPACES, COUNT_OF(SPACES));
	if (found == FAMILY_OTHER && prefix.n > 0)
		found = family_by(prefix, PREFIXES, COUNT_OF(PREFIXES));
	/* Some give RSS a namespace of their own making. */
	if (found == FAMILY_OTHER && prefix.n == 0)
		found = FAMILY_RSS;
	return found;
}

const struct element *
element_find(
    enum element_family family, struct str name, enum element_where where)
{
	char low[NAME_LEN];
	size_t n = 0, lo = 0, hi = COUNT_OF(ELEMENTS);

	if (name.n >= NAME_LEN)
		return NULL;
	for (; n < name.n; n++)
		low[n] = name.p[n] >= 'A' && name.p[n] <= 'Z'
			     ? (char)(name.p[n] | 0x20)
			     : name.p[n];
	low[n] = '\0';
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (strcmp(ELEMENTS[mid].name, low) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < COUNT_OF(ELEMENTS) && strcmp(ELEMENTS[lo].name, low) == 0;
	     lo++)
		if (ELEMENTS[lo].family == family &&
		    (ELEMENTS[lo].where & where) != 0)
			return &ELEMENTS[lo];
	return NULL;
}
