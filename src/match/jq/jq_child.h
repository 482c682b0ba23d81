/*
 * jq_child.h - the processes that run jq programs.
 *
 * WHY PROCESSES. libjq can't be interrupted, ends the process when memory is
 * short, and recurses over what a program builds. Programs are written by
 * strangers. So they run here, in a cage (cage/cage.h), with a CPU timer that
 * ends the process when one program takes too long over one event.
 *
 * WHY TWO. To compile a program takes 15 ms. If all had to be compiled again
 * whenever one ends the process, one subscription could hold up all others. So
 * the keeper, which is the server's child, compiles and never runs; the worker
 * is a copy of it (fork) that runs. New programs come to the worker, which
 * hands them on to its keeper. When a worker ends the keeper tells the server
 * how, and makes another, with all programs in it, in less than a millisecond.
 *
 *   server ═══ socket ═══▶ worker ─── pipe: new programs ──▶ keeper
 *      ▲                                                       │
 *      └────────────── "it ended so", on the socket ───────────┘
 *
 * LIFE. Started by cage/proc.h as `hikyaku jq-child`.
 * Both end when the server closes the socket, and the worker with the keeper.
 */
#pragma once

#include "cage/cage.h"

extern const struct cage_kind JQ_CHILD;
