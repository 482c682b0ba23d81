#include "crm/story.h"

#include <limits.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "crm/approval.h"
#include "crm/check.h"
#include "crm/outbox.h"
#include "crm/settings.h"
#include "crm_sql.h"

/* Who works there. */
static const char *const USERS[] = {
    "5a1e5000-0000-4000-8000-000000000001",
    "5a1e5000-0000-4000-8000-000000000002",
    "5a1e5000-0000-4000-8000-000000000003",
};
#define GROUP     "9b011100-0000-4000-8000-000000000001"
#define TERRITORY "7e221700-0000-4000-8000-000000000001"
#define ROLE      "201e0000-0000-4000-8000-000000000001"
#define PARENT    "201e0000-0000-4000-8000-000000000002"
#define RULE      "20130000-0000-4000-8000-000000000001"
#define PROCESS   "920ce550-0000-4000-8000-000000000001"

static const int METADATA[] = {CRM_SCHEMA_INBOX, CRM_SCHEMA_OUTBOX};

static struct str
user(int64_t n)
{
	return str_of(USERS[(size_t)n % COUNT_OF(USERS)]);
}

/* Opening ------------------------------------------------------------------- */

static int
open_one(const char *dir, const char *file, const int *schemas, size_t n,
    struct lite **ret, struct err *e)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	return lite_open(path, schemas, n, ret, e);
}

static int
open_service(const char *dir, const struct crm_service *s, struct lite **ret,
    struct err *e)
{
	return open_one(dir, s->file, s->schemas, s->n_schemas, ret, e);
}

/* A word that is made up once and then kept; a uuid each. */
static int
keep(struct story *s, const char *name, core_id ret, struct err *e)
{
	struct lite_rows *rows = NULL;
	core_id fresh;
	int rc;

	uuid_format(uuid_v4(), fresh);
	if (crm_meta_put(s->core.db, str_of(name), str_of(fresh), e) < 0)
		return e->code;
	rc = crm_meta_get(s->core.db, str_of(name), &rows, e);
	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		(void)snprintf(
		    ret, sizeof(core_id), "%.*s", STR_ARG(lite_str(rows, 0)));
	lite_done(rows);
	return rc < 0 ? rc : OK;
}

int
story_open(struct story *s, const char *dir, struct err *e)
{
	core_id tenant;
	char *kept;
	int rc;

	*s = (struct story){.arena = arena_new(4 * MIB)};
	s->core.arena = arena_new(4 * MIB);
	kept = calloc(1, sizeof(tenant));
	s->tenant.p = kept;
	if (!s->arena || !s->core.arena || !kept)
		return err_set(e, ERR_NOMEM, "no memory for the story");
	rc = open_service(dir, &CRM_CORE, &s->core.db, e);
	if (rc == OK)
		rc = open_service(dir, &CRM_SHARING, &s->sharing, e);
	if (rc == OK)
		rc = open_service(dir, &CRM_APPROVAL, &s->approval, e);
	if (rc == OK)
		rc = open_one(dir, CRM_METADATA_FILE, METADATA,
		    COUNT_OF(METADATA), &s->metadata, e);
	if (rc == OK)
		rc = keep(s, "tenant", tenant, e);
	if (rc == OK)
		rc = keep(s, "campaign", s->campaign, e);
	if (rc == OK) {
		memcpy(kept, tenant, sizeof(tenant));
		s->tenant = s->core.tenant = str_of(kept);
	}
	return rc;
}

void
story_close(struct story *s)
{
	lite_close(s->core.db);
	lite_close(s->sharing);
	lite_close(s->approval);
	lite_close(s->metadata);
	arena_free(s->arena);
	arena_free(s->core.arena);
	free((void *)(uintptr_t)s->tenant.p);
	*s = (struct story){0};
}

/* Settings ------------------------------------------------------------------ */

