/*
 * caller.h - one thread with a client, for those who call others now and then.
 *
 * A client (client.h) belongs to one thread. Whoever has a thread of its own
 * for calls has one of its own; all others hand a call to this one. A call's
 * run() is executed here, with the client; there it may start sends, whose
 * done() is called here too and may start others. So what belongs to a kind of
 * calls (a cache, a queue) can belong to this thread and needs no lock.
 *
 * Nothing may block here: what takes long goes elsewhere.
 *
 * LIFE. caller_start() → posts from any thread → caller_stop(), when nobody
 * posts any more. A call is its poster's memory and ours from caller_post()
 * until run() returns; a send is ours until done() (client.h). By the stop, run()
 * is called of all that was posted, and sends end as CLIENT_CANCELLED, from
 * within caller_stop()'s thread: whoever waits is told in any case. A send that
 * was cancelled must start no other.
 */
#pragma once

#include "http/client/client.h"
#include "loop/mailbox.h"

struct caller;

struct call {
	struct mail mail; /* ours */
	void (*run)(struct call *c, struct client *client);
};

int caller_start(
    const struct client_opts *o, struct caller **ret, struct err *e) MUST_CHECK;
void caller_stop(struct caller *c); /* NULL is fine */

/* False when it is being stopped. */
bool caller_post(struct caller *c, struct call *call) MUST_CHECK;
