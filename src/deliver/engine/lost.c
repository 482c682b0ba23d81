#include "deliver/engine/lost.h"

#include "base/buf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/str.h"
#include "deliver/engine/control.h"
#include "deliver/engine/fetch.h"
#include "deliver/engine/flushing.h"
#include "deliver/engine/wish.h"

/* An event for whoever watches; to lose one is no loss: the log line stays. */
static void
tell_lost(struct append *append, struct uuid uid, const struct flush_range *g)
{
	struct buf b = BUF(1 * KIB);

	buf_addz(&b, "{\"subscriptionId\":\"");
	uuid_add(&b, uid);
	buf_fmt(&b,
	    "\",\"seqFrom\":%lld,\"seqTo\":%lld,\"reason\":\"EXPIRED\"}",
	    (long long)g->seq, (long long)g->seq_to);
	control_tell(append, "ops.events.expired", buf_str(&b), g->at);
	buf_done(&b);
}

void
lost_add(struct flushing *f, const struct page *p, int64_t now)
{
	struct flush_range g = {
	    .sub = p->read.sub,
	    .okey = p->read.okey,
	    .seq = p->read.after + 1,
	    .seq_to = p->lost_to,
	    .at = now,
	};
	struct log_line l;

	log_begin(&l, LOG_WARN, "events went before they were delivered");
	log_int(&l, "subscription", p->read.sub);
	log_int(&l, "rep", p->read.rep);
	log_int(&l, "seqFrom", g.seq);
	log_int(&l, "seqTo", g.seq_to);
	log_end(&l);
	metric_add(M_EVENTS_LOST, g.seq_to - g.seq + 1);
	if (p->read.rep > 0)
		return; /* a replay of what is gone: its answer says so */
	flushing_range(f, &g);
	tell_lost(f->append, p->wish->uid, &g);
}
