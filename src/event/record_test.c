/* record.h: of which record each type tells, and when two are the same. */
#include "event/record.h"

#include "base/test.h"
#include "event/envelope.h"
#include "event/type/catalog.h"

#define T    "11111111-1111-4111-8111-111111111111"
#define A    "aaaaaaaa-0000-4000-8000-000000000001"
#define A_UP "AAAAAAAA-0000-4000-8000-000000000001"
#define B    "bbbbbbbb-0000-4000-8000-000000000002"
#define KEY  "Key:" T ":" B
#define OF   "\"objectName\":\"Account\",\"recordId\":\"" A "\""

static const struct row {
	const char *type, *payload, *key;
	const char *object, *id, *part;
} ROWS[] = {
    {"RecordCreated", "{" OF "}", KEY, "Account", A, ""},
    {"RecordUpdated", "{" OF "}", KEY, "Account", A, ""},
    {"RecordDeleted", "{" OF ",\"deleted\":true}", KEY, "Account", A, ""},
    {"OwnerChanged", "{" OF "}", KEY, "Account", A, ""},
    {"StageChanged", "{\"opportunityId\":\"" A "\",\"accountId\":\"" B "\"}",
	KEY, "Opportunity", A, ""},
    {"LeadConverted", "{\"leadId\":\"" A "\",\"accountId\":\"" B "\"}", KEY,
	"Lead", A, ""},
    {"ApprovalSubmitted",
	"{\"approvalInstanceId\":\"" B "\",\"target\":{" OF "}}", KEY,
	"Account", A, ""},
    {"ApprovalDecided",
	"{\"approvalInstanceId\":\"" B "\",\"target\":{" OF "}}", KEY,
	"Account", A, ""},
    {"MetadataChanged", "{\"objectName\":\"Account\",\"resourceId\":\"x\"}",
	KEY, "Account", "#config", "x"},
    {"PermissionChanged", "{\"subject\":{\"type\":\"user\",\"id\":\"" A "\"}}",
	KEY, "Permission", A, ""},
    {"SharingUpdated", "{" OF "}", KEY, "Account", A, ""},
    {"RoleHierarchyChanged", "{\"roleId\":\"" A "\"}", KEY, "Role", A, ""},
    {"GroupMemberChanged", "{\"groupId\":\"" A "\",\"memberId\":\"" B "\"}",
	KEY, "Group", A, B},
    {"TeamMemberChanged", "{" OF ",\"userId\":\"" B "\"}", KEY, "Account", A,
	B},
    {"TerritoryAssignmentChanged",
	"{\"territoryId\":\"" A "\",\"assignedId\":\"" B "\"}", KEY,
	"Territory", A, B},
    {"SharingConfigChanged",
	"{\"objectName\":\"Account\",\"changeType\":\"OWDChanged\"}", KEY,
	"Account", "#config", "OWDChanged"},
    {"AutomationConfigChanged",
	"{\"objectName\":\"Account\",\"automationId\":\"" A "\"}", KEY,
	"Account", "#config", A},
    {"ApprovalConfigChanged",
	"{\"objectName\":\"Account\",\"processId\":\"" A "\"}", KEY, "Account",
	"#config", A},
    {"SharingRebuildCompleted",
	"{\"objectName\":\"Account\",\"rebuildJobId\":\"" A "\"}", KEY,
	"Account", "#rebuild", A},
    {"CampaignMemberChanged",
	"{\"campaignId\":\"" A "\",\"memberId\":\"" B "\"}", KEY, "Campaign", A,
	B},
    /* further forms */
    {"TerritoryAssignmentChanged", "{\"territoryId\":\"" A "\"}", KEY,
	"Territory", A, ""},
    {"RecordUpdated", "{\"objectName\":\"Account\",\"recordId\":\"" A_UP "\"}",
	KEY, "Account", A, ""},
    {"RecordUpdated", "{\"objectName\":\"Account\",\"recordId\":\"x-7\"}", KEY,
	"Account", "x-7", ""},
    {"RecordUpdated", "{\"recordId\":\"" A "\"}", KEY, "Key", B, ""},
    {"RecordUpdated", "{\"objectName\":1,\"recordId\":2}", KEY, "Key", B, ""},
    {"my.type", "{" OF "}", KEY, "Key", B, ""},
    {"my.type", "{}", "Account:" T ":" A_UP, "Account", A, ""},
    {"my.type", "{}", "Account:" A ":" B, "", "Account:" A ":" B, ""},
    {"my.type", "{}", "Account:" T ":", "", "Account:" T ":", ""},
    {"my.type", "{}", "just a key", "", "just a key", ""},
    {"my.type", "{}", ":", "", ":", ""},
};

static struct uuid
tenant(void)
{
	struct uuid u;

	assert_true(uuid_parse(STR(T), &u));
	return u;
}

