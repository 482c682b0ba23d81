#include "deliver/dispatch/strikes.h"

#include "deliver/limits.h"

#define TEXT_(n) #n
#define TEXT(n)  TEXT_(n)

static bool
is_overrun(enum reason r)
{
	return r == REASON_FILTER_OVERRAN || r == REASON_TEMPLATE_OVERRAN;
}

/* The one before the last STRIKE_OVERRUNS - 1 gives way to it. */
static bool
strike_overran(struct strikes *s, int64_t now_us, int64_t window_us)
{
	unsigned i = atomic_fetch_add(&s->overruns, 1) % (STRIKE_OVERRUNS - 1);
	int64_t old = atomic_exchange(&s->overran_us[i], now_us);

	return old > 0 && now_us - old <= window_us;
}

static bool
strike_failed(struct strikes *s, int64_t now_us, int64_t window_us)
{
	int64_t first = atomic_load(&s->failed_us);

	if (first == 0 || now_us - first > window_us) {
		atomic_store(&s->failed_us, now_us);
		atomic_store(&s->failed, 1);
		return false;
	}
	return atomic_fetch_add(&s->failed, 1) + 1 >= STRIKE_FAILURES;
}

bool
strikes_add(struct strikes *s, enum reason r, int64_t now_us, int64_t window_us)
{
	bool much = is_overrun(r) ? strike_overran(s, now_us, window_us)
				  : strike_failed(s, now_us, window_us);
	int none = 0;

	return much && atomic_compare_exchange_strong(&s->held, &none, (int)r);
}

#define OVERRAN " overran " TEXT(STRIKE_OVERRUNS) " times within " STRIKE_TEXT
#define FAILED                                                                 \
	" failed over " TEXT(STRIKE_FAILURES) " events within " STRIKE_TEXT

const char *
strikes_text(enum reason r)
{
	if (r == REASON_FILTER_OVERRAN)
		return "its filter" OVERRAN;
	if (r == REASON_TEMPLATE_OVERRAN)
		return "its template" OVERRAN;
	return r == REASON_TEMPLATE_FAILED ? "its template" FAILED
					   : "its filter" FAILED;
}
