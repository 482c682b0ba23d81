/* Names, attributes and namespaces. */
#include "markup/xml_priv.h"

#define QUOTE_LOOK 256 /* how far behind a < the closing quote may be */

struct str
xml_name(struct str *s)
{
	struct str name = {s->p, 0};

	while (name.n < s->n && (sign(s->p[name.n]) & NAME))
		name.n++;
	*s = str_from(*s, name.n);
	while (name.n > 0 && name.p[name.n - 1] == ':')
		name.n--;
	return name;
}

struct str
xml_prefix(struct str name, struct str *ret_local)
{
	const char *colon = memchr(name.p, ':', name.n);
	size_t n = colon ? (size_t)(colon - name.p) : 0;

	*ret_local = str_from(name, colon ? n + 1 : 0);
	return (struct str){name.p, n};
}

/* s is behind the quote: how long the value is, or SIZE_MAX: never closed. */
static size_t
quoted(struct str s, char quote, bool *ret_faulty)
{
	const char *end = memchr(s.p, quote, s.n);
	size_t n = end ? (size_t)(end - s.p) : s.n, from;
	const char *lt = n > 0 ? memchr(s.p, '<', n) : NULL;

	if (!lt)
		return end ? n : SIZE_MAX;
	*ret_faulty = true;
	from = (size_t)(lt - s.p);
	/* A < is in it: only a quote that ends an attribute is its end. */
	if (!end || n - from > QUOTE_LOOK || n + 1 >= s.n ||
	    s.p[n - 1] == '=' ||
	    !((sign(s.p[n + 1]) & BLANK) || s.p[n + 1] == '/' ||
		s.p[n + 1] == '>'))
		return SIZE_MAX;
	return n;
}

/*
 * One attribute, blanks before it gone. False when it runs into a <: then the
 * tag was none. A quote that is never closed ends at the tag's >.
 */
static bool
attribute(struct xml_reader *r, struct str *s, struct str *ret_name,
    struct str *ret_value)
{
	size_t n = 0;

	*ret_name = xml_name(s);
	*ret_value = *ret_name;
	while (s->n > 0 && (sign(s->p[0]) & BLANK))
		*s = str_from(*s, 1);
	if (s->n == 0 || s->p[0] != '=') {
		r->faulty = true;
		return true;
	}
	do
		*s = str_from(*s, 1);
	while (s->n > 0 && (sign(s->p[0]) & BLANK));
	if (s->n > 0 && (s->p[0] == '"' || s->p[0] == '\'')) {
		char quote = s->p[0];

		*s = str_from(*s, 1);
		n = quoted(*s, quote, &r->faulty);
		if (n < SIZE_MAX) {
			*ret_value = (struct str){s->p, n};
			*s = str_from(*s, n + 1);
			return true;
		}
		for (n = 0; n < s->n && s->p[n] != '>' && s->p[n] != '<';)
			n++;
		if (n == s->n || s->p[n] == '<')
			return false;
	} else {
		while (n < s->n && !(sign(s->p[n]) & BLANK) && s->p[n] != '>' &&
		       s->p[n] != '<')
			n++;
	}
	r->faulty = true;
	if (n < s->n && s->p[n] == '>' && n > 0 && s->p[n - 1] == '/')
		n--;
	*ret_value = (struct str){s->p, n};
	*s = str_from(*s, n);
	return true;
}

/* Blanks of all kinds are one blank, and references are read. */
static void
keep_value(struct xml_reader *r, size_t i, struct str s)
{
	r->attrs[i].value = s;
	r->at[i] = BORROWED;
	if (xml_plain(s) == s.n && !memchr(s.p, '\n', s.n) &&
	    !memchr(s.p, '\t', s.n))
		return;
	r->at[i] = r->values.n;
	while (s.n > 0) {
		char room[ENTITY_MAX];
		size_t from = r->values.n, n = xml_plain(s);
		struct str as;

		buf_add(&r->values, (struct str){s.p, n});
		for (; from < r->values.n; from++)
			if (sign(r->values.p[from]) & BLANK)
				r->values.p[from] = ' ';
		s = str_from(s, n);
		if (s.n == 0)
			break;
		n = xml_special(r, s, true, room, &as);
		if (s.p[0] == '\r')
			as = STR(" ");
		buf_add(&r->values, as);
		s = str_from(s, n);
	}
	r->attrs[i].value.n = r->values.failed ? 0 : r->values.n - r->at[i];
}

