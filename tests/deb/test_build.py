# SPDX-License-Identifier: GPL-2.0-only
"""README's `make deb`: it ends well, and the packages have what git has."""

import io
import os
import re
import subprocess
import tarfile

import pytest
from steps import TOP

CONTROL = (TOP / "debian/control").read_text()
VERSION = re.match(r"tcon \((\S+)\)", (TOP / "debian/changelog").read_text())[1]


@pytest.fixture(scope="module")
def out(readme):
    """The folder of packages that were made by the command that the README has."""
    command = readme[1][0].splitlines()[-1]
    own = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(["nice", "bash", "-c", command], cwd=TOP, env=own,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return TOP / re.search(r"# into (\S+)$", command)[1]


def packed(deb, folder):
    """The files of a package in a folder, by their names there."""
    archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        names = {member.name for member in tar if not member.isdir()}
    return {name.partition(folder)[2] for name in names if name.startswith(f"./{folder}")}


@pytest.fixture(scope="module")
def tracked():
    if not (TOP / ".git").exists():
        pytest.skip("this tree has no repository")
    listed = subprocess.run(["git", "-C", TOP, "ls-files"], check=True, capture_output=True,
                            text=True).stdout.splitlines()  # fmt: skip
    return {name for name in listed if (TOP / name).exists()}


def installed(package, names):
    """Those of the names that the package is to have, by debian/PACKAGE.install."""
    lines = (TOP / f"debian/{package}.install").read_text().splitlines()
    patterns = "|".join(line.split()[0].replace(".", "\\.").replace("*", "[^/]*") for line in lines)
    return {name for name in names if re.fullmatch(f"(?:{patterns})(?:/.*)?", name)}


def test_there_are_the_packages_that_control_names(out):
    made = [file.name.rpartition("_")[0] for file in out.glob("*.deb")]
    wanted = [f"{name}_{VERSION}" for name in re.findall(r"^Package: (\S+)", CONTROL, re.M)]
    assert sorted(made) == sorted(wanted)


def test_the_modules_source_is_what_git_has(out, tracked):
    made = packed(out / f"tcon-dkms_{VERSION}_all.deb", f"usr/src/tcon-{VERSION}/")
    assert made == installed("tcon-dkms", tracked) | {"dkms.conf"}


def test_the_lab_is_what_git_has(out, tracked):
    assert packed(out / f"tcon-lab_{VERSION}_all.deb", "usr/share/tcon-lab/") == installed(
        "tcon-lab", tracked
    )
