#include "feed/slots.h"

#include "feed/date.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "markup/text.h"

void
slots_date(struct slots *s, enum field f, uint8_t rank, struct str text)
{
	int64_t us;

	if (!slots_wants(s, f, rank) || !feed_date(text, &us))
		return;
	s->date_us[f] = us;
	s->rank[f] = rank;
}

int64_t
slots_us(const struct slots *s, enum field f)
{
	return s->rank[f] > 0 ? s->date_us[f] : FEED_NO_DATE;
}

void
slots_author(struct arena *a, struct slots *s, uint8_t rank, struct str person)
{
	struct str *have = &s->text[FIELD_AUTHOR], name;
	bool named;

	name = text_person(a, person, &named);
	/* An address alone is worth less than any name. */
	if (!named)
		rank = 1;
	if (name.n == 0 || rank < s->rank[FIELD_AUTHOR])
		return;
	if (rank > s->rank[FIELD_AUTHOR]) {
		*have = text_copy(a, name);
	} else if (have->n + name.n < FEED_AUTHOR_MAX &&
		   !memmem(have->p, have->n, name.p, name.n)) {
		*have =
		    arena_fmt(a, "%.*s, %.*s", STR_ARG(*have), STR_ARG(name));
	}
	s->rank[FIELD_AUTHOR] = rank;
}
