#include "testing.h"

/* Settings, records, and what comes of them, all taken. */
static struct world *
played(int records, uint32_t *seed, bool early)
{
	struct world *w = make();
	struct hk_error e = {0};
	int64_t decided = 0;
	int rc = story_settings(&w->story, &e);

	for (int i = 0; rc == HK_OK && i < records; i++) {
		rc = story_step(&w->story, i, &e);
		/* Some are taken early, when there is less of Core. */
		if (early && i % 13 == 5)
			deliver_shuffled(w, seed);
	}
	deliver_shuffled(w, seed);
	if (rc == HK_OK)
		rc = story_late(&w->story, &e);
	if (rc == HK_OK)
		rc = story_decide(&w->story, &decided, &e);
	if (rc < 0)
		fail_msg("%s", e.text);
	assert_true(decided > 0);
	deliver_shuffled(w, seed);
	return w;
}

/* Every script can be run where it belongs, and every type has its shape. */
static void
test_scripts(void **state)
{
	struct world *w = make();

	(void)state;
	assert_int_equal(differences(w), 0);
	assert_int_equal(number(w, SEARCH, "SELECT count(*) FROM shapes"), 20);
	for (enum service_id i = 0; i < CONSUMERS; i++) {
		char types[SERVICE_TYPES_MAX], *left = NULL;

		service_types(i, types);
		for (char *p = strtok_r(types, " ", &left); p;
		     p = strtok_r(NULL, " ", &left)) {
			char sql[128];

			(void)snprintf(sql, sizeof(sql),
			    "SELECT count(*) FROM shapes WHERE type = '%s'", p);
			if (number(w, i, sql) != 1)
				fail_msg(
				    "%s has a rule for %s", SERVICE[i].name, p);
		}
	}
	drop(w);
}

/* All twenty types come about, and each has what its shape wants. */
static void
test_all_types(void **state)
{
	uint32_t seed = 7;
	struct world *w = played(40, &seed, false);
	char sql[1024];

	(void)state;
	(void)snprintf(sql, sizeof(sql),
	    "ATTACH '%s/metadata.db' AS m; ATTACH '%s/core.db' AS c; ATTACH '%s/sharing.db' AS s; ATTACH '%s/approval.db' AS a;"
	    "SELECT count(*) FROM shapes WHERE type NOT IN (SELECT event_type FROM m.outbox_events UNION SELECT event_type FROM c.outbox_events"
	    " UNION SELECT event_type FROM s.outbox_events UNION SELECT event_type FROM a.outbox_events)",
	    w->dir, w->dir, w->dir, w->dir);
	assert_int_equal(number(w, SEARCH, sql), 0);
	drop(w);
}

/* In order, then in any order with repeats: the same in the end. */
static void
test_converges(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 6; seed++) {
		uint32_t dice = seed;
		struct world *w = played(60, &dice, true);

		if (differences(w) > 0)
			fail_msg("seed %u", seed);
		assert_true(w->verdicts[HK_SEEN] > 100);
		assert_true(w->verdicts[HK_STALE] > 0);
		drop(w);
	}
}

/* The check can fail: one row less, or one too many, is found. */
static void
test_check_finds(void **state)
{
	static const struct {
		enum service_id id;
		const char *fault;
	} ROWS[] = {
	    {SEARCH,
		"DELETE FROM documents WHERE record_id IN (SELECT record_id FROM documents LIMIT 1)"},
	    {SEARCH, "UPDATE labels SET label='PENDING'"},
	    {SHARING, "UPDATE shares SET active=0 WHERE cause='team'"},
	    {REPORTING,
		"UPDATE opportunities SET amount=amount+1 WHERE deleted=0"},
	    {AUTOMATION,
		"DELETE FROM notifications WHERE action_key='notify.converted'"},
	    {APPROVAL, "DELETE FROM approvers"},
	    {CORE, "UPDATE locks SET released=0"},
	};
	uint32_t seed = 3;
	struct world *w = played(40, &seed, false);

	(void)state;
	assert_int_equal(differences(w), 0);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int64_t before = differences(w);

		(void)number(w, ROWS[i].id, ROWS[i].fault);
		if (differences(w) <= before)
			fail_msg("not found: %s", ROWS[i].fault);
	}
	drop(w);
}

