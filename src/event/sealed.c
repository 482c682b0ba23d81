#include "event/sealed.h"

#include "event/entry.h"
#include "seal/keyring.h"
#include "sql.h"

#define PLACE "log.body:"

/* Authenticated with a body: it can't be moved to another event. */
struct place {
	char text[sizeof(PLACE) - 1 + 2 * sizeof(struct uuid)];
};

static struct str
where(struct place *p, struct str tenant, struct str event_id)
{
	size_t at = sizeof(PLACE) - 1;

	memcpy(p->text, PLACE, at);
	memcpy(p->text + at, tenant.p, tenant.n);
	memcpy(p->text + at + tenant.n, event_id.p, event_id.n);
	return (struct str){p->text, at + tenant.n + event_id.n};
}

struct str
sealed_make(struct keyring *k, const struct entry *en, char *to)
{
	struct place p;

	return keyring_seal_bytes(k,
	    where(&p, uuid_str(&en->tenant), uuid_str(&en->event_id)), en->body,
	    to);
}

bool
sealed_is(struct str body)
{
	return keyring_is_bytes(body);
}

int
sealed_open(struct keyring *k, struct str tenant, struct str event_id,
    struct str body, char *to, struct str *ret, struct err *e)
{
	struct err inner = {0};
	struct place p;
	int rc;

	if (!sealed_is(body)) {
		*ret = body;
		return OK;
	}
	if (tenant.n != sizeof(struct uuid) ||
	    event_id.n != sizeof(struct uuid))
		return err_set(e, ERR_SEALED, "the entry has no id");
	rc = keyring_unseal_bytes(
	    k, where(&p, tenant, event_id), body, to, ret, &inner);
	if (rc == ERR_INVALID)
		return err_set(e, ERR_SEALED,
		    "the event can't be opened: %.200s", inner.text);
	if (rc < 0)
		*e = inner;
	return rc;
}

int
sealed_keys(struct db *db,
    int (*each)(void *arg, const struct sealed_key *key, struct err *e),
    void *arg, struct err *e)
{
	struct sql_log_first_row first = {
	    .seq = INT64_MAX, .received_at = INT64_MAX};
	struct sql_log_keys_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int64_t seq, us;

	TRY(sql_log_first_one(db, &first, e));
	seq = first.seq;
	us = first.received_at;
	TRY(sql_log_keys(db, &rows, e, .hour = us / US_PER_HOUR, .seq = seq));
	while (TRY(sql_log_keys_next(rows, &row, e)) > 0) {
		int64_t from_us = row.first_hour * US_PER_HOUR;

		TRY(each(arg,
		    &(struct sealed_key){
			.id = row.kid,
			.first_seq = row.first_seq > seq ? row.first_seq : seq,
			.first_us = from_us > us ? from_us : us,
			.last_us = (row.last_hour + 1) * US_PER_HOUR,
		    },
		    e));
	}
	return OK;
}
