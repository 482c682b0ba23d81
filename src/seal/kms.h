/*
 * kms.h - AWS KMS: makes data keys and unwraps them.
 *
 * Two calls of its JSON protocol, signed by libcurl (SigV4): GenerateDataKey
 * gives a new key plain and wrapped, Decrypt unwraps one. The credentials are
 * AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the
 * environment, as for every tool of AWS.
 *
 * WHY LIBCURL ITSELF, and not our client with its guard of addresses: this
 * runs while the program starts, before there is any thread, and towards an
 * address that the operator set, often a private one; nobody else can choose
 * it. It blocks, for KMS_WAIT_MS at most, and follows no redirect.
 */
#pragma once

#include "seal/keyring.h"

#define KMS_KEY_LEN 32

int kms_generate(const struct kms_opts *o, struct arena *a,
    unsigned char ret_key[KMS_KEY_LEN], struct str *ret_wrapped,
    struct err *e) MUST_CHECK;
/* `wrapped` is base64, as kms_generate() gave it. */
int kms_decrypt(const struct kms_opts *o, struct arena *a, struct str wrapped,
    unsigned char ret_key[KMS_KEY_LEN], struct err *e) MUST_CHECK;
