#include "event/type/catalog.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* wants the others first */
/* clang-format on */

#include "event/envelope.h"
#include "event/type/fault.h"
#include "event/type/schema.h"

static struct arena *arena;

static struct json *
parse(struct str text)
{
	struct json *j = NULL;
	struct err e;

	if (json_parse(arena, text, &j, &e) < 0)
		fail_msg("%.*s: %s", STR_ARG(text), e.text);
	return j;
}

/* j as text, with `target` replaced, or left out when `by` is NULL. */
static void
emit(struct buf *b, const struct json *j, const struct json *target,
    const char *by)
{
	bool object = j->type == JSON_OBJECT, some = false;

	if (j == target) {
		buf_addz(b, by);
		return;
	}
	if (!object && j->type != JSON_ARRAY) {
		buf_add(b, j->raw);
		return;
	}
	buf_addc(b, object ? '{' : '[');
	for (const struct json *c = j->child; c; c = c->next) {
		if (c == target && !by)
			continue;
		if (some)
			buf_addc(b, ',');
		some = true;
		if (object) {
			buf_json(b, c->key);
			buf_addc(b, ':');
		}
		emit(b, c, target, by);
	}
	buf_addc(b, object ? '}' : ']');
}

static int
check(const struct event_type *t, const struct json *payload, struct err *e)
{
	struct event ev = {.schema_version = 1, .payload = payload};

	struct arena *a = arena_new(MIB);
	struct faults f = {.arena = a};
	int rc = OK;

	*e = (struct err){0};
	ev.key = catalog_key(a, t, &ev);
	ev.has_rv = catalog_version(t, payload, &ev.rv_us) != NULL;
	catalog_check(a, t, &ev, &f);
	if (f.n > 0)
		rc = faults_say(&f, e);
	arena_free(a);
	return rc;
}

/* The payload with one value changed must fail there, or pass for at NULL. */
static void
try(const struct event_type *t, const struct json *payload,
    const struct json *target, const char *by, const char *at)
{
	struct buf b = BUF(64 * KIB);
	struct err e;
	int rc;

	emit(&b, payload, target, by);
	assert_false(b.failed);
	rc = check(t, parse(buf_str(&b)), &e);
	if (rc != (at ? ERR_INVALID : OK) || strcmp(e.at, at ? at : "") != 0)
		fail_msg("%s: %.*s: at \"%s\", want \"%s\": %s", t->name,
		    STR_ARG(buf_str(&b)), e.at, at ? at : "", e.text);
	buf_done(&b);
}

/* What a field of each type must not be. `below`: the pointer goes on. */
static const struct {
	enum field_type type;
	const char *by, *below;
} WRONG[] = {
    {FIELD_UUID, "null", ""},
    {FIELD_UUID, "1", ""},
    {FIELD_UUID, "\"uuid\"", ""},
    {FIELD_UUID, "\"0198c2f0-7d1e-7a3b-8c4d-00000000000\"", ""},
    {FIELD_STRING, "null", ""},
    {FIELD_STRING, "1", ""},
    {FIELD_STRING, "[\"a\"]", ""},
    {FIELD_BOOL, "null", ""},
    {FIELD_BOOL, "0", ""},
    {FIELD_BOOL, "\"true\"", ""},
    {FIELD_TRUE, "false", ""},
    {FIELD_TRUE, "null", ""},
    {FIELD_INT, "null", ""},
    {FIELD_INT, "1.5", ""},
    {FIELD_INT, "1e3", ""},
    {FIELD_INT, "\"1\"", ""},
    {FIELD_INT, "9223372036854775808", ""},
    {FIELD_TIME, "null", ""},
    {FIELD_TIME, "1768048496", ""},
    {FIELD_TIME, "\"2026-01-10\"", ""},
    {FIELD_TIME, "\"2026-13-10T00:00:00Z\"", ""},
    {FIELD_DATE, "null", ""},
    {FIELD_DATE, "\"2026-02-30\"", ""},
    {FIELD_DATE, "\"2026-01-10T00:00:00Z\"", ""},
    {FIELD_STRINGS, "null", ""},
    {FIELD_STRINGS, "\"a\"", ""},
    {FIELD_STRINGS, "{}", ""},
    {FIELD_STRINGS, "[\"a\",null]", "/1"},
    {FIELD_OBJECT, "null", ""},
    {FIELD_OBJECT, "[]", ""},
    {FIELD_OBJECT, "\"x\"", ""},
    {FIELD_MAP, "null", ""},
    {FIELD_MAP, "[]", ""},
    {FIELD_MAP, "{\"A\":{\"old\":1,\"new\":2},\"B/C\":3}", "/B~1C"},
    {FIELD_MAP, "{\"A\":{\"new\":2}}", "/A/old"},
};