static const struct {
	const char *type, *payload;
} CHANGES[] = {
    {"MetadataChanged",
	"{\"changeType\":\"FieldAdded\",\"objectName\":\"Opportunity\",\"resourceId\":\"NextStep\"}"},
    {"PermissionChanged",
	"{\"changeType\":\"PermissionSetUpdated\",\"subject\":{\"type\":\"User\",\"id\":\"5a1e5000-0000-4000-8000-000000000001\"}}"},
    {"PermissionChanged",
	"{\"changeType\":\"PermissionSetUpdated\",\"subject\":{\"type\":\"User\",\"id\":\"5a1e5000-0000-4000-8000-000000000002\"}}"},
    {"RoleHierarchyChanged",
	"{\"changeType\":\"RoleCreated\",\"roleId\":\"" ROLE
	"\",\"roleName\":\"Sales Manager\"}"},
    {"RoleHierarchyChanged",
	"{\"changeType\":\"ParentChanged\",\"roleId\":\"" ROLE
	"\",\"roleName\":\"Sales Manager\",\"parentRoleId\":\"" PARENT "\"}"},
    {"GroupMemberChanged",
	"{\"changeType\":\"MemberAdded\",\"groupId\":\"" GROUP
	"\",\"groupName\":\"Sales Team\",\"groupType\":\"public\",\"memberType\":\"User\",\"memberId\":\"5a1e5000-0000-4000-8000-000000000001\"}"},
    {"GroupMemberChanged",
	"{\"changeType\":\"MemberAdded\",\"groupId\":\"" GROUP
	"\",\"groupName\":\"Sales Team\",\"groupType\":\"public\",\"memberType\":\"User\",\"memberId\":\"5a1e5000-0000-4000-8000-000000000002\"}"},
    {"GroupMemberChanged",
	"{\"changeType\":\"MemberRemoved\",\"groupId\":\"" GROUP
	"\",\"groupName\":\"Sales Team\",\"groupType\":\"public\",\"memberType\":\"User\",\"memberId\":\"5a1e5000-0000-4000-8000-000000000002\"}"},
    {"TerritoryAssignmentChanged",
	"{\"changeType\":\"UserAssigned\",\"territoryId\":\"" TERRITORY
	"\",\"territoryName\":\"Japan - West\",\"assignmentType\":\"User\",\"assignedId\":\"5a1e5000-0000-4000-8000-000000000003\"}"},
    {"SharingConfigChanged",
	"{\"changeType\":\"OWDChanged\",\"objectName\":\"Contact\",\"oldOWD\":\"Private\",\"newOWD\":\"ReadOnly\"}"},
    {"AutomationConfigChanged",
	"{\"changeType\":\"WorkflowRuleCreated\",\"objectName\":\"Contact\",\"automationType\":\"WorkflowRule\",\"automationId\":\"" RULE
	"\",\"automationName\":\"WF-CON-01\",\"isActive\":true}"},
    {"ApprovalConfigChanged",
	"{\"changeType\":\"ProcessCreated\",\"objectName\":\"Quote\",\"processId\":\"" PROCESS
	"\",\"processName\":\"Quote Discount Approval\",\"isActive\":true}"},
};

int
story_settings(struct story *s, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < COUNT_OF(CHANGES); i++) {
		bool territory = str_eq(
		    str_of(CHANGES[i].type), STR("TerritoryAssignmentChanged"));

		rc = settings_change(territory ? s->sharing : s->metadata,
		    s->tenant, s->arena, CHANGES[i].type,
		    str_of(CHANGES[i].payload), e);
		arena_reset(s->arena);
	}
	return rc;
}

/* Records ------------------------------------------------------------------- */

static int
create(struct story *s, const char *object, int64_t n, struct str fields,
    core_id ret, struct err *e)
{
	if (!fields.p)
		return err_set(e, ERR_NOMEM, "no memory");
	return core_create(&s->core, object, user(n), fields, ret, e);
}

static int
update(struct story *s, const char *object, const char *id, struct str changes,
    struct str owner, struct err *e)
{
	if (!changes.p)
		return err_set(e, ERR_NOMEM, "no memory");
	return core_update(&s->core, object, str_of(id), changes, owner, e);
}

