#include <stdlib.h>

#include "base/str.h"
#include "base/test.h"
#include "crm/testing.h"

/* ---- tests ---- */

/* Every statement can be prepared, where it belongs, and has its shape. */
static void
test_statements(void **state)
{
	static const struct crm_service *const HOME[CRM_SCHEMA_COUNT] = {
	    [CRM_SCHEMA_APPROVAL] = &CRM_APPROVAL,
	    [CRM_SCHEMA_AUTOMATION] = &CRM_AUTOMATION,
	    [CRM_SCHEMA_CORE] = &CRM_CORE,
	    [CRM_SCHEMA_INBOX] = &CRM_SEARCH,
	    [CRM_SCHEMA_OUTBOX] = &CRM_CORE,
	    [CRM_SCHEMA_REPORTING] = &CRM_REPORTING,
	    [CRM_SCHEMA_SEARCH] = &CRM_SEARCH,
	    [CRM_SCHEMA_SHARING] = &CRM_SHARING,
	};
	struct world *w;
	struct err e;

	(void)state;
	make(&w);
	for (int q = 0; q < CRM_STMT_COUNT; q++)
		if (HOME[CRM_STMTS[q].schema])
			MUST(lite_check(
			    taker(w, HOME[CRM_STMTS[q].schema])->db, q, &e));
	/* The rest are those of the check, which runs them all. */
	assert_int_equal(differences(w), 0);
	drop(w);
}

/* Rules and the catalog's subscribers are the same. */
static void
test_subscribers(void **state)
{
	(void)state;
	for (int i = 0; i < CRM_SERVICES; i++)
		for (const struct event_type *t = catalog_each(NULL); t;
		     t = catalog_each(t)) {
			bool rule = false;

			for (const struct crm_rule *r = CRM_ALL[i]->rules;
			     r->type; r++)
				rule = rule || strcmp(r->type, t->name) == 0;
			if (rule != crm_wants(CRM_ALL[i], t))
				fail_msg(
				    "%s and %s", CRM_ALL[i]->name, t->name);
		}
}

/* All twenty types come about, and each fits its schema. */
static void
test_all_types(void **state)
{
	struct world *w;
	struct err e;
	uint32_t seed = 7;
	int64_t n;
	size_t missing = 0;
	static const char *const DBS[] = {"core", "sharing", "approval"};
	char sql[512];

	(void)state;
	make(&w);
	MUST(story_settings(&w->story, &e));
	for (int64_t i = 0; i < 40; i++)
		MUST(story_step(&w->story, i, &e));
	deliver_shuffled(w, &seed);
	MUST(story_decide(&w->story, &n, &e));
	assert_true(n > 0);
	deliver_shuffled(w, &seed);
	for (const struct event_type *t = catalog_each(NULL); t;
	     t = catalog_each(t)) {
		int64_t found = 0;

		for (size_t i = 0; i < COUNT_OF(DBS); i++) {
			(void)snprintf(sql, sizeof(sql),
			    "ATTACH '%s/metadata.db' AS m; ATTACH '%s/%s.db' AS x; SELECT (SELECT count(*) FROM m.outbox_events WHERE event_type='%s') + (SELECT count(*) FROM x.outbox_events WHERE event_type='%s')",
			    w->dir, w->dir, DBS[i], t->name, t->name);
			found += number(w, &CRM_SEARCH, sql);
		}
		if (found == 0)
			print_message("no %s\n", t->name);
		missing += found == 0;
	}
	assert_int_equal(missing, 0);
	drop(w);
}

