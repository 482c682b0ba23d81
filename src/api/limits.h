/*
 * limits.h - the bounds of the API's own: queues, streams, what a page shows.
 */
#pragma once

#include "base/base.h"

#define HTTP_STREAMS_MAX     256  /* live streams and long polls at once */
#define READ_QUEUE_MAX       1024 /* requests waiting for a read thread */
/* Of HTTP_STREAMS_MAX, by one key or person; and by one network, where several
 * of them may live. */
#define HTTP_STREAMS_EACH    (HTTP_STREAMS_MAX / 4)
#define HTTP_STREAMS_NETWORK (HTTP_STREAMS_MAX / 2)

/* Subscriptions over HTTP (api/v1/sub.h). */
#define CHECK_QUEUE_MAX    64   /* wait for the check thread, 45 ms each */
#define SUB_REPLAYS_MAX    16   /* of one, under way */
#define TRIES_EACH         4    /* test sends of one caller, under way */
#define PRESET_USERS_CHECK 1000 /* asked before a preset is changed */
#define STATS_MINUTES_MAX  1440 /* a day by the minute; */
#define STATS_HOURS_MAX    744  /* a month by the hour */

/* Pull consumers (api/v1/consumers.c). */
#define CONSUMER_NAME_MAX    100
#define CONSUMER_WAIT_S      60  /* of a lease, when nobody says */
#define CONSUMER_FLIGHT      500 /* leases at once, when nobody says */
#define CONSUMER_FETCH       100 /* events of one GET, when nobody says */
#define CONSUMER_FETCH_MAX   1000
#define CONSUMER_CURSORS_MAX 1000 /* answered by one call */
/* Looking at deliveries and dead letters. */
#define REP_MAX              65535 /* of a deliveryId: 16 bits */
/* Dead letters that one call decides on; rows that then may wait for one. */
#define BULK_MAX             200
#define BULK_ROWS_MAX        500
#define BULK_BYTES           (4 * MIB) /* of what sources handed over */
#define BULK_TIMES_MAX       3 /* by filter, of each; by hand: as one likes */
#define NOTE_MAX             1000 /* why somebody decided so */
#define ATTEMPTS_SHOWN       100  /* of a delivery; six kilobytes each */
#define SEEN_WAITING_MAX     200  /* who is behind, of one event */
#define SUBS_SEEN_MAX        1024 /* of a page: as many as it shows */
