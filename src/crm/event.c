#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "crm/crm.h"
#include "event/catalog.h"
#include "event/envelope.h"

/*
 * Which record an event tells of: a pointer into the payload, or the object's
 * name itself. A type that is not here has none, so nothing of it is stale.
 */
static const struct {
	const char *type, *object, *record, *part;
} RECORDS[] = {
    {"RecordCreated", "/objectName", "/recordId", NULL},
    {"RecordUpdated", "/objectName", "/recordId", NULL},
    {"RecordDeleted", "/objectName", "/recordId", NULL},
    {"OwnerChanged", "/objectName", "/recordId", NULL},
    {"StageChanged", "Opportunity", "/opportunityId", NULL},
    {"LeadConverted", "Lead", "/leadId", NULL},
    {"CampaignMemberChanged", "Campaign", "/campaignId", "/memberId"},
    {"TeamMemberChanged", "/objectName", "/recordId", NULL},
    {"SharingUpdated", "/objectName", "/recordId", NULL},
    {"ApprovalSubmitted", "/target/objectName", "/target/recordId", NULL},
    {"ApprovalDecided", "/target/objectName", "/target/recordId", NULL},
};
/* The time that a payload tells, the first that is there. */
static const char *const TIMES[] = {"/recordVersion", "/effectiveAt",
    "/submittedAt", "/decidedAt", "/updatedAt", "/completedAt"};

static struct str
text_at(const struct json *j, const char *pointer)
{
	const struct json *v = json_at(j, str_of(pointer));

	return json_is(v, JSON_STRING) ? v->text : STR_EMPTY;
}

struct str
crm_text(const struct crm_event *ev, const char *pointer)
{
	return text_at(ev->payload, pointer);
}

bool
crm_true(const struct crm_event *ev, const char *pointer)
{
	return json_is(json_at(ev->payload, str_of(pointer)), JSON_TRUE);
}

int64_t
crm_int(const struct crm_event *ev, const char *pointer)
{
	int64_t v = 0;

	return json_int(json_at(ev->payload, str_of(pointer)), &v) ? v : 0;
}

bool
crm_is(const struct crm_event *ev, const char *type)
{
	return str_eq(str_of(ev->type->name), str_of(type));
}

bool
crm_ends(const struct crm_event *ev)
{
	struct str change = crm_text(ev, "/changeType");

	return str_ends(change, STR("Removed")) ||
	       str_ends(change, STR("Deleted")) ||
	       str_ends(change, STR("Unassigned")) ||
	       str_ends(change, STR("Deactivated"));
}

/* Where it belongs, and since when it is so. */
static int
place(
    struct crm_event *ev, const struct json *j, struct arena *a, struct err *e)
{
	struct str version = crm_text(ev, "/recordVersion");
	struct str when = text_at(j, "/occurredAt"), part;

	for (size_t i = 0; i < COUNT_OF(RECORDS); i++) {
		if (!crm_is(ev, RECORDS[i].type))
			continue;
		ev->object = RECORDS[i].object[0] == '/'
				 ? crm_text(ev, RECORDS[i].object)
				 : str_of(RECORDS[i].object);
		ev->record = crm_text(ev, RECORDS[i].record);
		if (!RECORDS[i].part)
			continue;
		part = crm_text(ev, RECORDS[i].part);
		ev->record = arena_fmt(
		    a, "%.*s/%.*s", STR_ARG(ev->record), STR_ARG(part));
	}
	ev->versioned = ev->record.n > 0 && version.n > 0;
	if (ev->versioned && !time_parse(version, &ev->version_us, NULL))
		return err_at(e, ERR_INVALID, "/payload/recordVersion",
		    "recordVersion is no RFC 3339 time");
	for (size_t i = COUNT_OF(TIMES); i-- > 0;)
		if (crm_text(ev, TIMES[i]).n > 0)
			when = crm_text(ev, TIMES[i]);
	if (!time_parse(when, &ev->at_us, NULL))
		return err_at(e, ERR_INVALID, "/occurredAt",
		    "occurredAt is no RFC 3339 time");
	return ev->record.p ? OK : err_set(e, ERR_NOMEM, "no memory");
}

int
crm_event_read(
    const struct json *j, struct arena *a, struct crm_event *ret, struct err *e)
{
	struct str type = text_at(j, "/eventType");
	struct crm_event ev = {.id = text_at(j, "/eventId"),
	    .tenant = text_at(j, "/tenantId"),
	    .payload = json_get(j, "payload"),
	    .record = STR_EMPTY,
	    .object = STR_EMPTY};
	struct event shape = {.payload = ev.payload};
	int rc;

	ev.type = catalog_find(type);
	if (!ev.type)
		return err_at(e, ERR_ABSENT, "/eventType",
		    "eventType %.*s is not in the catalog", STR_ARG(type));
	if (ev.id.n == 0 || ev.tenant.n == 0 ||
	    !json_is(ev.payload, JSON_OBJECT) ||
	    !json_int(json_get(j, "schemaVersion"), &shape.schema_version))
		return err_at(e, ERR_INVALID, "",
		    "an envelope lacks eventId, tenantId, schemaVersion or payload");
	rc = catalog_check(ev.type, &shape, e);
	if (rc == OK)
		rc = place(&ev, j, a, e);
	if (rc == OK)
		*ret = ev;
	return rc;
}

struct str
crm_field(const struct crm_record *r, const char *name)
{
	const struct json *v = json_get(r->fields, name);

	return json_is(v, JSON_STRING) ? v->text : STR_EMPTY;
}

int64_t
crm_field_int(const struct crm_record *r, const char *name)
{
	int64_t v = 0;

	return json_int(json_get(r->fields, name), &v) ? v : 0;
}

bool
crm_field_true(const struct crm_record *r, const char *name)
{
	return json_is(json_get(r->fields, name), JSON_TRUE);
}
