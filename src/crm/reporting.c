#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "crm/crm.h"
#include "crm_sql.h"

/*
 * Reporting keeps figures over the newest state: the pipeline by stage, leads
 * that were converted, approvals, and what campaigns brought. Amounts are asked
 * of Core. What is deleted counts no more.
 */

static bool
is_deal(const struct crm_event *ev)
{
	return str_eq(ev->object, STR("Opportunity"));
}

static int
deal(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct crm_record r;
	struct str stage;
	bool won, lost;
	int rc;

	if (!is_deal(ev))
		return OK;
	rc =
	    t->fetch.get(t->fetch.arg, ev->object, ev->record, t->arena, &r, e);
	/* Gone meanwhile: its deletion is on the way. */
	if (rc < 0 || !r.there)
		return rc;
	stage = crm_field(&r, "StageName");
	won = str_eq(stage, STR("Closed Won"));
	lost = str_eq(stage, STR("Closed Lost"));
	return crm_done(
	    crm_opportunity_put(t->db, ev->record, r.owner, stage,
		crm_field_int(&r, "Amount"), won || lost, won, r.version_us, e),
	    e);
}

/* Whether the deal is known: what is first heard of one may be its stage. */
static int
known(struct taker *t, const struct crm_event *ev, bool *ret, struct err *e)
{
	struct lite_rows *rows = NULL;
	int rc = crm_opportunity_there(t->db, ev->record, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		*ret = lite_int(rows, 0) > 0;
	lite_done(rows);
	return rc < 0 ? rc : OK;
}

static int
stage(struct taker *t, const struct crm_event *ev, struct err *e)
{
	bool there = false;
	int rc = known(t, ev, &there, e);

	if (rc < 0 || !there)
		return rc < 0 ? rc : deal(t, ev, e);
	return crm_done(
	    crm_opportunity_stage(t->db, ev->record,
		crm_text(ev, "/newStageName"), crm_true(ev, "/newIsClosed"),
		crm_true(ev, "/newIsWon"), ev->version_us, e),
	    e);
}

static int
owner(struct taker *t, const struct crm_event *ev, struct err *e)
{
	bool there = false;
	int rc = is_deal(ev) ? known(t, ev, &there, e) : OK;

	if (rc < 0 || !there)
		return rc < 0 ? rc : deal(t, ev, e);
	return crm_done(crm_opportunity_owner(t->db, ev->record,
			    crm_text(ev, "/newOwnerId"), ev->version_us, e),
	    e);
}

static int
deleted(struct taker *t, const struct crm_event *ev, struct err *e)
{
	if (is_deal(ev))
		return crm_done(
		    crm_opportunity_drop(t->db, ev->record, ev->version_us, e),
		    e);
	if (str_eq(ev->object, STR("Lead")))
		return crm_done(crm_conversion_drop(t->db, ev->record, e), e);
	return OK;
}

static int
converted(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct str deal_id = crm_text(ev, "/opportunityId");
	int64_t at = 0;

	if (!time_parse(crm_text(ev, "/convertedAt"), &at, NULL))
		at = ev->at_us;
	return crm_done(crm_conversion_put(t->db, ev->record,
			    deal_id.n ? deal_id : (struct str){0}, at, e),
	    e);
}

static int
submitted(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_done(crm_approval_open(t->db,
			    crm_text(ev, "/approvalInstanceId"), ev->object, e),
	    e);
}

static int
decided(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_done(
	    crm_approval_close(t->db, crm_text(ev, "/approvalInstanceId"),
		ev->object, crm_text(ev, "/decision"), e),
	    e);
}

static int
snapshot(struct taker *t, const struct crm_event *ev, struct err *e)
{
	const char *version =
	    crm_is(ev, "SharingUpdated") ? "/shareModelVersion" : "/newVersion";

	return crm_done(crm_snapshot_put(t->db, crm_text(ev, "/objectName"),
			    crm_int(ev, version), e),
	    e);
}

static int
campaign(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_done(
	    crm_figure_put(t->db, crm_text(ev, "/campaignId"),
		crm_text(ev, "/memberId"), crm_text(ev, "/memberStatus"),
		crm_true(ev, "/hasResponded"), crm_ends(ev), e),
	    e);
}

static int
size(struct lite *db, struct arena *a, struct str *ret, struct err *e)
{
	struct crm_reporting_size_row row = {0};
	struct lite_rows *rows = NULL;
	int rc = crm_reporting_size(db, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		crm_reporting_size_get(rows, &row);
	lite_done(rows);
	*ret =
	    arena_fmt(a, "%lld deals of %lld, %lld conversions, %lld members",
		(long long)row.deals, (long long)row.amount,
		(long long)row.conversions, (long long)row.members);
	return rc < 0 ? rc : OK;
}

static const struct crm_rule RULES[] = {
    {"RecordCreated", deal},
    {"RecordUpdated", deal},
    {"RecordDeleted", deleted},
    {"OwnerChanged", owner},
    {"StageChanged", stage},
    {"LeadConverted", converted},
    {"ApprovalSubmitted", submitted},
    {"ApprovalDecided", decided},
    {"MetadataChanged", crm_setting_apply},
    {"SharingUpdated", snapshot},
    {"SharingRebuildCompleted", snapshot},
    {"CampaignMemberChanged", campaign},
    {NULL, NULL},
};

const struct crm_service CRM_REPORTING = {
    .name = "Reporting",
    .file = "reporting.db",
    .schemas = {CRM_SCHEMA_SQLITE, CRM_SCHEMA_INBOX, CRM_SCHEMA_REPORTING},
    .n_schemas = 3,
    .rules = RULES,
    .size = size,
};
