/*
 * forward.h - `listen --forward URL`: a server's events, posted to a program
 * that the server can't call.
 *
 * It is a worker of a pull consumer (docs/consumers.md). The consumer's name
 * is the same each time, by user, machine and URL, so that a start after a
 * crash goes on with it; it expires a day after the last sign of life, so that
 * one that was left behind goes. Each event is posted as preset standard would
 * send it.
 *
 * NOTHING IS LOST. An event is acked when the URL answered 2xx and not before;
 * an ack is repeated until the server said what became of it. While nobody
 * answers at the URL, or at the server, it waits, longer each time, and keeps
 * the leases of what it holds. Another answer than 2xx is a nack: the event
 * comes again by the preset's schedule. Whoever is killed in between leaves an
 * event that comes again when its lease ends: at least once.
 */
#pragma once

#include "cli/cli.h"

int forward(struct cli *c, struct err *e) MUST_CHECK;
