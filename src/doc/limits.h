/*
 * limits.h - the bounds of documents of strangers, read in a child (doc/caged.h).
 */
#pragma once

#include "feed/limits.h"
#include "markup/limits.h"

/* The parser's arena, what came, its text and the answer. The worst 5 MiB that
 * we know take 0.4 s here. The thread that asks waits meanwhile. Articles that
 * are cleaned together; what a document may become. */
#define DOC_MEMORY_MAX     (384 * MIB)
#define DOC_CPU_MS         1000
#define DOC_WALL_MS        30000
#define DOC_REQUEST_MAX    (FEED_TEXT_MAX + FEED_BYTES_MAX)
#define DOC_ANSWER_MAX     (FEED_TEXT_MAX + FEED_BYTES_MAX)
#define DOC_TURN_MS        200 /* then transfers have a turn again */
#define DOC_ARTICLES_MAX   250
#define DOC_ARTICLES_BYTES (1 * MIB)
/* A reader is ended when nobody needs it, and after so many documents, so that
 * one that was taken over by a document has a short life. */
#define DOC_IDLE_MS        30000
#define DOC_LIFE           1000

/* Of one article; what is longer is shown by its summary and link alone. */
#define ITEM_CONTENT_MAX (4 * MIB)
#define ITEM_EVENT_TEXT  1000 /* characters of an article in its event */
#define ITEM_TITLE_TEXT  80   /* of its text, where it has no title */
/* Search (doc/terms.h): PostgreSQL counts places to 16,383. */
#define TERMS_MAX        16000
#define TERM_BYTES       64 /* of a word: longer ones are no words */
#define TERMS_QUERY_MAX  32
#define TERMS_BYTES_MAX  (512 * KIB) /* a tsvector ends at a MiB */
