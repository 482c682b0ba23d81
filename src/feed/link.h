/*
 * link.h - links as feeds have them: relative, with blanks, with anything.
 *
 * Not http/url.h: that one refuses what is unclear because we connect to it.
 * Here a link is only passed on; what can't be resolved stays as it is.
 */
#pragma once

#include "base/base.h"

/*
 * RFC 3986, section 5. Blanks around it and line ends inside are dropped,
 * blanks inside become %20. Empty when it has a scheme that runs something
 * or the arena is full. An empty or relative base leaves the link as it is.
 */
struct str link_resolve(struct arena *a, struct str base, struct str link);

bool link_absolute(struct str link); /* it has a scheme */
bool link_web(struct str link);      /* http or https, with something behind */
