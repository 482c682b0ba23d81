/*
 * settings.h - Metadata, and Sharing where it makes settings: who says that a
 * role, a group, a rule or a process changed.
 *
 * A change is the setting's row and its event in one transaction, as in Core.
 */
#ifndef CRM_SETTINGS_H
#define CRM_SETTINGS_H

#include "base/base.h"

struct arena;
struct lite;

/* `payload` is that of the type, without effectiveAt, and begins with "{". */
int settings_change(struct lite *db, struct str tenant, struct arena *a,
    const char *type, struct str payload, struct err *e) MUST_CHECK;

#endif
