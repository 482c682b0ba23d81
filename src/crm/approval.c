#include "crm/approval.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/uuid.h"
#include "crm/crm.h"
#include "crm/outbox.h"
#include "crm_sql.h"

/*
 * Approval submits each quote whose discount is large, once there is a process
 * for it, and tells so by ApprovalSubmitted. The discount is asked of Core.
 * Who may decide is worked out anew when rights, roles or processes change.
 */

#define DISCOUNT_LEAST 20 /* percent that need a decision */

static int
emit(struct lite *db, struct str tenant, struct arena *a, const char *type,
    struct str record, struct str payload, struct err *e)
{
	struct outbox o = outbox_begin(db, "approval", tenant);
	struct outbox_event ev = {.type = type,
	    .key = arena_fmt(
		a, "Quote:%.*s:%.*s", STR_ARG(tenant), STR_ARG(record)),
	    .payload = payload};

	if (!ev.key.p || !payload.p)
		return err_set(e, ERR_NOMEM, "no memory");
	return outbox_put(&o, &ev, e);
}

static int
submit(struct taker *t, struct str record, struct str by, struct err *e)
{
	char id[UUID_LEN + 1], at[TIME_LEN + 1];
	int64_t now = clock_now_us();

	uuid_format(uuid_v4(), id);
	time_format(now, at);
	if (crm_instance_add(t->db, str_of(id), record, now, e) < 0)
		return e->code;
	return emit(t->db, t->tenant, t->arena, "ApprovalSubmitted", record,
	    arena_fmt(t->arena,
		"{\"approvalInstanceId\":\"%s\",\"target\":{\"objectName\":\"Quote\",\"recordId\":\"%.*s\"},\"submittedBy\":\"%.*s\",\"submittedAt\":\"%s\",\"lockedFields\":[\"DiscountPercent\",\"GrandTotal\"],\"currentStageIndex\":0}",
		id, STR_ARG(record), STR_ARG(by), at),
	    e);
}

static int
submit_due(struct taker *t, struct err *e)
{
	struct crm_quote_due_row row;
	struct lite_rows *rows = NULL;
	struct str record = STR_EMPTY, by = STR_EMPTY;
	int rc;

	do {
		rc = crm_quote_due(t->db, DISCOUNT_LEAST, &rows, e);
		if (rc == OK && (rc = lite_next(rows, e)) == 1) {
			crm_quote_due_get(rows, &row);
			record = arena_dup(t->arena, row.record_id);
			by = arena_dup(t->arena, row.owner_id);
		}
		lite_done(rows);
		rows = NULL;
		if (rc == 1 && submit(t, record, by, e) < 0)
			rc = e->code;
	} while (rc == 1);
	return rc;
}

static int
quote(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct crm_record r;
	int rc;

	if (!str_eq(ev->object, STR("Quote")))
		return OK;
	rc =
	    t->fetch.get(t->fetch.arg, ev->object, ev->record, t->arena, &r, e);
	if (rc < 0 || !r.there)
		return rc;
	if (crm_quote_put(t->db, ev->record, r.owner,
		crm_field_int(&r, "DiscountPercent"),
		crm_field(&r, "ApprovalStatus"), r.version_us, e) < 0)
		return e->code;
	return submit_due(t, e);
}

static int
resolve(struct taker *t, const struct crm_event *ev, struct err *e)
{
	int rc = crm_setting_apply(t, ev, e);

	if (rc < 0)
		return rc;
	if (crm_approvers_drop(t->db, e) < 0 ||
	    crm_approvers_make(t->db, e) < 0 ||
	    crm_count_add(t->db, STR("resolved"), e) < 0)
		return e->code;
	return submit_due(t, e);
}

/* Deciding ------------------------------------------------------------------ */

struct waiting {
	struct str instance, object, record, approver;
};

static int
find(struct lite *db, struct arena *a, struct waiting *w, struct err *e)
{
	struct lite_rows *rows = NULL;
	char id[UUID_LEN + 1];
	int some, rc = crm_instance_open(db, &rows, e);

	some = rc == OK ? lite_next(rows, e) : rc;
	if (some == 1) {
		w->instance = arena_dup(a, lite_str(rows, 0));
		w->object = arena_dup(a, lite_str(rows, 1));
		w->record = arena_dup(a, lite_str(rows, 2));
	}
	lite_done(rows);
	rows = NULL;
	if (some != 1)
		return some;
	rc = crm_approver_first(db, &rows, e);
	if (rc == OK)
		rc = lite_next(rows, e);
	uuid_format(uuid_v4(), id);
	w->approver = arena_dup(a, rc == 1 ? lite_str(rows, 0) : str_of(id));
	lite_done(rows);
	return rc < 0 ? rc : 1;
}

static int
decide(struct lite *db, struct str tenant, struct arena *a,
    const char *decision, bool *ret_some, struct err *e)
{
	struct waiting w = {0};
	char at[TIME_LEN + 1];
	int rc = find(db, a, &w, e);

	*ret_some = rc == 1;
	if (rc != 1)
		return rc;
	time_format(clock_now_us(), at);
	if (crm_instance_decide(db, w.instance, str_of(decision), e) < 0)
		return e->code;
	return emit(db, tenant, a, "ApprovalDecided", w.record,
	    arena_fmt(a,
		"{\"approvalInstanceId\":\"%.*s\",\"target\":{\"objectName\":\"%.*s\",\"recordId\":\"%.*s\"},\"decision\":\"%s\",\"decidedBy\":\"%.*s\",\"decidedAt\":\"%s\",\"finalStageIndex\":0}",
		STR_ARG(w.instance), STR_ARG(w.object), STR_ARG(w.record),
		decision, STR_ARG(w.approver), at),
	    e);
}

int
approval_decide(struct lite *db, struct str tenant, struct arena *a,
    const char *decision, bool *ret_some, struct err *e)
{
	int rc = lite_begin(db, e);

	if (rc < 0)
		return rc;
	rc = decide(db, tenant, a, decision, ret_some, e);
	if (rc == OK)
		return lite_commit(db, e);
	lite_rollback(db);
	return rc;
}

static int
size(struct lite *db, struct arena *a, struct str *ret, struct err *e)
{
	struct crm_approval_size_row row = {0};
	struct lite_rows *rows = NULL;
	int rc = crm_approval_size(db, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		crm_approval_size_get(rows, &row);
	lite_done(rows);
	*ret = arena_fmt(a, "%lld open, %lld decided, %lld approvers",
	    (long long)row.open, (long long)row.decided,
	    (long long)row.approvers);
	return rc < 0 ? rc : OK;
}

static const struct crm_rule RULES[] = {
    {"RecordCreated", quote},
    {"RecordUpdated", quote},
    {"PermissionChanged", resolve},
    {"RoleHierarchyChanged", resolve},
    {"ApprovalConfigChanged", resolve},
    {NULL, NULL},
};

const struct crm_service CRM_APPROVAL = {
    .name = "Approval",
    .file = "approval.db",
    .schemas = {CRM_SCHEMA_SQLITE, CRM_SCHEMA_INBOX, CRM_SCHEMA_OUTBOX,
	CRM_SCHEMA_APPROVAL},
    .n_schemas = 4,
    .rules = RULES,
    .size = size,
};
