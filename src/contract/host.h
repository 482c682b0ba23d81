/*
 * host.h - where the host of a URL ends, for texts that may have variables.
 *
 * http/url.h reads what is called, strictly. Here a URL may still have
 * {variables}, so only what all URLs have in common is looked at.
 */
#pragma once

#include "base/base.h"

/* What is between :// and the next of /?#, with its port; false: no http. */
bool host_of(struct str url, struct str *ret);
bool host_label_ok(struct str s); /* one label of a DNS name */
