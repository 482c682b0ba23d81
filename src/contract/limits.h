/*
 * limits.h - the bounds of presets, subscriptions and requests.
 *
 * libhikyaku keeps to these too.
 */
#pragma once

#include "seal/limits.h"

#define EVENT_BATCH_MAX  1000 /* events a request; spec/events.md */
#define WAIT_MAX_S       60   /* long poll */
#define REASONS_MAX      32   /* numbers in contract/reasons.tbl are below */
/* Breaker: failures in a row that open it; spec/webhooks.md, 9.3. */
#define BREAKER_FAILURES 5
#define BREAKER_OPEN_MS  300000

/* Presets and subscriptions: what one person writes and one screen shows. */
#define PRESET_NAME_MAX        63
#define PRESET_TEXT_MAX        (64 * KIB) /* one preset's JSON */
#define PRESETS_MAX            256        /* kept by name, listed in one page */
#define PRESET_ROWS_MAX        64 /* headers, signatures, verdicts, paths */
#define PRESET_MEM_MAX         (2 * MIB) /* one of them, parsed */
#define VARS_TEXT_MAX          (8 * KIB) /* a text with variables */
#define VARS_PIECES_MAX        128
#define SUB_NAME_MAX           200
#define SUB_URL_MAX            2048 /* spec/webhooks.md */
#define SUB_TYPES_MAX          256
#define SUB_TENANTS_MAX        256
#define SUB_PROGRAM_MAX        (16 * KIB) /* a jq filter or template */
#define SUB_HEADERS_MAX        64
#define SUB_HEADER_NAME_MAX    128
#define SUB_HEADER_VALUE_MAX   4096 /* receivers refuse heads past 8 KiB */
#define SUB_TEXT_MAX           SIGN_TEXT_MAX /* a credential or other short text */
#define SUB_PEM_MAX            (32 * KIB)    /* certificate chain or key */
#define SUB_SECRETS_MAX        8             /* rotated within the same week */
#define SUB_OVERLAP_S          86400         /* an old secret is good so long */
#define SUB_OVERLAP_MAX_S      (7 * 86400)
#define SUB_STORED_MAX         (256 * KIB) /* all of it, sealed */
#define SUB_MEM_MAX            (1 * MIB)   /* and opened */
#define SUB_CONCURRENCY_MAX    1000
#define SUB_RATE_MAX           100000
#define SUB_DEADLINE_MAX_S     (30 * 86400)
#define SUB_TIMEOUT_MAX_MS     300000
#define SUB_BATCH_WINDOW_MAX_S 3600
#define SUB_BATCH_MAX          1000
/* Retries: a month of waiting, at most 64 tries. */
#define RETRY_DELAYS_MAX       64
#define RETRY_DELAY_MAX_MS     (INT64_C(30) * 24 * 3600 * 1000)
/* An answer that may be of the standard error form; spec/hub-call.md W11. */
#define VERDICT_BODY_MAX       (64 * KIB)
/* An answer's body in the log; spec/hub-call.md. */
#define REQUEST_LOG_BODY_MAX   (16 * KIB)
#define REQUEST_HEAD_MAX       (2 * KIB) /* of an attempt, as it is kept */
#define REQUEST_HEADERS_MAX    160       /* a preset's and a subscription's */
/* A body may outgrow its event by names, ids and escapes. */
#define REQUEST_BODY_MAX       SIGN_BODY_MAX
/* Receivers allow for clocks that differ so much; Standard Webhooks. */
#define RECEIVE_TOLERANCE_S    300
#define RECEIVE_SIGNATURES_MAX 8 /* of one kind in a header; one a secret */
/* Of a pull consumer's lease: half a day, longer work extends it. */
#define CONSUMER_WAIT_MAX_S    43200
