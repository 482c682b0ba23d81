/*
 * core_priv.h - what the files of Core share.
 */
#ifndef CRM_CORE_PRIV_H
#define CRM_CORE_PRIV_H

#include "crm/core.h"

/* The end of a save that went as rc says: OK only when it is committed. */
int core_end(struct core *c, int rc, struct err *e) MUST_CHECK;

#endif
