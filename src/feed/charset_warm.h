/*
 * charset_warm.h - iconv without files.
 *
 * glibc has most charsets in modules, which it loads when they are first used.
 * Who may not open files later has all that we know loaded before, and kept
 * for the life of the process.
 */
#ifndef FEED_CHARSET_WARM_H
#define FEED_CHARSET_WARM_H

void charset_warm(void); /* what this machine has not is left out */

#endif
