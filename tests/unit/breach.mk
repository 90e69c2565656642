# SPDX-License-Identifier: GPL-2.0-only
#
# For programs that judge the datapath: what they are to find, they find.
#
# BREACHES are names.  BREACH_NAME is a file of the datapath and a command for sed, which makes a line
# of it wrong.  BREACH_TRIES runs the program $(BREACH)/NAME, made of BREACH_OBJECT and that file, and
# fails where it finds something; BREACH_SAYS is what to show of what it said.

BREACH := $(OUT)/breach
breach_file = $(firstword $(BREACH_$*))
breach_sed = sed '$(wordlist 2,99,$(BREACH_$*))' $(TOP)/datapath/$(breach_file)

.PHONY: breaches current $(BREACHES:%=breach-%) $(BREACHES:%=current-%)
breaches: $(BREACHES:%=breach-%)
current: $(BREACHES:%=current-%)

# There still is a line that it changes.
$(BREACHES:%=current-%): current-%:
	@! $(breach_sed) | cmp -s - $(TOP)/datapath/$(breach_file) || \
		{ echo "$*: nothing to change in $(breach_file)" >&2; exit 1; }

$(BREACHES:%=breach-%): breach-%: current-% $(BREACH_OBJECT) $(DIR)/tcon.a
	@mkdir -p $(BREACH)
	@$(breach_sed) >$(BREACH)/$*.c
	@$(COMPILE) -w -o $(BREACH)/$*.o $(BREACH)/$*.c
	@$(CC) $(CFLAGS_ALL) -o $(BREACH)/$* $(BREACH_OBJECT) $(BREACH)/$*.o $(DIR)/tcon.a
	@if $(BREACH_TRIES) >$(BREACH)/$*.log 2>&1; then echo "breach $*: not found" >&2; exit 1; fi
	@echo "breach $*: $$(grep -hom1 $(BREACH_SAYS) $(BREACH)/$*.log)"
