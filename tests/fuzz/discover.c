/*
 * A page from anybody: what is found is an absolute http or https URL, named
 * once, within its bounds; looking again finds the same. A page of a charset
 * that nobody reads is refused. The first byte chooses the Content-Type.
 */
#include "feed/discover.h"

#include "markup/href.h"
#include "markup/limits.h"
#include "said.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(struct arena *a, struct str url)
{
	struct str again =
	    href_resolve(a, STR_EMPTY, url, HREF_HTTP | HREF_HTTPS);

	assert(url.n <= HREF_MAX && str_utf8_bad(url) == url.n);
	assert(str_starts(url, STR("http://")) ||
	       str_starts(url, STR("https://")));
	assert(href_host(url).n > 0 && str_eq(url, again));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = {(const char *)data, size};
	struct feed_from from = {.url = STR("https://h.example/a/b"),
	    .content_type = said(size > 0 ? data[0] : 0)};
	struct arena *a = arena_new(16 * MIB);
	struct discover d, e;
	struct err err = {0};

	/* The same bytes are the headers, too: they are a stranger's as well. */
	from.links = str_from(s, 1);
	if (discover(a, str_from(s, 1), &from, &d, &err) < 0) {
		assert(err.code == ERR_INVALID && strstr(err.text, "charset"));
		arena_free(a);
		return 0;
	}
	if (discover(a, str_from(s, 1), &from, &e, &err) < 0)
		abort();
	assert(d.n_feeds <= DISCOVER_FEEDS_MAX && d.n_feeds == e.n_feeds);
	assert(d.n_icons <= DISCOVER_ICONS_MAX + 1 && d.n_icons == e.n_icons);
	assert(!d.is_feed || d.n_feeds + d.n_icons == 0);
	for (size_t i = 0; i < d.n_feeds; i++) {
		check(a, d.feeds[i].url);
		assert(str_eq(d.feeds[i].url, e.feeds[i].url));
		assert(str_utf8_bad(d.feeds[i].title) == d.feeds[i].title.n);
		for (size_t k = 0; k < i; k++)
			assert(!str_eq(d.feeds[i].url, d.feeds[k].url));
	}
	for (size_t i = 0; i < d.n_icons; i++)
		check(a, d.icons[i].url);
	if (d.refresh.n > 0)
		check(a, d.refresh);
	arena_free(a);
	return 0;
}
