#include "doc/shapes.h"

#include "doc/limits.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "feed/opml.h"
#include "markup/limits.h"
#include "markup/sanitize.h"
#include "store/store.h"

#define FIELD(kind, s, member, ...)                                            \
	{                                                                      \
		.type = PACK_##kind, .at = offsetof(struct s, member),         \
		.size = sizeof(((struct s *)NULL)->member), __VA_ARGS__        \
	}
#define SHORT(s, member, bytes) FIELD(TEXT, s, member, .most = (int64_t)(bytes))
#define TEXT(s, member)         SHORT(s, member, FEED_TEXT_MAX)
#define MAYBE(s, member, bytes)                                                \
	FIELD(MAYBE, s, member, .most = (int64_t)(bytes))
#define NUMBER(s, member, from, to)                                            \
	FIELD(NUMBER, s, member, .least = (from), .most = (to))
#define FLAG(s, member) NUMBER(s, member, 0, 1)
#define CHAIN(s, member, shape, max, ...)                                      \
	FIELD(CHAIN, s, member, .most = (max), .of = &(shape), __VA_ARGS__)
#define COUNT(s, member) .count = offsetof(struct s, member)
#define ROW(s, member, shape, max, counted)                                    \
	FIELD(ROW, s, member, .most = (max), .of = &(shape), COUNT(s, counted))
#define FIELDS(...)                                                            \
	.fields = (const struct pack_field[]){__VA_ARGS__},                    \
	.n = COUNT_OF(((const struct pack_field[]){__VA_ARGS__}))
#define SHAPE(s, ...)                                                          \
	{                                                                      \
		.size = sizeof(struct s), FIELDS(__VA_ARGS__)                  \
	}
#define LINKED(s, ...)                                                         \
	{                                                                      \
		.size = sizeof(struct s), .next = offsetof(struct s, next),    \
		FIELDS(__VA_ARGS__)                                            \
	}

/* Both ways ------------------------------------------------------------------- */

const struct pack_shape DOC_ASK =
    SHAPE(doc_ask, NUMBER(doc_ask, kind, 0, DOC_KINDS - 1),
	NUMBER(doc_ask, fault, 0, DOC_FAULTS - 1),
	NUMBER(doc_ask, tags, SANITIZE_BASIC, SANITIZE_ARTICLE),
	NUMBER(doc_ask, engine, STORE_SQLITE, STORE_POSTGRES),
	SHORT(doc_ask, url, HREF_MAX), SHORT(doc_ask, content_type, HREF_MAX),
	SHORT(doc_ask, links, DISCOVER_LINKS_MAX));

const struct pack_shape DOC_RESULT =
    SHAPE(doc_result, NUMBER(doc_result, code, ERR_LIMIT, OK),
	SHORT(doc_result, text, sizeof(((struct err *)NULL)->text)));

/* A feed ---------------------------------------------------------------------- */

static const struct pack_shape ENCLOSURE_SHAPE = LINKED(feed_enclosure,
    TEXT(feed_enclosure, url), TEXT(feed_enclosure, type),
    NUMBER(feed_enclosure, length, -1, INT64_MAX));

static const struct pack_shape CATEGORY_SHAPE =
    LINKED(feed_text, TEXT(feed_text, text));

static const struct pack_shape ITEM_SHAPE = LINKED(feed_item,
    TEXT(feed_item, id), TEXT(feed_item, title), TEXT(feed_item, link),
    TEXT(feed_item, content), TEXT(feed_item, summary), TEXT(feed_item, author),
    TEXT(feed_item, base), TEXT(feed_item, thumbnail),
    NUMBER(feed_item, published_us, INT64_MIN, INT64_MAX),
    NUMBER(feed_item, updated_us, INT64_MIN, INT64_MAX),
    CHAIN(feed_item, categories, CATEGORY_SHAPE, FEED_CATEGORIES_MAX),
    CHAIN(feed_item, enclosures, ENCLOSURE_SHAPE, FEED_ENCLOSURES_MAX));

