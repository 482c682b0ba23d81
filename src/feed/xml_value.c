#include "feed/xml_value.h"

#include "feed/feed_priv.h"
#include "feed/link.h"
#include "feed/slots.h"
#include "markup/entity.h"
#include "markup/text.h"
#include "markup/xml_write.h"

/* ---- attributes ---- */

struct str
value_attr(const struct xml_tag *t, struct str name)
{
	for (size_t i = 0; i < t->n_attrs; i++)
		if (str_eq_nocase(t->attrs[i].name, name))
			return t->attrs[i].value;
	return STR_EMPTY;
}

struct str
value_base(const struct xml_tag *t, struct arena *arena, struct str outer)
{
	for (size_t i = 0; i < t->n_attrs; i++)
		if (str_eq(t->attrs[i].prefix, STR("xml")) &&
		    str_eq(t->attrs[i].name, STR("base"))) {
			struct str own =
			    link_resolve(arena, outer, t->attrs[i].value);

			return own.n > 0 ? own : outer;
		}
	return outer;
}

/* ---- capturing ---- */

static bool
is_xml(struct str type)
{
	struct str end = str_from(type, type.n > 4 ? type.n - 4 : 0);

	return str_eq_nocase(type, STR("xhtml")) ||
	       str_eq_nocase(end, STR("+xml")) ||
	       str_eq_nocase(end, STR("/xml"));
}

void
value_begin(struct value *v, struct arena *a, const struct element *e,
    const struct xml_tag *t)
{
	v->e = e;
	buf_clear(&v->text);
	memset(&v->markup, 0, sizeof(*v) - offsetof(struct value, markup));
	v->first = true;
	v->markup = e->kind == KIND_HTML || e->kind == KIND_MARKUP ||
		    e->kind == KIND_CONSTRUCT;
	if (e->kind == KIND_CONSTRUCT) {
		v->type = value_attr(t, STR("type"));
		v->type = text_copy(a, str_trim(str_cut(&v->type, ';')));
		v->mode = text_copy(a, str_trim(value_attr(t, STR("mode"))));
		v->href = text_copy(a, value_attr(t, STR("src")));
		v->escape = is_xml(v->type) &&
			    !str_eq(v->mode, STR("escaped")) &&
			    !str_eq(v->mode, STR("base64"));
	}
	v->escape = v->escape || e->kind == KIND_MARKUP;
	v->markup = v->markup && (e->field != FIELD_TITLE || v->escape);
	if (e->kind == KIND_URL)
		v->href = text_copy(a, value_attr(t, STR("href")));
	if (e->kind == KIND_GUID) {
		struct str said = str_trim(value_attr(t, STR("ispermalink")));

		v->no_link = str_eq_nocase(said, STR("false"));
		v->a_link = str_eq_nocase(said, STR("true"));
	}
}

void
value_text(struct value *v, struct str text, bool bare)
{
	if (v->first && str_trim(text).n > 0)
		v->first = false;
	if ((v->escape || v->naked) && !bare)
		xml_write_inner(&v->text, text);
	else
		buf_add(&v->text, text);
}

static void
add_name(struct value *v, struct str name, struct str prefix)
{
	if (prefix.n > 0) {
		buf_add(&v->text, prefix);
		buf_addc(&v->text, ':');
	}
	buf_add(&v->text, name);
}

void
value_start(
    struct value *v, size_t level, const struct xml_tag *t, struct str base)
{
	bool first = v->first;

	v->first = false;
	if (!v->markup)
		return;
	/* HTML with its tags as they are, unless it has some as text too. */
	if (!v->tagged)
		v->naked =
		    v->text.n == 0 || (!memchr(v->text.p, '<', v->text.n) &&
					  !memchr(v->text.p, '&', v->text.n));
	v->tagged = true;
	first = first && v->escape && level == 1 &&
		v->e->kind == KIND_CONSTRUCT &&
		str_eq_nocase(t->name, STR("div"));
	buf_addc(&v->text, '<');
	add_name(v, t->name, t->space == FAMILY_XHTML ? STR_EMPTY : t->prefix);
	for (size_t i = 0; i < t->n_attrs; i++) {
		buf_addc(&v->text, ' ');
		add_name(v, t->attrs[i].name, t->attrs[i].prefix);
		buf_addz(&v->text, "=\"");
		xml_write_text(&v->text, t->attrs[i].value);
		buf_addc(&v->text, '"');
	}
	buf_addz(&v->text, xml_void(t->name) ? "/>" : ">");
	if (first) {
		v->div_from = v->text.n;
		v->div_base = base;
	}
}

