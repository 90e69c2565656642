# SPDX-License-Identifier: GPL-2.0-only
"""The programs that the models of CCs are compared with."""

from __future__ import annotations

from pathlib import Path

import pytest
from replayed import build_replays


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with ``replay_NAME``."""
    return build_replays()