/* In order, then in any order with repeats: the same in the end. */
static void
test_converges(void **state)
{
	struct world *w;
	struct err e;
	int64_t n;

	(void)state;
	for (uint32_t seed = 0; seed < 6; seed++) {
		uint32_t dice = seed;

		make(&w);
		MUST(story_settings(&w->story, &e));
		for (int64_t i = 0; i < 60; i++) {
			MUST(story_step(&w->story, i, &e));
			/* Some are taken early, when there is less of Core. */
			if (i % 13 == 5)
				deliver_shuffled(w, &dice);
		}
		deliver_shuffled(w, &dice);
		MUST(story_decide(&w->story, &n, &e));
		deliver_shuffled(w, &dice);
		if (differences(w) > 0)
			fail_msg("seed %u", seed);
		assert_true(w->results[CRM_REPEATED] > 100);
		assert_true(w->results[CRM_STALE] > 0);
		drop(w);
	}
}

/* The check can fail: one row less, or one too many, is found. */
static void
test_check_finds(void **state)
{
	static const struct {
		const struct crm_service *s;
		const char *sql;
	} FAULTS[] = {
	    {&CRM_SEARCH,
		"DELETE FROM documents WHERE record_id IN (SELECT record_id FROM documents LIMIT 1)"},
	    {&CRM_SEARCH, "UPDATE labels SET label='PENDING'"},
	    {&CRM_SHARING, "UPDATE shares SET active=0 WHERE cause='team'"},
	    {&CRM_REPORTING,
		"UPDATE opportunities SET amount=amount+1 WHERE deleted=0"},
	    {&CRM_AUTOMATION,
		"DELETE FROM notifications WHERE action_key='notify.converted'"},
	    {&CRM_APPROVAL, "DELETE FROM approvers"},
	    {&CRM_CORE, "UPDATE locks SET released=0"},
	};
	struct world *w;
	struct err e;
	uint32_t seed = 3;
	int64_t n;
	char sql[512];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(FAULTS); i++) {
		make(&w);
		MUST(story_settings(&w->story, &e));
		for (int64_t k = 0; k < 40; k++)
			MUST(story_step(&w->story, k, &e));
		deliver_shuffled(w, &seed);
		MUST(story_decide(&w->story, &n, &e));
		deliver_shuffled(w, &seed);
		assert_int_equal(differences(w), 0);
		(void)snprintf(sql, sizeof(sql), "%s; SELECT 1", FAULTS[i].sql);
		assert_int_equal(number(w, FAULTS[i].s, sql), 1);
		if (differences(w) == 0)
			fail_msg("not found: %s", FAULTS[i].sql);
		drop(w);
	}
}

/* One record ---------------------------------------------------------------- */

#define REC   "aaaaaaaa-0000-4000-8000-000000000001"
#define OTHER "bbbbbbbb-0000-4000-8000-000000000001"
#define U1    "cccccccc-0000-4000-8000-000000000001"
#define U2    "cccccccc-0000-4000-8000-000000000002"

static struct str
event(struct world *w, int id, const char *type, const char *payload)
{
	return arena_fmt(w->words,
	    "{\"eventId\":\"eeeeeeee-0000-4000-8000-%012d\",\"schemaVersion\":1,\"eventType\":\"%s\",\"tenantId\":\"%.*s\",\"occurredAt\":\"2026-01-10T12:00:00.000Z\",\"payload\":%s}",
	    id, type, STR_ARG(w->story.tenant), payload);
}

static struct str
owner_changed(struct world *w, int id, const char *to, const char *version)
{
	return event(w, id, "OwnerChanged",
	    arena_fmt(w->words,
		"{\"objectName\":\"Account\",\"recordId\":\"" REC
		"\",\"oldOwnerId\":\"" U1
		"\",\"newOwnerId\":\"%s\",\"recordVersion\":\"%s\"}",
		to, version)
		.p);
}

static struct str
deleted(struct world *w, int id, const char *version)
{
	return event(w, id, "RecordDeleted",
	    arena_fmt(w->words,
		"{\"objectName\":\"Account\",\"recordId\":\"" REC
		"\",\"deleted\":true,\"recordVersion\":\"%s\"}",
		version)
		.p);
}

