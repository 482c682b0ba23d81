/*
 * category.h - categories: each is one person's, by its title. A feed is in one
 * or in none (subscription.h). Who changes one is on the commit thread, inside
 * a transaction; every statement has user_id in it.
 */
#pragma once

#include "base/base.h"

struct db;

/* As JSON: one, or with uid NULL an array of all. ERR_ABSENT. */
int category_show(struct db *db, int64_t user, const struct uuid *uid,
    struct buf *b, struct err *e) MUST_CHECK;
/* ERR_CONFLICT when the person has one of that name; *ret_uid is then its.
 * Also past READER_CATEGORIES_MAX. */
int category_add(struct db *db, int64_t user, struct str title, int64_t now_us,
    struct uuid *ret_uid, struct err *e) MUST_CHECK;
int category_rename(struct db *db, int64_t user, struct uuid uid,
    struct str title, int64_t now_us, struct err *e) MUST_CHECK;
/* Its row. ERR_ABSENT. */
int category_find(struct db *db, int64_t user, struct uuid uid, int64_t *ret,
    struct err *e) MUST_CHECK;
/* Its feeds stay, without a category. ERR_ABSENT. */
int category_del(
    struct db *db, int64_t user, struct uuid uid, struct err *e) MUST_CHECK;