void
value_end(struct value *v, size_t level, const struct xml_tag *t)
{
	if (!v->markup || xml_void(t->name))
		return;
	level = v->div_from > 0 && v->div_end == 0 ? level : 0;
	if (level == 1)
		v->div_to = v->text.n;
	buf_addz(&v->text, "</");
	add_name(v, t->name, t->space == FAMILY_XHTML ? STR_EMPTY : t->prefix);
	buf_addc(&v->text, '>');
	if (level == 1)
		v->div_end = v->text.n;
}

/* ---- keeping ---- */

/*
 * XML allows U+0080 to U+009F, and nobody means them: it is windows-1252 that
 * was written as numbers (&#146;) or taken for latin.
 */
static void
mend_c1(struct buf *b, size_t i)
{
	struct buf to = BUF(b->limit);
	struct str s = buf_str(b);
	const char *at;
	size_t from = 0;

	while (i + 1 < s.n && (at = memchr(s.p + i, 0xc2, s.n - 1 - i))) {
		unsigned char c = (unsigned char)at[1];
		char room[ENTITY_MAX];
		size_t n;

		i = (size_t)(at - s.p) + 2;
		if (c >= 0xa0)
			continue;
		n = str_utf8_put(ENTITY_CP1252[c - 0x80], room);
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
	       (str_starts_nocase(type, STR("text/")) && !is_html(type) &&
		   !is_xml(type));
}

/* A media type of RFC 4287 that is neither text nor XML. */
static bool
is_binary(struct str type)
{
	return str_has(type, '/') && !is_plain(type) && !is_html(type) &&
	       !is_xml(type);
}

/* What no text is, whatever its bytes look like. */
static bool
is_media(struct str type)
{
	return is_binary(type) && (str_starts_nocase(type, STR("image/")) ||
				      str_starts_nocase(type, STR("audio/")) ||
				      str_starts_nocase(type, STR("video/")));
}

/* Atom: what the text is, by its type. */
static struct str
constructed(struct value *v, struct arena *a, struct str text)
{
	/* Some say such a type and write markup all the same. */
	if (str_eq(v->mode, STR("base64")) ||
	    (is_binary(v->type) && !str_has(text, '<')))
		text = text_base64(a, text);
	if (is_media(v->type))
		text = STR_EMPTY;
	if (v->e->field == FIELD_TITLE) {
		if (is_html(v->type) || is_xml(v->type))
			return text_of_html(a, text);
		return v->type.n == 0 ? text_title(a, text)
				      : text_squeeze(a, text);
	}
	return is_plain(v->type) ? text_escape(a, text) : text;
}

/* The base of what was kept; the content's is worth more than the summary's. */
static void
keep_base(const struct element *e, struct slots *s, struct str base)
{
	if (e->field == FIELD_CONTENT)
		slots_set(s, FIELD_BASE, (uint8_t)(16 + e->rank), base);
	else if (e->field == FIELD_SUMMARY)
		slots_set(s, FIELD_BASE, e->rank, base);
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
	text = str_trim(str_from(buf_str(&v->text), v->div_from));
	if (e->kind != KIND_URL && e->kind != KIND_LINK)
		text = text_copy(m->arena, text);
	if (e->kind == KIND_CONSTRUCT)
		text = constructed(v, m->arena, text);
	else if (e->kind == KIND_TITLE)
		text = text_title(m->arena, text);
	else if (e->kind == KIND_PLAIN)
		text = text_squeeze(m->arena, text);
	else if (e->kind == KIND_URL || e->kind == KIND_LINK)
		text =
		    link_resolve(m->arena, base, text.n > 0 ? text : v->href);
	slots_set(s, e->field, e->rank, text);
	if (text.n > 0)
		keep_base(e, s, v->div_from > 0 ? v->div_base : base);
	if (e->kind == KIND_PLAIN && e->field == FIELD_ID && link_web(text))
		slots_set(s, FIELD_PERMA, e->rank,
		    link_resolve(m->arena, base, text));
	if (e->kind == KIND_GUID && !v->no_link &&
	    (link_web(text) || (v->a_link && text.n > 0 && text.p[0] == '/')))
		slots_set(s, FIELD_LINK, 1, link_resolve(m->arena, base, text));
}

static void
keep_keywords(struct making *m, struct feed_item *it, struct str list)
{
	while (list.n > 0)
		making_category(
		    m, it, text_copy(m->arena, str_trim(str_cut(&list, ','))));
}

void
value_keep(struct value *v, struct making *m, struct slots *s,
    struct feed_item *it, struct str base)
{
	struct str text;

	/* Both its tags go, when there is nothing beside it. */
	if (v->div_from > 0 && !v->text.failed &&
	    (v->div_end == 0 ||
		str_trim(str_from(buf_str(&v->text), v->div_end)).n == 0))
		v->text.n = v->div_end > 0 ? v->div_to : v->text.n;
	else
		v->div_from = 0;
	mend_c1(&v->text, v->div_from);
	text = buf_str(&v->text);
	switch ((int)v->e->kind) {
	case KIND_DATE:
		slots_date(s, v->e->field, v->e->rank, text);
		break;
	case KIND_PERSON:
		slots_author(
		    m->arena, s, v->e->rank, text_copy(m->arena, text));
		break;
	case KIND_CATEGORY:
		if (it)
			making_category(m, it, text_copy(m->arena, text));
		break;
	case KIND_KEYWORDS:
		if (it)
			keep_keywords(m, it, text);
		break;
	default:
		keep_text(v, m, s, base);
		break;
	}
}

static void
keep_link(const struct element *e, struct making *m, struct slots *s,
    struct feed_item *it, struct str base, const struct xml_tag *t)
{
	static const struct str IANA =
	    STR("http://www.iana.org/assignments/relation/");
	struct str rel = str_trim(value_attr(t, STR("rel")));
	struct str type = str_trim(value_attr(t, STR("type")));
	struct str url =
	    link_resolve(m->arena, base, value_attr(t, STR("href")));
	bool html = type.n == 0 || is_html(type) ||
		    str_eq_nocase(type, STR("application/xhtml+xml"));

	if (str_starts(rel, IANA))
		rel = str_from(rel, IANA.n);
	if (rel.n == 0 || str_eq_nocase(rel, STR("alternate")))
		slots_set(s, e->field, html ? e->rank : 2, url);
	else if (it && str_eq_nocase(rel, STR("self")))
		slots_set(s, e->field, 1, url);
	else if (it && str_eq_nocase(rel, STR("enclosure")))
		making_enclosure(
		    m, it, url, type, value_attr(t, STR("length")));
}

void
value_attrs(const struct element *e, struct making *m, struct slots *s,
    struct feed_item *it, struct str base, const struct xml_tag *t)
{
	struct str url = value_attr(t, STR("url"));
	struct str length = value_attr(t, STR("length"));

	if (e->kind == KIND_LINK) {
		keep_link(e, m, s, it, base, t);
		return;
	}
	if (!it)
		return;
	if (e->kind == KIND_LABEL) {
		struct str label = value_attr(t, STR("label"));

		if (str_trim(label).n == 0)
			label = value_attr(t, STR("term"));
		if (str_trim(label).n == 0)
			label = value_attr(t, STR("text")); /* iTunes */
		making_category(m, it, text_copy(m->arena, label));
		return;
	}
	if (url.n == 0)
		url = value_attr(t, STR("resource")); /* RDF */
	if (url.n == 0)
		url = value_attr(t, STR("href"));
	if (length.n == 0)
		length = value_attr(t, STR("filesize"));
	url = link_resolve(m->arena, base, url);
	if (e->kind == KIND_THUMB) {
		slots_set(s, e->field, e->rank, url);
		return;
	}
	if (str_eq_nocase(value_attr(t, STR("medium")), STR("image")))
		slots_set(s, FIELD_THUMB, 2, url);
	making_enclosure(m, it, url, value_attr(t, STR("type")), length);
}
