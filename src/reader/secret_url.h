/*
 * secret_url.h - addresses that are a key: whoever has one reads the feed.
 *
 * What a subscriber alone may know stands in the query of many feeds (GitHub's
 * ?token=, Patreon's ?auth=, ?key=), or before an @ in links of articles. A
 * feed of such an address is private from the start (feeds.h); others are when a
 * person says so. What is secret in a path looks like any other path and is not
 * guessed at.
 *
 * A value module: pure.
 */
#pragma once

#include "base/base.h"

bool secret_url(struct str url);
/* The address as a JSON text without what stands before an @ in its host. */
void secret_url_json(struct str url, struct buf *b);
