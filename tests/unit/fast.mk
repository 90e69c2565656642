# SPDX-License-Identifier: GPL-2.0-only
#
# For programs that run much of the datapath for long, without sanitizers: tests/fuzz has them for
# the same code.

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
CFLAGS_ALL := -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare \
	      -fno-strict-aliasing $(CFLAGS)

include $(TOP)/tests/unit/archive.mk
