/*
 * file.h - the sink for tests: a line of JSON for each delivery.
 *
 * `file:NAME` appends to NAME in the folder of the setting sink.file.folder,
 * and without that setting there is no such sink. A line has deliveryId,
 * eventId, type, attempt and the body, as a receiver would get it. A file that
 * can't be written is a failed try, like a receiver that does not answer.
 *
 * It writes on the deliver thread: good enough for a test, wrong for anything
 * that may block.
 */
#pragma once

#include "base/base.h"

/* The name in such a URL; empty: it is none that may be used. */
struct str file_name(struct str url);
