#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "crm/core_priv.h"
#include "crm/outbox.h"
#include "crm_sql.h"

/* Teams of records and members of campaigns: the rest of what Core saves. */

static const char *const CHANGES[] = {
    [CORE_ADD] = "MemberAdded",
    [CORE_UPDATE] = "MemberUpdated",
    [CORE_REMOVE] = "MemberRemoved",
    [CORE_RESPOND] = "Responded",
};

static int
team(struct core *c, struct str object, struct str id, struct str user,
    enum core_change change, struct err *e)
{
	struct outbox o = outbox_begin(c->db, "core-platform", c->tenant);
	const char *role = "Sales Rep";
	const char *access = change == CORE_UPDATE ? "Edit" : "Read";
	struct outbox_event ev = {.type = "TeamMemberChanged"};
	struct crm_record r;
	char at[TIME_LEN + 1];
	int rc = core_read(c->db, object, id, c->arena, &r, e);

	if (rc == OK && !r.there)
		rc = err_set(e, ERR_ABSENT, "no such record");
	if (rc < 0)
		return rc;
	time_format(o.now_us, at);
	ev.key = arena_fmt(c->arena, "%.*s:%.*s:%.*s", STR_ARG(object),
	    STR_ARG(c->tenant), STR_ARG(id));
	ev.payload = arena_fmt(c->arena,
	    "{\"changeType\":\"%s\",\"objectName\":\"%.*s\",\"recordId\":\"%.*s\",\"userId\":\"%.*s\",\"teamRole\":\"%s\",\"accessLevel\":\"%s\",\"effectiveAt\":\"%s\"}",
	    CHANGES[change], STR_ARG(object), STR_ARG(id), STR_ARG(user), role,
	    access, at);
	if (!ev.key.p || !ev.payload.p)
		return err_set(e, ERR_NOMEM, "no memory");
	if ((change == CORE_REMOVE ? crm_member_drop(c->db, object, id, user, e)
				   : crm_member_put(c->db, object, id, user,
					 str_of(role), str_of(access), e)) < 0)
		return e->code;
	return outbox_put(&o, &ev, e);
}

int
core_team(struct core *c, const char *object, struct str id, struct str user,
    enum core_change change, struct err *e)
{
	int rc = lite_begin(c->db, e);

	return rc < 0 ? rc
		      : core_end(
			    c, team(c, str_of(object), id, user, change, e), e);
}

static int
last_version(struct core *c, struct str campaign, struct str member,
    int64_t *ret, struct err *e)
{
	struct lite_rows *rows = NULL;
	int rc = crm_campaign_version(c->db, campaign, member, &rows, e);

	if (rc == OK)
		rc = lite_next(rows, e);
	*ret = rc == 1 ? lite_int(rows, 0) : 0;
	lite_done(rows);
	return rc < 0 ? rc : OK;
}

static int
member(struct core *c, struct str campaign, struct str who,
    enum core_change change, struct err *e)
{
	struct outbox o = outbox_begin(c->db, "core-platform", c->tenant);
	bool responded = change == CORE_RESPOND;
	const char *status = responded ? "Responded" : "Registered";
	struct outbox_event ev = {
	    .type = "CampaignMemberChanged", .version_us = o.now_us};
	char version[TIME_LEN + 1];
	int64_t last = 0;
	int rc = last_version(c, campaign, who, &last, e);

	if (rc < 0)
		return rc;
	if (ev.version_us <= last)
		ev.version_us = last + US_PER_MS;
	time_format(ev.version_us, version);
	ev.key = arena_fmt(c->arena, "Campaign:%.*s:%.*s/%.*s",
	    STR_ARG(c->tenant), STR_ARG(campaign), STR_ARG(who));
	ev.payload = arena_fmt(c->arena,
	    "{\"changeType\":\"%s\",\"campaignId\":\"%.*s\",\"campaignName\":\"Spring\",\"memberType\":\"Lead\",\"memberId\":\"%.*s\",\"memberStatus\":\"%s\",\"hasResponded\":%s,\"recordVersion\":\"%s\"}",
	    CHANGES[change], STR_ARG(campaign), STR_ARG(who), status,
	    responded ? "true" : "false", version);
	if (!ev.key.p || !ev.payload.p)
		return err_set(e, ERR_NOMEM, "no memory");
	if (crm_campaign_put(c->db, campaign, who, STR("Lead"), str_of(status),
		responded, ev.version_us, change == CORE_REMOVE, e) < 0)
		return e->code;
	return outbox_put(&o, &ev, e);
}

int
core_campaign(struct core *c, struct str campaign, struct str who,
    enum core_change change, struct err *e)
{
	int rc = lite_begin(c->db, e);

	return rc < 0 ? rc
		      : core_end(c, member(c, campaign, who, change, e), e);
}
