#include "markup/xml.h"

#include "markup/xml_priv.h"

static bool
among(struct str name, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name.n == list[i].n && (name.p[0] | 0x20) == list[i].p[0] &&
		    str_eq_nocase(name, list[i]))
			return true;
	return false;
}

/* Items, and what holds them. */
static const struct str FRAME[] = {STR("item"), STR("entry"), STR("channel"),
    STR("rss"), STR("feed"), STR("rdf")};
#define N_ITEMS 2
static const struct str VOIDS[] = {STR("br"), STR("hr"), STR("img"),
    STR("input"), STR("meta"), STR("wbr"), STR("area"), STR("col"),
    STR("embed"), STR("param"), STR("track")};

bool
xml_void(struct str name)
{
	return name.n > 1 && name.n < 6 && among(name, VOIDS, COUNT_OF(VOIDS));
}

/* Names as they are written, with any prefix. */
static bool
is_frame(struct str name)
{
	(void)xml_prefix(name, &name);
	return among(name, FRAME, COUNT_OF(FRAME));
}

static bool
is_item(struct str name)
{
	(void)xml_prefix(name, &name);
	return among(name, FRAME, N_ITEMS);
}

static const char *
find_in(struct str s, struct str what)
{
	return memmem(s.p, s.n, what.p, what.n);
}

/* ---- text ---- */

static void
give_text(struct xml_reader *r, struct str s, bool refs)
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
		took = xml_special(r, s, refs, room, &as);
		if (as.n > 0)
			r->calls->text(r->ctx, as, false);
		s = str_from(s, took);
	}
}

/* ---- elements ---- */

static void
close_top(struct xml_reader *r)
{
	struct xml_open *o = &r->open[--r->depth];

	r->calls->end(r->ctx, &o->tag);
	r->n_spaces = o->n_spaces;
}

/*
 * From here on it is mended, when all that is open would be open in mending
 * too: no item in an item, and nothing that ends itself. Else it is broken.
 */
static void
mend_on(struct xml_reader *r)
{
	size_t items = 0;

	for (size_t i = 0; i < r->depth; i++) {
		struct xml_open *o = &r->open[i];

		items += is_item(o->name);
		o->frame = is_frame(o->name);
		r->broken = r->broken || xml_void(o->name) || items > 1;
	}
	r->mend = !r->broken;
}

