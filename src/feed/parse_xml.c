#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "feed/link.h"
#include "feed/parse_priv.h"
#include "feed/slots.h"
#include "feed/xml_value.h"

/*
 * libxml2 calls start, text and end; the frames are the elements that are
 * open. One element at a time is captured: its text, and where it may hold
 * HTML also the elements in it, written out again.
 */

#define FRAMES_MAX 260 /* libxml2 ends at 256 */
#define NOWHERE    ((enum element_where)8)
#define SPACES_MAX 16

struct frame {
	enum element_where where; /* what is looked for in it */
	struct str base;
	const struct element *author; /* it is one of these */
};

struct reading {
	struct making *m;
	xmlParserCtxtPtr ctxt;
	struct frame frames[FRAMES_MAX];
	size_t depth;
	struct slots feed_slots, item_slots, author_slots;
	struct feed_item *item;
	size_t item_depth;
	struct value cap; /* cap.e NULL: nothing is captured */
	size_t cap_depth;
	struct buf author_text;
	struct {
		const xmlChar *uri, *prefix;
		enum element_family family;
	} spaces[SPACES_MAX];
	bool strict, broken, rooted, plain_atom, refused;
	char root[48];
};

static const char *
chars(const xmlChar *s)
{
	return (const char *)s;
}

/* The names are libxml2's dictionary's: the same name, the same address. */
static enum element_family
family_of(struct reading *r, const xmlChar *uri, const xmlChar *prefix)
{
	size_t i =
	    (((uintptr_t)uri >> 4) ^ ((uintptr_t)prefix >> 3)) % SPACES_MAX;

	if (r->spaces[i].uri != uri || r->spaces[i].prefix != prefix ||
	    r->spaces[i].family == FAMILY_OTHER) {
		r->spaces[i].uri = uri;
		r->spaces[i].prefix = prefix;
		r->spaces[i].family = element_family(chars(uri), chars(prefix));
	}
	if (r->plain_atom && r->spaces[i].family == FAMILY_RSS)
		return FAMILY_ATOM;
	return r->spaces[i].family;
}

static struct slots *
slots_of(struct reading *r, enum element_where where)
{
	if (where == IN_AUTHOR)
		return &r->author_slots;
	if (where == IN_ITEM)
		return r->item ? &r->item_slots : NULL;
	return &r->feed_slots;
}

/* ---- items ---- */

static void
end_item(struct reading *r)
{
	struct slots *s = &r->item_slots;
	struct feed_item *it = r->item;

	it->id = s->text[FIELD_ID];
	it->title = s->text[FIELD_TITLE];
	it->link = s->text[FIELD_LINK];
	it->content = s->text[FIELD_CONTENT];
	it->summary = s->text[FIELD_SUMMARY];
	it->author = s->text[FIELD_AUTHOR];
	it->published_us = slots_us(s, FIELD_PUBLISHED);
	it->updated_us = slots_us(s, FIELD_UPDATED);
	making_add(r->m, it);
	r->item = NULL;
}

static void
begin_item(struct reading *r, const struct attrs *attrs)
{
	struct str about = attrs_get(attrs, "about");

	if (r->item)
		end_item(r);
	memset(&r->item_slots, 0, sizeof(r->item_slots));
	r->item_depth = r->depth;
	r->item = making_item(r->m);
	if (!r->item) {
		xmlStopParser(r->ctxt);
		return;
	}
	r->item->base = r->frames[r->depth].base;
	if (about.n > 0) {
		slots_set(&r->item_slots, FIELD_ID, 2,
		    arena_dup(r->m->arena, str_trim(about)));
		if (link_web(about))
			slots_set(&r->item_slots, FIELD_LINK, 1,
			    r->item_slots.text[FIELD_ID]);
	}
}

/* ---- the root ---- */

static bool
is(const char *name, const char *wanted)
{
	return str_eq_nocase(str_of(name), str_of(wanted));
}

static bool
known_root(struct reading *r, const char *name, const char *uri,
    const struct attrs *attrs)
{
	struct feed *f = r->m->feed;
	struct str version = str_trim(attrs_get(attrs, "version"));

	if (is(name, "rss") || is(name, "channel")) {
		f->format =
		    str_starts(version, STR("0.")) ? FEED_RSS09X : FEED_RSS2;
		return true;
	}
	if (is(name, "rdf")) {
		f->format = FEED_RSS1;
		return true;
	}
	if (!is(name, "feed") && !is(name, "entry"))
		return false;
	f->format =
	    (uri && strstr(uri, "purl.org/atom")) || str_eq(version, STR("0.3"))
		? FEED_ATOM03
		: FEED_ATOM1;
	r->plain_atom = !uri || element_family(uri, NULL) == FAMILY_RSS;
	return true;
}

static void
begin_root(struct reading *r, const char *name, const char *uri,
    const struct attrs *attrs)
{
	r->rooted = true;
	(void)snprintf(r->root, sizeof(r->root), "%.40s", name);
	if (!known_root(r, name, uri, attrs)) {
		r->refused = true;
		xmlStopParser(r->ctxt);
		return;
	}
	slots_set(&r->feed_slots, FIELD_LANGUAGE, 1,
	    arena_dup(r->m->arena, str_trim(attrs_get(attrs, "lang"))));
}

