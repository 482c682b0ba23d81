/*
 * limits.h - the bounds of passwords, signatures, tokens and sealed values.
 */
#pragma once

#include "base/base.h"

/* What is signed: a secret, or another text beside the body; and the body. */
#define SIGN_TEXT_MAX 4096
#define SIGN_BODY_MAX (16 * MIB)

#define PASSWORD_MIN 8    /* bytes; NIST 800-63B */
#define PASSWORD_MAX 1024 /* a pass phrase, not a book to hash */

/* Logins by another's word (seal/jwt.h). */
#define JWKS_KEYS_MAX   32 /* providers have two or three */
#define JWT_KID_MAX     255
#define JWT_RSA_MIN     2048 /* bits; less is broken by those who can pay */
#define JWT_RSA_MAX     8192 /* more is slow, and nobody's */
#define JWT_MAX         (16 * KIB)
#define JWT_SKEW_S      60  /* clocks differ so much */
#define JWT_SUBJECT_MAX 255 /* OpenID Connect Core, 2 */
#define JWT_TEXT_MAX    255 /* seed 002: columns of users */

/* Sealing. A ring has the active key and those of a few rotations. */
#define SEAL_KEYS_MAX  16
#define SEAL_ID_MAX    63
#define SEAL_TEXT_MAX  1024        /* a passphrase, not a book */
#define SEAL_TEXT_MIN  12          /* bytes of one: below, guessing is cheap */
#define SEAL_FILE_MAX  (32 * KIB)  /* SEAL_KEYS_MAX lines, and comments */
#define SEAL_PLAIN_MAX (256 * KIB) /* a subscription with its headers */
/* Salts a key is remembered with: one a node that ever sealed. */
#define SEAL_SALTS_MAX 64
#define SEAL_ROUNDS    100000 /* of PBKDF2: seed 2.5.2 */
/* KMS: a call at the start, which must not hold it up for ever. */
#define KMS_CONNECT_MS 5000
#define KMS_WAIT_MS    15000
#define KMS_ANSWER_MAX (64 * KIB)