const struct pack_shape DOC_FEED_SHAPE = SHAPE(feed,
    NUMBER(feed, format, FEED_RSS2, FEED_JSON), FLAG(feed, repaired),
    FLAG(feed, cut), TEXT(feed, title), TEXT(feed, link),
    TEXT(feed, description), TEXT(feed, language), TEXT(feed, self),
    TEXT(feed, hub), NUMBER(feed, updated_us, INT64_MIN, INT64_MAX),
    CHAIN(feed, items, ITEM_SHAPE, FEED_ITEMS_MAX, COUNT(feed, n_items)));

/* A page ---------------------------------------------------------------------- */

static const struct pack_shape NAMED_SHAPE =
    SHAPE(discover_feed, SHORT(discover_feed, url, HREF_MAX),
	SHORT(discover_feed, title, 4 * DISCOVER_TITLE_MAX),
	NUMBER(discover_feed, kind, DISCOVER_ATOM, DISCOVER_XML),
	FLAG(discover_feed, same_host));

static const struct pack_shape PICTURE_SHAPE =
    SHAPE(discover_icon, SHORT(discover_icon, url, HREF_MAX),
	NUMBER(discover_icon, pixels, INT32_MIN, INT32_MAX),
	FLAG(discover_icon, svg), FLAG(discover_icon, touch));

const struct pack_shape DOC_PAGE_SHAPE =
    SHAPE(discover, FLAG(discover, is_feed), SHORT(discover, refresh, HREF_MAX),
	ROW(discover, feeds, NAMED_SHAPE, DISCOVER_FEEDS_MAX, n_feeds),
	ROW(discover, icons, PICTURE_SHAPE, DISCOVER_ICONS_MAX + 1, n_icons));

/* A list of subscriptions ------------------------------------------------------ */

static const struct pack_shape LISTED_SHAPE =
    LINKED(opml_feed, SHORT(opml_feed, title, OPML_BYTES_MAX),
	SHORT(opml_feed, url, OPML_BYTES_MAX),
	SHORT(opml_feed, site, OPML_BYTES_MAX),
	SHORT(opml_feed, category, OPML_BYTES_MAX));

const struct pack_shape DOC_OPML_SHAPE = SHAPE(opml, FLAG(opml, repaired),
    FLAG(opml, cut), SHORT(opml, title, OPML_BYTES_MAX),
    CHAIN(opml, feeds, LISTED_SHAPE, OPML_FEEDS_MAX, COUNT(opml, n_feeds)));

/* An icon ---------------------------------------------------------------------- */

const struct pack_shape DOC_ICON_SHAPE =
    SHAPE(doc_icon, SHORT(doc_icon, mime, 32));

/* Articles --------------------------------------------------------------------- */

static const struct pack_shape ARTICLE_SHAPE =
    LINKED(doc_article, TEXT(doc_article, title),
	MAYBE(doc_article, author, FEED_TEXT_MAX), TEXT(doc_article, summary),
	TEXT(doc_article, content), TEXT(doc_article, base));

const struct pack_shape DOC_ARTICLES = SHAPE(
    doc_articles, CHAIN(doc_articles, first, ARTICLE_SHAPE, DOC_ARTICLES_MAX));

static const struct pack_shape CLEAN_SHAPE =
    LINKED(doc_clean, MAYBE(doc_clean, summary, ITEM_CONTENT_MAX),
	MAYBE(doc_clean, content, ITEM_CONTENT_MAX),
	SHORT(doc_clean, terms, 2 * TERMS_BYTES_MAX),
	SHORT(doc_clean, excerpt, 4 * ITEM_EVENT_TEXT),
	SHORT(doc_clean, title, 8 * ITEM_TITLE_TEXT));

const struct pack_shape DOC_CLEANED =
    SHAPE(doc_cleaned, CHAIN(doc_cleaned, first, CLEAN_SHAPE, DOC_ARTICLES_MAX,
			   COUNT(doc_cleaned, n)));

const struct pack_shape *const DOC_SHAPES[DOC_KINDS] = {
    [DOC_FEED] = &DOC_FEED_SHAPE,
    [DOC_PAGE] = &DOC_PAGE_SHAPE,
    [DOC_OPML] = &DOC_OPML_SHAPE,
    [DOC_ICON] = &DOC_ICON_SHAPE,
    [DOC_CLEAN] = &DOC_CLEANED,
};
