#include "api/api.h"
#include "api/io.h"
#include "api/live.h"
#include "api/people/reader.h"
#include "event/cursor.h"
#include "reader/changes.h"
#include "reader/limits.h"

/* GET /api/stream: what changes for a person (reader/changes.h), live.h. */

struct place {
	int64_t after;
	int64_t changes; /* tail_changes(), before it was read up to there */
	bool read;
	bool more; /* there may be more than one reading gave */
};

static int
read_changes(struct live *l, struct db *db, struct err *e)
{
	struct place *p = l->state;
	int64_t changes = tail_changes(l->api->tail);
	int n = TRY(changes_read(db, l->who.user, &p->after, &l->ready, e));

	p->more = n == CHANGES_PAGE;
	p->changes = changes;
	p->read = true;
	return OK;
}

static bool
has_all(struct live *l, struct tail_waiter *w)
{
	const struct place *p = l->state;

	w->for_changes = true;
	w->changes = p->changes;
	return p->read && !p->more && p->changes == tail_changes(l->api->tail);
}

/* A right may end on another node: who has it still comes back, soon. */
static const struct live_kind CHANGES = {.read = read_changes,
    .rests = has_all,
    .life_ms = 60000,
    .pause_ms = 200,
    .check_ms = 2000};

int
api_stream(struct req *r, struct db *, struct err *e)
{
	struct str last = req_header(r, "Last-Event-ID");
	struct err none;
	struct live *l;
	struct place *p;

	TRY(reader_query_none(r, e));
	l = live_new(r, &CHANGES, sizeof(*p));
	p = l->state;
	p->after = CHANGES_NOW;
	/* Of another server, or from before: all that was seen is in doubt. */
	if (last.n > 0 && cursor_parse(last, &p->after, &none) < 0)
		p->after = CHANGES_LOST;
	return live_begin(r, l, e);
}
