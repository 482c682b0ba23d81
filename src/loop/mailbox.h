/*
 * mailbox.h - how threads talk: a message moves from one to another.
 *
 * A message is a struct with a `struct mail` inside it; posting allocates
 * nothing and can't fail. Many may post, one takes. The taker gets all that is
 * there at once, oldest first, so that a busy thread is woken once for many
 * messages. Mutexes are here, in the pools and in http/server/door.c alone.
 *
 * INVARIANTS
 *   1. A message is in one mailbox at most; between post and take it belongs
 *      to the mailbox and nobody touches it.
 *   2. Messages of one poster are taken in the order they were posted.
 *   3. After mailbox_close() nothing is accepted: mailbox_post() returns false
 *      and the message stays with the poster. What was accepted is taken.
 */
#pragma once

#include "base/base.h"

struct mail {
	struct mail *next;
};

struct mailbox;

struct mailbox *mailbox_new(void);
/* Empty by then, and nobody is still inside of a post; NULL is fine. */
void mailbox_free(struct mailbox *box);
bool mailbox_post(struct mailbox *box, struct mail *m) MUST_CHECK;
/*
 * Waits until there is mail, the box is closed, or timeout_ms have passed
 * (-1: for ever, 0: not at all). NULL on time-out and when closed and empty.
 */
struct mail *mailbox_take(struct mailbox *box, int timeout_ms);
bool mailbox_closed(struct mailbox *box);
void mailbox_close(struct mailbox *box);

/* The struct that the mail is a member of. */
#define MAIL_OF(mail, type, member)                                            \
	((type *)(void *)((char *)(mail)-offsetof(type, member)))
