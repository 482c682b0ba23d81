#include "feed/feed_priv.h"
#include "feed/limits.h"
#include "feed/link.h"
#include "feed/slots.h"
#include "feed/xml_value.h"
#include "markup/limits.h"
#include "markup/text.h"

/*
 * markup/xml.h calls start, text and end; the frames are the elements that are
 * open. One element at a time is captured: its text, and where it may hold HTML
 * also the elements in it, written out again.
 */

#define FRAMES_MAX (FEED_DEPTH_MAX + 1)
#define NOWHERE    ((enum element_where)8)
#define CACHE      64

struct frame {
	enum element_where where; /* what is looked for in it */
	struct str base;
	const struct element *author; /* it is one of these */
};

struct reading {
	struct making *m;
	struct frame frames[FRAMES_MAX];
	size_t depth;
	struct slots feed_slots, item_slots, author_slots;
	struct feed_item *item;
	size_t item_depth;
	struct value cap; /* cap.e NULL: nothing is captured */
	size_t cap_depth;
	struct buf author_text;
	/* Elements that were looked up: a feed has few, and each often. */
	struct {
		struct str name; /* the text's */
		enum element_family family;
		enum element_where where;
		const struct element *e;
	} cache[CACHE];
	bool rooted, plain_atom, refused, enough;
	char root[48];
};

static enum element_family
family_of(const struct reading *r, const struct xml_tag *t)
{
	return r->plain_atom && t->space == FAMILY_RSS
		   ? FAMILY_ATOM
		   : (enum element_family)t->space;
}

static const struct element *
look_up(struct reading *r, enum element_family family, struct str name,
    enum element_where where)
{
	size_t i = ((size_t)(unsigned char)name.p[0] * 7 +
		       (unsigned char)name.p[name.n - 1] * 3 + name.n * 5 +
		       (size_t)family + (size_t)where * 11) %
		   CACHE;

	if (r->cache[i].family != family || r->cache[i].where != where ||
	    !str_eq(r->cache[i].name, name)) {
		r->cache[i].name = name;
		r->cache[i].family = family;
		r->cache[i].where = where;
		r->cache[i].e = element_find(family, name, where);
	}
	return r->cache[i].e;
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
	if (it->link.n == 0)
		it->link = s->text[FIELD_PERMA];
	it->content = s->text[FIELD_CONTENT];
	it->summary = s->text[FIELD_SUMMARY];
	it->author = s->text[FIELD_AUTHOR];
	if (s->text[FIELD_BASE].n > 0)
		it->base = s->text[FIELD_BASE];
	it->thumbnail = s->text[FIELD_THUMB];
	if (it->thumbnail.n == 0)
		it->thumbnail = making_picture(it);
	it->published_us = slots_us(s, FIELD_PUBLISHED);
	it->updated_us = slots_us(s, FIELD_UPDATED);
	making_add(r->m, it);
	r->item = NULL;
}

static void
begin_item(struct reading *r, const struct xml_tag *t)
{
	struct str about = value_attr(t, STR("about"));
	struct str href = value_attr(t, STR("href")); /* CDF */

	if (r->item)
		end_item(r);
	memset(&r->item_slots, 0, sizeof(r->item_slots));
	r->item_depth = r->depth;
	r->item = making_item(r->m);
	if (!r->item) {
		r->enough = true;
		return;
	}
	r->item->base = r->frames[r->depth].base;
	slots_set(&r->item_slots, FIELD_LINK, 1,
	    link_resolve(r->m->arena, r->item->base, href));
	if (about.n > 0) {
		slots_set(&r->item_slots, FIELD_ID, 2,
		    text_copy(r->m->arena, str_trim(about)));
		if (link_web(about))
			slots_set(&r->item_slots, FIELD_LINK, 1,
			    r->item_slots.text[FIELD_ID]);
	}
}

/* ---- the root ---- */

static bool
is(struct str name, const char *wanted)
{
	return str_eq_nocase(name, str_of(wanted));
}

