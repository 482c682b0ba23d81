#include "base/arena.h"
#include "base/str.h"
#include "crm/crm.h"
#include "crm_sql.h"

/*
 * Search keeps a document for each record: names and addresses, which it asks
 * Core for. Leads that were converted are hidden, deleted records are gone.
 */

/* The decision is a field of the record; until then the event's label counts. */
static int
put_label(struct taker *t, const struct crm_event *ev,
    const struct crm_record *r, struct err *e)
{
	struct str status = crm_field(r, "ApprovalStatus");

	return status.n == 0
		   ? OK
		   : crm_done(crm_label_put(t->db, ev->object, ev->record,
				  status, r->version_us, e),
			 e);
}

static int
index_record(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct crm_record r;
	struct str text, stage;
	int rc =
	    t->fetch.get(t->fetch.arg, ev->object, ev->record, t->arena, &r, e);

	/* Gone meanwhile: its deletion is on the way. */
	if (rc < 0 || !r.there)
		return rc;
	text = arena_fmt(t->arena, "%.*s %.*s", STR_ARG(crm_field(&r, "Name")),
	    STR_ARG(crm_field(&r, "Email")));
	if (!text.p)
		return err_set(e, ERR_NOMEM, "no memory");
	stage = crm_field(&r, "StageName");
	if (crm_doc_put(t->db, ev->object, ev->record, r.version_us, r.owner,
		str_trim(text), stage.n ? stage : (struct str){0},
		crm_field_true(&r, "IsConverted"), e) < 0)
		return e->code;
	return put_label(t, ev, &r, e);
}

static int
drop(struct taker *t, const struct crm_event *ev, struct err *e)
{
	if (crm_doc_drop(t->db, ev->object, ev->record, e) < 0)
		return e->code;
	return crm_done(crm_label_drop(t->db, ev->object, ev->record, e), e);
}

static int
move(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_done(crm_doc_stage(t->db, ev->record,
			    crm_text(ev, "/newStageName"), ev->version_us, e),
	    e);
}

static int
label(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_done(crm_label_put(t->db, ev->object, ev->record,
			    STR("PENDING"), ev->at_us, e),
	    e);
}

static int
see_record(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_done(crm_visibility_put(t->db, ev->object, ev->record,
			    crm_int(ev, "/shareModelVersion"), e),
	    e);
}

static int
see_object(struct taker *t, const struct crm_event *ev, struct err *e)
{
	return crm_done(crm_visibility_put(t->db, crm_text(ev, "/objectName"),
			    STR_EMPTY, crm_int(ev, "/newVersion"), e),
	    e);
}

static int
member(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct str campaign = crm_text(ev, "/campaignId");
	struct str who = crm_text(ev, "/memberId");

	return crm_done(crm_ends(ev)
			    ? crm_found_member_drop(t->db, campaign, who, e)
			    : crm_found_member_put(t->db, campaign, who,
				  crm_text(ev, "/memberStatus"), e),
	    e);
}

static int
size(struct lite *db, struct arena *a, struct str *ret, struct err *e)
{
	struct crm_search_size_row row = {0};
	struct lite_rows *rows = NULL;
	int rc = crm_search_size(db, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		crm_search_size_get(rows, &row);
	lite_done(rows);
	*ret = arena_fmt(a, "%lld documents (%lld hidden), %lld members",
	    (long long)row.docs, (long long)row.hidden, (long long)row.members);
	return rc < 0 ? rc : OK;
}

static const struct crm_rule RULES[] = {
    {"RecordCreated", index_record},
    {"RecordUpdated", index_record},
    {"RecordDeleted", drop},
    {"StageChanged", move},
    {"LeadConverted", index_record},
    {"ApprovalSubmitted", label},
    {"MetadataChanged", crm_setting_apply},
    {"SharingUpdated", see_record},
    {"SharingRebuildCompleted", see_object},
    {"CampaignMemberChanged", member},
    {NULL, NULL},
};

const struct crm_service CRM_SEARCH = {
    .name = "Search",
    .file = "search.db",
    .schemas = {CRM_SCHEMA_SQLITE, CRM_SCHEMA_INBOX, CRM_SCHEMA_SEARCH},
    .n_schemas = 3,
    .rules = RULES,
    .size = size,
};
