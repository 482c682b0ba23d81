#include "service.h"

#include <hikyaku_sqlite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct service SERVICE[SERVICES] = {
    [CORE] = {"Core", "crm-core", "core-platform", CRM_CORE},
    [SHARING] = {"Sharing", "crm-sharing", "sharing", CRM_SHARING},
    [SEARCH] = {"Search", "crm-search", NULL, CRM_SEARCH},
    [REPORTING] = {"Reporting", "crm-reporting", NULL, CRM_REPORTING},
    [AUTOMATION] = {"Automation", "crm-automation", NULL, CRM_AUTOMATION},
    [APPROVAL] = {"Approval", "crm-approval", "approval", CRM_APPROVAL},
    [METADATA] = {"Metadata", NULL, "metadata", NULL},
};

void
service_path(const char *dir, enum service_id id, char *ret, size_t room)
{
	int n = snprintf(ret, room, "%s/%s.db", dir, SERVICE[id].name);

	/* The file is called in small letters. */
	if (n > 0 && (size_t)n < room)
		ret[strlen(dir) + 1] |= 0x20;
}

int
service_make(
    sqlite3 *db, enum service_id id, const char *tenant, struct hk_error *e)
{
	const char *producer = SERVICE[id].producer;
	int rc = hk_sqlite_setup(db, e);

	if (rc == HK_OK)
		rc = db_make(db, CRM_COMMON, e);
	if (rc == HK_OK && SERVICE[id].sql)
		rc = db_make(db, SERVICE[id].sql, e);
	if (rc == HK_OK)
		rc = db_call(db, CRM_COMMON, "keep",
		    ARGS(ARG_TEXT("name", "tenant"), ARG_TEXT("value", tenant)),
		    e);
	if (rc == HK_OK && producer)
		rc = db_call(db, CRM_COMMON, "keep",
		    ARGS(ARG_TEXT("name", "service"),
			ARG_TEXT("value", producer)),
		    e);
	return rc;
}

int
service_open(
    const char *dir, enum service_id id, sqlite3 **ret, struct hk_error *e)
{
	char path[4096];

	service_path(dir, id, path, sizeof(path));
	return db_open(path, ret, e);
}

/* Where " of OBJECT" begins in the head of a rule, or its end. */
static size_t
types_end(const struct script *rule)
{
	const char *of = memmem(rule->head, rule->head_n, " of ", 4);

	return of ? (size_t)(of - rule->head) : rule->head_n;
}

static bool
rule_fits(const struct script *rule, const char *type, const char *object)
{
	struct script types = *rule, objects = *rule;

	types.head_n = types_end(rule);
	objects.head += types.head_n;
	objects.head_n -= types.head_n;
	return script_is_for(&types, type) &&
	       (objects.head_n == 0 || !object ||
		   script_is_for(&objects, object));
}

void
service_types(enum service_id id, char ret[SERVICE_TYPES_MAX])
{
	const char *at = SERVICE[id].sql;
	struct script rule;
	size_t n = 1;

	(void)snprintf(ret, SERVICE_TYPES_MAX, " ");
	while (script_next(&at, "on", &rule)) {
		char types[512], *left = NULL;

		(void)snprintf(types, sizeof(types), "%.*s",
		    (int)types_end(&rule), rule.head);
		for (char *p = strtok_r(types, " ", &left);
		     p && n < SERVICE_TYPES_MAX;
		     p = strtok_r(NULL, " ", &left)) {
			char word[128];

			(void)snprintf(word, sizeof(word), " %s ", p);
			if (!strstr(ret, word))
				n += (size_t)snprintf(ret + n,
				    SERVICE_TYPES_MAX - n, "%s", word + 1);
		}
	}
}

/* Taking an event ----------------------------------------------------------- */

