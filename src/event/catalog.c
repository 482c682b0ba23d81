#include "event/catalog.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "event/envelope.h"
#include "event/schema.h"

#define WORDS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define FIELDS(...) ((const struct field[]){__VA_ARGS__, {.name = NULL}})
#define F(n, t, ...)                                                           \
	{                                                                      \
		.name = n, .type = FIELD_##t, __VA_ARGS__                      \
	}
#define OPTIONAL       .optional = true
#define ONE_OF(...)    .words = WORDS(__VA_ARGS__)
#define RECORD_VERSION F("recordVersion", TIME)
#define EFFECTIVE_AT   F("effectiveAt", TIME)
#define TARGET                                                                 \
	F("target", OBJECT,                                                    \
	    .fields = FIELDS(F("objectName", STRING), F("recordId", UUID)))

static const struct event_type TYPES[] = {
    {
	.name = "RecordCreated",
	.kind = EVENT_DOMAIN,
	.producer = "core",
	.description = "A record of a standard object was created.",
	.subscribers =
	    WORDS("Sharing", "Search", "Reporting", "Automation", "Approval"),
	.fields = FIELDS(F("objectName", STRING), F("recordId", UUID),
	    F("ownerId", UUID), F("fields", OBJECT),
	    F("changedFields", STRINGS), RECORD_VERSION),
    },
    {
	.name = "RecordUpdated",
	.kind = EVENT_DOMAIN,
	.producer = "core",
	.description = "A record was updated; its state after synchronous "
		       "automation. fieldChanges holds what can be told.",
	.subscribers =
	    WORDS("Sharing", "Search", "Reporting", "Automation", "Approval"),
	.fields = FIELDS(F("objectName", STRING), F("recordId", UUID),
	    F("ownerId", UUID), F("changedFields", STRINGS),
	    F("fieldChanges", MAP, OPTIONAL,
		.fields = FIELDS(F("old", ANY), F("new", ANY))),
	    RECORD_VERSION),
    },
    {
	.name = "RecordDeleted",
	.kind = EVENT_DOMAIN,
	.producer = "core",
	.description = "A record was deleted.",
	.subscribers = WORDS("Sharing", "Search", "Reporting", "Automation"),
	.fields = FIELDS(F("objectName", STRING), F("recordId", UUID),
	    F("deleted", TRUE), RECORD_VERSION),
    },
    {
	.name = "OwnerChanged",
	.kind = EVENT_DOMAIN,
	.producer = "core",
	.description = "A record has another owner; what is shared through "
		       "the owner must be computed again.",
	.subscribers = WORDS("Sharing", "Automation", "Reporting"),
	.fields = FIELDS(F("objectName", STRING), F("recordId", UUID),
	    F("oldOwnerId", UUID), F("newOwnerId", UUID), RECORD_VERSION),
    },
    {
	.name = "StageChanged",
	.kind = EVENT_DOMAIN,
	.producer = "core",
	.description = "An opportunity moved to another stage.",
	.subscribers = WORDS("Reporting", "Automation", "Search"),
	.fields = FIELDS(F("opportunityId", UUID), F("accountId", UUID),
	    F("oldStageName", STRING), F("newStageName", STRING),
	    F("oldIsClosed", BOOL), F("newIsClosed", BOOL), F("oldIsWon", BOOL),
	    F("newIsWon", BOOL), F("closeDate", DATE), RECORD_VERSION),
    },
    {
	.name = "LeadConverted",
	.kind = EVENT_DOMAIN,
	.producer = "core",
	.description = "A lead became an account and a contact, and perhaps "
		       "an opportunity.",
	.subscribers = WORDS("Search", "Reporting", "Automation"),
	.fields = FIELDS(F("leadId", UUID), F("convertedAt", TIME),
	    F("convertedBy", UUID), F("accountId", UUID), F("contactId", UUID),
	    F("opportunityId", UUID, OPTIONAL), RECORD_VERSION),
    },
    {
	.name = "ApprovalSubmitted",
	.kind = EVENT_INTEGRATION,
	.producer = "approval",
	.description = "A record was submitted for approval; the locked "
		       "fields may not be edited.",
	.subscribers = WORDS("Core", "Automation", "Reporting", "Search"),
	.fields = FIELDS(F("approvalInstanceId", UUID), TARGET,
	    F("submittedBy", UUID), F("submittedAt", TIME),
	    F("lockedFields", STRINGS), F("currentStageIndex", INT)),
    },
    {
	.name = "ApprovalDecided",
	.kind = EVENT_INTEGRATION,
	.producer = "approval",
	.description = "An approval was decided.",
	.subscribers = WORDS("Core", "Automation", "Reporting"),
	.fields = FIELDS(F("approvalInstanceId", UUID), TARGET,
	    F("decision", STRING), F("decidedBy", UUID), F("decidedAt", TIME),
	    F("comment", STRING, OPTIONAL), F("finalStageIndex", INT)),
    },
    {
	.name = "MetadataChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "metadata",
	.description = "The definition of an object changed, for example a "
		       "field was added.",
	.subscribers =
	    WORDS("Core", "Search", "Reporting", "Sharing", "Automation"),
	.fields = FIELDS(F("changeType", STRING), F("objectName", STRING),
	    F("resourceId", STRING), EFFECTIVE_AT),
    },
    {
	.name = "PermissionChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "metadata",
	.description = "What somebody may do changed.",
	.subscribers = WORDS("Core", "Sharing", "Approval"),
	.fields = FIELDS(F("changeType", STRING),
	    F("subject", OBJECT,
		.fields = FIELDS(F("type", STRING), F("id", UUID))),
	    EFFECTIVE_AT),
    },
    {
	.name = "SharingUpdated",
	.kind = EVENT_INTEGRATION,
	.optional = true,
	.producer = "sharing",
	.description = "Who may see a record was computed again.",
	.subscribers = WORDS("Search", "Reporting"),
	.fields = FIELDS(F("objectName", STRING), F("recordId", UUID),
	    F("shareModelVersion", INT), F("updatedAt", TIME)),
    },
    {
	.name = "RoleHierarchyChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "metadata",
	.description = "A role was made, changed, deleted or moved; sharing "
		       "must be computed again.",
	.subscribers = WORDS("Sharing", "Core", "Approval"),
	.fields = FIELDS(F("changeType", STRING,
			     ONE_OF("RoleCreated", "RoleUpdated", "RoleDeleted",
				 "ParentChanged")),
	    F("roleId", UUID), F("roleName", STRING),
	    F("parentRoleId", UUID, OPTIONAL), EFFECTIVE_AT),
    },
    {
	.name = "GroupMemberChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "metadata",
	.description = "A public group or queue has one member more or less.",
	.subscribers = WORDS("Sharing", "Core"),
	.fields = FIELDS(
	    F("changeType", STRING, ONE_OF("MemberAdded", "MemberRemoved")),
	    F("groupId", UUID), F("groupName", STRING), F("groupType", STRING),
	    F("memberType", STRING), F("memberId", UUID), EFFECTIVE_AT),
    },
    {
	.name = "TeamMemberChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "core",
	.description = "A member of an opportunity's or account's team was "
		       "added, changed or removed.",
	.subscribers = WORDS("Sharing"),
	.fields =
	    FIELDS(F("changeType", STRING,
		       ONE_OF("MemberAdded", "MemberUpdated", "MemberRemoved")),
		F("objectName", STRING), F("recordId", UUID), F("userId", UUID),
		F("teamRole", STRING), F("accessLevel", STRING), EFFECTIVE_AT),
    },
    {
	.name = "TerritoryAssignmentChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "sharing",
	.description = "A user or account was assigned to a territory or "
		       "taken from it, or the territories were rearranged.",
	.subscribers = WORDS("Sharing", "Core"),
	.fields = FIELDS(
	    F("changeType", STRING,
		ONE_OF("UserAssigned", "UserUnassigned", "AccountAssigned",
		    "AccountUnassigned", "TerritoryHierarchyChanged")),
	    F("territoryId", UUID), F("territoryName", STRING),
	    F("assignmentType", STRING, OPTIONAL),
	    F("assignedId", UUID, OPTIONAL), EFFECTIVE_AT),
    },
    {
	.name = "SharingConfigChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "metadata",
	.description = "Defaults or rules of sharing changed; much may have "
		       "to be computed again.",
	.subscribers = WORDS("Sharing", "Core"),
	.fields = FIELDS(
	    F("changeType", STRING,
		ONE_OF("OWDChanged", "ShareRuleCreated", "ShareRuleUpdated",
		    "ShareRuleDeleted", "TeamRoleSettingChanged")),
	    F("objectName", STRING), F("oldOWD", STRING, OPTIONAL),
	    F("newOWD", STRING, OPTIONAL), EFFECTIVE_AT),
    },
    {
	.name = "AutomationConfigChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "metadata",
	.description = "A validation rule, workflow rule or scheduled job was "
		       "made, changed or deleted.",
	.subscribers = WORDS("Automation", "Core"),
	.fields =
	    FIELDS(F("changeType", STRING,
		       ONE_OF("ValidationRuleCreated", "ValidationRuleUpdated",
			   "ValidationRuleDeleted", "WorkflowRuleCreated",
			   "WorkflowRuleUpdated", "WorkflowRuleDeleted",
			   "ScheduledJobCreated", "ScheduledJobUpdated",
			   "ScheduledJobDeleted")),
		F("objectName", STRING), F("automationType", STRING),
		F("automationId", UUID), F("automationName", STRING),
		F("isActive", BOOL), EFFECTIVE_AT),
    },
    {
	.name = "ApprovalConfigChanged",
	.kind = EVENT_INTEGRATION,
	.producer = "metadata",
	.description = "An approval process was made, changed, deleted, "
		       "switched on or off.",
	.subscribers = WORDS("Approval", "Core"),
	.fields = FIELDS(
	    F("changeType", STRING,
		ONE_OF("ProcessCreated", "ProcessUpdated", "ProcessDeleted",
		    "ProcessActivated", "ProcessDeactivated")),
	    F("objectName", STRING), F("processId", UUID),
	    F("processName", STRING), F("isActive", BOOL), EFFECTIVE_AT),
    },
    {
	.name = "SharingRebuildCompleted",
	.kind = EVENT_INTEGRATION,
	.producer = "sharing",
	.description = "A rebuild of the sharing model is done; its new "
		       "version may be used.",
	.subscribers = WORDS("Core", "Search", "Reporting"),
	.fields = FIELDS(F("rebuildJobId", UUID), F("objectName", STRING),
	    F("scope", STRING, ONE_OF("full", "incremental")),
	    F("oldVersion", INT), F("newVersion", INT),
	    F("recordsProcessed", INT), F("completedAt", TIME)),
    },
    {
	.name = "CampaignMemberChanged",
	.kind = EVENT_DOMAIN,
	.producer = "core",
	.description = "A member of a campaign was added, changed or removed, "
		       "or responded.",
	.subscribers = WORDS("Reporting", "Automation", "Search"),
	.fields = FIELDS(
	    F("changeType", STRING,
		ONE_OF("MemberAdded", "MemberUpdated", "MemberRemoved",
		    "StatusChanged", "Responded")),
	    F("campaignId", UUID), F("campaignName", STRING),
	    F("memberType", STRING), F("memberId", UUID),
	    F("memberStatus", STRING), F("hasResponded", BOOL), RECORD_VERSION),
    },
};

