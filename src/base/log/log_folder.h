/*
 * log_folder.h - the log as files of a day each, and the old ones removed.
 *
 * hikyaku-2026-11-15.log, by UTC. The log writes to one descriptor (log.h); a
 * new day's file is opened beside it and then takes its number by dup3(), so
 * no line is lost or split and no thread waits.
 *
 * LIFE. Opened once before there are threads; then one thread turns. The
 * folder is ours alone as far as files of that name go.
 */
#pragma once

#include "base/base.h"

struct log_folder;

/*
 * Makes the folder if it is not there, opens the day's file. *ret_fd is what
 * log_setup() wants. Files that are older than keep_us go.
 */
int log_folder_open(const char *path, int64_t keep_us, int64_t now_us,
    struct log_folder **ret, int *ret_fd, struct err *e) MUST_CHECK;
/* From time to time. When the new day's file can't be made the old one serves
 * on. */
int log_folder_turn(
    struct log_folder *f, int64_t now_us, struct err *e) MUST_CHECK;
void log_folder_close(struct log_folder *f); /* NULL is fine */