/* One record ---------------------------------------------------------------- */

#define REC   "aaaaaaaa-0000-4000-8000-000000000001"
#define OTHER "bbbbbbbb-0000-4000-8000-000000000001"
#define U1    "cccccccc-0000-4000-8000-000000000001"
#define U2    "cccccccc-0000-4000-8000-000000000002"
#define NOON  "2026-01-10T12:00:00Z"

/* Borrowed until the next; `version` may be NULL. */
static const char *
event(struct world *w, int id, const char *type, const char *about,
    const char *version, const char *payload)
{
	static char text[2048];
	char object[64], record[64];

	(void)sscanf(about, "%63[^:]:%63s", object, record);
	(void)snprintf(text, sizeof(text),
	    "{\"eventId\":\"eeeeeeee-0000-4000-8000-%012d\",\"schemaVersion\":1,\"eventType\":\"%s\",\"tenantId\":\"%s\",\"occurredAt\":\"2026-01-10T12:00:00.000Z\",\"sequence\":{\"partitionKey\":\"%s:%s:%s\"%s%s%s},\"payload\":%s}",
	    id, type, w->tenant, object, w->tenant, record,
	    version ? ",\"recordVersion\":\"" : "", version ? version : "",
	    version ? "\"" : "", payload);
	return text;
}

static const char *
owner_changed(struct world *w, int id, const char *to, const char *version)
{
	char payload[512];

	(void)snprintf(payload, sizeof(payload),
	    "{\"objectName\":\"Account\",\"recordId\":\"" REC
	    "\",\"oldOwnerId\":\"" U1
	    "\",\"newOwnerId\":\"%s\",\"recordVersion\":\"%s\"}",
	    to, version);
	return event(w, id, "OwnerChanged", "Account:" REC, version, payload);
}

static const char *
deleted(struct world *w, int id, const char *object, const char *record,
    const char *version)
{
	char payload[512], about[128];

	(void)snprintf(about, sizeof(about), "%s:%s", object, record);
	(void)snprintf(payload, sizeof(payload),
	    "{\"objectName\":\"%s\",\"recordId\":\"%s\",\"deleted\":true,\"recordVersion\":\"%s\"}",
	    object, record, version);
	return event(w, id, "RecordDeleted", about, version, payload);
}

/* Strictly older is stale, the same is not; versions are instants. */
static void
test_stale(void **state)
{
	static const struct {
		const char *version;
		enum hk_verdict want;
	} ROWS[] = {
	    {"2026-01-10T12:00:00.500Z", HK_APPLY},
	    {"2026-01-10T12:00:00.499Z", HK_STALE},
	    {"2026-01-10T12:00:00.5Z", HK_APPLY},
	    {"2026-01-10T21:00:00.500+09:00", HK_APPLY},
	    {"2026-01-10T21:00:00.499+09:00", HK_STALE},
	    {"2026-01-10T12:00:00.500001Z", HK_APPLY},
	    {"2026-01-10T12:00:00.500Z", HK_STALE},
	    {"2026-01-10T11:59:59Z", HK_STALE},
	    {"2027-01-01T00:00:00Z", HK_APPLY},
	};
	struct world *w = make();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		if (one(w, SHARING,
			owner_changed(w, (int)i, i % 2 ? U1 : U2,
			    ROWS[i].version)) != ROWS[i].want)
			fail_msg("row %zu: %s", i, ROWS[i].version);
	assert_int_equal(
	    number(w, SHARING, "SELECT n FROM counters WHERE name='stale'"), 4);
	drop(w);
}

