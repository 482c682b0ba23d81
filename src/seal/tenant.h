/*
 * tenant.h - the names of tenants, and the UUIDs that they are inside.
 *
 * A tenant is a name of 1 to TENANT_MAX letters, digits and - _ . : and the
 * case of a letter counts. A UUID is such a name, in either case, and means
 * itself. Any other name stands for its UUIDv5 (RFC 9562: SHA-1 of a namespace
 * and the name) in the namespace TENANT_NAMESPACE, which never changes: tables,
 * limits and matching know UUIDs alone, and every program can make the same one
 * of the same name (docs/event-types.md).
 *
 * Pure functions, for any thread.
 */
#pragma once

#include "base/base.h"

#define TENANT_MAX       64
#define TENANT_NAMESPACE "6b1f6e0a-9d0c-4c57-8f21-5d3a0e7c9b42"
#define TENANT_PATTERN   "^[A-Za-z0-9._:-]{1,64}$"
#define TENANT_WORDS     "a UUID, or a name of 1 to 64 letters, digits and - _ . :"

/* Of an event that names none, when its publisher is of no tenant alone. */
#define TENANT_DEFAULT "default"
struct uuid tenant_default(void); /* computed once */

/* False: it is no name. *ret is untouched then. */
bool tenant_parse(struct str name, struct uuid *ret);
/* It is the UUID itself: there is no other name for it. */
bool tenant_is_uuid(struct str name);
