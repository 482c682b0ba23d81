#include "crm/settings.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "crm/crm.h"
#include "crm/outbox.h"
#include "event/catalog.h"

/* What the partition key of a type is made of; else the object's settings. */
static const struct {
	const char *type, *name, *id;
} KEYS[] = {
    {"PermissionChanged", "Permission", "/subject/id"},
    {"RoleHierarchyChanged", "Role", "/roleId"},
    {"GroupMemberChanged", "Group", "/groupId"},
    {"TerritoryAssignmentChanged", "Territory", "/territoryId"},
};

static struct str
key_of(const struct crm_event *ev, struct str tenant, struct str id,
    struct arena *a)
{
	for (size_t i = 0; i < COUNT_OF(KEYS); i++)
		if (crm_is(ev, KEYS[i].type))
			return arena_fmt(a, "%s:%.*s:%.*s", KEYS[i].name,
			    STR_ARG(tenant), STR_ARG(crm_text(ev, KEYS[i].id)));
	return arena_fmt(a, "%.*s#config:%.*s:%.*s",
	    STR_ARG(crm_text(ev, "/objectName")), STR_ARG(tenant), STR_ARG(id));
}

static int
change(struct lite *db, struct str tenant, struct arena *a, const char *type,
    struct str payload, struct err *e)
{
	struct taker t = {.db = db, .arena = a, .tenant = tenant};
	struct crm_event ev = {.type = catalog_find(str_of(type))};
	struct outbox_event out = {.type = type};
	struct outbox o;
	struct json *j = NULL;
	struct str kind, id;
	char at[TIME_LEN + 1];
	int rc;

	if (!ev.type)
		return err_set(e, ERR_INVALID, "no type %s", type);
	o = outbox_begin(db, ev.type->producer, tenant);
	ev.at_us = o.now_us;
	time_format(ev.at_us, at);
	out.payload = arena_fmt(a, "{\"effectiveAt\":\"%s\",%.*s", at,
	    STR_ARG(str_from(payload, 1)));
	if (!out.payload.p)
		return err_set(e, ERR_NOMEM, "no memory");
	rc = json_parse(a, out.payload, &j, e);
	ev.payload = j;
	if (rc == OK)
		rc = crm_setting(&t, &ev, &kind, &id, e);
	if (rc < 0)
		return rc;
	out.key = key_of(&ev, tenant, id, a);
	return out.key.p ? outbox_put(&o, &out, e)
			 : err_set(e, ERR_NOMEM, "no memory");
}

int
settings_change(struct lite *db, struct str tenant, struct arena *a,
    const char *type, struct str payload, struct err *e)
{
	int rc = lite_begin(db, e);

	if (rc < 0)
		return rc;
	rc = change(db, tenant, a, type, payload, e);
	if (rc == OK)
		return lite_commit(db, e);
	lite_rollback(db);
	return rc;
}
