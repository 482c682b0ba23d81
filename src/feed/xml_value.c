#include "feed/xml_value.h"

#include "base/arena.h"
#include "base/str.h"
#include "feed/entity.h"
#include "feed/link.h"
#include "feed/parse_priv.h"
#include "feed/slots.h"
#include "feed/text.h"

/* ---- attributes ---- */

static const char *
part(const struct attrs *a, int i, int what)
{
	return (const char *)a->list[5 * i + what];
}

static struct str
value_of(const struct attrs *a, int i)
{
	return (struct str){
	    part(a, i, 3), (size_t)(part(a, i, 4) - part(a, i, 3))};
}

struct str
attrs_get(const struct attrs *a, const char *name)
{
	for (int i = 0; i < a->n; i++)
		if (strcasecmp(part(a, i, 0), name) == 0)
			return value_of(a, i);
	return STR_EMPTY;
}

struct str
attrs_base(const struct attrs *a, struct arena *arena, struct str outer)
{
	for (int i = 0; i < a->n; i++)
		if (part(a, i, 1) && strcmp(part(a, i, 1), "xml") == 0 &&
		    strcmp(part(a, i, 0), "base") == 0) {
			struct str own =
			    link_resolve(arena, outer, value_of(a, i));

			return own.n > 0 ? own : outer;
		}
	return outer;
}

/* ---- capturing ---- */

static bool
is_xml(struct str type)
{
	return str_eq_nocase(type, STR("xhtml")) ||
	       str_ends(type, STR("+xml")) || str_ends(type, STR("/xml"));
}

void
value_begin(struct value *v, struct arena *a, const struct element *e,
    const struct attrs *attrs)
{
	struct buf text = v->text;

	buf_clear(&text);
	*v = (struct value){.e = e, .text = text, .first = true};
	v->markup = e->kind == KIND_HTML || e->kind == KIND_MARKUP ||
		    e->kind == KIND_CONSTRUCT;
	if (e->kind == KIND_CONSTRUCT) {
		v->type = arena_dup(a, str_trim(attrs_get(attrs, "type")));
		v->mode = arena_dup(a, str_trim(attrs_get(attrs, "mode")));
		v->href = arena_dup(a, attrs_get(attrs, "src"));
		v->escape = is_xml(v->type) &&
			    !str_eq(v->mode, STR("escaped")) &&
			    !str_eq(v->mode, STR("base64"));
	}
	v->escape = v->escape || e->kind == KIND_MARKUP;
	v->markup = v->markup && (e->field != FIELD_TITLE || v->escape);
	if (e->kind == KIND_URL)
		v->href = arena_dup(a, attrs_get(attrs, "href"));
	if (e->kind == KIND_GUID)
		v->not_link = str_eq_nocase(
		    str_trim(attrs_get(attrs, "ispermalink")), STR("false"));
}

#define EACH(byte) (0x0101010101010101u * (byte))

/* A high bit is set when a byte of w is c; perhaps in ones behind it too. */
static uint64_t
has(uint64_t w, unsigned char c)
{
	w ^= EACH(c);
	return (w - EACH(1)) & ~w & EACH(0x80);
}

/* Eights of bytes that need no reference. */
static size_t
plain(const char *p, size_t n)
{
	size_t i = 0;

	for (; n - i >= 8; i += 8) {
		uint64_t w;

		memcpy(&w, p + i, sizeof(w));
		if (has(w, '&') | has(w, '<') | has(w, '>') | has(w, '"'))
			break;
	}
	return i;
}