static bool
known_root(struct reading *r, const struct xml_tag *t)
{
	struct feed *f = r->m->feed;
	struct str version = str_trim(value_attr(t, STR("version")));
	struct str uri = t->uri;

	if (is(t->name, "rss") || is(t->name, "channel")) {
		f->format =
		    str_starts(version, STR("0.")) ? FEED_RSS09X : FEED_RSS2;
		return true;
	}
	if (is(t->name, "rdf")) {
		f->format = FEED_RSS1;
		return true;
	}
	if (!is(t->name, "feed") && !is(t->name, "entry"))
		return false;
	f->format =
	    str_pass(&uri, STR("purl.org/atom")) || str_eq(version, STR("0.3"))
		? FEED_ATOM03
		: FEED_ATOM1;
	r->plain_atom = t->space == FAMILY_RSS;
	return true;
}

static void
keep_language(struct reading *r, const struct xml_tag *t)
{
	slots_set(&r->feed_slots, FIELD_LANGUAGE, 1,
	    text_copy(r->m->arena, str_trim(value_attr(t, STR("lang")))));
}

static void
begin_root(struct reading *r, const struct xml_tag *t)
{
	r->rooted = true;
	(void)snprintf(
	    r->root, sizeof(r->root), "%.*s", STR_ARG(str_chars(t->name, 10)));
	r->refused = !known_root(r, t);
	if (!r->refused)
		keep_language(r, t);
}

/* ---- capturing ---- */

static void
finish_capture(struct reading *r)
{
	struct frame *f = &r->frames[r->cap_depth];
	struct slots *s = slots_of(r, f->where);

	if (s)
		value_keep(&r->cap, r->m, s,
		    f->where == IN_ITEM ? r->item : NULL, f->base);
	r->cap.e = NULL;
}

/*
 * Within a captured element an element of the feed begins: was the captured
 * one never closed?
 */
