/*
 * notice.h - a change of a task as an event: the body of seed 004, to the
 * letter.
 *
 *   {"event":"invoice.completed","taskId":"…","status":"completed",
 *    "timestamp":"…","data":{"taskId":"…","status":"completed","progress":100,
 *      "result":{"confidenceScore":0.92,"forwarderId":"f-1",
 *        "forwarderName":"…","resultUrl":"/api/v1/invoices/…/result"}}}
 *
 * `result` comes with completed alone, `error` with failed, `reviewInfo` with
 * review_required. That is the event's payload; preset `task` sends the payload
 * and nothing else, byte for byte, since the signature covers the bytes.
 *
 * WHO GETS IT stands in the entry's attrs (deliver/engine/letter.h), beside whoever
 * subscribes to invoice.* anyway.
 */
#pragma once

#include "base/base.h"

struct entry;
struct task;

void notice_body(const struct task *t, int64_t now_us, struct buf *b);
/* `subs` are those that it names. What it borrows is the arena's. */
int notice_entry(struct arena *a, const struct task *t, const int64_t *subs,
    size_t n_subs, int64_t now_us, struct entry *en, struct err *e) MUST_CHECK;