int
taker_open(struct taker *t, const char *dir, enum service_id id,
    const char *tenant, struct hk_error *e)
{
	int rc = service_open(dir, id, &t->db, e);

	t->id = id;
	(void)snprintf(t->tenant, sizeof(t->tenant), "%s", tenant);
	return rc < 0 ? rc : hk_sqlite_open(t->db, &t->hk, e);
}

void
taker_close(struct taker *t)
{
	hk_sqlite_close(t->hk);
	(void)sqlite3_close(t->db);
	*t = (struct taker){.id = t->id};
}

/* An event while it is taken. */
struct taking {
	struct taker *taker;
	const struct hk_event *ev;
	char *payload, *core;
	int64_t at_us, core_us;
	bool asked;
};

/* The record as Core has it, once for an event. */
static int
ask_core(struct taking *x, struct hk_error *e)
{
	struct taker *t = x->taker;
	int rc;

	if (x->asked)
		return HK_OK;
	x->asked = true;
	rc = t->ask(t->ctx, x->ev->object_name, x->ev->record_id, &x->core, e);
	if (rc == HK_OK && x->core)
		rc = db_number(t->db, CRM_COMMON, "version of Core",
		    ARGS(ARG_TEXT("core", x->core)), &x->core_us, e);
	return rc;
}

static int
run_rule(struct taking *x, const struct script *rule, struct hk_error *e)
{
	const struct hk_event *ev = x->ev;
	int rc =
	    memmem(rule->text, rule->n, ":core", 5) ? ask_core(x, e) : HK_OK;

	if (rc < 0)
		return rc;
	return db_run(x->taker->db, rule,
	    ARGS(ARG_TEXT("id", ev->event_id), ARG_TEXT("type", ev->event_type),
		ARG_TEXT("object", ev->object_name),
		ARG_TEXT("record", ev->record_id),
		ARG_NUMBER("version", ev->record_version_us),
		ARG_TEXT("payload", x->payload), ARG_NUMBER("at", x->at_us),
		ARG_TEXT("core", x->core), ARG_NUMBER("core_us", x->core_us)),
	    NULL, NULL, e);
}

/* What libhikyaku calls inside of the transaction. */
static int
apply(
    void *ctx, struct hk_db *hk, const struct hk_event *ev, struct hk_error *e)
{
	struct taking *x = ctx;
	const char *at = SERVICE[x->taker->id].sql;
	struct script rule;
	int rc = db_number(x->taker->db, CRM_COMMON, "at",
	    ARGS(ARG_TEXT("payload", x->payload),
		ARG_TEXT("occurred", ev->occurred_at)),
	    &x->at_us, e);

	(void)hk;
	while (rc == HK_OK && script_next(&at, "on", &rule))
		if (rule_fits(&rule, ev->event_type, ev->object_name))
			rc = run_rule(x, &rule, e);
	return rc;
}

static bool
is_foreign(const struct taker *t, const struct hk_event *ev)
{
	const char *at = SERVICE[t->id].sql;
	struct script rule;

	if (strcmp(ev->tenant_id, t->tenant) != 0)
		return true;
	while (script_next(&at, "on", &rule))
		if (rule_fits(&rule, ev->event_type, NULL))
			return false;
	return true;
}

/* What it lacks no try will bring. */
static int
check_shape(struct taking *x, struct hk_error *e)
{
	char *wrong = NULL;
	int rc = db_text(x->taker->db, CRM_COMMON, "wrong",
	    ARGS(ARG_TEXT("type", x->ev->event_type),
		ARG_TEXT("payload", x->payload)),
	    &wrong, e);

	if (rc == HK_OK && wrong)
		rc = hk_fail(e, HK_DEAD, "%s", wrong);
	free(wrong);
	return rc;
}

