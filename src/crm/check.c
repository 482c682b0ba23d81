#include "crm/check.h"

#include <limits.h>
#include <stdio.h>

#include "base/str.h"
#include "crm/crm.h"
#include "crm_sql.h"

typedef int (*check_fn)(struct lite *db, struct lite_rows **ret, struct err *e);

/* The kinds of settings that a service is told of, each between blanks. */
static const struct {
	const struct crm_service *service;
	const char *kinds;
} KINDS[] = {
    {&CRM_SEARCH, " metadata "},
    {&CRM_REPORTING, " metadata "},
    {&CRM_SHARING, " metadata permission group role config "},
    {&CRM_AUTOMATION, " metadata automation "},
    {&CRM_APPROVAL, " permission role process "},
};

static const struct {
	const struct crm_service *service;
	const char *what;
	check_fn run;
} CHECKS[] = {
    {&CRM_SEARCH, "documents", crm_check_search_documents},
    {&CRM_SEARCH, "approval labels", crm_check_search_labels},
    {&CRM_SEARCH, "campaign members", crm_check_search_members},
    {&CRM_SEARCH, "visibility", crm_check_search_visibility},
    {&CRM_SHARING, "shares", crm_check_sharing_shares},
    {&CRM_SHARING, "shares that are off", crm_check_sharing_off},
    {&CRM_REPORTING, "pipeline", crm_check_reporting_pipeline},
    {&CRM_REPORTING, "conversions", crm_check_reporting_conversions},
    {&CRM_REPORTING, "approvals", crm_check_reporting_approvals},
    {&CRM_REPORTING, "campaigns", crm_check_reporting_campaigns},
    {&CRM_REPORTING, "snapshots", crm_check_reporting_snapshots},
    {&CRM_AUTOMATION, "messages", crm_check_automation_missing},
    {&CRM_AUTOMATION, "approval messages", crm_check_automation_approvals},
    {&CRM_AUTOMATION, "messages without event", crm_check_automation_unknown},
    {&CRM_APPROVAL, "submissions", crm_check_approval_quotes},
    {&CRM_APPROVAL, "approvers", crm_check_approval_approvers},
    {&CRM_CORE, "locks", crm_check_core_locks},
    {&CRM_CORE, "decisions", crm_check_core_decisions},
    {&CRM_CORE, "share models", crm_check_core_models},
    {&CRM_CORE, "caches", crm_check_core_caches},
};

static const struct {
	const char *name, *file;
} BESIDE[] = {
    {"core", "core.db"},
    {"sharing", "sharing.db"},
    {"approval", "approval.db"},
    {"metadata", CRM_METADATA_FILE},
};

struct checking {
	const struct crm_service *service;
	struct lite *db;
	void (*tell)(void *arg, const struct crm_service *s, const char *what,
	    int64_t n);
	void *arg;
	int64_t n;
};

static int
take_count(struct checking *c, const char *what, struct lite_rows *rows, int rc,
    struct err *e)
{
	int64_t n = 0;

	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		n = lite_int(rows, 0);
	lite_done(rows);
	if (n > 0)
		c->tell(c->arg, c->service, what, n);
	c->n += n;
	return rc < 0 ? rc : OK;
}

static int
run(struct checking *c, struct err *e)
{
	struct lite_rows *rows = NULL;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < COUNT_OF(CHECKS); i++)
		if (CHECKS[i].service == c->service) {
			rows = NULL;
			rc = CHECKS[i].run(c->db, &rows, e);
			rc = take_count(c, CHECKS[i].what, rows, rc, e);
		}
	for (size_t i = 0; rc == OK && i < COUNT_OF(KINDS); i++)
		if (KINDS[i].service == c->service) {
			rows = NULL;
			rc = crm_check_settings(
			    c->db, str_of(KINDS[i].kinds), &rows, e);
			rc = take_count(c, "settings", rows, rc, e);
		}
	return rc;
}

/* The service's database, with those of the producers beside it. */
static int
open_all(const char *dir, const struct crm_service *s, struct lite **ret,
    struct err *e)
{
	char path[PATH_MAX];
	int rc;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, s->file);
	rc = lite_open(path, s->schemas, s->n_schemas, ret, e);
	for (size_t i = 0; rc == OK && i < COUNT_OF(BESIDE); i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/%s", dir, BESIDE[i].file);
		rc = lite_attach(*ret, path, str_of(BESIDE[i].name), e);
	}
	return rc;
}

int
crm_check(const char *dir, const struct crm_service *s,
    void (*tell)(
	void *arg, const struct crm_service *s, const char *what, int64_t n),
    void *arg, int64_t *ret_n, struct err *e)
{
	struct checking c = {.service = s, .tell = tell, .arg = arg};
	int rc = open_all(dir, s, &c.db, e);

	if (rc == OK)
		rc = run(&c, e);
	lite_close(c.db);
	if (rc == OK)
		*ret_n = c.n;
	return rc;
}

int
crm_missing(const char *dir, const struct crm_service *s, struct str types,
    int64_t *ret, struct err *e)
{
	struct lite *db = NULL;
	struct lite_rows *rows = NULL;
	int rc = open_all(dir, s, &db, e);

	if (rc == OK)
		rc = crm_check_missing(db, types, &rows, e);
	if (rc == OK && (rc = lite_next(rows, e)) == 1)
		*ret = lite_int(rows, 0);
	lite_done(rows);
	lite_close(db);
	return rc < 0 ? rc : OK;
}
