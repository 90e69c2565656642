# SPDX-License-Identifier: GPL-2.0-only
# DATAPATH: the whole datapath but for registry, policy and port, which host.h stands for.
DATAPATH := $(patsubst $(TOP)/%,%,$(wildcard $(addprefix $(TOP)/datapath/,\
	sender/*.c wire/*.c act/*.c state/flow.c state/judge.c state/outcome.c state/rest.c state/move.c \
	state/nogo.c state/held.c state/shares.c state/fragment.c state/pacer.c path.c)))
