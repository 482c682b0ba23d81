/*
 * slots.h - the values that a feed or an item has so far, by field.
 *
 * A feed says many things twice (dc:date and pubDate). Each way has a rank; a
 * field keeps the value of the highest.
 */
#pragma once

#include "feed/element.h"

struct slots {
	struct str text[FIELD_COUNT];
	int64_t date_us[FIELD_COUNT];
	uint8_t rank[FIELD_COUNT]; /* 0: none yet */
};

static inline bool
slots_wants(const struct slots *s, enum field f, uint8_t rank)
{
	return rank > s->rank[f];
}

/* `text` must live as long as the slots. An empty one changes nothing. */
static inline void
slots_set(struct slots *s, enum field f, uint8_t rank, struct str text)
{
	if (text.n == 0 || !slots_wants(s, f, rank))
		return;
	s->text[f] = text;
	s->rank[f] = rank;
}

void slots_date(struct slots *s, enum field f, uint8_t rank, struct str text);
int64_t slots_us(const struct slots *s, enum field f); /* or FEED_NO_DATE */
/* One more author; those of a lower rank go. */
void slots_author(
    struct arena *a, struct slots *s, uint8_t rank, struct str person);
