/*
 * pglease.h - whose turn it is to relay an outbox in PostgreSQL.
 *
 * Of several relays of one table one has the turn: it holds an advisory lock on
 * a connection of its own, and every OUTBOX_BEAT_MS asks something over it. The
 * lock ends with the session, and so a relay that ends or is killed is followed
 * at once. One that is stopped, or whose network went away without a word, is
 * not: its session stays, its kernel answers keepalives, and a time-out of idle
 * transactions or sessions knows nothing of those that it reads and marks with.
 *
 *   stand by ──lock──▶ has the turn ──beat, beat, … silence──▶ lost
 *      ▲  │                                                      │
 *      │  └─ silent for OUTBOX_SILENT_MS? all sessions of it end ┘
 *      └─────────────────────── connects anew ───────────────────┘
 *
 * SILENCE is seen in pg_stat_activity, by the database's own clock: when the
 * session that holds the lock last did anything. Who stands by ends it, and all
 * that have its application_name, which is that of one relay alone. So nothing
 * is marked any more by who lost its turn, and no row stays locked. That needs
 * no table of ours and no right but that both are the same user.
 *
 * WHO LOST ITS TURN APPENDS NOTHING either: pglease_keep() fails when the last
 * beat is older than OUTBOX_HOLD_MS, by the clock of its own machine, which is
 * before the others act. What was handed to the log by then is known there by
 * its event id; and as both read all rows that are not published, in the order
 * of their ids, neither puts a row in front of one of the same key.
 *
 * LIFE. The relay's thread. After a failure pglease_close() is the only call.
 */
#pragma once

#include "source/pgwire.h"

struct pglease {
	struct pgwire w;
	char name[32]; /* application_name, of every session of this relay */
	int64_t beat_ms;
};

int pglease_open(struct pglease *l, const char *url, const bool *stop,
    struct err *e) MUST_CHECK;
void pglease_close(struct pglease *l); /* a zeroed one is fine */
/* 1: it is ours until close(); 0: another one has it. */
int pglease_take(
    struct pglease *l, const char *table, struct err *e) MUST_CHECK;
/* A beat when it is time for one. ERR_AWAY: the turn is lost. */
int pglease_keep(struct pglease *l, struct err *e) MUST_CHECK;