static bool
ends_capture(struct reading *r, enum element_family family, struct str name)
{
	enum element_where where = r->frames[r->cap_depth].where;

	if (family == FAMILY_XHTML || r->cap.escape)
		return false;
	if (r->cap.markup && (is(name, "source") || is(name, "summary")))
		return false;
	return look_up(r, family, name, where) != NULL;
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
feed_link(struct reading *r, const struct xml_tag *t, struct str base)
{
	struct str rel = value_attr(t, STR("rel"));
	struct str href = value_attr(t, STR("href"));
	struct feed *f = r->m->feed;

	if (str_eq_nocase(rel, STR("self")) && f->self.n == 0)
		f->self = link_resolve(r->m->arena, base, href);
	if (str_eq_nocase(rel, STR("hub")) && f->hub.n == 0)
		f->hub = link_resolve(r->m->arena, base, href);
}

/* What an element means for what is in it; it may be all in its attributes. */
static enum element_where
begin_element(struct reading *r, const struct element *e,
    enum element_where where, const struct xml_tag *t)
{
	struct frame *f = &r->frames[r->depth];

	switch ((int)e->kind) {
	case KIND_CHANNEL:
		keep_language(r, t);
		return IN_FEED;
	case KIND_ITEM:
		begin_item(r, t);
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
	case KIND_THUMB:
		if (where == IN_FEED && e->kind == KIND_LINK)
			feed_link(r, t, f->base);
		if (slots_of(r, where))
			value_attrs(e, r->m, slots_of(r, where),
			    where == IN_ITEM ? r->item : NULL, f->base, t);
		/* Its text, where it has no other address. */
		if (e->kind == KIND_LINK &&
		    value_attr(t, STR("href")).n +
			    value_attr(t, STR("rel")).n ==
			0)
			break;
		/* One that is never closed hides none behind it. */
		return where;
	case KIND_PLAIN:
	case KIND_TITLE:
	case KIND_HTML:
	case KIND_MARKUP:
	case KIND_CONSTRUCT:
		/* Atom 0.3: the same in several types, each in its own. */
		if (str_starts(value_attr(t, STR("type")), STR("multipart/")))
			return where;
		break;
	default:
		break;
	}
	value_begin(&r->cap, r->m->arena, e, t);
	r->cap_depth = r->depth;
	return where;
}

static bool
on_start(void *ctx, const struct xml_tag *t)
{
	struct reading *r = ctx;
	enum element_family family = family_of(r, t);
	enum element_where where;
	const struct element *e;
	struct frame *f = &r->frames[++r->depth];
	struct str uri = t->uri;

	*f = (struct frame){NOWHERE, f[-1].base, NULL};
	if (t->n_attrs > 0)
		f->base = value_base(t, r->m->arena, f->base);
	if (r->cap.e) {
		if (!ends_capture(r, family, t->name)) {
			value_start(
			    &r->cap, r->depth - r->cap_depth, t, f->base);
			return true;
		}
		drop_capture(r);
	}
	if (!r->rooted) {
		begin_root(r, t);
		if (r->refused)
			return false;
		family = family_of(r, t);
	}
	where = r->depth > 1 ? f[-1].where : NOWHERE;
	e = look_up(r, family, t->name, where);
	/* A pubDate in Atom says when, whoever put it there. */
	if (!e && family == FAMILY_ATOM)
		e = look_up(r, FAMILY_RSS, t->name, where);
	if (!e)
		return true;
	/* RSS 0.90 and 1.0 differ in nothing but their namespace. */
	if (e->kind == KIND_CHANNEL && r->m->feed->format == FEED_RSS1 &&
	    str_pass(&uri, STR("simple/0.9")))
		r->m->feed->format = FEED_RSS09X;
	f->where = begin_element(r, e, where, t);
	return !r->enough;
}

static void
on_text(void *ctx, struct str text, bool bare)
{
	struct reading *r = ctx;

	if (r->cap.e)
		value_text(&r->cap, text, bare);
	else if (r->frames[r->depth].author)
		buf_add(&r->author_text, text);
}

static void
end_author(struct reading *r, const struct element *e, enum element_where where)
{
	struct slots *a = &r->author_slots, *s = slots_of(r, where);
	struct str who = a->text[FIELD_NAME];

	if (who.n == 0)
		who = a->text[FIELD_EMAIL];
	if (who.n == 0)
		who = text_copy(r->m->arena, buf_str(&r->author_text));
	if (s)
		slots_author(r->m->arena, s, e->rank, who);
}

static void
on_end(void *ctx, const struct xml_tag *t)
{
	struct reading *r = ctx;
	struct frame *f = &r->frames[r->depth];

	if (r->cap.e && r->depth == r->cap_depth)
		finish_capture(r);
	else if (r->cap.e)
		value_end(&r->cap, r->depth - r->cap_depth, t);
	if (f->author)
		end_author(r, f->author, f[-1].where);
	if (r->item && r->depth == r->item_depth)
		end_item(r);
	r->depth--;
}

static void
finish_feed(struct reading *r)
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
	if (f->link.n == 0 && !str_eq(s->text[FIELD_PERMA], f->self))
		f->link = s->text[FIELD_PERMA];
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

	if (!r->rooted)
		return err_set(e, ERR_INVALID, "there is no element in it");
	if (r->refused && is(str_of(r->root), "html"))
		return err_set(
		    e, ERR_INVALID, "this is an HTML page, not a feed");
	if (r->refused)
		return err_set(e, ERR_INVALID,
		    "this is not a feed: its root element is <%s>", r->root);
	finish_feed(r);
	if (f->n_items == 0 && f->title.n == 0 && f->link.n == 0 &&
	    f->description.n == 0 && f->format == FEED_RSS1)
		return err_set(e, ERR_INVALID,
		    "this is RDF, but no feed: it has no channel and no item");
	return OK;
}

static int
on_space(struct str uri, struct str prefix)
{
	return (int)element_family(uri, prefix);
}

static const struct xml_calls CALLS = {on_start, on_text, on_end, on_space};

int
feed_read_xml(struct making *m, struct str xml, struct str doctype, bool mend,
    struct err *e)
{
	struct reading *r = mem_get(sizeof(*r));
	bool faulty = false;
	int rc;

	r->m = m;
	r->frames[0] = (struct frame){NOWHERE, m->url, NULL};
	r->cap.text = BUF(FEED_TEXT_MAX);
	r->author_text = BUF(FEED_AUTHOR_MAX);
	rc = xml_read(xml, doctype, mend, &CALLS, r, &faulty);
	if (rc == OK)
		rc = verdict(r, e);
	m->feed->repaired = faulty;
	buf_done(&r->cap.text);
	buf_done(&r->author_text);
	free(r);
	return rc == ERR_LIMIT
		   ? err_set(e, rc, "an element's attributes are too large")
		   : rc;
}
