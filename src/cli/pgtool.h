/*
 * pgtool.h - PostgreSQL's own programs, for backups of what is there.
 *
 * The password of the URL goes into the environment (PGPASSWORD), since anybody
 * may list the arguments of processes.
 */
#pragma once

#include "base/base.h"

/* The URL without its password, which is set for programs to come. */
const char *pgtool_url(struct arena *a, const char *url);
/* Runs argv[0] and waits. ERR_ABSENT: there is none here; ERR_IO: it failed. */
int pgtool_run(const char *const *argv, struct err *e) MUST_CHECK;