/* Strictly older is stale, the same is not; versions are instants. */
static void
test_stale(void **state)
{
	static const struct {
		const char *version;
		enum crm_result want;
	} ROWS[] = {
	    {"2026-01-10T12:00:00.500Z", CRM_APPLIED},
	    {"2026-01-10T12:00:00.499Z", CRM_STALE},
	    {"2026-01-10T12:00:00.5Z", CRM_APPLIED},
	    {"2026-01-10T21:00:00.500+09:00", CRM_APPLIED},
	    {"2026-01-10T21:00:00.499+09:00", CRM_STALE},
	    {"2026-01-10T12:00:00.500001Z", CRM_APPLIED},
	    {"2026-01-10T12:00:00.500Z", CRM_STALE},
	    {"2026-01-10T11:59:59Z", CRM_STALE},
	    {"2027-01-01T00:00:00Z", CRM_APPLIED},
	};
	struct world *w;

	(void)state;
	make(&w);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		if (one(w, &CRM_SHARING,
			owner_changed(w, (int)i, i % 2 ? U1 : U2,
			    ROWS[i].version)) != ROWS[i].want)
			fail_msg("row %zu: %s", i, ROWS[i].version);
	drop(w);
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
		int64_t changed;
	} ROWS[] = {{5, 1}, {4, 0}, {5, 1}, {6, 1}, {5, 0}};
	const struct str r = STR(REC), o = STR("Opportunity"), u = STR(U1);
	struct lite *search, *sharing, *reporting, *automation;
	struct world *w;
	struct err e;

	(void)state;
	make(&w);
	search = taker(w, &CRM_SEARCH)->db;
	sharing = taker(w, &CRM_SHARING)->db;
	reporting = taker(w, &CRM_REPORTING)->db;
	automation = taker(w, &CRM_AUTOMATION)->db;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int64_t v = ROWS[i].version, n = ROWS[i].changed;

		assert_int_equal(
		    crm_doc_put(search, o, r, v, u, u, u, 0, &e), n);
		assert_int_equal(crm_label_put(search, o, r, u, v, &e), n);
		assert_int_equal(crm_known_put(sharing, o, r, u, v, &e), n);
		assert_int_equal(
		    crm_opportunity_put(reporting, r, u, u, 1, 0, 0, v, &e), n);
		assert_int_equal(
		    crm_setting_put(search, o, r, o, u, 1, v, &e), n);
	}
	assert_int_equal(crm_doc_stage(search, r, u, 5, &e), 0);
	assert_int_equal(
	    crm_opportunity_stage(reporting, r, u, 0, 0, 5, &e), 0);
	assert_int_equal(crm_opportunity_owner(reporting, r, u, 5, &e), 0);
	MUST(crm_known_drop(sharing, o, r, 9, &e));
	MUST(crm_opportunity_drop(reporting, r, 9, &e));
	for (int64_t v = 8; v <= 10; v++) {
		assert_int_equal(
		    crm_known_put(sharing, o, r, u, v, &e), v == 10);
		assert_int_equal(
		    crm_opportunity_put(reporting, r, u, u, 1, 0, 0, v, &e),
		    v == 10);
	}
	assert_int_equal(crm_notify(automation, r, o, u, u, &e), 1);
	assert_int_equal(crm_notify(automation, r, o, u, u, &e), 0);
	assert_int_equal(crm_notify(automation, r, u, u, u, &e), 1);
	assert_int_equal(crm_generation_put(sharing, o, r, o, 1, &e), 1);
	assert_int_equal(crm_generation_put(sharing, o, r, o, 1, &e), 0);
	assert_int_equal(crm_generation_put(sharing, o, r, o, 2, &e), 1);
	assert_int_equal(crm_generation_put(sharing, o, r, u, 1, &e), 1);
	drop(w);
}