static int
account(struct story *s, int64_t n, struct err *e)
{
	static const enum core_change TEAM[] = {
	    CORE_ADD, CORE_UPDATE, CORE_REMOVE};
	core_id id;
	int rc = create(s, "Account", n,
	    arena_fmt(s->arena,
		"{\"Name\":\"Company %lld\",\"Phone\":\"+81-3-%04lld\"}",
		(long long)n, (long long)n),
	    id, e);

	/* Two of three teams keep their member. */
	for (size_t i = 0;
	     rc == OK && i < COUNT_OF(TEAM) && (int64_t)i <= n % 3; i++) {
		rc = core_team(
		    &s->core, "Account", str_of(id), user(n + 1), TEAM[i], e);
	}
	if (rc == OK && n % 2)
		rc = update(s, "Account", id, STR("{\"Rating\":\"Hot\"}"),
		    user(n + 2), e);
	return rc;
}

static int
lead(struct story *s, int64_t n, struct err *e)
{
	struct str campaign = str_of(s->campaign);
	core_id id;
	int rc = create(s, "Lead", n,
	    arena_fmt(s->arena,
		"{\"Name\":\"Lead %lld\",\"Email\":\"lead%lld@example.com\"}",
		(long long)n, (long long)n),
	    id, e);

	if (rc == OK)
		rc = core_campaign(&s->core, campaign, str_of(id), CORE_ADD, e);
	if (rc == OK && n % 3 == 1)
		rc = core_campaign(
		    &s->core, campaign, str_of(id), CORE_REMOVE, e);
	if (rc == OK && n % 3 == 2)
		rc = core_campaign(
		    &s->core, campaign, str_of(id), CORE_RESPOND, e);
	if (rc == OK && n % 3 == 2)
		rc = core_convert(&s->core, str_of(id), user(n), e);
	return rc;
}

static int
deal(struct story *s, int64_t n, struct err *e)
{
	static const char *const STAGES[] = {
	    "Negotiation", "Closed Won", "Closed Lost"};
	core_id id;
	int rc = create(s, "Opportunity", n,
	    arena_fmt(s->arena,
		"{\"Name\":\"Deal %lld\",\"StageName\":\"Qualification\",\"CloseDate\":\"2026-12-31\",\"Amount\":%lld,\"AccountId\":\"" PARENT
		"\"}",
		(long long)n, (long long)(n + 1) * 100),
	    id, e);

	if (rc == OK)
		rc = update(s, "Opportunity", id,
		    arena_fmt(s->arena, "{\"Amount\":%lld}",
			(long long)(n + 1) * 110),
		    STR_EMPTY, e);
	/* Owner and stage in one save: three events with one version. */
	if (rc == OK)
		rc = update(s, "Opportunity", id,
		    STR("{\"StageName\":\"Negotiation\"}"), user(n + 1), e);
	if (rc == OK && n % 3)
		rc = update(s, "Opportunity", id,
		    arena_fmt(
			s->arena, "{\"StageName\":\"%s\"}", STAGES[n % 3]),
		    STR_EMPTY, e);
	return rc;
}

static int
quote(struct story *s, int64_t n, struct err *e)
{
	core_id id;

	return create(s, "Quote", n,
	    arena_fmt(s->arena,
		"{\"Name\":\"Quote %lld\",\"DiscountPercent\":%lld,\"GrandTotal\":%lld}",
		(long long)n, (long long)(n * 7 % 40), (long long)n * 1000),
	    id, e);
}

static int
contact(struct story *s, int64_t n, struct err *e)
{
	core_id id;
	int rc = create(s, "Contact", n,
	    arena_fmt(s->arena,
		"{\"Name\":\"Person %lld\",\"Email\":\"p%lld@example.com\"}",
		(long long)n, (long long)n),
	    id, e);

	return rc < 0 ? rc
		      : update(s, "Contact", id, STR("{\"Title\":\"Buyer\"}"),
			    STR_EMPTY, e);
}

