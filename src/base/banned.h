/* banned.h - calls that have bitten everybody once; using one is an error. */
#pragma once

/* The system's own headers must come before the poison. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf gets strncpy strncat
#pragma GCC poison strtok atoi atol atoll atof
#pragma GCC poison gmtime localtime ctime asctime mktemp tmpnam