/* The same event again changes nothing, whatever it is the second time. */
static void
test_repeated(void **state)
{
	struct world *w;

	(void)state;
	make(&w);
	for (int i = 0; i < 3; i++) {
		one(w, &CRM_AUTOMATION,
		    owner_changed(w, 1, U2, "2026-01-10T12:00:00Z"));
		one(w, &CRM_SHARING,
		    owner_changed(w, 1, U2, "2026-01-10T12:00:00Z"));
	}
	assert_int_equal(w->results[CRM_APPLIED], 2);
	assert_int_equal(w->results[CRM_REPEATED], 4);
	assert_int_equal(
	    number(w, &CRM_AUTOMATION, "SELECT count(*) FROM notifications"),
	    2);
	assert_int_equal(
	    number(w, &CRM_SHARING, "SELECT count(*) FROM shares"), 1);
	/* Told under another id, of the same version: not made twice. */
	assert_int_equal(one(w, &CRM_SHARING,
			     owner_changed(w, 2, U2, "2026-01-10T12:00:00Z")),
	    CRM_APPLIED);
	assert_int_equal(
	    number(w, &CRM_SHARING, "SELECT count(*) FROM outbox_events"), 1);
	drop(w);
}

/* A deleted record does not come back. */
static void
test_deleted(void **state)
{
	struct world *w;

	(void)state;
	make(&w);
	one(w, &CRM_SHARING, owner_changed(w, 1, U2, "2026-01-10T12:00:00Z"));
	assert_int_equal(
	    one(w, &CRM_SHARING, deleted(w, 2, "2026-01-10T12:00:02Z")),
	    CRM_APPLIED);
	assert_int_equal(number(w, &CRM_SHARING,
			     "SELECT count(*) FROM shares WHERE active=1"),
	    0);
	assert_int_equal(number(w, &CRM_SHARING,
			     "SELECT count(*) FROM shares WHERE active=0"),
	    1);
	assert_int_equal(one(w, &CRM_SHARING,
			     owner_changed(w, 3, U1, "2026-01-10T12:00:01Z")),
	    CRM_STALE);
	assert_int_equal(one(w, &CRM_SHARING,
			     owner_changed(w, 4, U1, "2026-01-10T12:00:02Z")),
	    CRM_STALE);
	/* The deletion first, its record after: nothing comes of it. */
	assert_int_equal(
	    one(w, &CRM_REPORTING,
		event(w, 5, "RecordDeleted",
		    "{\"objectName\":\"Opportunity\",\"recordId\":\"" OTHER
		    "\",\"deleted\":true,\"recordVersion\":\"2026-01-10T12:00:02Z\"}")),
	    CRM_APPLIED);
	assert_int_equal(
	    one(w, &CRM_REPORTING,
		event(w, 6, "RecordCreated",
		    "{\"objectName\":\"Opportunity\",\"recordId\":\"" OTHER
		    "\",\"ownerId\":\"" U1
		    "\",\"fields\":{},\"changedFields\":[],\"recordVersion\":\"2026-01-10T12:00:00Z\"}")),
	    CRM_STALE);
	assert_int_equal(
	    number(w, &CRM_REPORTING,
		"SELECT count(*) FROM opportunities WHERE deleted=0"),
	    0);
	drop(w);
}

/* What is wrong is refused with its place, and changes nothing. */
static void
test_wrong(void **state)
{
	static const struct {
		const char *type, *payload, *at;
	} ROWS[] = {
	    {"OwnerChanged", "{}", "/payload/objectName"},
	    {"RecordDeleted",
		"{\"objectName\":\"Account\",\"recordId\":\"" REC
		"\",\"deleted\":true,\"recordVersion\":\"yesterday\"}",
		"/payload/recordVersion"},
	    {"MetadataChanged", "{\"changeType\":\"FieldAdded\"}",
		"/payload/objectName"},
	};
	enum crm_result result;
	struct world *w;
	struct err e;

	(void)state;
	make(&w);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		e = (struct err){0};
		assert_int_equal(
		    give(w, taker(w, &CRM_SHARING),
			event(w, (int)i, ROWS[i].type, ROWS[i].payload),
			&result, &e),
		    ERR_INVALID);
		assert_string_equal(e.at, ROWS[i].at);
	}
	assert_int_equal(
	    number(w, &CRM_SHARING, "SELECT count(*) FROM processed_events"),
	    0);
	drop(w);
}

