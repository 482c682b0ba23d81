/*
 * note.h - what the threads of the engine tell each other.
 *
 * A note is a slip in a mailbox: each struct that is told begins with one. Who
 * tells a note gives it away.
 */
#pragma once

#include "loop/mailbox.h"

struct deliver;
struct presets;
struct wish;

/* To the deliver thread. */
enum note_kind {
	NOTE_SUB,     /* made or changed */
	NOTE_SUB_END, /* gone */
	NOTE_REPLAY,  /* one of its replays was stored, or stopped */
	NOTE_PRESETS, /* a preset was changed: here are all */
	NOTE_LOADED,  /* all subscriptions were told */
	NOTE_FEED,
	NOTE_PAGE,    /* of a reader */
	NOTE_LETTER,  /* for an attempt */
	NOTE_VERSION, /* the same */
	NOTE_DEADS,   /* a page of dead letters */
	NOTE_FLUSHED, /* the commit thread has done what was posted: flush.h */
	NOTE_OWNED,   /* … owner.h */
	NOTE_HOLD,    /* a subscription is to be held */
	NOTE_HELD,    /* … and that is stored, or can't be */
};

/* To dispatch. */
enum dispatch_note_kind {
	NOTE_BEGIN = 100, /* tell all subscriptions */
	NOTE_GO,          /* read the log from here on */
	NOTE_HALT,        /* forget all */
	NOTE_NEWS,        /* the log has grown, or time has passed */
	NOTE_FREE,        /* a feed comes back */
	NOTE_BATCH,       /* a job of the batcher is done */
};

struct note {
	struct mail mail;
	unsigned kind; /* of one of the two */
};

struct sub_note {
	struct note note;
	struct wish *wish; /* SUB, HOLD; a reference */
	uint32_t sub;      /* SUB_END, REPLAY */
};

struct presets_note {
	struct note note;
	struct presets *presets;
};

struct go_note {
	struct note note;
	int64_t cursor, epoch;
};

void deliver_tell(struct deliver *d, struct note *n);
/* SUB or HOLD with a wish, of which it takes a reference; SUB_END and REPLAY
 * with sub. */
void deliver_tell_sub(
    struct deliver *d, enum note_kind kind, struct wish *w, uint32_t sub);