/* ---- capturing ---- */

static void
finish_capture(struct reading *r)
{
	struct frame *f = &r->frames[r->cap_depth];
	struct slots *s = slots_of(r, f->where);

	if (s && !r->broken)
		value_keep(&r->cap, r->m, s,
		    f->where == IN_ITEM ? r->item : NULL, f->base);
	r->cap.e = NULL;
}

/*
 * Within a captured element an element of the feed begins: was the captured
 * one never closed?
 */
static bool
ends_capture(struct reading *r, enum element_family family, const char *name)
{
	enum element_where where = r->frames[r->cap_depth].where;

	if (family == FAMILY_XHTML || r->cap.escape)
		return false;
	if (r->cap.markup && (is(name, "source") || is(name, "summary")))
		return false;
	return element_find(family, name, where) != NULL;
}

static void
drop_capture(struct reading *r)
{
	enum element_where where = r->frames[r->cap_depth].where;

	finish_capture(r);
	for (size_t i = r->cap_depth; i <= r->depth; i++)
		r->frames[i].where = where;
}

/* ---- elements ---- */

static void
feed_link(struct reading *r, const struct attrs *attrs, struct str base)
{
	struct str rel = attrs_get(attrs, "rel");
	struct str href = attrs_get(attrs, "href");
	struct feed *f = r->m->feed;

	if (str_eq_nocase(rel, STR("self")) && f->self.n == 0)
		f->self = link_resolve(r->m->arena, base, href);
	if (str_eq_nocase(rel, STR("hub")) && f->hub.n == 0)
		f->hub = link_resolve(r->m->arena, base, href);
}

/* What an element means for what is in it; it may be all in its attributes. */
static enum element_where
begin(struct reading *r, const struct element *e, enum element_where where,
    const struct attrs *attrs)
{
	struct frame *f = &r->frames[r->depth];

	switch (e->kind) {
	case KIND_CHANNEL:
		return IN_FEED;
	case KIND_ITEM:
		begin_item(r, attrs);
		return IN_ITEM;
	case KIND_PASS:
		return where;
	case KIND_SKIP:
		return NOWHERE;
	case KIND_AUTHOR:
		f->author = e;
		memset(&r->author_slots, 0, sizeof(r->author_slots));
		buf_clear(&r->author_text);
		return IN_AUTHOR;
	case KIND_LABEL:
	case KIND_LINK:
	case KIND_ENCLOSURE:
	case KIND_MEDIA:
		if (where == IN_FEED && e->kind == KIND_LINK)
			feed_link(r, attrs, f->base);
		if (slots_of(r, where))
			value_attrs(e, r->m, slots_of(r, where),
			    where == IN_ITEM ? r->item : NULL, f->base, attrs);
		return e->kind == KIND_MEDIA ? where : NOWHERE;
	case KIND_PLAIN:
	case KIND_TITLE:
	case KIND_HTML:
	case KIND_MARKUP:
	case KIND_CONSTRUCT:
	case KIND_URL:
	case KIND_DATE:
	case KIND_PERSON:
	case KIND_GUID:
	case KIND_CATEGORY:
	case KIND_KEYWORDS:
		break;
	}
	value_begin(&r->cap, r->m->arena, e, attrs);
	r->cap_depth = r->depth;
	return where;
}

static void
on_start(void *ctx, const xmlChar *name, const xmlChar *prefix,
    const xmlChar *uri, int n_spaces, const xmlChar **spaces, int n_attrs,
    int n_default, const xmlChar **list)
{
	struct reading *r = ctx;
	struct attrs attrs = {list, n_attrs};
	enum element_family family = family_of(r, uri, prefix);
	enum element_where where;
	const struct element *e;
	struct frame *f;

	(void)n_spaces, (void)spaces, (void)n_default;
	if (r->depth + 1 == FRAMES_MAX) {
		xmlStopParser(r->ctxt);
		return;
	}
	f = &r->frames[++r->depth];
	*f = (struct frame){NOWHERE, f[-1].base, NULL};
	if (n_attrs > 0)
		f->base = attrs_base(&attrs, r->m->arena, f->base);
	if (r->cap.e) {
		if (!ends_capture(r, family, chars(name))) {
			value_start(&r->cap, r->depth - r->cap_depth,
			    chars(name), chars(prefix), family, &attrs);
			return;
		}
		drop_capture(r);
	}
	if (!r->rooted) {
		begin_root(r, chars(name), chars(uri), &attrs);
		/* Once it is stopped the attributes are gone. */
		if (r->refused)
			return;
		family = family_of(r, uri, prefix);
	}
	where = r->depth > 1 ? f[-1].where : NOWHERE;
	f->where = NOWHERE;
	e = element_find(family, chars(name), where);
	if (!e)
		return;
	/* RSS 0.90 and 1.0 differ in nothing but their namespace. */
	if (e->kind == KIND_CHANNEL && r->m->feed->format == FEED_RSS1 && uri &&
	    strstr(chars(uri), "simple/0.9"))
		r->m->feed->format = FEED_RSS09X;
	f->where = begin(r, e, where, &attrs);
}

