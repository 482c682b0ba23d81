/*
 * first_password.h - where the password that was made at the first run lies
 * when there was no terminal to show it on.
 *
 * DATA/first-password, mode 0600, until that password is changed.
 */
#ifndef ACCOUNT_FIRST_PASSWORD_H
#define ACCOUNT_FIRST_PASSWORD_H

#include "base/base.h"

struct arena;

/* *ret_path: to tell where. */
int first_password_keep(const char *dir, const char *password, struct arena *a,
    struct str *ret_path, struct err *e) MUST_CHECK;
/* `name` has another password now. */
void first_password_forget(const char *dir, struct str name);

#endif