int
taker_take(struct taker *t, const struct hk_event *ev, enum hk_verdict *ret,
    bool *ret_foreign, struct hk_error *e)
{
	struct taking x = {.taker = t, .ev = ev};
	int rc;

	*ret_foreign = is_foreign(t, ev);
	if (*ret_foreign)
		return HK_OK;
	x.payload = strndup(ev->payload, ev->payload_n);
	rc = x.payload ? check_shape(&x, e) : hk_fail(e, HK_NOMEM, "no memory");
	if (rc == HK_OK)
		rc = hk_apply(t->hk, ev, apply, &x, ret, e);
	free(x.payload);
	free(x.core);
	return rc;
}

/* Looking at it ------------------------------------------------------------- */

int
service_look(
    const char *dir, enum service_id id, sqlite3 **ret, struct hk_error *e)
{
	static const enum service_id BESIDE[] = {
	    CORE, SHARING, APPROVAL, METADATA};
	sqlite3 *db = NULL;
	int rc = service_open(dir, id, &db, e);

	for (size_t i = 0;
	     rc == HK_OK && i < sizeof(BESIDE) / sizeof(BESIDE[0]); i++) {
		struct script attach = {.text = "ATTACH :path AS :name"};
		char path[4096];

		attach.n = strlen(attach.text);
		service_path(dir, BESIDE[i], path, sizeof(path));
		rc = db_run(db, &attach,
		    ARGS(ARG_TEXT("path", path),
			ARG_TEXT("name", SERVICE[BESIDE[i]].name)),
		    NULL, NULL, e);
	}
	if (rc < 0)
		(void)sqlite3_close(db);
	else
		*ret = db;
	return rc;
}

static void
keep_count(void *ctx, sqlite3_stmt *row)
{
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
}

/* Rows that one of the two has and the other has not; or just those of one. */
static int
count_rows(
    sqlite3 *db, const struct script *check, int64_t *ret, struct hk_error *e)
{
	const char *cut = memchr(check->text, ';', check->n);
	int a = cut ? (int)(cut - check->text) : (int)check->n;
	struct script both = *check;
	char *sql = NULL;
	int b = cut ? (int)strcspn(cut + 1, ";") : 0, rc;

	if (memchr(check->text + a + 1, ';', check->n - (size_t)a - 1)) {
		sql = sqlite3_mprintf(
		    "SELECT (SELECT count(*) FROM (SELECT * FROM (%.*s)"
		    " EXCEPT SELECT * FROM (%.*s))) + (SELECT count(*) FROM"
		    " (SELECT * FROM (%.*s) EXCEPT SELECT * FROM (%.*s)))",
		    a, check->text, b, cut + 1, b, cut + 1, a, check->text);
		both = (struct script){.text = sql, .n = sql ? strlen(sql) : 0};
	}
	rc = db_run(db, &both, NO_ARGS, keep_count, ret, e);
	sqlite3_free(sql);
	return rc;
}

int
service_check(sqlite3 *look, enum service_id id,
    void (*tell)(void *ctx, enum service_id id, const char *what, int64_t n),
    void *ctx, int64_t *ret_n, struct hk_error *e)
{
	size_t name_n = strlen(SERVICE[id].name);
	const char *at = CRM_CHECK;
	struct script check;
	int64_t all = 0;
	int rc = HK_OK;

	while (rc == HK_OK && script_next(&at, "check", &check)) {
		char what[64];
		int64_t n = 0;

		if (!script_is_for(&check, SERVICE[id].name))
			continue;
		rc = count_rows(look, &check, &n, e);
		(void)snprintf(what, sizeof(what), "%.*s",
		    (int)(check.head_n - name_n - 1), check.head + name_n + 1);
		if (rc == HK_OK && n > 0)
			tell(ctx, id, what, n);
		all += n;
	}
	if (rc == HK_OK)
		*ret_n = all;
	return rc;
}

int
service_missing(
    sqlite3 *look, enum service_id id, int64_t *ret, struct hk_error *e)
{
	char types[SERVICE_TYPES_MAX];

	service_types(id, types);
	return db_number(
	    look, CRM_CHECK, "missing", ARGS(ARG_TEXT("types", types)), ret, e);
}