static int
away(void *arg, struct str object, struct str id, struct arena *a,
    struct crm_record *ret, struct err *e)
{
	(void)arg;
	(void)object;
	(void)id;
	(void)a;
	(void)ret;
	return err_set(e, ERR_AWAY, "Core does not answer");
}

/* Core away: nothing is remembered, so that another try does it all. */
static void
test_core_away(void **state)
{
	enum crm_result result;
	struct world *w;
	struct taker *t;
	struct str text;
	struct err e;
	core_id id;

	(void)state;
	make(&w);
	MUST(core_create(&w->story.core, "Contact", STR(U1),
	    STR("{\"Name\":\"N\",\"Email\":\"n@example.com\"}"), id, &e));
	assert_int_equal(gather(w), 1);
	text = w->events[0];
	t = taker(w, &CRM_SEARCH);
	t->fetch = (struct crm_fetch){away, NULL};
	assert_int_equal(give(w, t, text, &result, &e), ERR_AWAY);
	t->fetch = (struct crm_fetch){fetch, w};
	assert_int_equal(one(w, &CRM_SEARCH, text), CRM_APPLIED);
	assert_int_equal(
	    number(w, &CRM_SEARCH,
		"SELECT count(*) FROM documents WHERE text='N n@example.com'"),
	    1);
	drop(w);
}

/* Of another tenant, or of a type that is another's: nothing is done. */
static void
test_foreign(void **state)
{
	enum crm_result result = CRM_APPLIED;
	struct world *w;
	struct str text;
	struct err e;

	(void)state;
	make(&w);
	text = owner_changed(w, 1, U2, "2026-01-10T12:00:00Z");
	taker(w, &CRM_SHARING)->tenant = STR(OTHER);
	MUST(give(w, taker(w, &CRM_SHARING), text, &result, &e));
	assert_int_equal(result, CRM_FOREIGN);
	assert_int_equal(
	    number(w, &CRM_SHARING, "SELECT count(*) FROM shares"), 0);
	taker(w, &CRM_SHARING)->tenant = w->story.tenant;
	assert_int_equal(one(w, &CRM_SHARING, text), CRM_APPLIED);
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
	struct world *w;

	(void)state;
	make(&w);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str text = event(w, (int)i, "PermissionChanged",
		    arena_fmt(w->words,
			"{\"changeType\":\"PermissionSetUpdated\",\"subject\":{\"type\":\"%s\",\"id\":\"" REC
			"\"},\"effectiveAt\":\"2026-01-10T12:00:0%zuZ\"}",
			ROWS[i].type, i)
			.p);

		assert_int_equal(one(w, &CRM_SHARING, text), CRM_APPLIED);
		assert_int_equal(one(w, &CRM_SHARING, text), CRM_REPEATED);
		assert_int_equal(
		    number(w, &CRM_SHARING,
			"SELECT count(*) FROM outbox_events WHERE event_type='SharingRebuildCompleted'"),
		    ROWS[i].told);
	}
	drop(w);
}

/* Core ---------------------------------------------------------------------- */