static void
place_value(struct xml_reader *r, size_t i)
{
	if (r->at[i] != BORROWED)
		r->attrs[i].value = r->attrs[i].value.n > 0
					? (struct str){r->values.p + r->at[i],
					      r->attrs[i].value.n}
					: STR_EMPTY;
}

static int
space_number(const struct xml_reader *r, struct str uri, struct str prefix)
{
	return r->calls->space ? r->calls->space(uri, prefix) : 0;
}

static void
bind_space(struct xml_reader *r, struct str prefix, size_t i)
{
	struct str uri = r->attrs[i].value;

	if (r->n_spaces == SPACES_MAX)
		return;
	r->spaces[r->n_spaces++] =
	    (struct xml_space){prefix, r->at[i] == BORROWED ? uri : STR_EMPTY,
		space_number(r, uri, prefix)};
}

static bool
is_seen(const struct xml_reader *r, struct str prefix, struct str name)
{
	for (size_t i = 0; i < r->n_attrs; i++)
		if (str_eq_nocase(r->attrs[i].name, name) &&
		    str_eq_nocase(r->attrs[i].prefix, prefix))
			return true;
	return false;
}

bool
xml_attributes(struct xml_reader *r, struct str *s, bool *ret_closed)
{
	r->n_attrs = 0;
	*ret_closed = false;
	if (s->n > 0 && s->p[0] == '>') {
		*s = str_from(*s, 1);
		return true;
	}
	buf_clear(&r->values);
	while (s->n > 0 && s->p[0] != '>') {
		struct str name, value, prefix, local;
		size_t i = r->n_attrs;

		if (s->p[0] == '<')
			return false;
		if (!(sign(s->p[0]) & NAME_START)) {
			*ret_closed = s->p[0] == '/';
			r->faulty = r->faulty ||
				    !(*ret_closed || (sign(s->p[0]) & BLANK));
			*s = str_from(*s, 1);
			continue;
		}
		*ret_closed = false;
		if (!attribute(r, s, &name, &value))
			return false;
		prefix = xml_prefix(name, &local);
		if (i == FEED_ATTRS_MAX || str_has(local, ':') ||
		    is_seen(r, prefix, local)) {
			r->faulty = true;
			continue;
		}
		r->attrs[i].prefix = prefix;
		r->attrs[i].name = local;
		keep_value(r, i, value);
		place_value(r, i);
		if (str_eq(prefix, STR("xmlns")))
			bind_space(r, local, i);
		else if (prefix.n == 0 && str_eq(local, STR("xmlns")))
			bind_space(r, STR_EMPTY, i);
		else
			r->n_attrs++;
	}
	if (s->n == 0)
		return false;
	*s = str_from(*s, 1);
	for (size_t i = 0; i < r->n_attrs; i++)
		place_value(r, i); /* the buffer may have moved */
	return true;
}

void
xml_resolve(const struct xml_reader *r, struct xml_tag *tag)
{
	for (size_t i = r->n_spaces; i-- > 0;)
		if (r->spaces[i].prefix.n == tag->prefix.n &&
		    (tag->prefix.n == 0 ||
			(r->spaces[i].prefix.p[0] == tag->prefix.p[0] &&
			    str_eq(r->spaces[i].prefix, tag->prefix)))) {
			tag->uri = r->spaces[i].uri;
			tag->space = r->spaces[i].number;
			return;
		}
	tag->uri = STR_EMPTY;
	tag->space = space_number(r, STR_EMPTY, tag->prefix);
}
