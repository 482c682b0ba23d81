/*
 * check.h - is what a consumer holds what the producers' data says?
 *
 * Everything is worked out anew, in SQL, from the databases of Core, Metadata,
 * Sharing and Approval, and compared with the projection row by row. It makes
 * sense when all events were taken.
 */
#ifndef CRM_CHECK_H
#define CRM_CHECK_H

#include "base/base.h"

struct crm_service;

#define CRM_METADATA_FILE "metadata.db"

/* tell() is called for each comparison that differs, in that many rows. */
int crm_check(const char *dir, const struct crm_service *s,
    void (*tell)(
	void *arg, const struct crm_service *s, const char *what, int64_t n),
    void *arg, int64_t *ret_n, struct err *e) MUST_CHECK;

/*
 * How many events of these types (between blanks) are in the outboxes and not
 * processed by the service.
 */
int crm_missing(const char *dir, const struct crm_service *s, struct str types,
    int64_t *ret, struct err *e) MUST_CHECK;

#endif
