# SPDX-License-Identifier: GPL-2.0-only
#
# For the programs of tests/unit and tests/fuzz: $(DIR)/tcon.a has each source that runs in user
# space, compiled once, and each program links it.  The linker takes an object out of it only for a
# symbol that the program lacks: of a source that the program includes, it lacks none.

# The whole datapath but for registry, policy and port, which host.h stands for; and each CC but
# linux.c, which needs a kernel.
DATAPATH := $(wildcard $(addprefix $(TOP)/datapath/,\
	sender/*.c wire/*.c act/*.c ends/*.c state/known.c state/flow.c state/table.c state/reap.c state/judge.c state/astray.c state/outcome.c state/rest.c state/move.c \
	state/nogo.c state/buffer.c state/shares.c state/fragment.c state/pacer.c path.c))
CCS := $(filter-out linux,$(basename $(notdir $(sort $(wildcard $(TOP)/algorithms/*.c)))))
# Of a program that has all of them, what loads them.
LOAD_ALL := -D'LOAD_ALL()={ ${CCS:%=shim_load(tcon_%);} }'
ARCHIVED := $(DATAPATH:$(TOP)/%.c=$(DIR)/obj/%.o) $(CCS:%=$(DIR)/obj/algorithms/%.o)

# Make knows no ways of its own to what is built here.
MAKEFLAGS += --no-builtin-rules

# A tree of another place finds what this one has compiled.
COMPILE = $(shell command -v ccache) $(CC) -D_GNU_SOURCE -I$(TOP)/tests/unit/shim \
	-I$(TOP)/datapath/include -I$(TOP)/datapath -I$(TOP) -I$(TOP)/tests/unit -MMD -MP \
	-ffile-prefix-map=$(CURDIR)=. $(CFLAGS_ALL) -c

RULES := $(MAKEFILE_LIST)
$(DIR)/obj/%.o: $(TOP)/%.c $(RULES)
	@mkdir -p $(@D)
	@$(COMPILE) -o $@ $<

# From the start: it has no object of a source that is gone.
$(DIR)/tcon.a: $(ARCHIVED)
	@rm -f $@
	@ar rcs $@ $^

-include $(shell find $(DIR)/obj -name '*.d' 2>/dev/null)