/* The oldest by id goes; which one does not matter. */
static int
delete_some(struct story *s, const char *object, int64_t n, struct err *e)
{
	struct lite_rows *rows = NULL;
	core_id id = "";
	int rc = crm_record_any(s->core.db, str_of(object), n, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		(void)snprintf(
		    id, sizeof(id), "%.*s", STR_ARG(lite_str(rows, 0)));
	lite_done(rows);
	if (rc < 0 || !id[0])
		return rc;
	return core_delete(&s->core, object, str_of(id), e);
}

static const struct {
	const char *object;
	int (*live)(struct story *s, int64_t n, struct err *e);
} LIVES[] = {
    {"Opportunity", deal},
    {"Account", account},
    {"Lead", lead},
    {"Quote", quote},
    {"Contact", contact},
};

int
story_step(struct story *s, int64_t n, struct err *e)
{
	size_t kind = (size_t)n % COUNT_OF(LIVES);
	int64_t nth = n / (int64_t)COUNT_OF(LIVES);
	int rc = LIVES[kind].live(s, nth, e);

	if (rc == OK && n % 7 == 6)
		rc = delete_some(s, LIVES[kind].object, n, e);
	arena_reset(s->arena);
	return rc;
}

/* Old news ------------------------------------------------------------------ */

static const struct {
	const char *type, *more;
} LATE[] = {
    {"RecordUpdated",
	"\"ownerId\":\"" PARENT "\",\"changedFields\":[\"StageName\"]"},
    {"OwnerChanged",
	"\"oldOwnerId\":\"" PARENT "\",\"newOwnerId\":\"" PARENT "\""},
    {"RecordCreated",
	"\"ownerId\":\"" PARENT "\",\"fields\":{},\"changedFields\":[]"},
};

static int
late(struct story *s, struct str id, int64_t *n, struct err *e)
{
	struct outbox o = outbox_begin(s->core.db, "core-platform", s->tenant);
	struct outbox_event ev = {.version_us = o.now_us - US_PER_HOUR,
	    .key = arena_fmt(s->arena, "Opportunity:%.*s:%.*s",
		STR_ARG(s->tenant), STR_ARG(id))};
	char at[TIME_LEN + 1];
	int rc = OK;

	time_format(ev.version_us, at);
	for (size_t i = 0; rc == OK && i < COUNT_OF(LATE); i++) {
		ev.type = LATE[i].type;
		ev.payload = arena_fmt(s->arena,
		    "{\"objectName\":\"Opportunity\",\"recordId\":\"%.*s\",%s,\"recordVersion\":\"%s\"}",
		    STR_ARG(id), LATE[i].more, at);
		rc = ev.key.p && ev.payload.p
			 ? outbox_put(&o, &ev, e)
			 : err_set(e, ERR_NOMEM, "no memory");
		++*n;
	}
	return rc;
}

int
story_late(struct story *s, int64_t *ret_n, struct err *e)
{
	struct lite_rows *rows = NULL;
	struct str ids[2];
	size_t n = 0;
	int rc = lite_begin(s->core.db, e);

	if (rc < 0)
		return rc;
	*ret_n = 0;
	rc = crm_record_two(s->core.db, &rows, e);
	while (rc >= 0 && n < COUNT_OF(ids) && (rc = lite_next(rows, e)) == 1)
		ids[n++] = arena_dup(s->arena, lite_str(rows, 0));
	lite_done(rows);
	for (size_t i = 0; rc >= 0 && i < n; i++)
		rc = late(s, ids[i], ret_n, e);
	if (rc >= 0)
		rc = lite_commit(s->core.db, e);
	else
		lite_rollback(s->core.db);
	arena_reset(s->arena);
	return rc;
}

int
story_decide(struct story *s, int64_t *ret_n, struct err *e)
{
	bool some = true;
	int rc = OK;

	*ret_n = 0;
	while (rc == OK && some) {
		rc = approval_decide(s->approval, s->tenant, s->arena,
		    *ret_n % 3 == 2 ? "REJECTED" : "APPROVED", &some, e);
		arena_reset(s->arena);
		*ret_n += rc == OK && some;
	}
	return rc;
}

int
story_outboxes(
    struct story *s, int64_t *ret_all, int64_t *ret_waiting, struct err *e)
{
	struct lite *const all[] = {
	    s->core.db, s->metadata, s->sharing, s->approval};
	int64_t n = 0, waiting = 0;
	int rc = OK;

	for (size_t i = 0; rc >= 0 && i < COUNT_OF(all); i++) {
		struct lite_rows *rows = NULL;

		rc = crm_outbox_count(all[i], &rows, e);
		if (rc == OK && (rc = lite_next(rows, e)) == 1) {
			n += lite_int(rows, 0);
			waiting += lite_int(rows, 1);
		}
		lite_done(rows);
	}
	if (rc < 0)
		return rc;
	*ret_all = n;
	*ret_waiting = waiting;
	return OK;
}
