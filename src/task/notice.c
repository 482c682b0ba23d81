#include "task/notice.h"

#include "event/append.h"
#include "event/envelope.h"
#include "task/task.h"

static void
add_result(const struct task *t, struct buf *b)
{
	put_open(b, "result", '{');
	put_raw(
	    b, "confidenceScore", t->confidence.p ? t->confidence : STR("0"));
	if (t->forwarder_id.p)
		put_text(b, "forwarderId", t->forwarder_id);
	if (t->forwarder_name.p)
		put_text(b, "forwarderName", t->forwarder_name);
	put_name(b, "resultUrl");
	buf_addz(b, "\"/api/v1/invoices/");
	uuid_add(b, t->uid);
	buf_addz(b, "/result\"}");
}

static void
add_error(const struct task *t, struct buf *b)
{
	put_open(b, "error", '{');
	put_text(b, "code",
	    t->error_code.p ? t->error_code : STR("PROCESSING_FAILED"));
	put_text(b, "message",
	    t->error_message.p ? t->error_message
			       : STR("An error occurred during processing"));
	put_bool(b, "retryable", t->error_retryable);
	put_close(b, '}');
}

static void
add_review(const struct task *t, struct buf *b)
{
	put_open(b, "reviewInfo", '{');
	put_text(b, "reason",
	    t->reason.p ? t->reason
			: STR("Low confidence score requires manual review"));
	put_time(b, "escalatedAt", t->changed_us);
	put_close(b, '}');
}

void
notice_body(const struct task *t, int64_t now_us, struct buf *b)
{
	const struct task_words *is = &TASK_WORDS[t->status];

	assert(is->event);
	put_open(b, NULL, '{');
	put_z(b, "event", is->event);
	put_uuid(b, "taskId", t->uid);
	put_z(b, "status", is->word);
	put_time(b, "timestamp", now_us);
	put_open(b, "data", '{');
	put_uuid(b, "taskId", t->uid);
	put_z(b, "status", is->word);
	put_int(b, "progress", is->progress);
	if (t->status == TASK_COMPLETED)
		add_result(t, b);
	if (t->status == TASK_FAILED)
		add_error(t, b);
	if (t->status == TASK_REVIEW_REQUIRED)
		add_review(t, b);
	put_close(b, '}');
	put_close(b, '}');
}

static void
add_envelope(
    const struct task *t, struct uuid event_id, int64_t now_us, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "eventId", event_id);
	put_int(b, "schemaVersion", 1);
	put_z(b, "eventType", TASK_WORDS[t->status].event);
	put_time(b, "occurredAt", now_us);
	/* Tasks are the system's: the tenant that stands for it. */
	put_uuid(b, "tenantId", (struct uuid){{0}});
	put_raw(
	    b, "producer", STR("{\"service\":\"task\",\"instanceId\":\"1\"}"));
	put_uuid(b, "correlationId", t->uid); /* of all events of a task */
	put_open(b, "sequence", '{');
	put_uuid(b, "partitionKey", t->uid);
	put_close(b, '}');
	put_name(b, "payload");
	notice_body(t, now_us, b);
	put_close(b, '}');
}

static struct str
attrs(struct arena *a, const int64_t *subs, size_t n)
{
	struct buf b CLEANUP(buf_done) = BUF(4 * KIB);

	put_open(&b, NULL, '{');
	put_open(&b, "subs", '[');
	for (size_t i = 0; i < n; i++)
		put_int(&b, NULL, subs[i]);
	put_close(&b, ']');
	put_close(&b, '}');
	return arena_dup(a, buf_str(&b));
}

int
notice_entry(struct arena *a, const struct task *t, const int64_t *subs,
    size_t n_subs, int64_t now_us, struct entry *en, struct err *e)
{
	struct envelope_opts o = {.now_us = now_us, .own = true};
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);
	struct event ev;
	struct str text;

	add_envelope(t, uuid_v7(now_us), now_us, &b);
	text = arena_dup(a, buf_str(&b));
	TRY(envelope_parse(a, text, &o, &ev, e));
	entry_fill(en, &ev, text);
	if (n_subs > 0)
		en->attrs = attrs(a, subs, n_subs);
	return OK;
}