/* Every field of the table: left out, and of each wrong type. */
static void
spoil(const struct event_type *t, const struct json *payload,
    const struct field *fields, const struct json *obj, const char *at)
{
	for (const struct field *f = fields; f->name; f++) {
		const struct json *j = json_get(obj, f->name);
		char here[256], below[300];

		assert_non_null(j); /* the examples hold all fields */
		(void)snprintf(here, sizeof(here), "%s/%s", at, f->name);
		try(t, payload, j, NULL, f->optional ? NULL : here);
		try(t, payload, j, "null", f->optional ? NULL : here);
		for (size_t i = 0; i < COUNT_OF(WRONG); i++) {
			if (WRONG[i].type != f->type ||
			    (f->optional && strcmp(WRONG[i].by, "null") == 0))
				continue;
			(void)snprintf(
			    below, sizeof(below), "%s%s", here, WRONG[i].below);
			try(t, payload, j, WRONG[i].by, below);
		}
		if (f->words)
			try(t, payload, j, "\"Nothing\"", here);
		for (const char *const *w = f->words; w && *w; w++) {
			char quoted[64];

			(void)snprintf(quoted, sizeof(quoted), "\"%s\"", *w);
			try(t, payload, j, quoted, NULL);
		}
		if (f->fields && f->type == FIELD_OBJECT)
			spoil(t, payload, f->fields, j, here);
	}
}

static void
examples_pass_and_spoiled_ones_fail(void **)
{
	FILE *f = fopen("tests/data/payloads.txt", "r");
	const struct event_type *t = NULL;
	char line[4096];

	if (!f)
		fail_msg("run me from the root of the repository");
	while (fgets(line, sizeof(line), f)) {
		struct str text = str_trim(str_of(line)), name;
		struct json *payload;
		struct err e;

		if (line[0] == '#')
			continue;
		name = str_cut(&text, '\t');
		t = catalog_each(t); /* the file has the table's order */
		assert_non_null(t);
		assert_ptr_equal(catalog_find(name), t);
		payload = parse(text);
		if (check(t, payload, &e) < 0)
			fail_msg("%s: %s: %s", t->name, e.at, e.text);
		spoil(t, payload, t->fields, payload, "/payload");
		arena_reset(arena);
	}
	(void)fclose(f);
	assert_non_null(t);
	/* Behind the seed's come those that the server makes. */
	while ((t = catalog_each(t)))
		assert_null(t->subscribers[0]);
}

#define U "\"0198c2f0-7d1e-7a3b-8c4d-5e6f70819203\""
#define Z "\"2026-01-10T12:34:56.789Z\""

