#include "event/sealed.h"

#include "base/clock.h"
#include "base/str.h"
#include "event/append.h"
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

int
sealed_make(struct keyring *k, const struct entry *en, char *to,
    struct str *ret, struct err *e)
{
	struct place p;

	(void)e;
	*ret = keyring_seal_bytes(k,
	    where(&p, uuid_str(&en->tenant), uuid_str(&en->event_id)), en->body,
	    to);
	return OK;
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

static int
first_entry(struct db *db, int64_t *ret_seq, int64_t *ret_us, struct err *e)
{
	struct sql_log_first_row row = {0};
	struct rows *rows = NULL;
	int rc = sql_log_first(db, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		sql_log_first_get(rows, &row);
	rows_close(rows);
	*ret_seq = rc > 0 ? row.seq : INT64_MAX;
	*ret_us = rc > 0 ? row.received_at : INT64_MAX;
	return rc < 0 ? rc : OK;
}

int
sealed_keys(struct db *db,
    int (*each)(void *arg, const struct sealed_key *key, struct err *e),
    void *arg, struct err *e)
{
	struct sql_log_keys_row row;
	struct rows *rows = NULL;
	int64_t seq = 0, us = 0;
	int rc = first_entry(db, &seq, &us, e);

	if (rc == OK)
		rc = sql_log_keys(
		    db, &rows, e, .hour = us / US_PER_HOUR, .seq = seq);
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		int64_t from_us;

		sql_log_keys_get(rows, &row);
		from_us = row.first_hour * US_PER_HOUR;
		rc = each(arg,
		    &(struct sealed_key){
			.id = row.kid,
			.first_seq = row.first_seq > seq ? row.first_seq : seq,
			.first_us = from_us > us ? from_us : us,
			.last_us = (row.last_hour + 1) * US_PER_HOUR,
		    },
		    e);
	}
	rows_close(rows);
	return rc;
}
