/*
 * items_priv.h - between the steps of a plan: finding, making, writing.
 */
#pragma once

#include "event/append.h"
#include "markup/limits.h"
#include "reader/items.h"
#include "seal/digest.h"
#include "sql.h"

struct feed_item;
struct item_known;

#define ITEM_HASH_BUF (2 * FEED_TEXT_MAX)

/* An article of the document, and what it is known by. */
struct item_cand {
	const struct feed_item *it;
	size_t pos;            /* in the document */
	struct str guid, link; /* .p NULL: none */
	int64_t date;          /* as the feed says, or FEED_NO_DATE */
	unsigned char link_hash[DIGEST_SHORT_LEN];
	unsigned char content_hash[DIGEST_LEN];
	bool hashed;      /* content_hash is made */
	bool link_shared; /* by several ids of the document: it names none */
	bool dup;         /* another of the document has taken it in */
	struct item_known *known;
};

/* One that the store has. */
struct item_known {
	struct sql_item_known_guids_row row;
	bool taken; /* by one of the document */
};

/* A document's articles; the same for all plans that are made of it. */
struct item_doc {
	const struct feed *parsed;
	struct item_cand *cands; /* in the order of the document */
	size_t n;
	struct item_cand **order; /* oldest first, without duplicates */
	size_t n_order;
	struct str *guids; /* all, sorted */
	size_t n_guids;
};

/* Who has a link or hash; `several`: it names none of them. */
struct item_holder {
	void *who; /* struct item_cand or item_known */
	bool several;
};

struct item_change {
	bool known; /* else new */
	struct uuid uid;
	unsigned char state_hash[DIGEST_LEN], same_as[DIGEST_SHORT_LEN];
	/* What it becomes; it points to the above. */
	struct sql_item_insert_args row;
	struct str told;    /* enclosures for the event: no credentials */
	struct str excerpt; /* plain text, for its event */
};

static inline struct str
short_hash(const unsigned char *h)
{
	return (struct str){(const char *)h, DIGEST_SHORT_LEN};
}

static inline struct str
long_hash(const unsigned char *h)
{
	return (struct str){(const char *)h, DIGEST_LEN};
}

/* The document. It and what it points to are the arena's. */
struct item_doc *item_doc_read(struct arena *a, const struct feed *parsed);
bool item_doc_has(const struct item_doc *d, struct str guid);
/* Whether its hash says anything: titles alone are often the same. */
bool item_tells(const struct item_cand *c);
/* `who` has `key`, unless somebody had it before. */
void item_hold(struct arena *a, struct map *m, struct str key, void *who);

/* Pure ---------------------------------------------------------------------- */

/* An id as it is kept: itself, or its hash when it is long. .p NULL: none. */
struct str item_guid(struct arena *a, struct str id);
/* The third step; `b` is scratch. */
void item_content_hash(struct item_cand *c, struct buf *b);
/* All that is shown, and by which list it is cleaned. */
void item_state_hash(const struct item_cand *c, enum sanitize_tags tags,
    struct buf *b, unsigned char ret[DIGEST_LEN]);
/* By what a removed one is known: its id, else its link, else its hash. */
void item_identity(struct str guid, struct str link,
    const unsigned char content_hash[DIGEST_LEN],
    unsigned char ret[DIGEST_LEN]);
/* The date that is shown. */
int64_t item_date(int64_t date, const struct item_known *known, int64_t now_us,
    bool *ret_estimated);

/* What c becomes, but for its texts, which are cleaned elsewhere, and for
 * ch->state_hash, which is there. */
int item_make(struct arena *a, const struct items_from *from,
    const struct item_cand *c, struct item_change *ch,
    struct err *e) MUST_CHECK;
int item_event(struct arena *a, const struct items_from *from,
    const struct sql_item_feed_row *feed, const struct item_change *ch,
    struct entry *ret, struct err *e) MUST_CHECK;
