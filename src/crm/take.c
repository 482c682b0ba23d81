#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "crm/crm.h"
#include "crm_sql.h"
#include "event/catalog.h"

const struct crm_service *const CRM_ALL[CRM_SERVICES] = {&CRM_CORE,
    &CRM_SHARING, &CRM_SEARCH, &CRM_REPORTING, &CRM_AUTOMATION, &CRM_APPROVAL};

const char *const CRM_RESULTS[] = {
    [CRM_APPLIED] = "applied",
    [CRM_REPEATED] = "repeated",
    [CRM_STALE] = "stale",
    [CRM_FOREIGN] = "foreign",
    [CRM_WRONG] = "wrong",
};

/* Settings ------------------------------------------------------------------ */

/* `second`, when there, is a second part of the id. */
static const struct {
	const char *type, *kind, *id, *second, *object, *value;
} SETTINGS[] = {
    {"MetadataChanged", "metadata", "/objectName", "/resourceId", "/objectName",
	"/changeType"},
    {"PermissionChanged", "permission", "/subject/id", NULL, NULL,
	"/subject/type"},
    {"RoleHierarchyChanged", "role", "/roleId", NULL, NULL, "/parentRoleId"},
    {"GroupMemberChanged", "group", "/groupId", "/memberId", NULL,
	"/memberType"},
    {"TerritoryAssignmentChanged", "territory", "/territoryId", "/assignedId",
	NULL, "/assignmentType"},
    {"SharingConfigChanged", "config", "/objectName", NULL, "/objectName",
	"/newOWD"},
    {"AutomationConfigChanged", "automation", "/automationId", NULL,
	"/objectName", "/automationName"},
    {"ApprovalConfigChanged", "process", "/processId", NULL, "/objectName",
	"/processName"},
};

int
crm_setting(struct taker *t, const struct crm_event *ev, struct str *ret_kind,
    struct str *ret_id, struct err *e)
{
	struct str id, object, kind;
	bool on = !crm_ends(ev);
	int64_t rc;
	size_t i = 0;

	while (i < COUNT_OF(SETTINGS) && !crm_is(ev, SETTINGS[i].type))
		i++;
	if (i == COUNT_OF(SETTINGS))
		return err_set(
		    e, ERR_INVALID, "%s is no setting", ev->type->name);
	kind = str_of(SETTINGS[i].kind);
	id = crm_text(ev, SETTINGS[i].id);
	if (SETTINGS[i].second)
		id = arena_fmt(t->arena, "%.*s/%.*s", STR_ARG(id),
		    STR_ARG(crm_text(ev, SETTINGS[i].second)));
	object =
	    SETTINGS[i].object ? crm_text(ev, SETTINGS[i].object) : STR_EMPTY;
	if (json_is(json_get(ev->payload, "isActive"), JSON_FALSE))
		on = false;
	if (!id.p)
		return err_set(e, ERR_NOMEM, "no memory");
	rc = crm_setting_put(t->db, kind, id, object,
	    crm_text(ev, SETTINGS[i].value), on, ev->at_us, e);
	if (rc < 0)
		return (int)rc;
	*ret_kind = rc > 0 ? kind : STR_EMPTY;
	*ret_id = id;
	return OK;
}

int
crm_setting_apply(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct str kind, id;

	return crm_setting(t, ev, &kind, &id, e);
}

/* Taking an event ----------------------------------------------------------- */

bool
crm_wants(const struct crm_service *s, const struct event_type *type)
{
	for (const char *const *p = type->subscribers; *p; p++)
		if (str_eq(str_of(*p), str_of(s->name)))
			return true;
	return false;
}

static const struct crm_rule *
rule_of(const struct crm_service *s, const struct crm_event *ev)
{
	for (const struct crm_rule *r = s->rules; r->type; r++)
		if (crm_is(ev, r->type))
			return r;
	return NULL;
}

/* Known, older than what is known, or to be applied; it is remembered. */
static int
judge(struct taker *t, const struct crm_event *ev, enum crm_result *ret,
    struct err *e)
{
	struct lite_rows *rows = NULL;
	struct str verdict;
	int rc;

	if (crm_apply(t->db, ev->tenant, ev->id, ev->object, ev->record,
		ev->versioned ? &ev->version_us : NULL,
		crm_is(ev, "RecordDeleted"), e) < 0)
		return e->code;
	rc = crm_verdict(t->db, &rows, e);
	if (rc == OK)
		rc = lite_next(rows, e);
	if (rc == 1) {
		verdict = lite_str(rows, 0);
		*ret = str_eq(verdict, STR("seen"))    ? CRM_REPEATED
		       : str_eq(verdict, STR("stale")) ? CRM_STALE
						       : CRM_APPLIED;
	}
	lite_done(rows);
	return rc < 0 ? rc : OK;
}

static int
apply(struct taker *t, const struct crm_event *ev, enum crm_result *ret,
    struct err *e)
{
	const struct crm_rule *rule = rule_of(t->service, ev);
	int rc;

	if (!rule || !str_eq(ev->tenant, t->tenant)) {
		*ret = CRM_FOREIGN;
		return OK;
	}
	rc = judge(t, ev, ret, e);
	return rc < 0 || *ret != CRM_APPLIED ? rc : rule->apply(t, ev, e);
}

int
crm_take(struct taker *t, const struct crm_event *ev, enum crm_result *ret,
    struct err *e)
{
	enum crm_result result = CRM_APPLIED;
	int rc = lite_begin(t->db, e);

	if (rc < 0)
		return rc;
	rc = apply(t, ev, &result, e);
	if (rc == OK &&
	    crm_count_add(t->db, str_of(CRM_RESULTS[result]), e) < 0)
		rc = e->code;
	if (rc < 0) {
		lite_rollback(t->db);
		return rc;
	}
	rc = lite_commit(t->db, e);
	if (rc == OK)
		*ret = result;
	return rc;
}