/* The rule of a type, as if its event had been let through; rows changed. */
static int64_t
run_rule(struct world *w, enum service_id id, const char *type, int64_t version)
{
	const char *at = SERVICE[id].sql;
	int before = sqlite3_total_changes(w->takers[id].db);
	struct script rule;
	struct hk_error e;

	while (script_next(&at, "on", &rule)) {
		if (!script_is_for(&rule, type))
			continue;
		if (db_run(w->takers[id].db, &rule,
			ARGS(ARG_TEXT("id", REC), ARG_TEXT("type", type),
			    ARG_TEXT("object", "Opportunity"),
			    ARG_TEXT("record", REC),
			    ARG_NUMBER("version", version),
			    ARG_NUMBER("at", version),
			    ARG_TEXT("payload",
				"{\"ownerId\":\"u\",\"newStageName\":\"s\",\"objectName\":\"O\",\"resourceId\":\"r\"}"),
			    ARG_TEXT("core",
				"{\"ownerId\":\"u\",\"fields\":{\"Name\":\"n\",\"StageName\":\"s\",\"ApprovalStatus\":\"A\"}}"),
			    ARG_NUMBER("core_us", version)),
			NULL, NULL, &e) < 0)
			fail_msg("%s: %s", type, e.text);
		break;
	}
	return sqlite3_total_changes(w->takers[id].db) - before;
}

/*
 * Rows go forward by themselves too, whatever was let through: older is not
 * written, the same may be, and what is deleted comes back by newer news only.
 */
static void
test_rows_go_forward(void **state)
{
	static const struct {
		int64_t version;
		bool changed;
	} ROWS[] = {{5, true}, {4, false}, {5, true}, {6, true}, {5, false}};
	struct world *w = make();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int64_t v = ROWS[i].version;
		bool changed = ROWS[i].changed;

		/* A document and its label. */
		assert_int_equal(
		    run_rule(w, SEARCH, "RecordUpdated", v), changed ? 2 : 0);
		assert_int_equal(
		    run_rule(w, SEARCH, "MetadataChanged", v), changed);
		assert_int_equal(
		    run_rule(w, REPORTING, "RecordUpdated", v), changed);
		assert_int_equal(
		    run_rule(w, APPROVAL, "RecordUpdated", v), changed);
		(void)run_rule(w, SHARING, "RecordUpdated", v);
		assert_int_equal(
		    number(w, SHARING, "SELECT version_us FROM known_records"),
		    i < 3 ? 5 : 6);
	}
	assert_int_equal(run_rule(w, SEARCH, "StageChanged", 5), 0);
	assert_int_equal(run_rule(w, SEARCH, "StageChanged", 7), 1);
	(void)run_rule(w, SHARING, "RecordDeleted", 9);
	(void)run_rule(w, REPORTING, "RecordDeleted", 9);
	for (int64_t v = 8; v <= 10; v++) {
		(void)run_rule(w, SHARING, "RecordUpdated", v);
		(void)run_rule(w, REPORTING, "RecordUpdated", v);
		assert_int_equal(
		    number(w, SHARING, "SELECT active FROM known_records"),
		    v == 10);
		assert_int_equal(
		    number(w, REPORTING, "SELECT deleted FROM opportunities"),
		    v < 10);
	}
	/* One message for an event and an action, one making of a version. */
	assert_int_equal(run_rule(w, AUTOMATION, "RecordDeleted", 1), 1);
	assert_int_equal(run_rule(w, AUTOMATION, "RecordDeleted", 1), 0);
	assert_int_equal(
	    number(w, SHARING, "SELECT count(*) FROM generations"), 6);
	assert_int_equal(
	    number(w, SHARING, "SELECT count(*) FROM outbox_events"), 6);
	drop(w);
}

/* The same event again changes nothing, whatever it is the second time. */
static void
test_repeated(void **state)
{
	struct world *w = make();

	(void)state;
	for (int i = 0; i < 3; i++) {
		one(w, AUTOMATION, owner_changed(w, 1, U2, NOON));
		one(w, SHARING, owner_changed(w, 1, U2, NOON));
	}
	assert_int_equal(w->verdicts[HK_APPLY], 2);
	assert_int_equal(w->verdicts[HK_SEEN], 4);
	assert_int_equal(
	    number(w, AUTOMATION, "SELECT count(*) FROM notifications"), 2);
	assert_int_equal(number(w, SHARING, "SELECT count(*) FROM shares"), 1);
	/* Told under another id, of the same version: not made twice. */
	assert_int_equal(
	    one(w, SHARING, owner_changed(w, 2, U2, NOON)), HK_APPLY);
	assert_int_equal(
	    number(w, SHARING, "SELECT count(*) FROM outbox_events"), 1);
	assert_int_equal(
	    number(w, SHARING, "SELECT n FROM counters WHERE name='applied'"),
	    2);
	drop(w);
}

