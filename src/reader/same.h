/*
 * same.h - whether two links mean the same article.
 *
 * Feeds decorate links: https or http, www or not, a slash at the end, who
 * sent the reader. What is left without all that is the article. A fragment
 * stays: pages that are all articles name them by it. It is for showing one
 * article of several feeds once; within a feed links are compared as they are.
 */
#pragma once

#include "seal/digest.h"

/* Appends what the link means; false when it is no web link. */
bool same_link(struct str link, struct buf *b);
/* Its hash. False: none. */
bool same_hash(struct str link, unsigned char ret[DIGEST_SHORT_LEN]);
