/*
 * demo_crm.h - `hikyaku demo --crm`, which is a demo of its own (demo_crm.c).
 */
#ifndef CLI_DEMO_CRM_H
#define CLI_DEMO_CRM_H

#include "cli/cli.h"

int demo_crm(struct cli *c); /* an exit status */

#endif