/* A deleted record does not come back. */
static void
test_deleted(void **state)
{
	struct world *w = make();

	(void)state;
	one(w, SHARING, owner_changed(w, 1, U2, NOON));
	assert_int_equal(
	    one(w, SHARING,
		deleted(w, 2, "Account", REC, "2026-01-10T12:00:02Z")),
	    HK_APPLY);
	assert_int_equal(
	    number(w, SHARING, "SELECT count(*) FROM shares WHERE active=1"),
	    0);
	assert_int_equal(
	    number(w, SHARING, "SELECT count(*) FROM shares WHERE active=0"),
	    1);
	assert_int_equal(
	    one(w, SHARING, owner_changed(w, 3, U1, "2026-01-10T12:00:01Z")),
	    HK_STALE);
	/* Of the save that deleted it: as a subscription's dropStale. */
	assert_int_equal(
	    one(w, SHARING, owner_changed(w, 4, U1, "2026-01-10T12:00:02Z")),
	    HK_APPLY);
	/* The deletion first, its record after: nothing comes of it. */
	assert_int_equal(
	    one(w, REPORTING,
		deleted(w, 5, "Opportunity", OTHER, "2026-01-10T12:00:02Z")),
	    HK_APPLY);
	assert_int_equal(
	    one(w, REPORTING,
		event(w, 6, "RecordCreated", "Opportunity:" OTHER, NOON,
		    "{\"objectName\":\"Opportunity\",\"recordId\":\"" OTHER
		    "\",\"ownerId\":\"" U1
		    "\",\"fields\":{},\"changedFields\":[],\"recordVersion\":\"" NOON
		    "\"}")),
	    HK_STALE);
	assert_int_equal(
	    number(w, REPORTING,
		"SELECT count(*) FROM opportunities WHERE deleted=0"),
	    0);
	drop(w);
}

/* What is wrong is given up with its place, and changes nothing. */
static void
test_wrong(void **state)
{
	static const struct {
		const char *type, *payload, *at;
	} ROWS[] = {
	    {"OwnerChanged", "{}", "/payload/objectName "},
	    {"RecordDeleted",
		"{\"objectName\":\"Account\",\"recordId\":\"" REC
		"\",\"deleted\":true,\"recordVersion\":\"yesterday\"}",
		"/payload/recordVersion "},
	    {"MetadataChanged", "{\"changeType\":\"FieldAdded\"}",
		"/payload/objectName "},
	    {"RecordUpdated", "{\"objectName\":\"Account\",\"recordId\":7}",
		"/payload/recordId "},
	};
	enum hk_verdict verdict;
	struct world *w = make();
	bool foreign;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct hk_error e = {0};

		assert_int_equal(give(w, SHARING,
				     event(w, (int)i, ROWS[i].type,
					 "Account:" REC, NULL, ROWS[i].payload),
				     &verdict, &foreign, &e),
		    HK_DEAD);
		assert_int_equal(
		    strncmp(e.text, ROWS[i].at, strlen(ROWS[i].at)), 0);
	}
	assert_int_equal(
	    number(w, SHARING, "SELECT count(*) FROM processed_events"), 0);
	drop(w);
}

static int
away(void *ctx, const char *object, const char *record, char **ret,
    struct hk_error *e)
{
	(void)ctx;
	(void)object;
	(void)record;
	(void)ret;
	return hk_fail(e, HK_RETRY, "Core does not answer");
}

