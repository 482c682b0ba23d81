/*
 * approval.h - what the demo's story asks of Approval, besides what it does on
 * its own as a consumer (crm.h).
 */
#ifndef CRM_APPROVAL_H
#define CRM_APPROVAL_H

#include "base/base.h"

struct arena;
struct lite;

/*
 * Decides the oldest that waits, if there is one, in a transaction of its own:
 * the decision and its event ApprovalDecided.
 */
int approval_decide(struct lite *db, struct str tenant, struct arena *a,
    const char *decision, bool *ret_some, struct err *e) MUST_CHECK;

#endif
