/*
 * relay.h - the thread that carries an application's outbox into the log.
 *
 * The application writes its record and a row of the outbox in one
 * transaction (outbox/ has the tables). The relay reads the rows, makes
 * envelopes of them (row.h), appends them as if they had been published, and
 * sets published_at when that is durable, never before.
 *
 *             ┌─────────── next chunk is read and checked ──────────┐
 *   round:  read ──▶ append ──▶ mark, append ──▶ mark, … ──▶ commit │
 *             └──────── while the one before it is appended ────────┘
 *
 * One chunk is on its way to the log at a time: if an append fails the round
 * ends there, so that no row passes one of its key that failed. The rows stay
 * unpublished and are read again; those that were appended are known by their
 * event id, and are one event.
 *
 * A ROW THAT IS NO EVENT, whose id is in the log with other content, or that
 * the log's database refuses, becomes a dead letter (refused.h) in its place,
 * and is marked. The others go on.
 *
 * TROUBLE is told once when it begins, changes and ends; between tries the
 * relay waits longer each time, up to OUTBOX_BACKOFF_MS. It does not touch
 * /readyz: this server publishes and delivers all the same.
 *
 * EACH OUTBOX has a relay, thread, connections and turn of its own: one that is
 * away holds up no other.
 *
 * LIFE. relay_start() to relay_stop(), which ends before append_stop() begins.
 * The commit thread hands a finished job back over an eventfd; nothing else is
 * shared.
 *
 * INVARIANTS
 *   1. A row is marked only when its event, or its dead letter, is committed.
 *   2. Events of one key are appended in the order of their rows' ids.
 *   3. At most two chunks are in memory.
 */
#pragma once

#include "base/base.h"

struct append;
struct mask;
struct outbox_opts;
struct relay;
struct types_live;

struct relay_opts {
	const struct outbox_opts *outbox; /* outbox_all(); it is copied */
	struct append *append;
	const struct mask *mask;
	struct types_live *types;
	bool strict, exact; /* event.schema.mode, event.envelope */
};

/* That the outbox is away is no failure. */
int relay_start(
    const struct relay_opts *o, struct relay **ret, struct err *e) MUST_CHECK;
void relay_stop(struct relay *r); /* NULL is fine */
