/*
 * record.h - which record an event is about, by type.
 *
 * recordVersion orders the events of one record, and a record is (tenant,
 * object, id). Most types say so in their payload; some name it otherwise
 * (StageChanged: opportunityId), some are about a member of something. A type
 * that the table does not know, or a payload without those members, is about
 * what the partition key says: {ObjectName}:{tenantId}:{recordId}, or the whole
 * key when it has another form. So an event of one's own with the usual key is
 * about the same record as RecordUpdated.
 *
 * `id` is compared as a UUID where it is one: its letters' case does not count.
 *
 * ID. 128 bits of a SHA-256 over all of it. Two records with one id would make
 * a stale one of what is none; with 128 bits, and the tenant among them, nobody
 * meets that by chance, and who looks for it can only harm himself.
 */
#pragma once

#include "base/base.h"

#define RECORD_ID_LEN 16

struct record {
	struct str object; /* "Opportunity"; "" when the key has no form */
	struct str id;     /* "4b1c…", lower case when it is a UUID */
	struct str part;   /* a member of it; "" : all of it */
};

/* Borrows from its arguments, and the arena. payload NULL: as if empty. */
struct record record_of(struct arena *a, struct str type,
    const struct uuid *tenant, struct str key, const struct json *payload);

/*
 * `type` not empty: of the events of this type alone. For those without a
 * version, of which only the same type tells the same thing anew.
 */
void record_id(struct arena *a, const struct uuid *tenant,
    const struct record *r, struct str type, unsigned char ret[RECORD_ID_LEN]);