static void
end_tag(struct xml_reader *r, struct str name)
{
	struct xml_open *top = r->depth > 0 ? &r->open[r->depth - 1] : NULL;
	size_t at = r->depth;
	bool frame = false;

	if (!r->mend && top && str_eq_nocase(top->name, name)) {
		r->faulty = r->faulty || !str_eq(top->name, name);
		close_top(r);
		r->done = r->depth == 0;
		return;
	}
	if (!r->mend)
		mend_on(r);
	if (r->broken)
		return;
	frame = is_frame(name);
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
end_items(struct xml_reader *r)
{
	for (size_t at = r->depth; at > 1; at--)
		if (is_item(r->open[at - 1].name)) {
			while (r->depth >= at)
				close_top(r);
			r->beyond = 0;
			return;
		}
}

/* r->s stands at the <; false when it is text. */
static bool
start_tag(struct xml_reader *r)
{
	struct str s = str_from(r->s, 1), name = xml_name(&s);
	size_t n_spaces = r->n_spaces;
	struct xml_open *o;
	bool closed = false;

	/* "a<b" with nothing behind: neither end nor blank. */
	if (s.n > 0 && !(sign(s.p[0]) & BLANK) && s.p[0] != '>' &&
	    s.p[0] != '/')
		return false;
	if (!xml_attributes(r, &s, &closed)) {
		r->n_spaces = n_spaces;
		s = str_from(r->s, 1);
		/* Cut in two by the end: it goes. */
		if (str_has(s, '<') || str_has(s, '>'))
			return false;
		r->s = STR_EMPTY;
		return true;
	}
	r->s = s;
	if (r->mend && is_item(name))
		end_items(r);
	closed = closed || (r->mend && xml_void(name));
	if (r->depth == FEED_DEPTH_MAX) {
		r->n_spaces = n_spaces;
		if (!r->mend)
			mend_on(r);
		r->beyond += !closed;
		return true;
	}
	o = &r->open[r->depth++];
	o->name = name;
	o->tag.prefix = xml_prefix(name, &o->tag.name);
	o->n_spaces = n_spaces;
	o->frame = r->mend && is_frame(name);
	xml_resolve(r, &o->tag);
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
skip_to(struct xml_reader *r, size_t from, struct str end, bool *none)
{
	struct str s = str_from(r->s, from);

	if (*none || !str_pass(&s, end)) {
		*none = true;
		r->faulty = true;
		return false;
	}
	r->s = s;
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
doctype(struct xml_reader *r)
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
own_end(const struct xml_reader *r, struct str s)
{
	struct str name = r->depth > 0 ? r->open[r->depth - 1].name : STR_EMPTY;

	while (name.n > 0) {
		const char *at = find_in(s, STR("</"));

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
cdata(struct xml_reader *r)
{
	struct str s = str_from(r->s, 9), within = s;
	const char *next, *end = NULL;

	if (!r->cdata_end || r->cdata_end < s.p) {
		r->cdata_end = r->no_cdata_end ? NULL : find_in(s, STR("]]>"));
		r->no_cdata_end = !r->cdata_end;
	}
	if (r->cdata_end)
		within.n = (size_t)(r->cdata_end - s.p);
	next = find_in(within, STR("<![CDATA["));
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
		give_text(r, (struct str){s.p, (size_t)(end - s.p)}, false);
}

static bool
other_markup(struct xml_reader *r)
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
	    str_starts_nocase(str_from(r->s, 2), STR("doctype"))) {
		doctype(r);
		return true;
	}
	return false;
}

/* s is behind </: the end of what is open, as nearly all are. */
static bool
ends_top(const struct xml_reader *r, struct str s)
{
	struct str name = r->depth > 0 ? r->open[r->depth - 1].name : s;

	return s.n > name.n && s.p[name.n] == '>' &&
	       memcmp(s.p, name.p, name.n) == 0;
}

/* True when markup stood there and is done with. */
static bool
read_markup(struct xml_reader *r)
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
		if (!r->mend && ends_top(r, s)) {
			r->s = str_from(s, r->open[r->depth - 1].name.n + 1);
			close_top(r);
			r->done = r->depth == 0;
			return true;
		}
		name = xml_name(&s);
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
behind_root(struct xml_reader *r)
{
	struct str s = str_trim(r->s);

	r->faulty = r->faulty || (s.n > 0 && !str_starts(s, STR("<!--")));
	while (s.n > 0 && !r->broken) {
		if (!str_pass(&s, STR("<")))
			break;
		if (s.n > 0 && (sign(s.p[0]) & NAME_START))
			r->broken = is_item(xml_name(&s));
	}
}

static void
read_all(struct xml_reader *r)
{
	while (r->s.n > 0 && !r->done && !r->broken) {
		const char *lt = memchr(r->s.p, '<', r->s.n);
		struct str run = {r->s.p, lt ? (size_t)(lt - r->s.p) : r->s.n};

		/* Outside of the root is no text. */
		if (r->depth > 0 && run.n > 0)
			give_text(r, run, true);
		r->s = str_from(r->s, run.n);
		if (r->s.n > 0 && !read_markup(r)) {
			r->faulty = true;
			if (r->depth > 0)
				r->calls->text(r->ctx, STR("<"), false);
			r->s = str_from(r->s, 1);
		}
	}
	if (r->done && r->depth == 0 && !r->mend)
		behind_root(r);
	else if (!r->done && !r->mend)
		mend_on(r); /* something is open */
	r->faulty = r->faulty || r->mend || r->broken;
	while (r->depth > 0 && !r->broken && !r->done)
		close_top(r);
}

int
xml_read(struct str xml, struct str doctype, bool mend,
    const struct xml_calls *calls, void *ctx, bool *ret_faulty)
{
	struct xml_reader *r = mem_get(sizeof(*r));
	int rc;

	r->s = xml;
	xml_dtd_read(&r->dtd, doctype);
	r->calls = calls;
	r->ctx = ctx;
	r->mend = mend;
	r->values = BUF(FEED_TEXT_MAX);
	read_all(r);
	rc = r->broken ? ERR_SYNTAX : OK;
	if (r->values.failed)
		rc = ERR_LIMIT;
	*ret_faulty = r->faulty;
	buf_done(&r->values);
	free(r);
	return rc;
}