static const struct {
	const char *type, *payload, *at, *text;
} CASES[] = {
    {"RecordDeleted",
	"{\"objectName\":\"A\",\"recordId\":" U
	",\"deleted\":true,\"recordVersion\":" Z ",\"more\":[1]}",
	NULL, NULL},
    {"RecordDeleted", "{}", "/payload/objectName", "objectName is required"},
    {"RecordDeleted",
	"{\"objectName\":\"A\",\"recordId\":" U
	",\"deleted\":false,\"recordVersion\":" Z "}",
	"/payload/deleted", "deleted must be true"},
    {"RecordDeleted",
	"{\"objectName\":\"A\",\"recordId\":\"0198C2F0-7D1E-7A3B-8C4D-"
	"5E6F70819203\",\"deleted\":true,\"recordVersion\":"
	"\"2026-01-10T21:34:56+09:00\"}",
	NULL, NULL},
    {"RecordUpdated",
	"{\"objectName\":\"A\",\"recordId\":" U ",\"ownerId\":" U
	",\"changedFields\":[],\"fieldChanges\":{\"X\":{\"old\":null,\"new\":"
	"[1]},\"Y\":{\"old\":1}},\"recordVersion\":" Z "}",
	"/payload/fieldChanges/Y/new", "new is required"},
    {"RecordUpdated",
	"{\"objectName\":\"A\",\"recordId\":" U ",\"ownerId\":" U
	",\"changedFields\":[\"a\",\"b\",3],\"recordVersion\":" Z "}",
	"/payload/changedFields/2", "2 must be a string"},
    {"ApprovalSubmitted",
	"{\"approvalInstanceId\":" U ",\"target\":{\"objectName\":\"Quote\"}}",
	"/payload/target/recordId", "recordId is required"},
    {"PermissionChanged",
	"{\"changeType\":\"x\",\"subject\":{\"type\":\"User\",\"id\":\"me\"}}",
	"/payload/subject/id", "id must be a UUID"},
    {"SharingRebuildCompleted",
	"{\"rebuildJobId\":" U ",\"objectName\":\"A\",\"scope\":\"half\"}",
	"/payload/scope", "scope must be one of full, incremental"},
    {"GroupMemberChanged", "{\"changeType\":\"MemberUpdated\"}",
	"/payload/changeType",
	"changeType must be one of MemberAdded, MemberRemoved"},
    {"StageChanged",
	"{\"opportunityId\":" U ",\"accountId\":" U
	",\"oldStageName\":\"\",\"newStageName\":\"\",\"oldIsClosed\":1}",
	"/payload/oldIsClosed", "oldIsClosed must be true or false"},
};

static void
reasons_are_plain(void **)
{
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		const struct event_type *t =
		    catalog_find(str_of(CASES[i].type));
		struct err e;
		int rc = check(t, parse(str_of(CASES[i].payload)), &e);

		assert_int_equal(rc, CASES[i].at ? ERR_INVALID : OK);
		assert_string_equal(e.at, CASES[i].at ? CASES[i].at : "");
		assert_string_equal(e.text, CASES[i].text ? CASES[i].text : "");
	}
}

/* A stranger's key in an error must not break the answer that shows it. */
static void
long_keys_are_cut_in_errors(void **)
{
	struct buf b = BUF(4 * KIB);
	struct err e;

	for (int lead = 0; lead < 4; lead++) {
		buf_clear(&b);
		buf_addz(&b, "{\"objectName\":\"A\",\"recordId\":" U
			     ",\"ownerId\":" U ",\"changedFields\":[],"
			     "\"fieldChanges\":{\"");
		buf_fmt(&b, "%.*s", lead, "xxxx");
		for (int i = 0; i < 100; i++)
			buf_addz(&b, "\xf0\x9f\x98\x80");
		buf_addz(&b, "\":1}}");
		assert_int_equal(check(catalog_find(STR("RecordUpdated")),
				     parse(buf_str(&b)), &e),
		    ERR_INVALID);
		assert_true(
		    str_starts(str_of(e.at), STR("/payload/fieldChanges/")));
		assert_int_equal(str_utf8_bad(str_of(e.at)), strlen(e.at));
		assert_int_equal(str_utf8_bad(str_of(e.text)), strlen(e.text));
	}
	buf_done(&b);
}

static void
other_versions_do_not_fit(void **)
{
	struct event ev = {.schema_version = 2, .payload = parse(STR("{}"))};
	struct arena *a = arena_new(MIB);
	struct faults f = {.arena = a};

	catalog_check(arena, catalog_find(STR("RecordDeleted")), &ev, &f);
	assert_int_equal(f.n, 1);
	assert_true(str_eq(f.first->at, STR("/schemaVersion")));
	arena_free(a);
}

