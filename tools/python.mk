# SPDX-License-Identifier: GPL-2.0-only
# CACHE: where downloads and builds are kept.  PYTHON: the lab's, in VENV, which `make lab` prepares.

CACHE := $(or $(TCON_CACHE),$(HOME)/.cache/tcon)
# One for each list of packages: trees of several versions may share the cache.
VENV := $(CACHE)/venv-$(shell sha256sum $(dir $(lastword $(MAKEFILE_LIST)))requirements.txt | cut -c1-16)
PYTHON := $(VENV)/bin/python
