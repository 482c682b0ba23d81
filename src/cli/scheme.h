/*
 * scheme.h - the preset and the secret that `verify` and `listen` are given.
 *
 * A secret on the command line can be read by whoever may list processes, so
 * the environment's HIKYAKU_SECRET is taken when there is no --secret.
 */
#pragma once

#include "cli/cli.h"
#include "contract/receive.h"

struct presets;

struct scheme {
	struct presets *presets;
	const struct preset *preset;
	const struct preset *provider; /* the same, of providers.tbl, or NULL */
	struct str secret;             /* empty: none was given */
};

/* *s is closed by scheme_close() also after a failure. */
int scheme_open(struct cli *c, struct scheme *s, struct err *e) MUST_CHECK;
void scheme_close(struct scheme *s);

/* As receive_verify(). */
int scheme_verify(const struct scheme *s, struct arena *a,
    const struct received *r, int64_t now_us, int64_t tolerance_s,
    enum receive_result *ret, struct err *e) MUST_CHECK;
