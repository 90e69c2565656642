# SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#
# Adds TCon's files to ovs-vswitchd on top of a configured Open vSwitch tree
# (make -f tcon.mk there), so that no file that automake generates changes.  Also
# builds tcon-switchd, which runs them beside an ovs-vswitchd without them.

include Makefile

# For tcon-compat.h.
has = $(if $(shell grep -sE '$(3)' $(srcdir)/$(2)),-DTCON_HAS_$(1))
CPPFLAGS += $(call has,JSON_ARRAY_AT,include/openvswitch/json.h,\bjson_array_at\b)
CPPFLAGS += $(call has,UNIXCTL_FORMAT,lib/unixctl.h,\bunixctl_command_get_output_format\b)

tcon_objects = \
	vswitchd/tcon.$(OBJEXT) \
	vswitchd/tcon-advice.$(OBJEXT) \
	vswitchd/tcon-advise.$(OBJEXT) \
	vswitchd/tcon-cc.$(OBJEXT) \
	vswitchd/tcon-command.$(OBJEXT) \
	vswitchd/tcon-compare.$(OBJEXT) \
	vswitchd/tcon-config.$(OBJEXT) \
	vswitchd/tcon-fleet.$(OBJEXT) \
	vswitchd/tcon-flows.$(OBJEXT) \
	vswitchd/tcon-guess.$(OBJEXT) \
	vswitchd/tcon-json.$(OBJEXT) \
	vswitchd/tcon-match.$(OBJEXT) \
	vswitchd/tcon-move.$(OBJEXT) \
	vswitchd/tcon-netlink.$(OBJEXT) \
	vswitchd/tcon-ovsdb.$(OBJEXT) \
	vswitchd/tcon-rates.$(OBJEXT) \
	vswitchd/tcon-rules.$(OBJEXT) \
	vswitchd/tcon-show.$(OBJEXT) \
	vswitchd/tcon-state.$(OBJEXT) \
	vswitchd/tcon-stats.$(OBJEXT) \
	vswitchd/tcon-text.$(OBJEXT) \
	vswitchd/tcon-trace.$(OBJEXT) \
	vswitchd/tcon-when.$(OBJEXT) \
	vswitchd/tcon-words.$(OBJEXT)

vswitchd_ovs_vswitchd_OBJECTS += $(tcon_objects)
vswitchd/ovs-vswitchd$(EXEEXT): $(tcon_objects)

switchd_objects = $(tcon_objects) vswitchd/tcon-switchd.$(OBJEXT)
vswitchd/tcon-switchd$(EXEEXT): $(switchd_objects) lib/libopenvswitch.la
	$(AM_V_CCLD)$(LINK) $^ $(LIBS)
$(switchd_objects): vswitchd/$(am__dirstamp) vswitchd/$(DEPDIR)/$(am__dirstamp)

# The generated headers must be there before the first file is compiled.
tcon-ovs-vswitchd tcon-tcon-switchd: tcon-%: $(BUILT_SOURCES)
	$(MAKE) -f tcon.mk vswitchd/$*$(EXEEXT)
.PHONY: tcon-ovs-vswitchd tcon-tcon-switchd

-include $(switchd_objects:vswitchd/%.$(OBJEXT)=vswitchd/$(DEPDIR)/%.Po)
