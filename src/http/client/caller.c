#include "http/client/caller.h"

#include <stdatomic.h>

#include "loop/thread.h"

struct caller {
	struct client *client;
	struct mailbox *box;
	struct thread *thread;
	atomic_bool ending;
};

static void
run_posted(struct caller *c)
{
	struct mail *m = mailbox_take(c->box, 0);

	while (m) {
		struct call *k = MAIL_OF(m, struct call, mail);

		m = m->next; /* it may be gone when it has run */
		k->run(k, c->client);
	}
}

static void
caller_run(void *arg)
{
	struct caller *c = arg;

	while (!atomic_load(&c->ending)) {
		run_posted(c);
		(void)client_wait(c->client, -1);
	}
}

static void
caller_release(struct caller *c)
{
	client_free(c->client);
	mailbox_free(c->box);
	free(c);
}

int
caller_start(const struct client_opts *o, struct caller **ret, struct err *e)
{
	struct caller *c = mem_get(sizeof(*c));
	int rc;

	c->box = mailbox_new();
	rc = client_new(o, &c->client, e);
	if (rc == OK)
		rc = thread_start("caller", caller_run, c, &c->thread, e);
	if (rc < 0) {
		caller_release(c);
		return rc;
	}
	*ret = c;
	return OK;
}

bool
caller_post(struct caller *c, struct call *call)
{
	if (!mailbox_post(c->box, &call->mail))
		return false;
	client_wake(c->client);
	return true;
}

void
caller_stop(struct caller *c)
{
	if (!c)
		return;
	mailbox_close(c->box);
	atomic_store(&c->ending, true);
	client_wake(c->client);
	thread_join(c->thread);
	run_posted(c);
	caller_release(c);
}
