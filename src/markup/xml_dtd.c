#include "markup/xml_priv.h"

static struct str
no_blanks(struct str s)
{
	while (s.n > 0 && str_is_blank(s.p[0]))
		s = str_from(s, 1);
	return s;
}

static bool
add_value(struct xml_dtd *d, size_t from, struct str s)
{
	size_t have = d->n_text - from;

	if (have + s.n > DTD_VALUE_MAX || d->n_text + s.n > sizeof(d->text))
		return false;
	/* None of them is looked at again: no control characters. */
	for (size_t i = 0; i < s.n; i++)
		d->text[d->n_text++] =
		    (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i];
	return true;
}

static bool
entity_find(struct xml_dtd *d, struct str name, struct str *ret)
{
	for (size_t i = 0; i < d->n; i++)
		if (str_eq(d->list[i].name, name)) {
			*ret =
			    (struct str){d->text + d->list[i].at, d->list[i].n};
			return true;
		}
	return false;
}

/* The value with its references read; false when there is no making it out. */
static bool
expand(struct xml_dtd *d, size_t from, struct str s)
{
	while (s.n > 0) {
		const char *amp = memchr(s.p, '&', s.n), *end;
		size_t n = amp ? (size_t)(amp - s.p) : s.n, len = 0, took;
		char room[ENTITY_MAX];
		struct str as;

		if (n > 0 && !add_value(d, from, (struct str){s.p, n}))
			return false;
		s = str_from(s, n);
		if (s.n == 0)
			break;
		took = entity_read(s, ENTITY_IN_XML, room, &len);
		as = (struct str){room, len};
		if (took == 0) {
			end = memchr(s.p, ';', s.n);
			n = end ? (size_t)(end - s.p) : 0;
			if (n < 2 ||
			    !entity_find(d, (struct str){s.p + 1, n - 1}, &as))
				return false;
			took = n + 1;
		}
		if (as.n > 0 && !add_value(d, from, as))
			return false;
		s = str_from(s, took);
	}
	return true;
}

/* s begins behind <!ENTITY. */
static void
define(struct xml_dtd *d, struct str s)
{
	struct str name, value;
	size_t from = d->n_text, n = 0;

	s = no_blanks(s);
	while (
	    n < s.n && !str_is_blank(s.p[n]) && !strchr("%'\"<>&;[]", s.p[n]))
		n++;
	name = (struct str){s.p, n};
	s = no_blanks(str_from(s, n));
	if (n == 0 || s.n < 2 || (s.p[0] != '"' && s.p[0] != '\''))
		return;
	value = str_from(s, 1);
	value = str_cut(&value, s.p[0]);
	if (d->n == DTD_ENTITIES_MAX || entity_find(d, name, &(struct str){0}))
		return; /* of two, the first holds */
	if (!expand(d, from, value)) {
		d->n_text = from;
		return;
	}
	d->list[d->n].name = name;
	d->list[d->n].at = from;
	d->list[d->n++].n = d->n_text - from;
}

void
xml_dtd_read(struct xml_dtd *d, struct str s)
{
	s.n = s.n < DTD_BYTES_MAX ? s.n : DTD_BYTES_MAX;
	while (str_pass(&s, STR("<!ENTITY"))) {
		if (s.n > 0 && str_is_blank(s.p[0]))
			define(d, s);
	}
}

bool
xml_dtd_find(struct xml_dtd *d, struct str name, struct str *ret)
{
	struct str found;

	d->effort += d->n;
	if (d->n == 0 || d->effort > DTD_EFFORT_MAX ||
	    !entity_find(d, name, &found) || d->spent + found.n > DTD_SPEND_MAX)
		return false;
	d->spent += found.n;
	*ret = found;
	return true;
}
