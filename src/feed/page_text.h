/*
 * page_text.h - the bytes of a page as UTF-8.
 *
 * By its byte order mark, else as they are when they are UTF-8, else by what
 * the Content-Type or a <meta> in the first kilobyte says. What is unknown to
 * iconv stays, and its bytes become U+FFFD when it is read.
 */
#ifndef FEED_PAGE_TEXT_H
#define FEED_PAGE_TEXT_H

#include "base/base.h"

struct arena;

/* `page` itself or a copy in the arena. */
struct str page_text(struct arena *a, struct str page, struct str content_type);

#endif
