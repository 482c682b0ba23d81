#include "base/arena.h"
#include "feed/feed.h"
#include "reader/fetch/fetcher_priv.h"

/* A feed that was read, as a page would name it. */
struct discover_feed
look_feed(const struct feed *parsed, struct str at)
{
	struct discover_feed one = {
	    .url = at, .title = parsed->title, .kind = DISCOVER_RSS};

	if (parsed->format == FEED_JSON)
		one.kind = DISCOVER_JSON;
	else if (parsed->format == FEED_ATOM1 || parsed->format == FEED_ATOM03)
		one.kind = DISCOVER_ATOM;
	return one;
}

/* Copied: what the fetcher has of it goes, the answer stays. */
int
look_found(struct registration *r, const struct discover_feed *list, size_t n,
    struct err *e)
{
	struct discover_feed *found = arena_array(r->look, n, sizeof(*found));
	bool full = !found;

	for (size_t i = 0; i < n && !full; i++) {
		found[i] = list[i];
		found[i].url = arena_dup(r->look, list[i].url);
		found[i].title = arena_dup(r->look, list[i].title);
		full = !found[i].url.p || !found[i].title.p;
	}
	if (full)
		return err_set(e, ERR_NOMEM, "no room for what was found");
	r->found = found;
	r->n_found = n;
	return OK;
}
