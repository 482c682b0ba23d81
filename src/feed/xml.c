#include "feed/xml.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "feed/entity.h"
#include "feed/xml_priv.h"

#define SPACES_MAX 128 /* namespaces that are bound at once */
#define QUOTE_LOOK 256 /* how far behind a < the closing quote may be */

struct open {
	struct str name;     /* as it is written, with its prefix */
	struct xml_tag tag;  /* without attributes */
	size_t n_spaces;     /* bound when it began */
	bool frame;          /* an item, or what holds items */
};

struct space {
	struct str prefix, uri;
	enum element_family family;
};

struct reader {
	struct str s; /* what is still to be read */
	struct dtd *dtd;
	const struct xml_calls *calls;
	void *ctx;
	bool mend, faulty;
	bool broken; /* what is open can't be trusted */
	bool done;
	struct open open[FEED_DEPTH_MAX];
	size_t depth, beyond; /* beyond: open ones that were left out */
	struct space spaces[SPACES_MAX];
	size_t n_spaces;
	struct xml_attr attrs[FEED_ATTRS_MAX];
	size_t at[FEED_ATTRS_MAX]; /* of its value in `values`, or BORROWED */
	size_t n_attrs;
	struct buf values; /* of attributes, where they are not as written */
	/* Ends that were looked for in vain: don't look again. */
	bool no_comment_end, no_cdata_end, no_pi_end, no_doctype_end;
	const char *cdata_end; /* the next ]]> */
};
#define BORROWED SIZE_MAX

static bool
among(struct str name, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name.n == list[i].n &&
		    (name.p[0] | 0x20) == list[i].p[0] &&
		    str_eq_nocase(name, list[i]))
			return true;
	return false;
}

static const struct str ITEMS[] = {STR("item"), STR("entry")};
static const struct str FRAME[] = {STR("item"), STR("entry"), STR("channel"),
    STR("rss"), STR("feed"), STR("rdf")};
static const struct str VOIDS[] = {STR("br"), STR("hr"), STR("img"),
    STR("input"), STR("meta"), STR("wbr"), STR("area"), STR("col"),
    STR("embed"), STR("param"), STR("track")};

bool
xml_void(struct str name)
{
	return name.n > 1 && name.n < 6 &&
	       among(name, VOIDS, COUNT_OF(VOIDS));
}

static const char *
find(struct str s, struct str what)
{
	return memmem(s.p, s.n, what.p, what.n);
}

/* ---- text ---- */

static void
put_text(struct reader *r, struct str s, bool refs)
{
	while (s.n > 0) {
		char room[ENTITY_MAX];
		size_t n = xml_plain(s), took;
		struct str as;

		/* A lone 0xef goes with what is around it. */
		while (n < s.n && s.p[n] == '\xef' &&
		       (s.n - n < 3 || s.p[n + 1] != '\xbf' ||
			   (unsigned char)s.p[n + 2] < 0xbe)) {
			n++;
			n += xml_plain(str_from(s, n));
		}
		if (n > 0)
			r->calls->text(r->ctx, (struct str){s.p, n}, refs);
		s = str_from(s, n);
		if (s.n == 0)
			break;
		took = xml_special(s, r->dtd, refs, room, &as, &r->faulty);
		if (as.n > 0)
			r->calls->text(r->ctx, as, false);
		s = str_from(s, took);
	}
}

/* ---- elements ---- */

static struct str
take_name(struct str *s)
{
	struct str name = {s->p, 0};

	while (name.n < s->n && (sign(s->p[name.n]) & NAME))
		name.n++;
	*s = str_from(*s, name.n);
	while (name.n > 0 && name.p[name.n - 1] == ':')
		name.n--;
	return name;
}

static struct str
prefix_of(struct str name, struct str *ret_local)
{
	const char *colon = memchr(name.p, ':', name.n);
	size_t n = colon ? (size_t)(colon - name.p) : 0;

	*ret_local = str_from(name, colon ? n + 1 : 0);
	return (struct str){name.p, n};
}

static void
close_top(struct reader *r)
{
	struct open *o = &r->open[--r->depth];

	r->calls->end(r->ctx, &o->tag);
	r->n_spaces = o->n_spaces;
}

