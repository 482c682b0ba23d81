#include "deliver/engine/letter.h"

#include "base/log/log.h"
#include "event/envelope.h"
#include "event/record.h"
#include "event/sealed.h"
#include "seal/digest.h"
#include "sql.h"

struct letter *
letter_new(const struct sql_log_feed_row *row)
{
	struct letter *l = mem_get(sizeof(*l) + row->type.n + row->pkey.n +
				   row->attrs.n + row->body.n);
	char *at;

	*l = (struct letter){
	    .refs = 1,
	    .seq = row->seq,
	    .received_us = row->received_at,
	    .to_sub = row->to_sub,
	    .kind = (int)row->kind,
	    .tenant = uuid_of(row->tenant),
	    .event_id = uuid_of(row->event_id),
	    .rv = row->rv_null ? CORE_NO_RV : row->rv,
	};
	at = l->data;
	l->type = str_put(&at, row->type);
	l->key = str_put(&at, row->pkey);
	l->attrs = str_put(&at, row->attrs);
	l->body = str_put(&at, row->body);
	return l;
}

static void
tell_shut(const struct letter *l, const struct err *e)
{
	struct log_line line;

	log_begin(&line, LOG_ERROR, "an event can't be opened");
	log_int(&line, "seq", l->seq);
	log_str(&line, "error", str_of(e->text));
	log_end(&line);
}

void
letter_open(struct letter *l, struct keyring *k)
{
	struct err e = {0};

	if (!sealed_is(l->body))
		return;
	l->was_sealed = true;
	if (sealed_open(k, uuid_str(&l->tenant), uuid_str(&l->event_id),
		l->body, l->data + (l->body.p - l->data), &l->body, &e) == OK)
		return;
	tell_shut(l, &e);
	l->shut = true;
	l->body = STR_EMPTY;
}

void
letter_fail(struct letter *l, int64_t version, int reason, struct str why)
{
	l->judged_by = version;
	l->failed = reason;
	l->why = mem_z(why);
}

struct letter *
letter_failed(
    const struct letter *l, int64_t version, int reason, struct str why)
{
	struct letter *copy = letter_new(&(struct sql_log_feed_row){
	    .seq = l->seq,
	    .kind = l->kind,
	    .tenant = uuid_str(&l->tenant),
	    .event_id = uuid_str(&l->event_id),
	    .type = l->type,
	    .pkey = l->key,
	    .received_at = l->received_us,
	    .to_sub = l->to_sub,
	    .attrs = l->attrs,
	    .body = l->body,
	    .rv = l->rv,
	    .rv_null = l->rv == CORE_NO_RV,
	});

	letter_fail(copy, version, reason, why);
	return copy;
}

struct core_rec
letter_record(struct letter *l, struct arena *scratch)
{
	static const struct core_rec NONE = {0, 0};
	unsigned char id[RECORD_ID_LEN];
	struct json *body = NULL;
	struct record r;
	struct err e;

	static_assert(sizeof(id) == sizeof(l->rec), "all of it");
	if (l->rec.a != 0 || l->rec.b != 0 || l->shut || l->to_sub > 0)
		return l->rec;
	arena_reset(scratch);
	if (json_parse(scratch, l->body, &body, &e) < 0)
		return NONE;
	r = record_of(
	    scratch, l->type, &l->tenant, l->key, json_get(body, "payload"));
	/* One of no key and no record is the same as no other. */
	if (l->key.n == 0 && r.id.n == 0)
		return NONE;
	record_id(scratch, &l->tenant, &r,
	    l->rv == CORE_NO_RV ? l->type : STR_EMPTY, id);
	memcpy(&l->rec, id, sizeof(l->rec));
	return l->rec;
}

struct letter *
letter_ref(struct letter *l)
{
	(void)atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
	return l;
}

void
letter_unref(void *letter)
{
	struct letter *l = letter;

	if (l && atomic_fetch_sub(&l->refs, 1) == 1) {
		free(l->why);
		free(l);
	}
}

size_t
letter_bytes(const struct letter *l)
{
	return sizeof(*l) + l->type.n + l->key.n + l->attrs.n + l->body.n;
}

struct request_event
letter_event(const struct letter *l)
{
	return (struct request_event){
	    .event_id = l->event_id,
	    .tenant = l->tenant,
	    .type = l->type,
	    .key = l->key,
	    .received_us = l->received_us,
	    .seq = l->seq,
	    .body = l->body,
	};
}

bool
letter_ours(const struct letter *l)
{
	return str_starts(l->type, STR("ops."));
}

bool
letter_named(const struct letter *l, size_t *at, uint32_t *ret)
{
	static const char HEAD[] = "{\"subs\":[";
	struct str s = l->attrs;
	uint64_t id = 0;
	size_t i = *at ? *at : sizeof(HEAD) - 1;

	if (!str_starts(s, STR(HEAD)))
		return false;
	while (i < s.n && s.p[i] == ',')
		i++;
	if (i >= s.n || s.p[i] < '0' || s.p[i] > '9')
		return false;
	for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
		id = id * 10 + (uint64_t)(s.p[i] - '0');
	*at = i;
	*ret = (uint32_t)id;
	return true;
}

uint64_t
letter_hash(struct str text)
{
	unsigned char digest[DIGEST_LEN];
	uint64_t h;

	digest_sha256(text, digest);
	memcpy(&h, digest, sizeof(h));
	return h ? h : 1;
}

uint64_t
letter_lane(const struct letter *l)
{
	return letter_hash(l->key.n > 0 ? l->key : uuid_str(&l->event_id));
}

struct uuid
letter_correlation(struct letter *l)
{
	if (!l->correlated)
		(void)envelope_correlation(l->body, &l->correlation);
	l->correlated = true;
	return l->correlation;
}
