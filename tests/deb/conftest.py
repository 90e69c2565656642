# SPDX-License-Identifier: GPL-2.0-only
"""This tree, packages of it, and the README's steps."""

import subprocess

import pytest
from base import SUITES
from steps import TOP, from_tree, steps


@pytest.fixture(scope="session")
def readme():
    return steps()


@pytest.fixture(scope="session")
def readme_tree():
    return from_tree()


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


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """An archive of this tree, without what is built in it."""
    archive = tmp_path_factory.mktemp("tree") / "tree.tar"
    without = ["--exclude-vcs", "--exclude=./build", "--exclude=__pycache__", "--exclude=.*_cache"]
    subprocess.run(["tar", "-C", TOP, *without, "-cf", archive, "."], check=True)
    return archive
