/*
 * sink.h - where deliveries go: which kinds of receivers there are.
 *
 * A subscription's URL says which sink it has, by its scheme: `consumer:orders`
 * is the pull sink's, `file:orders` the file sink's, and whatever has a host
 * (https://…) is called over HTTP. What a sink has to do stands in
 * sink_driver.h.
 */
#pragma once

#include "base/base.h"

struct conf;
struct sub_conf;

enum sink_kind {
#define SINK(name) SINK_KIND_##name,
#include "sink/sinks.tbl"
#undef SINK
	SINKS
};

enum sink_kind sink_of(struct str url);
/* Whether a sink takes this subscription for its own: 1; 0: none does, so its
 * URL has to be one of the web; < 0: it is wrong for the sink it names. */
int sink_check(
    const struct sub_conf *s, const struct conf *c, struct err *e) MUST_CHECK;