static void
on_text(void *ctx, const xmlChar *text, int n)
{
	struct reading *r = ctx;
	struct str s = {chars(text), (size_t)n};

	if (r->cap.e)
		value_text(&r->cap, s);
	else if (r->frames[r->depth].author)
		buf_add(&r->author_text, s);
}

static void
end_author(struct reading *r, const struct element *e, enum element_where where)
{
	struct slots *a = &r->author_slots, *s = slots_of(r, where);
	struct str who = a->text[FIELD_NAME];

	if (who.n == 0)
		who = a->text[FIELD_EMAIL];
	if (who.n == 0)
		who = arena_dup(r->m->arena, buf_str(&r->author_text));
	if (s && who.p)
		slots_author(r->m->arena, s, e->rank, who);
}

static void
on_end(
    void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
	struct reading *r = ctx;
	struct frame *f = &r->frames[r->depth];

	if (r->depth == 0)
		return;
	if (r->cap.e && r->depth == r->cap_depth)
		finish_capture(r);
	else if (r->cap.e)
		value_end(&r->cap, r->depth - r->cap_depth, chars(name),
		    chars(prefix), family_of(r, uri, prefix));
	if (f->author)
		end_author(r, f->author, f[-1].where);
	if (r->item && r->depth == r->item_depth)
		end_item(r);
	r->depth--;
}

static void
on_error(void *ctx, xmlErrorPtr error)
{
	struct reading *r = ctx;

	if (!r->strict || r->refused || error->level < XML_ERR_ERROR ||
	    error->domain == XML_FROM_NAMESPACE)
		return;
	/* Without recovery it calls nothing any more. To stop it here would free
	 * the text that it is in the middle of. */
	r->broken = true;
}

static void
finish(struct reading *r)
{
	struct feed *f = r->m->feed;
	struct slots *s = &r->feed_slots;

	/* The text ended early: what there is of it is kept. */
	if (r->cap.e)
		finish_capture(r);
	if (r->item)
		end_item(r);
	f->title = s->text[FIELD_TITLE];
	f->link = s->text[FIELD_LINK];
	f->description = s->text[FIELD_SUMMARY];
	f->language = s->text[FIELD_LANGUAGE];
	f->updated_us = slots_us(s, FIELD_UPDATED);
	r->m->author = s->text[FIELD_AUTHOR];
	making_done(r->m);
}

static int
verdict(struct reading *r, struct err *e)
{
	const struct feed *f = r->m->feed;

	if (r->broken)
		return err_set(e, ERR_SYNTAX, "the feed is not well-formed");
	if (!r->rooted)
		return err_set(e, ERR_INVALID, "there is no element in it");
	if (r->refused && is(r->root, "html"))
		return err_set(
		    e, ERR_INVALID, "this is an HTML page, not a feed");
	if (r->refused)
		return err_set(e, ERR_INVALID,
		    "this is not a feed: its root element is <%s>", r->root);
	finish(r);
	if (f->n_items == 0 && f->title.n == 0 && f->link.n == 0 &&
	    f->description.n == 0 && f->format == FEED_RSS1)
		return err_set(e, ERR_INVALID,
		    "this is RDF, but no feed: it has no channel and no item");
	return OK;
}

static xmlParserCtxtPtr
context(struct reading *r, struct str xml)
{
	xmlParserCtxtPtr c = xmlCreateMemoryParserCtxt(xml.p, (int)xml.n);

	if (!c)
		return NULL;
	/* NOENT is for the five that XML has; of others there can be none. */
	(void)xmlCtxtUseOptions(c, XML_PARSE_NOENT | XML_PARSE_NONET |
				       XML_PARSE_IGNORE_ENC |
				       (r->strict ? 0 : XML_PARSE_RECOVER));
	memset(c->sax, 0, sizeof(*c->sax));
	c->sax->initialized = XML_SAX2_MAGIC;
	c->sax->startElementNs = on_start;
	c->sax->endElementNs = on_end;
	c->sax->characters = on_text;
	c->sax->cdataBlock = on_text;
	c->sax->ignorableWhitespace = on_text;
	c->sax->serror = on_error;
	c->userData = r;
	return c;
}

int
parse_xml(struct making *m, struct str xml, bool strict, struct err *e)
{
	struct reading *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return err_set(e, ERR_NOMEM, "no memory");
	r->m = m;
	r->strict = strict;
	r->frames[0] = (struct frame){NOWHERE, m->url, NULL};
	r->cap.text = BUF(FEED_TEXT_MAX);
	r->author_text = BUF(FEED_AUTHOR_MAX);
	r->ctxt = context(r, xml);
	if (r->ctxt) {
		(void)xmlParseDocument(r->ctxt);
		rc = verdict(r, e);
		xmlFreeParserCtxt(r->ctxt);
	} else {
		rc = err_set(e, ERR_NOMEM, "no memory");
	}
	buf_done(&r->cap.text);
	buf_done(&r->author_text);
	free(r);
	return rc;
}
