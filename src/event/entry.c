#include "event/append.h"
#include "event/envelope.h"
#include "seal/digest.h"

void
entry_fill(struct entry *ret, const struct event *ev, struct str received)
{
	*ret = (struct entry){
	    .tenant = ev->tenant,
	    .event_id = ev->event_id,
	    .correlation = ev->correlation,
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