static void
end_tag(struct reader *r, struct str name)
{
	struct open *top = r->depth > 0 ? &r->open[r->depth - 1] : NULL;
	size_t at = r->depth;
	struct str local;
	bool frame;

	if (!r->mend) {
		if (!top || !str_eq_nocase(top->name, name)) {
			r->broken = true;
			return;
		}
		r->faulty = r->faulty || !str_eq(top->name, name);
		close_top(r);
		r->done = r->depth == 0;
		return;
	}
	(void)prefix_of(name, &local);
	frame = among(local, FRAME, COUNT_OF(FRAME));
	if (r->beyond > 0 && !frame) {
		r->beyond--;
		return;
	}
	while (at > 0 && !str_eq_nocase(r->open[at - 1].name, name)) {
		if (r->open[at - 1].frame && !frame)
			return;
		at--;
	}
	/* The root stays open. */
	if (at <= 1)
		return;
	r->beyond = 0;
	while (r->depth >= at)
		close_top(r);
}

/* An item begins: what is open of another one ends. */
static void
end_items(struct reader *r)
{
	for (size_t at = r->depth; at > 1; at--)
		if (among(r->open[at - 1].tag.name, ITEMS, COUNT_OF(ITEMS))) {
			while (r->depth >= at)
				close_top(r);
			r->beyond = 0;
			return;
		}
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
attribute(struct reader *r, struct str *s, struct str *ret_name,
    struct str *ret_value)
{
	size_t n = 0;

	*ret_name = take_name(s);
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
keep_value(struct reader *r, size_t i, struct str s)
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
		n = xml_special(s, r->dtd, true, room, &as, &r->faulty);
		if (s.p[0] == '\r')
			as = STR(" ");
		buf_add(&r->values, as);
		s = str_from(s, n);
	}
	r->attrs[i].value.n = r->values.n - r->at[i];
}

static void
bind(struct reader *r, struct str prefix, size_t i)
{
	struct str uri = r->attrs[i].value;

	if (r->n_spaces == SPACES_MAX)
		return;
	r->spaces[r->n_spaces++] = (struct space){
	    prefix, r->at[i] == BORROWED ? uri : STR_EMPTY,
	    element_family(uri, prefix)};
}

static bool
seen(const struct reader *r, struct str prefix, struct str name)
{
	for (size_t i = 0; i < r->n_attrs; i++)
		if (str_eq_nocase(r->attrs[i].name, name) &&
		    str_eq_nocase(r->attrs[i].prefix, prefix))
			return true;
	return false;
}

/*
 * Up to and with the tag's >. False when it is no tag. Namespaces are bound
 * as they come: whoever calls has noted how many there were.
 */
static bool
attributes(struct reader *r, struct str *s, bool *ret_closed)
{
	r->n_attrs = 0;
	buf_clear(&r->values);
	*ret_closed = false;
	while (s->n > 0 && s->p[0] != '>') {
		struct str name, value, prefix, local;
		size_t i = r->n_attrs;

		if (s->p[0] == '<')
			return false;
		if (!(sign(s->p[0]) & NAME_START)) {
			*ret_closed = s->p[0] == '/';
			r->faulty = r->faulty || !(*ret_closed ||
						     (sign(s->p[0]) & BLANK));
			*s = str_from(*s, 1);
			continue;
		}
		*ret_closed = false;
		if (!attribute(r, s, &name, &value))
			return false;
		prefix = prefix_of(name, &local);
		if (i == FEED_ATTRS_MAX || str_has(local, ':') ||
		    seen(r, prefix, local)) {
			r->faulty = true;
			continue;
		}
		r->attrs[i].prefix = prefix;
		r->attrs[i].name = local;
		keep_value(r, i, value);
		if (r->at[i] != BORROWED)
			r->attrs[i].value.p = r->values.p + r->at[i];
		if (str_eq(prefix, STR("xmlns")))
			bind(r, local, i);
		else if (prefix.n == 0 && str_eq(local, STR("xmlns")))
			bind(r, STR_EMPTY, i);
		else
			r->n_attrs++;
	}
	if (s->n == 0)
		return false;
	*s = str_from(*s, 1);
	for (size_t i = 0; i < r->n_attrs; i++)
		if (r->at[i] != BORROWED) /* the buffer may have moved */
			r->attrs[i].value.p = r->values.p + r->at[i];
	return true;
}

/* Which namespace the element is in; its names are set. */
static void
resolve(const struct reader *r, struct xml_tag *tag)
{
	for (size_t i = r->n_spaces; i-- > 0;)
		if (str_eq(r->spaces[i].prefix, tag->prefix)) {
			tag->uri = r->spaces[i].uri;
			tag->family = r->spaces[i].family;
			return;
		}
	tag->uri = STR_EMPTY;
	tag->family = element_family(STR_EMPTY, tag->prefix);
}