/* Core away: nothing is remembered, so that another try does it all. */
static void
test_core_away(void **state)
{
	enum hk_verdict verdict;
	struct world *w = make();
	struct hk_error e;
	bool foreign;

	(void)state;
	(void)number(w, CORE,
	    "INSERT INTO creation VALUES ('Contact', uuid(), '" U1
	    "', '{\"Name\":\"N\",\"Email\":\"n@example.com\"}')");
	assert_int_equal(gather(w), 1);
	w->takers[SEARCH].ask = away;
	assert_int_equal(
	    give(w, SEARCH, w->events[0], &verdict, &foreign, &e), HK_RETRY);
	w->takers[SEARCH].ask = ask;
	assert_int_equal(one(w, SEARCH, w->events[0]), HK_APPLY);
	assert_int_equal(
	    number(w, SEARCH,
		"SELECT count(*) FROM documents WHERE text='N n@example.com'"),
	    1);
	drop(w);
}

/* Of another tenant, or of a type that is another's: nothing is done. */
static void
test_foreign(void **state)
{
	enum hk_verdict verdict;
	struct world *w = make();
	const char *text = owner_changed(w, 1, U2, NOON);
	struct hk_error e;
	bool foreign = false;

	(void)state;
	w->takers[SHARING].tenant[0] ^= 1;
	assert_int_equal(give(w, SHARING, text, &verdict, &foreign, &e), HK_OK);
	assert_true(foreign);
	assert_int_equal(number(w, SHARING, "SELECT count(*) FROM shares"), 0);
	w->takers[SHARING].tenant[0] ^= 1;
	assert_int_equal(one(w, SHARING, text), HK_APPLY);
	assert_int_equal(
	    give(w, APPROVAL, text, &verdict, &foreign, &e), HK_OK);
	assert_true(foreign);
	drop(w);
}

/* The rights of a role are a reason to work its shares out anew, once. */
static void
test_permission(void **state)
{
	static const struct {
		const char *type;
		int64_t told;
	} ROWS[] = {{"User", 0}, {"Role", 1}, {"Group", 2}};
	struct world *w = make();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		char payload[512];
		const char *text;

		(void)snprintf(payload, sizeof(payload),
		    "{\"changeType\":\"PermissionSetUpdated\",\"subject\":{\"type\":\"%s\",\"id\":\"" REC
		    "\"},\"effectiveAt\":\"2026-01-10T12:00:0%zuZ\"}",
		    ROWS[i].type, i);
		text = event(w, (int)i, "PermissionChanged", "Permission:" REC,
		    NULL, payload);
		assert_int_equal(one(w, SHARING, text), HK_APPLY);
		assert_int_equal(one(w, SHARING, text), HK_SEEN);
		assert_int_equal(
		    number(w, SHARING,
			"SELECT count(*) FROM outbox_events WHERE event_type='SharingRebuildCompleted'"),
		    ROWS[i].told);
	}
	drop(w);
}

/* Core ---------------------------------------------------------------------- */

/* What Core says of a save that it refuses. */
static void
refused(struct world *w, const char *sql, const char *words)
{
	struct hk_error e = {0};
	int64_t n;

	assert_true(try_sql(w->story.db[CORE], sql, &n, &e) < 0);
	if (!strstr(e.text, words))
		fail_msg("%s: %s", sql, e.text);
}

/* The events of a save: their types, one version, nothing confidential. */
static void
test_saves(void **state)
{
	struct world *w = make();

	(void)state;
	(void)number(w, CORE,
	    "INSERT INTO creation VALUES ('Opportunity', '" REC "', '" U1
	    "', '{\"Name\":\"D\",\"StageName\":\"A\",\"Amount\":77123,\"AccountId\":\"" REC
	    "\",\"CloseDate\":\"2026-12-31\"}');"
	    "INSERT INTO change VALUES ('Opportunity', '" REC
	    "', '{\"StageName\":\"Closed Won\",\"Amount\":88123}', '" U2 "')");
	assert_int_equal(gather(w), 4);
	for (size_t i = 0; i < w->n; i++)
		assert_null(strstr(w->events[i], "8123"));
	assert_int_equal(
	    number(w, CORE,
		"SELECT count(DISTINCT record_version)*10+count(DISTINCT correlation_id) FROM outbox_events WHERE id > 1"),
	    11);
	/* What fails leaves neither record nor event. */
	refused(w,
	    "INSERT INTO change VALUES ('Opportunity', '" OTHER
	    "', '{}', NULL)",
	    "there is no such record");
	refused(w,
	    "INSERT INTO change VALUES ('Opportunity', '" REC "', '{', NULL)",
	    "malformed JSON");
	refused(w,
	    "INSERT INTO change VALUES ('Opportunity', '" REC "', '[]', NULL)",
	    "must be a JSON object");
	assert_int_equal(gather(w), 0);
	(void)number(
	    w, CORE, "INSERT INTO deletion VALUES ('Opportunity', '" REC "')");
	refused(w, "INSERT INTO deletion VALUES ('Opportunity', '" REC "')",
	    "there is no such record");
	assert_int_equal(gather(w), 1);
	drop(w);
}

