#include "feed/feed_priv.h"
#include "feed/jsonfix.h"
#include "feed/link.h"
#include "feed/slots.h"
#include "markup/limits.h"
#include "markup/text.h"

/* JSON Feed 1.0 and 1.1. A member of the wrong type is as good as none. */

/* A string, or a number or truth value as it is written. */
static struct str
feed_json_text_of(const struct json *j, const char *name)
{
	const struct json *v = json_get(j, name);

	if (!v || v->type == JSON_OBJECT || v->type == JSON_ARRAY ||
	    v->type == JSON_NULL)
		return STR_EMPTY;
	return v->type == JSON_STRING ? v->text : v->raw;
}

static struct str
text_kept(struct making *m, struct str s)
{
	/* An escaped NUL is a valid one, but no text has it. */
	if (s.n > 0 && memchr(s.p, '\0', s.n)) {
		char *p = arena_try(m->arena, s.n);
		size_t n = 0;

		for (size_t i = 0; p && i < s.n; i++)
			if (s.p[i])
				p[n++] = s.p[i];
		return p ? (struct str){p, n} : STR_EMPTY;
	}
	return text_copy(m->arena, s);
}

static struct str
member(struct making *m, const struct json *j, const char *name)
{
	return str_trim(text_kept(m, feed_json_text_of(j, name)));
}

static struct str
plain_text(struct making *m, const struct json *j, const char *name)
{
	return text_squeeze(m->arena, member(m, j, name));
}

static struct str
url_of(struct making *m, const struct json *j, const char *name)
{
	return link_resolve(m->arena, m->url, member(m, j, name));
}

/* "authors" of 1.1, "author" of 1.0, each an object or only a name. */
static struct str
authors(struct making *m, const struct json *j)
{
	const struct json *list = json_get(j, "authors");
	const struct json *one = json_get(j, "author");
	struct slots s = {.rank = {0}};

	if (json_is(list, JSON_ARRAY))
		one = list->child;
	for (; one; one = json_is(list, JSON_ARRAY) ? one->next : NULL) {
		struct str name = one->type == JSON_STRING
				      ? one->text
				      : feed_json_text_of(one, "name");

		slots_author(m->arena, &s, 3, text_kept(m, name));
	}
	return s.text[FIELD_AUTHOR];
}

static void
read_lists(struct making *m, struct feed_item *it, const struct json *j)
{
	const struct json *tags = json_get(j, "tags");
	const struct json *files = json_get(j, "attachments");

	if (json_is(tags, JSON_ARRAY))
		for (const struct json *t = tags->child; t; t = t->next)
			if (t->type == JSON_STRING)
				making_category(m, it, text_kept(m, t->text));
	if (json_is(files, JSON_ARRAY))
		for (const struct json *f = files->child; f; f = f->next)
			making_enclosure(m, it, url_of(m, f, "url"),
			    plain_text(m, f, "mime_type"),
			    feed_json_text_of(f, "size_in_bytes"));
}

static void
read_item(struct making *m, struct feed_item *it, const struct json *j)
{
	struct slots s = {.rank = {0}};

	it->id = plain_text(m, j, "id");
	it->link = url_of(m, j, "url");
	if (it->link.n == 0)
		it->link = url_of(m, j, "external_url");
	if (it->link.n == 0 && link_web(it->id))
		it->link = link_resolve(m->arena, m->url, it->id);
	it->title = plain_text(m, j, "title");
	it->content = member(m, j, "content_html");
	if (it->content.n == 0)
		it->content =
		    text_escape(m->arena, member(m, j, "content_text"));
	it->summary = text_escape(m->arena, member(m, j, "summary"));
	it->author = authors(m, j);
	it->thumbnail = url_of(m, j, "image");
	if (it->thumbnail.n == 0)
		it->thumbnail = url_of(m, j, "banner_image");
	slots_date(
	    &s, FIELD_PUBLISHED, 1, feed_json_text_of(j, "date_published"));
	slots_date(&s, FIELD_UPDATED, 1, feed_json_text_of(j, "date_modified"));
	it->published_us = slots_us(&s, FIELD_PUBLISHED);
	it->updated_us = slots_us(&s, FIELD_UPDATED);
	read_lists(m, it, j);
	if (it->thumbnail.n == 0)
		it->thumbnail = making_picture(it);
}

static int
read_feed(struct making *m, const struct json *j, struct err *e)
{
	const struct json *items = json_get(j, "items");
	const struct json *hubs = json_get(j, "hubs");
	struct feed *f = m->feed;
	struct str version = feed_json_text_of(j, "version");

	if (!json_is(j, JSON_OBJECT) ||
	    (!json_is(items, JSON_ARRAY) &&
		!str_pass(&version, STR("jsonfeed.org"))))
		return err_set(e, ERR_INVALID,
		    "this is JSON, but no JSON Feed: it has no list of items");
	f->format = FEED_JSON;
	f->title = plain_text(m, j, "title");
	f->link = url_of(m, j, "home_page_url");
	f->self = url_of(m, j, "feed_url");
	f->description = text_escape(m->arena, plain_text(m, j, "description"));
	f->language = plain_text(m, j, "language");
	if (json_is(hubs, JSON_ARRAY) && hubs->child)
		f->hub = url_of(m, hubs->child, "url");
	m->author = authors(m, j);
	for (const struct json *i = json_is(items, JSON_ARRAY) ? items->child
							       : NULL;
	     i; i = i->next) {
		struct feed_item *it;

		if (i->type != JSON_OBJECT)
			continue;
		it = making_item(m);
		if (!it)
			break;
		read_item(m, it, i);
		making_add(m, it);
	}
	making_done(m);
	return OK;
}

int
feed_read_json(struct making *m, struct str json, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(FEED_TEXT_MAX);
	struct json *j = NULL;
	struct err first = {0}, again = {0};
	int rc = json_parse(m->arena, str_trim(json), &j, &first);

	if (rc == ERR_SYNTAX) {
		jsonfix(json, &b);
		if (!b.failed &&
		    json_parse(m->arena, buf_str(&b), &j, &again) == OK) {
			rc = OK;
			m->feed->repaired = true;
		}
	}
	if (rc != OK)
		return err_set(e, rc == ERR_SYNTAX ? ERR_INVALID : first.code,
		    "this looks like JSON, but is none: %.180s", first.text);
	return read_feed(m, j, e);
}
