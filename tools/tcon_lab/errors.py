# SPDX-License-Identifier: GPL-2.0-only
"""The error that the lab raises when a user can do something about it."""


class LabError(Exception):
    """One clear sentence that names what is wrong; the CLI prints it."""
