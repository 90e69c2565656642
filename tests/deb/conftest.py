# SPDX-License-Identifier: GPL-2.0-only
"""Packages of this tree, and others that the tests need."""

import re
import subprocess
from pathlib import Path

import pytest
from host import TOP

README = (TOP / "README.md").read_text()


def steps():
    """Of README's way onto a hypervisor: each step's blocks of commands, by its number."""
    section = README.partition("## Put it on a hypervisor")[2].partition("\n### ")[0]
    found = re.split(r"^(\d+)\. ", section, flags=re.M)[1:]
    return {
        int(number): [
            "".join(f"{line.strip()}\n" for line in block.splitlines())
            for block in re.findall(r"(?:^ {7}\S.*\n(?:^ {7}.*\n)*)", text, re.M)
        ]
        for number, text in zip(found[::2], found[1::2], strict=True)
    }


@pytest.fixture(scope="session")
def readme():
    return steps()


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
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
        with (tree / f"usr/share/doc/{name}/README.Debian").open("a") as grown:
            grown.write("another version\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, new], check=True)
        made[name] = Path(new)
    return made