/* Submitted: locked. Decided: free again, and the record says so. */
static void
test_locks(void **state)
{
	struct world *w = make();
	struct hk_error e = {0};
	uint32_t seed = 1;
	int64_t n = 0;

	(void)state;
	assert_int_equal(story_settings(&w->story, &e), HK_OK);
	(void)number(w, CORE,
	    "INSERT INTO creation VALUES ('Quote', '" REC "', '" U1
	    "', '{\"Name\":\"Q\",\"DiscountPercent\":30}')");
	deliver_shuffled(w, &seed);
	refused(w,
	    "INSERT INTO change VALUES ('Quote', '" REC
	    "', '{\"DiscountPercent\":50}', NULL)",
	    "locked by an approval");
	(void)number(w, CORE,
	    "INSERT INTO change VALUES ('Quote', '" REC
	    "', '{\"Name\":\"Q2\"}', NULL)");
	deliver_shuffled(w, &seed);
	assert_int_equal(
	    number(
		w, SEARCH, "SELECT count(*) FROM labels WHERE label='PENDING'"),
	    1);
	assert_int_equal(story_decide(&w->story, &n, &e), HK_OK);
	assert_int_equal(n, 1);
	deliver_shuffled(w, &seed);
	assert_int_equal(
	    number(w, SEARCH,
		"SELECT count(*) FROM labels WHERE label='APPROVED'"),
	    1);
	(void)number(w, CORE,
	    "INSERT INTO change VALUES ('Quote', '" REC
	    "', '{\"DiscountPercent\":10}', NULL)");
	/* The decision before the submission: no lock stays. */
	assert_int_equal(
	    one(w, CORE,
		event(w, 1, "ApprovalDecided", "Quote:" OTHER, NULL,
		    "{\"approvalInstanceId\":\"" REC
		    "\",\"target\":{\"objectName\":\"Quote\",\"recordId\":\"" OTHER
		    "\"},\"decision\":\"APPROVED\",\"decidedBy\":\"" U1
		    "\",\"decidedAt\":\"2026-01-10T15:00:00Z\",\"finalStageIndex\":1}")),
	    HK_APPLY);
	assert_int_equal(
	    one(w, CORE,
		event(w, 2, "ApprovalSubmitted", "Quote:" OTHER, NULL,
		    "{\"approvalInstanceId\":\"" REC
		    "\",\"target\":{\"objectName\":\"Quote\",\"recordId\":\"" OTHER
		    "\"},\"submittedBy\":\"" U1
		    "\",\"submittedAt\":\"2026-01-10T14:00:00Z\",\"lockedFields\":[\"X\"],\"currentStageIndex\":0}")),
	    HK_APPLY);
	assert_int_equal(
	    number(w, CORE, "SELECT count(*) FROM locks WHERE released=0"), 0);
	drop(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_scripts),
	    cmocka_unit_test(test_all_types),
	    cmocka_unit_test(test_converges),
	    cmocka_unit_test(test_check_finds),
	    cmocka_unit_test(test_stale),
	    cmocka_unit_test(test_rows_go_forward),
	    cmocka_unit_test(test_repeated),
	    cmocka_unit_test(test_deleted),
	    cmocka_unit_test(test_wrong),
	    cmocka_unit_test(test_core_away),
	    cmocka_unit_test(test_foreign),
	    cmocka_unit_test(test_permission),
	    cmocka_unit_test(test_saves),
	    cmocka_unit_test(test_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