static void
add_escaped(struct buf *b, struct str s, bool quote)
{
	static const char *const AS[256] = {
	    ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
	size_t from = 0;

	for (size_t i = plain(s.p, s.n); i < s.n; i++) {
		const char *as = AS[(unsigned char)s.p[i]];

		if (!as || (s.p[i] == '"' && !quote))
			continue;
		buf_add(b, (struct str){s.p + from, i - from});
		buf_addz(b, as);
		from = i + 1;
		i += plain(s.p + from, s.n - from);
	}
	buf_add(b, str_from(s, from));
}

void
value_text(struct value *v, struct str text)
{
	if (v->first && str_trim(text).n > 0)
		v->first = false;
	if (v->escape)
		add_escaped(&v->text, text, false);
	else
		buf_add(&v->text, text);
}

static bool
is_void(const char *name)
{
	static const char *const VOIDS[] = {"br", "hr", "img", "input", "meta",
	    "wbr", "area", "col", "embed", "param", "track"};

	for (size_t i = 0; i < COUNT_OF(VOIDS); i++)
		if ((name[0] | 0x20) == VOIDS[i][0] &&
		    strcasecmp(name, VOIDS[i]) == 0)
			return true;
	return false;
}

static void
add_name(struct value *v, const char *name, const char *prefix,
    enum element_family family)
{
	if (prefix && family != FAMILY_XHTML) {
		buf_addz(&v->text, prefix);
		buf_addc(&v->text, ':');
	}
	buf_addz(&v->text, name);
}

void
value_start(struct value *v, size_t level, const char *name, const char *prefix,
    enum element_family family, const struct attrs *attrs)
{
	bool first = v->first;

	v->first = false;
	if (!v->markup)
		return;
	if (first && v->escape && level == 1 && strcasecmp(name, "div") == 0 &&
	    v->e->kind == KIND_CONSTRUCT) {
		v->div = true;
		return;
	}
	buf_addc(&v->text, '<');
	add_name(v, name, prefix, family);
	for (int i = 0; i < attrs->n; i++) {
		buf_addc(&v->text, ' ');
		add_name(v, part(attrs, i, 0), part(attrs, i, 1), FAMILY_OTHER);
		buf_addz(&v->text, "=\"");
		add_escaped(&v->text, value_of(attrs, i), true);
		buf_addc(&v->text, '"');
	}
	buf_addz(&v->text, is_void(name) ? "/>" : ">");
}

void
value_end(struct value *v, size_t level, const char *name, const char *prefix,
    enum element_family family)
{
	if (!v->markup || is_void(name))
		return;
	if (v->div && level == 1) {
		v->div = false;
		return;
	}
	buf_addz(&v->text, "</");
	add_name(v, name, prefix, family);
	buf_addc(&v->text, '>');
}

/* ---- keeping ---- */

/*
 * XML allows U+0080 to U+009F, and nobody means them: it is windows-1252 that
 * was written as numbers (&#146;) or taken for latin.
 */
static void
mend_c1(struct buf *b)
{
	struct buf to = BUF(b->limit);
	struct str s = buf_str(b);
	const char *at;
	size_t from = 0, i = 0;

	while (i + 1 < s.n && (at = memchr(s.p + i, 0xc2, s.n - 1 - i))) {
		unsigned char c = (unsigned char)at[1];
		char room[ENTITY_UTF8_MAX];
		size_t n;

		i = (size_t)(at - s.p) + 2;
		if (c >= 0xa0)
			continue;
		n = entity_utf8(ENTITY_CP1252[c - 0x80], room);
		buf_add(&to, (struct str){s.p + from, i - 2 - from});
		buf_add(&to, (struct str){room, n});
		from = i;
	}
	if (from == 0)
		return;
	buf_add(&to, str_from(s, from));
	buf_done(b);
	*b = to;
}

static bool
is_html(struct str type)
{
	return str_eq_nocase(type, STR("html")) ||
	       str_eq_nocase(type, STR("text/html"));
}

static bool
is_plain(struct str type)
{
	return str_eq_nocase(type, STR("text")) ||
	       str_eq_nocase(type, STR("text/plain"));
}

/* Atom: what the text is, by its type. */
static struct str
constructed(struct value *v, struct arena *a, struct str text)
{
	bool known = v->type.n == 0 || is_plain(v->type) || is_html(v->type) ||
		     is_xml(v->type) || str_starts(v->type, STR("text/"));

	if (!known || str_eq(v->mode, STR("base64")))
		text = text_base64(a, text);
	/* An image is no text, whatever its bytes look like. */
	if (!known && !str_eq(v->mode, STR("base64")))
		text = STR_EMPTY;
	if (v->e->field == FIELD_TITLE) {
		if (is_html(v->type) || is_xml(v->type))
			return text_of_html(a, text);
		return v->type.n == 0 ? text_title(a, text)
				      : text_squeeze(a, text);
	}
	return is_plain(v->type) ? text_escape(a, text) : text;
}

static void
keep_text(struct value *v, struct making *m, struct slots *s, struct str base)
{
	const struct element *e = v->e;
	struct str text;

	if (e->kind == KIND_CONSTRUCT && e->field == FIELD_CONTENT &&
	    v->href.n > 0)
		slots_set(
		    s, FIELD_LINK, 1, link_resolve(m->arena, base, v->href));
	if (!slots_wants(s, e->field, e->rank))
		return;
	text = str_trim(buf_str(&v->text));
	if (e->kind != KIND_URL)
		text = arena_dup(m->arena, text);
	if (!text.p)
		return;
	if (e->kind == KIND_CONSTRUCT)
		text = constructed(v, m->arena, text);
	else if (e->kind == KIND_TITLE)
		text = text_title(m->arena, text);
	else if (e->kind == KIND_PLAIN)
		text = text_squeeze(m->arena, text);
	else if (e->kind == KIND_URL)
		text =
		    link_resolve(m->arena, base, text.n > 0 ? text : v->href);
	slots_set(s, e->field, e->rank, text);
	if (e->kind == KIND_GUID && !v->not_link && link_web(text))
		slots_set(s, FIELD_LINK, 1, link_resolve(m->arena, base, text));
}

static void
keep_keywords(struct making *m, struct feed_item *it, struct str list)
{
	while (list.n > 0)
		making_category(
		    m, it, arena_dup(m->arena, str_trim(str_cut(&list, ','))));
}

void
value_keep(struct value *v, struct making *m, struct slots *s,
    struct feed_item *it, struct str base)
{
	struct str text;

	mend_c1(&v->text);
	text = buf_str(&v->text);
	switch ((int)v->e->kind) {
	case KIND_DATE:
		slots_date(s, v->e->field, v->e->rank, text);
		break;
	case KIND_PERSON:
		slots_author(
		    m->arena, s, v->e->rank, arena_dup(m->arena, text));
		break;
	case KIND_CATEGORY:
		if (it)
			making_category(m, it, arena_dup(m->arena, text));
		break;
	case KIND_KEYWORDS:
		if (it)
			keep_keywords(m, it, text);
		break;
	default:
		keep_text(v, m, s, base);
		if (it && v->e->field == FIELD_CONTENT)
			it->base = base;
		break;
	}
}

static void
keep_link(const struct element *e, struct making *m, struct slots *s,
    struct feed_item *it, struct str base, const struct attrs *attrs)
{
	static const struct str IANA =
	    STR("http://www.iana.org/assignments/relation/");
	struct str rel = str_trim(attrs_get(attrs, "rel"));
	struct str type = str_trim(attrs_get(attrs, "type"));
	struct str url = link_resolve(m->arena, base, attrs_get(attrs, "href"));
	bool html = type.n == 0 || is_html(type) ||
		    str_eq_nocase(type, STR("application/xhtml+xml"));

	if (str_starts(rel, IANA))
		rel = str_from(rel, IANA.n);
	if (rel.n == 0 || str_eq_nocase(rel, STR("alternate")))
		slots_set(s, e->field, html ? e->rank : 2, url);
	else if (it && str_eq_nocase(rel, STR("self")))
		slots_set(s, e->field, 1, url);
	else if (it && str_eq_nocase(rel, STR("enclosure")))
		making_enclosure(m, it, url, type, attrs_get(attrs, "length"));
}

void
value_attrs(const struct element *e, struct making *m, struct slots *s,
    struct feed_item *it, struct str base, const struct attrs *attrs)
{
	struct str url = attrs_get(attrs, "url");
	struct str length = attrs_get(attrs, "length");

	if (e->kind == KIND_LINK) {
		keep_link(e, m, s, it, base, attrs);
		return;
	}
	if (!it)
		return;
	if (e->kind == KIND_LABEL) {
		struct str label = attrs_get(attrs, "label");

		if (str_trim(label).n == 0)
			label = attrs_get(attrs, "term");
		making_category(m, it, arena_dup(m->arena, label));
		return;
	}
	if (url.n == 0)
		url = attrs_get(attrs, "resource"); /* RDF */
	if (url.n == 0)
		url = attrs_get(attrs, "href");
	if (length.n == 0)
		length = attrs_get(attrs, "filesize");
	making_enclosure(m, it, link_resolve(m->arena, base, url),
	    attrs_get(attrs, "type"), length);
}
