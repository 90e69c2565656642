# SPDX-License-Identifier: GPL-2.0-only
"""Packages of this tree, and the README's steps."""

import subprocess

import pytest
from base import SUITES
from steps import TOP, steps


@pytest.fixture(scope="session")
def readme():
    return steps()


@pytest.fixture(scope="module", params=SUITES)
def suite(request):
    return request.param


@pytest.fixture(scope="session")
def packages():
    """Paths of the packages that `make deb` makes, by name; not the lab's."""
    out = TOP / "build/deb"
    subprocess.run(["nice", TOP / "tools/make-deb", out], check=True)
    made = {path.name.partition("_")[0]: path for path in out.glob("*.deb")}
    return {name: made[name] for name in ("tcon-dkms", "tcon-switch", "tcon-top")}
