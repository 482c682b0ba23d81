#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "crm/core.h"
#include "crm_sql.h"

/*
 * Core as a consumer: approvals lock fields and give them free, what was looked
 * up of rights and definitions is dropped, and the share model is switched.
 */

static int
lock(struct taker *t, const struct crm_event *ev, struct err *e)
{
	const struct json *fields = json_get(ev->payload, "lockedFields");

	return crm_lock_add(t->db, crm_text(ev, "/approvalInstanceId"),
		   ev->object, ev->record, fields ? fields->raw : STR("[]"),
		   e) < 0
		   ? e->code
		   : OK;
}

/* The decision becomes a field of the record: a save, with its events. */
static int
release(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct core c = {.db = t->db, .tenant = t->tenant, .arena = t->arena};
	struct str decision = crm_text(ev, "/decision");
	struct str change = arena_fmt(t->arena, "{\"ApprovalStatus\":%.*s}",
	    STR_ARG(json_get(ev->payload, "decision")->raw));
	const char *object = arena_z(t->arena, ev->object);
	int rc;

	if (!change.p || !object)
		return err_set(e, ERR_NOMEM, "no memory");
	if (crm_lock_release(t->db, crm_text(ev, "/approvalInstanceId"),
		ev->object, ev->record, decision, e) < 0)
		return e->code;
	rc = core_save(&c, object, ev->record, change, STR_EMPTY, e);
	/* Deleted meanwhile: there is nothing to write it to. */
	return rc == ERR_ABSENT ? OK : rc;
}

static const struct {
	const char *type, *kind, *name;
} CACHES[] = {
    {"MetadataChanged", "describe", "/objectName"},
    {"PermissionChanged", "permission", "/subject/id"},
    {"RoleHierarchyChanged", "permission", "/roleId"},
    {"GroupMemberChanged", "permission", "/groupId"},
    {"TerritoryAssignmentChanged", "permission", "/territoryId"},
    {"SharingConfigChanged", "permission", "/objectName"},
    {"AutomationConfigChanged", "validation", "/objectName"},
    {"ApprovalConfigChanged", "approval", "/objectName"},
};

static int
drop_cache(struct taker *t, const struct crm_event *ev, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(CACHES); i++)
		if (crm_is(ev, CACHES[i].type) &&
		    crm_cache_drop(t->db, str_of(CACHES[i].kind),
			crm_text(ev, CACHES[i].name), e) < 0)
			return e->code;
	return OK;
}

static int
switch_model(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_share_switch(t->db, crm_text(ev, "/objectName"),
		   crm_int(ev, "/newVersion"), e) < 0
		   ? e->code
		   : OK;
}

static int
size(struct lite *db, struct arena *a, struct str *ret, struct err *e)
{
	struct crm_record_count_row row = {0};
	struct lite_rows *rows = NULL;
	int rc = crm_record_count(db, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		crm_record_count_get(rows, &row);
	lite_done(rows);
	*ret = arena_fmt(a, "%lld records, %lld deleted", (long long)row.live,
	    (long long)row.deleted);
	return rc < 0 ? rc : OK;
}

static const struct crm_rule RULES[] = {
    {"ApprovalSubmitted", lock},
    {"ApprovalDecided", release},
    {"MetadataChanged", drop_cache},
    {"PermissionChanged", drop_cache},
    {"RoleHierarchyChanged", drop_cache},
    {"GroupMemberChanged", drop_cache},
    {"TerritoryAssignmentChanged", drop_cache},
    {"SharingConfigChanged", drop_cache},
    {"AutomationConfigChanged", drop_cache},
    {"ApprovalConfigChanged", drop_cache},
    {"SharingRebuildCompleted", switch_model},
    {NULL, NULL},
};

const struct crm_service CRM_CORE = {
    .name = "Core",
    .file = "core.db",
    .schemas = {CRM_SCHEMA_SQLITE, CRM_SCHEMA_INBOX, CRM_SCHEMA_OUTBOX,
	CRM_SCHEMA_CORE},
    .n_schemas = 4,
    .rules = RULES,
    .size = size,
};