static void
each_type_names_its_record(void **)
{
	struct arena *a = arena_new(64 * KIB);
	struct uuid t = tenant();

	assert_non_null(a);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const struct row *w = &ROWS[i];
		struct json *payload = NULL;
		struct record r;
		struct err e = {0};

		assert_int_equal(
		    json_parse(a, str_of(w->payload), &payload, &e), OK);
		r = record_of(a, str_of(w->type), &t, str_of(w->key), payload);
		if (!str_eq(r.object, str_of(w->object)) ||
		    !str_eq(r.id, str_of(w->id)) ||
		    !str_eq(r.part, str_of(w->part)))
			fail_msg("row %zu, %s: %.*s %.*s %.*s", i, w->type,
			    STR_ARG(r.object), STR_ARG(r.id), STR_ARG(r.part));
		arena_reset(a);
	}
	arena_free(a);
}

static void
no_type_is_left_out(void **)
{
	for (const struct event_type *t = catalog_each(NULL); t;
	     t = catalog_each(t)) {
		bool there = !t->key; /* of no record */

		for (size_t i = 0; i < COUNT_OF(ROWS); i++)
			there = there || strcmp(ROWS[i].type, t->name) == 0;
		if (!there)
			fail_msg("%s has no row", t->name);
	}
}

/* Each differs from all others: nothing runs together. */
static void
ids_tell_records_apart(void **)
{
	static const struct {
		const char *object, *id, *part, *type;
	} rows[] = {
	    {"Account", A, "", ""},
	    {"Account", B, "", ""},
	    {"Lead", A, "", ""},
	    {"Account", A, B, ""},
	    {"Account", A, "", "RecordUpdated"},
	    {"Account", A, "", "RecordDeleted"},
	    {"", "Account" A, "", ""},
	    {"A", "ccount" A, "", ""},
	};
	struct arena *a = arena_new(64 * KIB);
	unsigned char id[COUNT_OF(rows) + 1][RECORD_ID_LEN];
	struct uuid t = tenant(), other = t;

	other.b[0] ^= 1;
	for (size_t i = 0; i <= COUNT_OF(rows); i++) {
		size_t k = i % COUNT_OF(rows);
		struct record r = {str_of(rows[k].object), str_of(rows[k].id),
		    str_of(rows[k].part)};

		record_id(a, i < COUNT_OF(rows) ? &t : &other, &r,
		    str_of(rows[k].type), id[i]);
		for (size_t x = 0; x < i; x++)
			assert_memory_not_equal(id[x], id[i], RECORD_ID_LEN);
	}
	arena_free(a);
}

static int64_t
version_of(const char *rv)
{
	struct arena *a = arena_new(64 * KIB);
	struct envelope_opts o = {.now_us = 1};
	struct event ev = {0};
	struct err e = {0};
	char text[600];
	int64_t us;

	(void)snprintf(text, sizeof(text),
	    "{\"schemaVersion\":1,\"eventType\":\"x.y\",\"tenantId\":\"" T
	    "\",\"producer\":{\"service\":\"s\",\"instanceId\":\"i\"},"
	    "\"sequence\":{\"partitionKey\":\"k\",\"recordVersion\":\"%s\"},"
	    "\"payload\":{}}",
	    rv);
	assert_int_equal(envelope_parse(a, str_of(text), &o, &ev, &e), OK);
	assert_true(ev.has_rv);
	us = ev.rv_us;
	arena_free(a);
	return us;
}

static void
versions_are_instants(void **)
{
	static const struct {
		const char *x, *y;
		int order; /* of x and y */
	} rows[] = {
	    {"2026-01-10T12:34:56Z", "2026-01-10T12:34:56.000Z", 0},
	    {"2026-01-10T12:34:56Z", "2026-01-10T21:34:56+09:00", 0},
	    {"2026-01-10T12:34:56.1Z", "2026-01-10T12:34:56.100000Z", 0},
	    {"2026-01-10T12:34:56.9Z", "2026-01-10T12:34:56.12Z", 1},
	    {"2026-01-10T12:34:56Z", "2026-01-10T12:34:56.001Z", -1},
	    /* later as text, earlier as an instant */
	    {"2026-01-10T20:00:00+09:00", "2026-01-10T12:00:00Z", -1},
	    {"2026-01-11T00:00:00+09:00", "2026-01-10T23:00:00Z", -1},
	    {"2025-12-31T23:59:59-01:00", "2026-01-01T00:00:00Z", 1},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t x = version_of(rows[i].x), y = version_of(rows[i].y);

		assert_int_equal((x > y) - (x < y), rows[i].order);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_type_names_its_record),
	    cmocka_unit_test(no_type_is_left_out),
	    cmocka_unit_test(ids_tell_records_apart),
	    cmocka_unit_test(versions_are_instants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
