/*
 * audit.h - the audit over HTTP.
 *
 *   GET /v1/audit         ADMIN  ON_READ  ?from=&to=&category=&limit=&after=
 *   GET /v1/audit/verify  ADMIN  ON_READ  ?after=&hash=&rows=
 *
 * The list is newest first, from `from` on and before `to`. With `Accept:
 * text/csv` it is RFC 4180 with a line of names; the next page's cursor is
 * then in the header X-Next-Cursor. A cell that a spreadsheet would take for
 * a formula gets a ' in front.
 *
 * One call of verify looks at AUDIT_WALK_MAX rows and answers how far it came;
 * n, hash and rows of the answer are what the next call goes on with, so that
 * a chain of any length costs no long call.
 *
 * WHY ADMIN. Rows tell of all users and tenants.
 */
#ifndef API_V1_AUDIT_H
#define API_V1_AUDIT_H

#include "http/server/req.h"

int api_audit_list(struct req *r, struct db *db, struct err *e);
int api_audit_verify(struct req *r, struct db *db, struct err *e);

#endif