static void
twenty_types_are_written(void **)
{
	struct buf b = BUF(MIB);
	struct json *all;
	int domain = 0, optional = 0;

	put_open(&b, NULL, '[');
	for (const struct event_type *t = NULL; (t = catalog_each(t));)
		if (t->subscribers[0])
			catalog_write(t, &b);
	put_close(&b, ']');
	assert_false(b.failed);
	all = parse(buf_str(&b));
	assert_int_equal(all->n, 20);
	for (const struct json *j = all->child; j; j = j->next) {
		const struct json *s = json_get(j, "schema");

		assert_non_null(catalog_find(json_get(j, "type")->text));
		domain += str_eq(json_get(j, "kind")->raw, STR("\"Domain\""));
		optional += json_is(json_get(j, "optional"), JSON_TRUE);
		assert_true(
		    str_eq(json_get(j, "schemaVersion")->raw, STR("1")));
		assert_true(json_get(j, "subscribers")->n >= 1);
		assert_true(str_eq(json_get(s, "$schema")->text,
		    STR("https://json-schema.org/draft/2020-12/schema")));
		assert_true(json_get(s, "required")->n >= 2);
	}
	assert_int_equal(domain, 7);
	assert_int_equal(optional, 1);
	buf_done(&b);
}

/* One of them in full, so that a change of form is seen. */
static void
a_schema_is_pinned(void **)
{
	struct buf b = BUF(64 * KIB);

	catalog_schema(catalog_find(STR("SharingRebuildCompleted")), &b);
	buf_addc(&b, '\0');
	assert_string_equal(b.p,
	    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	    "\"title\":\"SharingRebuildCompleted\",\"description\":\"A rebuild "
	    "of the sharing model is done; its new version may be used.\","
	    "\"type\":\"object\",\"required\":[\"rebuildJobId\",\"objectName\","
	    "\"scope\",\"oldVersion\",\"newVersion\",\"recordsProcessed\","
	    "\"completedAt\"],\"properties\":{\"rebuildJobId\":{\"type\":"
	    "\"string\",\"format\":\"uuid\"},\"objectName\":{\"type\":"
	    "\"string\"},\"scope\":{\"type\":\"string\",\"enum\":[\"full\","
	    "\"incremental\"]},\"oldVersion\":{\"type\":\"integer\"},"
	    "\"newVersion\":{\"type\":\"integer\"},\"recordsProcessed\":{"
	    "\"type\":\"integer\"},\"completedAt\":{\"type\":\"string\","
	    "\"format\":\"date-time\"}}}");
	buf_done(&b);
}

/* spec/events.md marks exactly these as "may be absent". */
static void
what_may_be_absent_is_pinned(void **)
{
	static const char WANT[] =
	    " RecordUpdated.fieldChanges LeadConverted.opportunityId"
	    " ApprovalDecided.comment RoleHierarchyChanged.parentRoleId"
	    " TerritoryAssignmentChanged.assignmentType"
	    " TerritoryAssignmentChanged.assignedId"
	    " SharingConfigChanged.oldOWD SharingConfigChanged.newOWD";
	struct buf b = BUF(4 * KIB);
	const struct event_type *t = NULL;

	while ((t = catalog_each(t)))
		for (const struct field *f = t->fields; f->name; f++)
			if (f->optional && t->subscribers[0])
				buf_fmt(&b, " %s.%s", t->name, f->name);
	buf_addc(&b, '\0');
	assert_string_equal(b.p, WANT);
	buf_done(&b);
}

static void
names_are_exact(void **)
{
	assert_non_null(catalog_find(STR("RecordCreated")));
	assert_null(catalog_find(STR("recordCreated")));
	assert_null(catalog_find(STR("RecordCreate")));
	assert_null(catalog_find(STR("")));
}

static int
setup(void **)
{
	arena = arena_new(64 * MIB);
	return !arena;
}

static int
teardown(void **)
{
	arena_free(arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(examples_pass_and_spoiled_ones_fail),
	    cmocka_unit_test(reasons_are_plain),
	    cmocka_unit_test(long_keys_are_cut_in_errors),
	    cmocka_unit_test(other_versions_do_not_fit),
	    cmocka_unit_test(twenty_types_are_written),
	    cmocka_unit_test(a_schema_is_pinned),
	    cmocka_unit_test(what_may_be_absent_is_pinned),
	    cmocka_unit_test(names_are_exact),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
