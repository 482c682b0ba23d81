/*
 * typed.h - the address of a feed as a person types it.
 *
 * Blanks around it, <angle brackets>, feed:, no scheme at all, a host in one's
 * own script: all of these mean something, and a reader that answers "invalid
 * URL" is no help. What comes out is for http/url.h to judge.
 *
 * Hosts are made ASCII by Punycode (RFC 3492), without the mappings of UTS 46
 * but for ASCII letters and the ideographic full stop: whoever types a capital
 * outside ASCII gets the name that he typed, which nobody can register.
 */
#pragma once

#include "base/base.h"

#define TYPED_MAX 2

/*
 * The URLs that it may mean, in the order to try them: one, or https and http
 * when it names no scheme. ERR_INVALID when there is nothing in it.
 */
int typed_urls(struct arena *a, struct str typed, struct str ret[TYPED_MAX],
    size_t *ret_n, struct err *e) MUST_CHECK;
