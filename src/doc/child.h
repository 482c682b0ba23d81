/*
 * child.h - the process that reads documents of strangers: `hikyaku
 * read-child`.
 *
 * Feeds, pages, lists of subscriptions, icons and the HTML of articles are read
 * here and, but for the command line's own verbs, nowhere else: by parsers that
 * are fuzzed, in a cage (cage/cage.h) for what fuzzing did not find. A
 * document that takes too much CPU or memory, or crashes its parser, ends
 * this process and nothing else.
 *
 * LIFE. Started by caged.h. Documents come one after the other, and nothing
 * of one is kept for the next.
 */
#pragma once

#include "cage/cage.h"

extern const struct cage_kind DOC_CHILD;
