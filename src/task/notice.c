#include "task/notice.h"

#include <assert.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "event/append.h"
#include "event/envelope.h"
#include "task/task.h"

static void
add_result(const struct task *t, struct buf *b)
{
	buf_addz(b, ",\"result\":{\"confidenceScore\":");
	buf_add(b, t->confidence.p ? t->confidence : STR("0"));
	if (t->forwarder_id.p) {
		buf_addz(b, ",\"forwarderId\":");
		buf_json(b, t->forwarder_id);
	}
	if (t->forwarder_name.p) {
		buf_addz(b, ",\"forwarderName\":");
		buf_json(b, t->forwarder_name);
	}
	buf_addz(b, ",\"resultUrl\":\"/api/v1/invoices/");
	uuid_add(b, t->uid);
	buf_addz(b, "/result\"}");
}

static void
add_error(const struct task *t, struct buf *b)
{
	buf_addz(b, ",\"error\":{\"code\":");
	buf_json(b, t->error_code.p ? t->error_code : STR("PROCESSING_FAILED"));
	buf_addz(b, ",\"message\":");
	buf_json(b, t->error_message.p
			? t->error_message
			: STR("An error occurred during processing"));
	buf_fmt(b, ",\"retryable\":%s}", t->error_retryable ? "true" : "false");
}

static void
add_review(const struct task *t, struct buf *b)
{
	buf_addz(b, ",\"reviewInfo\":{\"reason\":");
	buf_json(b, t->reason.p
			? t->reason
			: STR("Low confidence score requires manual review"));
	buf_addz(b, ",\"escalatedAt\":\"");
	time_add(b, t->changed_us);
	buf_addz(b, "\"}");
}

void
notice_body(const struct task *t, int64_t now_us, struct buf *b)
{
	const char *event = task_event_name(t->status);
	const char *word = task_status_word(t->status);

	assert(event);
	buf_fmt(b, "{\"event\":\"%s\",\"taskId\":\"", event);
	uuid_add(b, t->uid);
	buf_fmt(b, "\",\"status\":\"%s\",\"timestamp\":\"", word);
	time_add(b, now_us);
	buf_addz(b, "\",\"data\":{\"taskId\":\"");
	uuid_add(b, t->uid);
	buf_fmt(b, "\",\"status\":\"%s\",\"progress\":%d", word,
	    task_progress(t->status));
	if (t->status == TASK_COMPLETED)
		add_result(t, b);
	if (t->status == TASK_FAILED)
		add_error(t, b);
	if (t->status == TASK_REVIEW_REQUIRED)
		add_review(t, b);
	buf_addz(b, "}}");
}

static void
add_envelope(
    const struct task *t, struct uuid event_id, int64_t now_us, struct buf *b)
{
	buf_addz(b, "{\"eventId\":\"");
	uuid_add(b, event_id);
	buf_fmt(b,
	    "\",\"schemaVersion\":1,\"eventType\":\"%s\",\"occurredAt\":\"",
	    task_event_name(t->status));
	time_add(b, now_us);
	/* Tasks are the system's: the tenant that stands for it. */
	buf_addz(b, "\",\"tenantId\":\"");
	uuid_add(b, (struct uuid){{0}});
	buf_addz(b,
	    "\",\"producer\":{\"service\":\"task\",\"instanceId\":\"1\"},"
	    "\"correlationId\":\"");
	uuid_add(b, t->uid); /* one for all of a task's events */
	buf_addz(b, "\",\"sequence\":{\"partitionKey\":\"");
	uuid_add(b, t->uid);
	buf_addz(b, "\"},\"payload\":");
	notice_body(t, now_us, b);
	buf_addc(b, '}');
}

static struct str
attrs(struct arena *a, const int64_t *subs, size_t n)
{
	struct buf b = BUF(4 * KIB);
	struct str text;

	buf_addz(&b, "{\"subs\":[");
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s%lld", i ? "," : "", (long long)subs[i]);
	buf_addz(&b, "]}");
	text = b.failed ? (struct str){.p = NULL} : arena_dup(a, buf_str(&b));
	buf_done(&b);
	return text;
}

int
notice_entry(struct arena *a, const struct task *t, const int64_t *subs,
    size_t n_subs, int64_t now_us, struct entry *en, struct err *e)
{
	struct envelope_opts o = {.now_us = now_us, .own = true};
	struct buf b = BUF(64 * KIB);
	struct event ev;
	struct str text;
	int rc = OK;

	add_envelope(t, uuid_v7(now_us), now_us, &b);
	text = b.failed ? (struct str){.p = NULL} : arena_dup(a, buf_str(&b));
	buf_done(&b);
	if (!text.p)
		return err_set(e, ERR_NOMEM, "no memory for an event");
	rc = envelope_parse(a, text, &o, &ev, e);
	if (rc == OK) {
		entry_fill(en, &ev, text);
		if (n_subs > 0)
			en->attrs = attrs(a, subs, n_subs);
		if (n_subs > 0 && !en->attrs.p)
			rc = err_set(e, ERR_NOMEM, "no memory for an event");
	}
	return rc;
}
