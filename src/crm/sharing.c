#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/uuid.h"
#include "crm/crm.h"
#include "crm/outbox.h"
#include "crm_sql.h"

/*
 * Sharing keeps who may see a record, and why: by its owner, its team, a group,
 * a role, a territory, or what the object is open to. The shares of a cause are
 * made anew from what is known (the view `wanted` of sql/crm/sharing.sql), once
 * for each version and cause. What came of it is told by SharingUpdated for a
 * record and SharingRebuildCompleted for a whole object.
 */

static int
model(struct taker *t, struct str object, int64_t *ret, struct err *e)
{
	struct lite_rows *rows = NULL;
	int rc = crm_model_get(t->db, object, &rows, e);

	if (rc == OK)
		rc = lite_next(rows, e);
	*ret = rc == 1 ? lite_int(rows, 0) : 0;
	lite_done(rows);
	return rc < 0 ? rc : OK;
}

static int
tell_record(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct outbox o = outbox_begin(t->db, "sharing", t->tenant);
	struct outbox_event out = {.type = "SharingUpdated"};
	char at[TIME_LEN + 1];
	int64_t version = 0;
	int rc = model(t, ev->object, &version, e);

	time_format(o.now_us, at);
	out.key = arena_fmt(t->arena, "%.*s:%.*s:%.*s", STR_ARG(ev->object),
	    STR_ARG(t->tenant), STR_ARG(ev->record));
	out.payload = arena_fmt(t->arena,
	    "{\"objectName\":\"%.*s\",\"recordId\":\"%.*s\",\"shareModelVersion\":%lld,\"updatedAt\":\"%s\"}",
	    STR_ARG(ev->object), STR_ARG(ev->record), (long long)version, at);
	if (rc == OK && (!out.key.p || !out.payload.p))
		rc = err_set(e, ERR_NOMEM, "no memory");
	return rc < 0 ? rc : outbox_put(&o, &out, e);
}

/* The shares of one record, for one cause or all; once for this version. */
static int
share_record(struct taker *t, const struct crm_event *ev, const char *cause,
    struct str key, int64_t version, struct err *e)
{
	struct str c = cause ? str_of(cause) : (struct str){0};
	int64_t fresh =
	    crm_generation_put(t->db, ev->object, ev->record, key, version, e);

	if (fresh <= 0)
		return crm_done(fresh, e);
	if (crm_shares_drop_record(t->db, ev->object, ev->record, c, e) < 0 ||
	    crm_shares_make_record(
		t->db, ev->object, ev->record, c, version, e) < 0)
		return e->code;
	return tell_record(t, ev, e);
}

static int
created(struct taker *t, const struct crm_event *ev, struct err *e)
{
	if (crm_known_put(t->db, ev->object, ev->record,
		crm_text(ev, "/ownerId"), ev->version_us, e) < 0)
		return e->code;
	return share_record(t, ev, NULL, STR("created"), ev->version_us, e);
}

/*
 * RecordUpdated and OwnerChanged of one save say the same: the first that
 * comes makes the shares. All causes are made, since it may be the first word
 * of the record that is heard.
 */
static int
owned(struct taker *t, const struct crm_event *ev, struct err *e)
{
	const char *owner =
	    crm_is(ev, "OwnerChanged") ? "/newOwnerId" : "/ownerId";

	if (crm_known_put(t->db, ev->object, ev->record, crm_text(ev, owner),
		ev->version_us, e) < 0)
		return e->code;
	return share_record(t, ev, NULL, STR("owner"), ev->version_us, e);
}

static int
deleted(struct taker *t, const struct crm_event *ev, struct err *e)
{
	if (crm_known_drop(t->db, ev->object, ev->record, ev->version_us, e) <
	    0)
		return e->code;
	return crm_done(crm_shares_off(t->db, ev->object, ev->record, e), e);
}

static int
team(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct str user = crm_text(ev, "/userId");
	struct str key = arena_fmt(t->arena, "team:%.*s", STR_ARG(user));

	if (!key.p)
		return err_set(e, ERR_NOMEM, "no memory");
	if (crm_team_put(t->db, ev->object, ev->record, user,
		crm_text(ev, "/accessLevel"), !crm_ends(ev), ev->at_us, e) < 0)
		return e->code;
	return share_record(t, ev, "team", key, ev->at_us, e);
}

/* Whole objects ------------------------------------------------------------- */

