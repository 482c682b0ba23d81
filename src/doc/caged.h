/*
 * caged.h - documents of strangers, read by a process of their own (child.h).
 *
 * WHY. What a feed, a page, a list of subscriptions, an icon or an article says
 * is found by parsers, and a fault in one of them must not be the server's. So
 * the bytes go to a child in a cage, and what comes back is read by one small
 * function that trusts no length (pack.h). tools/layers knows the parsers by
 * name and lets nobody else call them, but the command line's own verbs,
 * which read what their user gives them.
 *
 *   bytes ──caged_feed──▶ child: charset, XML or JSON, HTML ──▶ struct feed
 *   articles that are new or changed ──caged_clean──▶ safe HTML, words
 *
 * WHEN ONE ENDS THE CHILD: by its CPU time, its memory, a crash. The caller gets
 * ERR_INVALID with the word CAGED_ENDED, "the document ended its reader: it took
 * more than …", and the next document gets a new child at once. Who is
 * killed from outside is nobody's fault: the document is tried once more.
 * When there can't be a child now: ERR_AWAY with the word CAGED_AWAY and the
 * time to wait.
 *
 * THE BORDER. A document that takes its child over can lie about itself, and about
 * those that the same child reads after it: DOC_LIFE at most.
 *
 * LIFE. One thread's. The child is started when first needed (20 ms) and ended by
 * caged_rest() when it was not needed for DOC_IDLE_MS. Calls block, DOC_WALL_MS at
 * most, twice and a start when the child is killed meanwhile.
 */
#pragma once

#include "doc/shapes.h"
#include "markup/sanitize.h"
#include "store/store.h"

struct caged;
struct discover;
struct feed;
struct feed_from;
struct opml;

#define CAGED_ENDED "DOCUMENT_UNREAD"
#define CAGED_AWAY  "UNAVAILABLE"

/*
 * For tests, `fault` is "cage.NAME:N": at the Nth document, or at each when N
 * is 0, the child will `crash`, `loop`, take all `memory` or try a forbidden
 * `call`; or the server will `kill` it, or fail to `start` it.
 */
int caged_new(const char *self_exe, const char *fault, struct caged **ret,
    struct err *e) MUST_CHECK;
void caged_free(struct caged *c);    /* NULL is fine */
bool caged_fault(const char *fault); /* is it one of these? NULL is fine */

/* What is made is the arena's. Errors as those of feed/: ERR_INVALID and
 * ERR_LIMIT, in words for people; and the two above. */
int caged_feed(struct caged *c, struct arena *a, struct str bytes,
    const struct feed_from *from, struct feed **ret, struct err *e) MUST_CHECK;
int caged_page(struct caged *c, struct arena *a, struct str bytes,
    const struct feed_from *from, struct discover **ret,
    struct err *e) MUST_CHECK;
int caged_opml(struct caged *c, struct arena *a, struct str bytes,
    struct str content_type, struct opml **ret, struct err *e) MUST_CHECK;
/* "image/png" and so on; NULL when it is no picture that we know. */
int caged_icon(struct caged *c, struct str bytes, const char **ret,
    struct err *e) MUST_CHECK;

/* DOC_ARTICLES_MAX at most; one result for each, in their order. */
struct caged_how {
	enum sanitize_tags tags;
	enum store_engine engine; /* whose words are made */
};
int caged_clean(struct caged *c, struct arena *a, const struct caged_how *how,
    const struct doc_articles *articles, struct doc_cleaned *ret,
    struct err *e) MUST_CHECK;

/* Ends a child that nobody needed for long; the ms until it may do so. */
int caged_rest(struct caged *c);
/* The child's process id; 0: there is none. For tests. */
int caged_pid(const struct caged *c);