/* The events of a save: their types, one version, nothing confidential. */
static void
test_saves(void **state)
{
	struct world *w;
	struct err e;
	core_id id;

	(void)state;
	make(&w);
	MUST(core_create(&w->story.core, "Opportunity", STR(U1),
	    STR("{\"Name\":\"D\",\"StageName\":\"A\",\"Amount\":77123,\"AccountId\":\"" REC
		"\",\"CloseDate\":\"2026-12-31\"}"),
	    id, &e));
	MUST(core_update(&w->story.core, "Opportunity", str_of(id),
	    STR("{\"StageName\":\"Closed Won\",\"Amount\":88123}"), STR(U2),
	    &e));
	assert_int_equal(gather(w), 4);
	for (size_t i = 0; i < w->n; i++)
		assert_null(memmem(w->events[i].p, w->events[i].n, "8123", 4));
	assert_int_equal(
	    number(w, &CRM_CORE,
		"SELECT count(DISTINCT record_version)*10+count(DISTINCT correlation_id) FROM outbox_events WHERE id > 1"),
	    11);
	/* What fails leaves neither record nor event. */
	assert_int_equal(core_update(&w->story.core, "Opportunity", STR(OTHER),
			     STR("{}"), STR_EMPTY, &e),
	    ERR_ABSENT);
	assert_int_equal(core_update(&w->story.core, "Opportunity", str_of(id),
			     STR("{"), STR_EMPTY, &e),
	    ERR_SYNTAX);
	assert_int_equal(core_update(&w->story.core, "Opportunity", str_of(id),
			     STR("[]"), STR_EMPTY, &e),
	    ERR_INVALID);
	assert_int_equal(gather(w), 0);
	MUST(core_delete(&w->story.core, "Opportunity", str_of(id), &e));
	assert_int_equal(
	    core_delete(&w->story.core, "Opportunity", str_of(id), &e),
	    ERR_ABSENT);
	assert_int_equal(gather(w), 1);
	drop(w);
}

/* Submitted: locked. Decided: free again, and the record says so. */
static void
test_locks(void **state)
{
	struct world *w;
	struct err e;
	uint32_t seed = 1;
	int64_t n;
	core_id id;

	(void)state;
	make(&w);
	MUST(story_settings(&w->story, &e));
	MUST(core_create(&w->story.core, "Quote", STR(U1),
	    STR("{\"Name\":\"Q\",\"DiscountPercent\":30}"), id, &e));
	deliver_shuffled(w, &seed);
	assert_int_equal(core_update(&w->story.core, "Quote", str_of(id),
			     STR("{\"DiscountPercent\":50}"), STR_EMPTY, &e),
	    ERR_CONFLICT);
	assert_non_null(strstr(e.text, "DiscountPercent is locked"));
	MUST(core_update(&w->story.core, "Quote", str_of(id),
	    STR("{\"Name\":\"Q2\"}"), STR_EMPTY, &e));
	deliver_shuffled(w, &seed);
	assert_int_equal(
	    number(w, &CRM_SEARCH,
		"SELECT count(*) FROM labels WHERE label='PENDING'"),
	    1);
	MUST(story_decide(&w->story, &n, &e));
	assert_int_equal(n, 1);
	deliver_shuffled(w, &seed);
	assert_int_equal(
	    number(w, &CRM_SEARCH,
		"SELECT count(*) FROM labels WHERE label='APPROVED'"),
	    1);
	MUST(core_update(&w->story.core, "Quote", str_of(id),
	    STR("{\"DiscountPercent\":10}"), STR_EMPTY, &e));
	/* The decision before the submission: no lock stays. */
	assert_int_equal(
	    one(w, &CRM_CORE,
		event(w, 1, "ApprovalDecided",
		    "{\"approvalInstanceId\":\"" REC
		    "\",\"target\":{\"objectName\":\"Quote\",\"recordId\":\"" OTHER
		    "\"},\"decision\":\"APPROVED\",\"decidedBy\":\"" U1
		    "\",\"decidedAt\":\"2026-01-10T15:00:00Z\",\"finalStageIndex\":1}")),
	    CRM_APPLIED);
	assert_int_equal(
	    one(w, &CRM_CORE,
		event(w, 2, "ApprovalSubmitted",
		    "{\"approvalInstanceId\":\"" REC
		    "\",\"target\":{\"objectName\":\"Quote\",\"recordId\":\"" OTHER
		    "\"},\"submittedBy\":\"" U1
		    "\",\"submittedAt\":\"2026-01-10T14:00:00Z\",\"lockedFields\":[\"X\"],\"currentStageIndex\":0}")),
	    CRM_APPLIED);
	assert_int_equal(
	    number(w, &CRM_CORE, "SELECT count(*) FROM locks WHERE released=0"),
	    0);
	drop(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_statements),
	    cmocka_unit_test(test_subscribers),
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