static int
tell_rebuild(struct taker *t, struct str object, struct err *e)
{
	struct outbox o = outbox_begin(t->db, "sharing", t->tenant);
	struct outbox_event out = {.type = "SharingRebuildCompleted"};
	struct lite_rows *rows = NULL;
	char at[TIME_LEN + 1], job[UUID_LEN + 1];
	int64_t old = 0, n = 0;
	int rc = model(t, object, &old, e);

	if (rc == OK && crm_model_next(t->db, object, e) < 0)
		rc = e->code;
	if (rc == OK)
		rc = crm_known_count(t->db, object, &rows, e);
	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		n = lite_int(rows, 0);
	lite_done(rows);
	time_format(o.now_us, at);
	uuid_format(uuid_v4(), job);
	out.key = arena_fmt(t->arena, "%.*s#config:%.*s:sharing",
	    STR_ARG(object), STR_ARG(t->tenant));
	out.payload = arena_fmt(t->arena,
	    "{\"rebuildJobId\":\"%s\",\"objectName\":\"%.*s\",\"scope\":\"full\",\"oldVersion\":%lld,\"newVersion\":%lld,\"recordsProcessed\":%lld,\"completedAt\":\"%s\"}",
	    job, STR_ARG(object), (long long)old, (long long)old + 1,
	    (long long)n, at);
	if (rc >= 0 && (!out.key.p || !out.payload.p))
		rc = err_set(e, ERR_NOMEM, "no memory");
	return rc < 0 ? rc : outbox_put(&o, &out, e);
}

/* The shares that settings of this kind give to an object, all of them. */
static int
share_object(struct taker *t, const struct crm_event *ev, struct str object,
    struct str kind, struct str id, struct err *e)
{
	int64_t fresh =
	    crm_generation_put(t->db, object, id, kind, ev->at_us, e);

	if (fresh <= 0)
		return crm_done(fresh, e);
	if (crm_shares_drop_cause(t->db, object, kind, e) < 0 ||
	    crm_shares_make_cause(t->db, object, kind, ev->at_us, e) < 0)
		return e->code;
	return tell_rebuild(t, object, e);
}

/* Which object a setting of this kind opens; sql/crm/sharing.sql says the same. */
static struct str
object_of(const struct crm_event *ev, struct str kind)
{
	if (str_eq(kind, STR("group")))
		return STR("Opportunity");
	if (str_eq(kind, STR("role")) || str_eq(kind, STR("territory")))
		return STR("Account");
	return crm_text(ev, "/objectName");
}

static int
rebuild(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct str kind, id;
	int rc = crm_setting(t, ev, &kind, &id, e);

	if (rc < 0 || kind.n == 0)
		return rc;
	return share_object(t, ev, object_of(ev, kind), kind, id, e);
}

/* The rights of a user open no record; those of a role or a group may. */
static int
permitted(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct str kind, id, type = crm_text(ev, "/subject/type");
	int rc = crm_setting(t, ev, &kind, &id, e);

	if (rc < 0 || kind.n == 0)
		return rc;
	if (str_eq(type, STR("Role")))
		return share_object(t, ev, STR("Account"), STR("role"), id, e);
	if (str_eq(type, STR("Group")))
		return share_object(
		    t, ev, STR("Opportunity"), STR("group"), id, e);
	return OK;
}

static int
size(struct lite *db, struct arena *a, struct str *ret, struct err *e)
{
	struct crm_sharing_size_row row = {0};
	struct lite_rows *rows = NULL;
	int rc = crm_sharing_size(db, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		crm_sharing_size_get(rows, &row);
	lite_done(rows);
	*ret = arena_fmt(a, "%lld shares, %lld off", (long long)row.active,
	    (long long)row.inactive);
	return rc < 0 ? rc : OK;
}

static const struct crm_rule RULES[] = {
    {"RecordCreated", created},
    {"RecordUpdated", owned},
    {"RecordDeleted", deleted},
    {"OwnerChanged", owned},
    {"TeamMemberChanged", team},
    {"GroupMemberChanged", rebuild},
    {"RoleHierarchyChanged", rebuild},
    {"TerritoryAssignmentChanged", rebuild},
    {"SharingConfigChanged", rebuild},
    {"PermissionChanged", permitted},
    {"MetadataChanged", crm_setting_apply},
    {NULL, NULL},
};

const struct crm_service CRM_SHARING = {
    .name = "Sharing",
    .file = "sharing.db",
    .schemas = {CRM_SCHEMA_SQLITE, CRM_SCHEMA_INBOX, CRM_SCHEMA_OUTBOX,
	CRM_SCHEMA_SHARING},
    .n_schemas = 4,
    .rules = RULES,
    .size = size,
};
