#include "sink/sink.h"

#include "contract/sub.h"
#include "sink/sink_driver.h"

const struct sink_driver *const SINK_DRIVERS[SINKS] = {
#define SINK(name) [SINK_KIND_##name] = &SINK_##name,
#include "sink/sinks.tbl"
#undef SINK
};

void
sink_drivers_check(void)
{
	for (int i = 0; i < SINKS; i++) {
		const struct sink_driver *s = SINK_DRIVERS[i];

		assert(s->scheme && s->open && s->call);
		/* Who leases is asked what came of a lease, and for more. */
		assert(!s->leases || (s->terms && s->expired && s->drop));
		assert(!s->admit == !s->ended && !s->dead == !s->deads);
	}
}

enum sink_kind
sink_of(struct str url)
{
	struct str rest = url, scheme = str_cut(&rest, ':');

	for (int i = 0; scheme.n < url.n && i < SINKS; i++)
		if (str_eq(scheme, str_of(SINK_DRIVERS[i]->scheme)))
			return (enum sink_kind)i;
	return (enum sink_kind)0;
}

int
sink_check(const struct sub_conf *s, const struct conf *c, struct err *e)
{
	const struct sink_driver *d = SINK_DRIVERS[sink_of(s->url)];

	return d->check ? d->check(s, c, e) : 0;
}
