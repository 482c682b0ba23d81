/*
 * date.h - a date in any dialect that feeds are written in.
 *
 * RFC 822 and 2822 with what became of them, RFC 3339 and W3C-DTF down to the
 * year alone, asctime(), seconds since 1970, 2024/1/31, 31.1.2024, 2024年1月31日,
 * month names of some twenty languages. Tokens are sorted by what they look
 * like, not matched with patterns: most of what is wrong with dates is order,
 * commas and blanks.
 *
 * No zone is UTC. 1/2/2024 is January 2nd unless it can't be; 1.2.2024 and
 * 1-2-2024 are February 1st. A year of two digits lies in 1970 to 2069.
 */
#pragma once

#include "base/base.h"

/* Years 1 to 9999; false when no date can be made out, *ret_us untouched. */
bool feed_date(struct str text, int64_t *ret_us);