/* r->s stands at the <; false when it is text. */
static bool
start_tag(struct reader *r)
{
	struct str s = str_from(r->s, 1), name = take_name(&s);
	size_t n_spaces = r->n_spaces;
	struct open *o;
	bool closed = false;

	/* "a<b" with nothing behind: neither end nor blank. */
	if (s.n > 0 && !(sign(s.p[0]) & BLANK) && s.p[0] != '>' &&
	    s.p[0] != '/')
		return false;
	if (!attributes(r, &s, &closed)) {
		r->n_spaces = n_spaces;
		s = str_from(r->s, 1);
		/* Cut in two by the end: it goes. */
		if (memchr(s.p, '<', s.n) || memchr(s.p, '>', s.n))
			return false;
		r->s = STR_EMPTY;
		return true;
	}
	r->s = s;
	if (r->mend) {
		struct str local;

		(void)prefix_of(name, &local);
		if (among(local, ITEMS, COUNT_OF(ITEMS)))
			end_items(r);
		closed = closed || xml_void(name);
	}
	if (r->depth == FEED_DEPTH_MAX) {
		r->n_spaces = n_spaces;
		r->broken = !r->mend;
		r->beyond += !closed;
		return true;
	}
	o = &r->open[r->depth++];
	o->name = name;
	o->tag.prefix = prefix_of(name, &o->tag.name);
	o->n_spaces = n_spaces;
	o->frame = r->mend && among(o->tag.name, FRAME, COUNT_OF(FRAME));
	resolve(r, &o->tag);
	o->tag.attrs = r->attrs;
	o->tag.n_attrs = r->n_attrs;
	if (!r->calls->start(r->ctx, &o->tag)) {
		r->done = true;
		return true;
	}
	o->tag.n_attrs = 0;
	if (closed && (r->depth > 1 || !r->mend)) {
		close_top(r);
		r->done = r->depth == 0;
	}
	return true;
}

/* ---- what begins with <! or <? ---- */

/* Up to and with `end`; false when there is none. */
static bool
skip_to(struct reader *r, size_t from, struct str end, bool *none)
{
	const char *at = *none ? NULL : find(str_from(r->s, from), end);

	if (!at) {
		*none = true;
		r->faulty = true;
		return false;
	}
	r->s = str_from(r->s, (size_t)(at - r->s.p) + end.n);
	return true;
}

size_t
xml_doctype(struct str s)
{
	size_t brackets = 0;
	char quote = 0;

	for (size_t i = 2; i < s.n; i++) {
		char c = s.p[i];

		if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (brackets > 0 && (c == '"' || c == '\'')) {
			quote = c;
		} else if (c == '[') {
			brackets++;
		} else if (c == ']') {
			brackets -= brackets > 0;
		} else if (c == '>' && brackets == 0) {
			return i + 1;
		}
	}
	return 0;
}

static void
doctype(struct reader *r)
{
	size_t n = r->no_doctype_end ? 0 : xml_doctype(r->s);

	r->faulty = true; /* within the root */
	r->no_doctype_end = n == 0;
	if (n > 0)
		r->s = str_from(r->s, n);
	else /* at least its first line goes */
		(void)str_cut(&r->s, '>');
}

/* The end tag of what is open now, up to `end`; NULL when there is none. */
static const char *
own_end(const struct reader *r, struct str s)
{
	struct str name = r->depth > 0 ? r->open[r->depth - 1].name : STR_EMPTY;

	while (name.n > 0) {
		const char *at = find(s, STR("</"));

		if (!at)
			break;
		s = str_from(s, (size_t)(at - s.p) + 2);
		if (str_starts(s, name))
			return at;
	}
	return NULL;
}

/*
 * One that never ends goes to the end tag of its element; so does one whose
 * end is that of another, which begins behind that tag.
 */
static void
cdata(struct reader *r)
{
	struct str s = str_from(r->s, 9), within = s;
	const char *next, *end = NULL;

	if (!r->cdata_end || r->cdata_end < s.p) {
		r->cdata_end = r->no_cdata_end ? NULL : find(s, STR("]]>"));
		r->no_cdata_end = !r->cdata_end;
	}
	if (r->cdata_end)
		within.n = (size_t)(r->cdata_end - s.p);
	next = find(within, STR("<![CDATA["));
	if (next && r->cdata_end)
		within.n = (size_t)(next - s.p);
	if (next || !r->cdata_end)
		end = own_end(r, within);
	r->faulty = r->faulty || end;
	if (end) {
		r->s = str_from(s, (size_t)(end - s.p));
	} else if (r->cdata_end) {
		end = r->cdata_end;
		r->s = str_from(s, (size_t)(end - s.p) + 3);
	} else {
		end = s.p + s.n;
		r->s = STR_EMPTY;
	}
	if (r->depth > 0)
		put_text(r, (struct str){s.p, (size_t)(end - s.p)}, false);
}