const struct event_type *
catalog_find(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(TYPES); i++)
		if (name.n > 0 && name.p[0] == TYPES[i].name[0] &&
		    str_eq(name, str_of(TYPES[i].name)))
			return &TYPES[i];
	return NULL;
}

const struct event_type *
catalog_each(const struct event_type *t)
{
	if (!t)
		return TYPES;
	return t + 1 < TYPES + COUNT_OF(TYPES) ? t + 1 : NULL;
}

int
catalog_check(const struct event_type *t, const struct event *ev, struct err *e)
{
	if (ev->schema_version != CATALOG_VERSION)
		return json_wrong(e, "/schemaVersion",
		    "must be %d, the only one of %s", CATALOG_VERSION, t->name);
	return schema_check(t->fields, ev->payload, "payload", e);
}

void
catalog_schema(const struct event_type *t, struct buf *b)
{
	buf_addz(b, "{\"$schema\":\"https://json-schema.org/draft/2020-12/"
		    "schema\",\"title\":");
	buf_json(b, str_of(t->name));
	buf_addz(b, ",\"description\":");
	buf_json(b, str_of(t->description));
	buf_addc(b, ',');
	schema_write(t->fields, b);
	buf_addc(b, '}');
}

void
catalog_write(const struct event_type *t, struct buf *b)
{
	buf_addz(b, "{\"type\":");
	buf_json(b, str_of(t->name));
	buf_fmt(b, ",\"kind\":\"%s\",\"producer\":",
	    t->kind == EVENT_DOMAIN ? "Domain" : "Integration");
	buf_json(b, str_of(t->producer));
	buf_fmt(b, ",\"schemaVersion\":%d,\"optional\":%s,\"subscribers\":[",
	    CATALOG_VERSION, t->optional ? "true" : "false");
	for (const char *const *s = t->subscribers; *s; s++) {
		if (s != t->subscribers)
			buf_addc(b, ',');
		buf_json(b, str_of(*s));
	}
	buf_addz(b, "],\"description\":");
	buf_json(b, str_of(t->description));
	buf_addz(b, ",\"schema\":");
	catalog_schema(t, b);
	buf_addc(b, '}');
}

void
catalog_write_all(struct buf *b)
{
	for (size_t i = 0; i < COUNT_OF(TYPES); i++) {
		buf_addc(b, i ? ',' : '[');
		catalog_write(&TYPES[i], b);
	}
	buf_addc(b, ']');
}
