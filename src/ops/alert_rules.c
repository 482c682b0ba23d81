/* alerts.h: the rules, as pure functions of the sums. */
#include "deliver/limits.h"
#include "ops/alert_priv.h"
#include "ops/limits.h"

const struct rule RULES[ALERT_RULES] = {
    [ALERT_SUCCESS_99] = {"webhook_delivery_success_rate", "warning", 99, true,
	"less than 99 % of deliveries succeed"},
    [ALERT_SUCCESS_95] = {"webhook_delivery_success_rate", "critical", 95, true,
	"less than 95 % of deliveries succeed"},
    [ALERT_LATENCY] = {"webhook_delivery_latency_p95", "warning", 5, false,
	"one attempt in twenty takes more than 5 s"},
    [ALERT_RETRIES] = {"webhook_retry_count_avg", "warning", 1.5, false,
	"a delivery needs more than 1.5 retries on average"},
    [ALERT_FAILURES] = {"webhook_failure_count", "critical", 10, false,
	"more than 10 deliveries were given up within an hour"},
    [ALERT_IN_A_ROW] = {"webhook_failures_in_a_row", "warning", 2, false,
	"the newest three attempts failed"},
    [ALERT_WAITING] = {"webhook_waiting", "critical", 1000, false,
	"more than 1000 deliveries wait"},
    [ALERT_DEAD] = {"webhook_dead_letters", "warning", 0, false,
	"deliveries were given up"},
    [ALERT_HELD] = {"webhook_subscription_held", "critical", 0, false,
	"nothing is sent: its filter or template went wrong too often"},
    [ALERT_PENDING] = {"webhook_pending", "warning", 50, false,
	"over half of what is kept past its time is used, in age or bytes: past all of it the oldest go"},
};

/* Seconds below which 95 % of the attempts stayed: by their bucket's end, past
 * the last by the slowest. */
static double
p95(const struct alert_sums *s)
{
	static const int64_t BOUNDS_MS[ALERT_HIST] = {STAT_BOUNDS};
	int64_t n = s->ok + s->fail, below = 0;
	double slowest = (double)s->slow_us / 1e6;

	for (size_t i = 0; i < ALERT_HIST; i++) {
		below += s->hist[i];
		if (below * 100 >= n * 95) {
			double end = (double)BOUNDS_MS[i] / 1e3;

			return slowest < end ? slowest : end;
		}
	}
	return slowest;
}

bool
alert_value(enum alert_rule r, const struct alert_sums *s, double *ret)
{
	double ended = (double)(s->ok + s->dead);
	double tried = (double)(s->ok + s->fail);
	bool rated = s->ok + s->dead >= ALERT_LEAST;

	switch (r) {
	case ALERT_SUCCESS_99:
	case ALERT_SUCCESS_95:
		*ret = ended > 0 ? 100.0 * (double)s->ok / ended : 100;
		return rated;
	case ALERT_LATENCY:
		*ret = s->ok + s->fail > 0 ? p95(s) : 0;
		return s->ok + s->fail >= ALERT_LEAST;
	case ALERT_RETRIES:
		/* What failed and was tried again, by what ended. */
		*ret = ended > 0 && tried > ended ? tried / ended - 1 : 0;
		return rated;
	case ALERT_FAILURES:
		*ret = (double)s->dead_hour;
		return true;
	case ALERT_IN_A_ROW:
		*ret = s->in_a_row ? 3 : 0;
		return true;
	case ALERT_WAITING:
		*ret = (double)s->waiting;
		return true;
	case ALERT_PENDING:
		*ret = s->pending;
		return true;
	case ALERT_HELD:
		*ret = s->held ? 1 : 0;
		return true;
	case ALERT_DEAD:
	case ALERT_RULES:
		break;
	}
	*ret = 0;
	return false;
}

bool
alert_fires(enum alert_rule r, const struct alert_sums *s)
{
	double v;

	if (!alert_value(r, s, &v))
		return false;
	return RULES[r].below ? v < RULES[r].threshold : v > RULES[r].threshold;
}