static bool
other_markup(struct reader *r)
{
	if (str_starts(r->s, STR("<!--")))
		return skip_to(r, 4, STR("-->"), &r->no_comment_end);
	if (str_starts(r->s, STR("<![CDATA["))) {
		cdata(r);
		return true;
	}
	if (r->s.p[1] == '?') {
		if (str_starts(r->s, STR("<?xml ")) ||
		    !skip_to(r, 2, STR("?>"), &r->no_pi_end))
			(void)str_cut(&r->s, '>');
		return true;
	}
	if (r->s.n > 9 &&
	    str_eq_nocase((struct str){r->s.p + 2, 7}, STR("doctype"))) {
		doctype(r);
		return true;
	}
	return false;
}

/* True when markup stood there and is done with. */
static bool
markup(struct reader *r)
{
	struct str s = str_from(r->s, 1);

	if (s.n == 0)
		return false;
	if (s.p[0] == '!' || s.p[0] == '?')
		return other_markup(r);
	if (sign(s.p[0]) & NAME_START)
		return start_tag(r);
	if (s.p[0] == '/' && s.n > 1 && (sign(s.p[1]) & NAME_START)) {
		struct str name;

		s = str_from(s, 1);
		name = take_name(&s);
		while (s.n > 0 && s.p[0] != '>' && s.p[0] != '<') {
			r->faulty = r->faulty || !(sign(s.p[0]) & BLANK);
			s = str_from(s, 1);
		}
		r->faulty = r->faulty || s.n == 0 || s.p[0] == '<';
		if (s.n > 0 && s.p[0] == '>')
			s = str_from(s, 1);
		r->s = s;
		end_tag(r, name);
		return true;
	}
	return false;
}

/* Behind the root: nothing of it matters, unless there are items. */
static void
behind_root(struct reader *r)
{
	struct str s = str_trim(r->s);

	r->faulty = r->faulty || (s.n > 0 && !str_starts(s, STR("<!--")));
	while (s.n > 0 && !r->broken) {
		const char *lt = memchr(s.p, '<', s.n);
		struct str name, local;

		if (!lt)
			break;
		s = str_from(s, (size_t)(lt - s.p) + 1);
		if (s.n == 0 || !(sign(s.p[0]) & NAME_START))
			continue;
		name = take_name(&s);
		(void)prefix_of(name, &local);
		r->broken = among(local, ITEMS, COUNT_OF(ITEMS));
	}
}

static void
read_all(struct reader *r)
{
	while (r->s.n > 0 && !r->done && !r->broken) {
		const char *lt = memchr(r->s.p, '<', r->s.n);
		struct str run = {r->s.p, lt ? (size_t)(lt - r->s.p) : r->s.n};

		/* Outside of the root is no text. */
		if (r->depth > 0 && run.n > 0)
			put_text(r, run, true);
		r->s = str_from(r->s, run.n);
		if (r->s.n > 0 && !markup(r)) {
			r->faulty = true;
			if (r->depth > 0)
				r->calls->text(r->ctx, STR("<"), false);
			r->s = str_from(r->s, 1);
		}
	}
	if (r->done && r->depth == 0)
		behind_root(r);
	else if (!r->done && !r->mend)
		r->broken = true; /* something is open */
	r->faulty = r->faulty || r->mend || r->broken;
	while (r->depth > 0 && !r->broken && !r->done)
		close_top(r);
}

int
xml_read(struct str xml, struct dtd *dtd, bool mend,
    const struct xml_calls *calls, void *ctx, bool *ret_faulty)
{
	struct reader *r = malloc(sizeof(*r));
	int rc;

	if (!r)
		return ERR_NOMEM;
	memset(r, 0, sizeof(*r));
	r->s = xml;
	r->dtd = dtd;
	r->calls = calls;
	r->ctx = ctx;
	r->mend = mend;
	r->values = BUF(FEED_TEXT_MAX);
	read_all(r);
	rc = r->broken && !mend ? ERR_SYNTAX : OK;
	if (r->values.failed)
		rc = ERR_NOMEM;
	*ret_faulty = r->faulty;
	buf_done(&r->values);
	free(r);
	return rc;
}
