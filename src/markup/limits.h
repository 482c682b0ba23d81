/*
 * limits.h - the bounds of XML and HTML from strangers.
 */
#pragma once

#include "base/base.h"

/* XML (markup/xml.h), which feeds are. */
#define FEED_TEXT_MAX      (64 * MIB) /* in UTF-8, and made well-formed */
#define FEED_DEPTH_MAX     200        /* feeds have ten */
#define FEED_ATTRS_MAX     32         /* of an element that is mended */
/* HTML from strangers (markup/html.h). Deeper than anybody nests; browsers
 * stop at 512. Each tag may look through all of the stack. */
#define HTML_DEPTH_MAX     200
#define HTML_ATTRS_MAX     64 /* of one tag; each is compared with those before */
#define HTML_FORMAT_MAX    32 /* opened again in each paragraph that follows */
/* Cleaning (markup/sanitize.h): what a feed may be; its tree; the result, in
 * which each link may have grown by the base that it is relative to. */
#define HREF_MAX           8192 /* of one URL, as browsers and servers go */
#define SANITIZE_IN_MAX    (5 * MIB)
#define SANITIZE_MEM       (96 * MIB)
#define SANITIZE_OUT_MAX   (32 * MIB)
/* Below HTML_DEPTH_MAX: read again, all is there. */
#define SANITIZE_DEPTH_MAX 100
#define SANITIZE_TITLE_MAX 1024 /* of a title or alt text, in bytes */
