/*
 * core.h - the demo's Core: records that are saved, and what is told of it.
 *
 * Each function is one save: it checks, changes the record and adds the events
 * of the save to the outbox, in one transaction. All events of a save have the
 * same recordVersion, the record's new system_modstamp, and one correlationId.
 *
 * Values of confidential fields (CORE_SECRET in core.c) never stand in an
 * event; that they changed does. Who may know asks by `core_read`.
 *
 * A field that an approval has locked can't be changed: ERR_CONFLICT.
 */
#ifndef CRM_CORE_H
#define CRM_CORE_H

#include "base/base.h"
#include "base/uuid.h"
#include "crm/crm.h"

struct core {
	struct lite *db;
	struct str tenant;
	struct arena *arena; /* for one save */
};

typedef char core_id[UUID_LEN + 1];

/* `fields` is a JSON object. */
int core_create(struct core *c, const char *object, struct str owner,
    struct str fields, core_id ret_id, struct err *e) MUST_CHECK;
/* `changes` is merged into the fields; an empty owner stays. */
int core_update(struct core *c, const char *object, struct str id,
    struct str changes, struct str owner, struct err *e) MUST_CHECK;
int core_delete(struct core *c, const char *object, struct str id,
    struct err *e) MUST_CHECK;
/* A lead becomes an account, a contact and an opportunity. */
int core_convert(
    struct core *c, struct str lead, struct str by, struct err *e) MUST_CHECK;

enum core_change { CORE_ADD, CORE_UPDATE, CORE_REMOVE, CORE_RESPOND };
int core_team(struct core *c, const char *object, struct str id,
    struct str user, enum core_change change, struct err *e) MUST_CHECK;
int core_campaign(struct core *c, struct str campaign, struct str member,
    enum core_change change, struct err *e) MUST_CHECK;

/* As core_update(), inside of a transaction that is open: for approvals. */
int core_save(struct core *c, const char *object, struct str id,
    struct str changes, struct str owner, struct err *e) MUST_CHECK;

/* Whole, with its confidential fields; ret->there false when it is not. */
int core_read(struct lite *db, struct str object, struct str id,
    struct arena *a, struct crm_record *ret, struct err *e) MUST_CHECK;

#endif
