# SPDX-License-Identifier: GPL-2.0-only
"""Packages of this tree, and others that the tests need."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from tcon_lab.machine.cache import cache_dir, locked, unfinished

HERE = Path(__file__).parent
TOP = HERE.parents[1]


@pytest.fixture(scope="session")
def root():
    """The archive of a host without TCon, made once."""
    sources = [HERE / name for name in ("make-base", "90test")]
    key = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    folder = cache_dir() / f"deb-{key}"
    with locked(cache_dir() / "deb.lock"):
        if not folder.exists():
            with unfinished(folder) as partial:
                subprocess.run(["nice", sources[0], partial], check=True)
    return folder / "root.tar"


@pytest.fixture(scope="session")
def packages():
    """Paths of the packages that `make deb` makes, by name."""
    out = TOP / "build/deb"
    subprocess.run(["nice", TOP / "tools/make-deb", out], check=True)
    return {path.name.partition("_")[0]: path for path in out.glob("*.deb")}


@pytest.fixture(scope="session")
def another_ovs(tmp_path_factory):
    """Open vSwitch's packages with another version: what an upgrade brings."""
    folder = tmp_path_factory.mktemp("ovs")
    names = ("openvswitch-common", "openvswitch-switch")
    subprocess.run(["apt-get", "-q", "download", *names], cwd=folder, check=True)
    made = {}
    for name in names:
        (old,) = folder.glob(f"{name}_*.deb")
        tree, new = folder / name, folder / f"{name}-next.deb"
        subprocess.run(["dpkg-deb", "-R", old, tree], check=True)
        control = tree / "DEBIAN/control"
        text = control.read_text()
        version = re.search(r"^Version: (.*)$", text, re.M)[1]
        for field in (f"Version: {version}", f"openvswitch-common (= {version}"):
            text = text.replace(field, f"{field}+next1")
        control.write_text(text)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, new], check=True)
        made[name] = Path(new)
    return made
