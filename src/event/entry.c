#include "event/entry.h"

#include "base/log/log.h"
#include "event/envelope.h"
#include "event/limits.h"
#include "seal/digest.h"

#define TELL_TOGETHER 32 /* events in a line of the log */

void
entry_fill(struct entry *ret, const struct event *ev, struct str received)
{
	*ret = (struct entry){
	    .tenant = ev->tenant,
	    .event_id = ev->event_id,
	    .correlation = ev->correlation,
	    .tenant_name = ev->tenant_name,
	    .type = ev->type,
	    .key = ev->key,
	    .body = ev->body,
	    .has_rv = ev->has_rv,
	    .rv_us = ev->rv_us,
	};
	ret->unhashed = ev->body.p == received.p && ev->body.n == received.n;
	if (!ret->unhashed)
		digest_short(received, ret->hash);
}

void
entry_hash(struct entry *en)
{
	if (en->unhashed)
		digest_short(en->body, en->hash);
	en->unhashed = false;
}

/* n entries that differ in nothing but their ids, with seqs in a row. */
static void
entry_tell_it(const struct entry *en, size_t n)
{
	static const char *const MSG[][2] = {
	    [ENTRY_NEW] = {"event appended", "events appended"},
	    [ENTRY_SAME] = {"event known", "events known"},
	    [ENTRY_DIFFERS] = {"event id reused", "event ids reused"},
	};
	UNINIT struct log_line l;
	UNINIT struct uuid ids[TELL_TOGETHER];

	static_assert(
	    TELL_TOGETHER * (UUID_LEN + 3) + 2 * EVENT_TYPE_MAX + 256 <
		sizeof(l.text),
	    "all of them have room in a line");
	for (size_t i = 0; i < n; i++)
		ids[i] = en[i].event_id;
	log_begin(&l, LOG_INFO, MSG[en->state][n > 1]);
	if (n == 1)
		log_uuid(&l, "eventId", ids[0]);
	log_uuid(&l, "correlationId", en->correlation);
	log_str(&l, "type", en->type);
	log_int(&l, "seq", en->seq);
	if (n > 1)
		log_uuids(&l, "eventIds", ids, n);
	log_end(&l);
}

static bool
told_with(const struct entry *en, const struct entry *first, size_t n)
{
	return en->kind == ENTRY_EVENT && en->state == first->state &&
	       en->seq == first->seq + (int64_t)n &&
	       uuid_eq(en->correlation, first->correlation) &&
	       str_eq(en->type, first->type);
}

void
entry_tell(const struct entry *v, size_t n)
{
	const struct entry *end = v + n;

	while (log_on(LOG_INFO) && v < end) {
		size_t same = 1;

		if (v->kind == ENTRY_EVENT) {
			while (same < TELL_TOGETHER && v + same < end &&
			       told_with(v + same, v, same))
				same++;
			entry_tell_it(v, same);
		}
		v += same;
	}
}

int64_t
entry_id_hash(const struct uuid *event_id)
{
	unsigned char digest[DIGEST_LEN];
	int64_t h;

	digest_sha256(uuid_str(event_id), digest);
	memcpy(&h, digest, sizeof(h));
	return h;
}
