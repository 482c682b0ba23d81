#include "base/arena.h"
#include "base/str.h"
#include "crm/crm.h"
#include "crm_sql.h"

/*
 * Automation tells people. What is to be told when stands in a table; a message
 * is sent once for (eventId, actionKey), which is the key of what was sent. The
 * record's name, and the address of a lead, are asked of Core.
 */

struct action {
	const char *type, *key;
	const char *who; /* pointer to the recipient, or a name */
	const char *what;
	const char *object; /* only for this object, or NULL */
	const char *when;   /* only when that is true, or NULL */
};

static const struct action ACTIONS[] = {
    {"RecordCreated", "task.first-contact", "/ownerId", "Call", "Lead", NULL},
    {"RecordDeleted", "notify.deleted", "administrators", "Deleted:", NULL,
	NULL},
    {"OwnerChanged", "notify.new-owner", "/newOwnerId", "You now have", NULL,
	NULL},
    {"OwnerChanged", "notify.old-owner", "/oldOwnerId", "You gave away", NULL,
	NULL},
    {"StageChanged", "notify.won", "sales", "Won:", NULL, "/newIsWon"},
    {"StageChanged", "task.next-step", "sales", "Next step for", NULL, NULL},
    {"LeadConverted", "notify.converted", "/convertedBy", "Converted", NULL,
	NULL},
    {"ApprovalSubmitted", "notify.approver", "approvers", "Please decide on",
	NULL, NULL},
    {"ApprovalDecided", "notify.decision", "/decidedBy", "Decided:", NULL,
	NULL},
    {"CampaignMemberChanged", "task.follow-up", "marketing", "Follow up",
	"Campaign", "/hasResponded"},
};

/* What the message calls the record. */
static int
name_of(
    struct taker *t, const struct crm_event *ev, struct str *ret, struct err *e)
{
	struct crm_record r = {.there = false};
	struct str email;
	int rc = OK;

	*ret = ev->record;
	if (!str_eq(ev->object, STR("Campaign")))
		rc = t->fetch.get(
		    t->fetch.arg, ev->object, ev->record, t->arena, &r, e);
	if (rc < 0 || !r.there)
		return rc;
	email = crm_field(&r, "Email");
	*ret = arena_fmt(t->arena, "%.*s%s%.*s", STR_ARG(crm_field(&r, "Name")),
	    email.n ? ", " : "", STR_ARG(email));
	return ret->p ? OK : err_set(e, ERR_NOMEM, "no memory");
}

static int
send(struct taker *t, const struct crm_event *ev, struct str action,
    struct str who, const char *what, struct err *e)
{
	struct str name, text;
	int rc = name_of(t, ev, &name, e);

	if (rc < 0)
		return rc;
	text = arena_fmt(
	    t->arena, "%s %.*s %.*s", what, STR_ARG(ev->object), STR_ARG(name));
	if (!text.p)
		return err_set(e, ERR_NOMEM, "no memory");
	return crm_notify(t->db, ev->id, action, who, text, e) < 0 ? e->code
								   : OK;
}

static int
act(struct taker *t, const struct crm_event *ev, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < COUNT_OF(ACTIONS); i++) {
		const struct action *x = &ACTIONS[i];

		if (!crm_is(ev, x->type) || (x->when && !crm_true(ev, x->when)))
			continue;
		if (x->object && !str_eq(ev->object, str_of(x->object)))
			continue;
		rc = send(t, ev, str_of(x->key),
		    x->who[0] == '/' ? crm_text(ev, x->who) : str_of(x->who),
		    x->what, e);
	}
	return rc;
}

/* An update runs the workflow rules that are on for its object. */
static int
updated(struct taker *t, const struct crm_event *ev, struct err *e)
{
	struct crm_workflow_on_row row;
	struct lite_rows *rows = NULL;
	struct str key;
	int rc = crm_workflow_on(t->db, ev->object, &rows, e);

	while (rc >= 0 && (rc = lite_next(rows, e)) == 1) {
		crm_workflow_on_get(rows, &row);
		key = arena_fmt(t->arena, "rule.%.*s", STR_ARG(row.id));
		rc = key.p ? send(t, ev, key, crm_text(ev, "/ownerId"),
				 "Changed:", e)
			   : err_set(e, ERR_NOMEM, "no memory");
	}
	lite_done(rows);
	return rc;
}

static int
size(struct lite *db, struct arena *a, struct str *ret, struct err *e)
{
	struct lite_rows *rows = NULL;
	int64_t n = 0;
	int rc = crm_automation_size(db, &rows, e);

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		n = lite_int(rows, 0);
	lite_done(rows);
	*ret = arena_fmt(a, "%lld messages", (long long)n);
	return rc < 0 ? rc : OK;
}

static const struct crm_rule RULES[] = {
    {"RecordCreated", act},
    {"RecordUpdated", updated},
    {"RecordDeleted", act},
    {"OwnerChanged", act},
    {"StageChanged", act},
    {"LeadConverted", act},
    {"ApprovalSubmitted", act},
    {"ApprovalDecided", act},
    {"CampaignMemberChanged", act},
    {"MetadataChanged", crm_setting_apply},
    {"AutomationConfigChanged", crm_setting_apply},
    {NULL, NULL},
};

const struct crm_service CRM_AUTOMATION = {
    .name = "Automation",
    .file = "automation.db",
    .schemas = {CRM_SCHEMA_SQLITE, CRM_SCHEMA_INBOX, CRM_SCHEMA_AUTOMATION},
    .n_schemas = 3,
    .rules = RULES,
    .size = size,
};
