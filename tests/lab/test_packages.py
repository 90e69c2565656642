# SPDX-License-Identifier: GPL-2.0-only
"""What debian/ repeats of the tree is what the tree says."""

import contextlib
import os
import re
import select
import shutil
import subprocess
from pathlib import Path

import pytest
from steps import steps

TOP = Path(__file__).parents[2]


def test_the_packages_version_is_the_modules():
    changelog = (TOP / "debian/changelog").read_text()
    version = re.match(r"tcon \((\S+)\)", changelog)[1]
    header = (TOP / "datapath/netlink.h").read_text()
    assert re.search(r'#define TCON_VERSION\s+"(.*)"', header)[1] == version


def test_dkms_builds_each_module():
    modules = set(re.findall(r"\b(tcon\w*)\.o", (TOP / "Kbuild").read_text()))
    listed = re.search(
        r"^BUILT_MODULE_NAME=\((.*?)\)", (TOP / "debian/tcon-dkms.dkms").read_text(), re.M | re.S
    )[1].split()
    assert set(listed) == modules
    assert len(listed) == len(set(listed))


def test_dkms_has_every_folder_that_kbuild_names():
    kbuild = (TOP / "Kbuild").read_text()
    installed = (TOP / "debian/tcon-dkms.install").read_text()
    for folder in set(re.findall(r"\b(datapath/\w+)/", kbuild)) | {"datapath/base"}:
        assert re.search(rf"^{folder}\s", installed, re.M), folder


def test_the_lab_depends_on_what_install_deps_installs():
    script = (TOP / "tools/install-deps").read_text()
    wanted = re.search(r"^lab=\((.*?)\)", script, re.M | re.S)[1]
    wanted = set(re.sub(r"#.*", "", wanted).split())
    package = (TOP / "debian/control").read_text().partition("Package: tcon-lab")[2]
    depends = re.search(r"^Depends: (.*?)^\S", package, re.M | re.S)[1]
    named = {word.strip() for word in depends.split(",")} - {"${misc:Depends}"}
    assert named == wanted - {"util-linux"}  # essential: nothing may name it


def test_the_readmes_steps_are_where_they_are_tested():
    """By tests/deb, on a host that boots."""
    found = steps()
    assert {number: len(blocks) for number, blocks in found.items()} == {
        1: 2, 2: 1, 3: 1, 4: 2, 5: 0, 6: 1
    }  # fmt: skip
    assert found[1][1].startswith("apt-get install")
    assert [line.split()[0] for line in found[6][0].splitlines()] == [
        "ovs-appctl", "rmmod", "apt-get"
    ]  # fmt: skip


def test_services_wait_for_what_is_not_there_yet():
    """systemd starts a service five times in ten seconds, and then never again: a bridge, a module
    or an address may come later than that.
    """
    for name in ("tcon-exporter", "tcon-monitor@", "tcon-switchd"):
        unit = (TOP / f"debian/tcon-switch.{name}.service").read_text()
        assert "Restart=on-failure\n" in unit
        assert int(re.search(r"^RestartSec=(\d+)$", unit, re.M)[1]) * 4 > 10, name


@pytest.mark.skipif(not shutil.which("dh_installsystemd"), reason="debhelper is not installed")
def test_an_upgrade_leaves_no_service_stopped(tmp_path):
    """What runs goes on, as the new version; what does not is not started."""
    shutil.copytree(TOP / "debian", tmp_path / "debian")
    subprocess.run(
        ["make", "-s", "-f", "debian/rules", "override_dh_installsystemd"],
        cwd=tmp_path, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    made = tmp_path / "debian/.debhelper/generated/tcon-switch"
    stops = (made / "preinst.service").read_text() if (made / "preinst.service").exists() else ""
    assert "stop" not in stops
    after = (made / "postinst.service").read_text()
    assert "deb-systemd-invoke $_dh_action 'tcon-switchd.service'" in after
    assert "deb-systemd-invoke try-restart 'tcon-exporter.service'" in after
    after = (TOP / "debian/tcon-switch.postinst").read_text()  # debhelper knows no instances
    assert re.search(r"#DEBHELPER#\n(.*\n)*.*try-restart 'tcon-monitor@\*\.service'", after)


def removed(folder, *, database):
    """What the removal of tcon-switch calls, in order: on a host without systemd's programs, and
    with a daemon that takes commands where it has a database.
    """
    called, pid = folder / "called", folder / "pid"
    for program, does in (
        ("deb-systemd-invoke", "true"),
        ("tcon-switchd", f"sleep 300 >&- 2>&- & echo $! >{pid}"),
        ("ovs-appctl", f"kill $(cat {pid}) && rm {pid}" if database else "false"),
    ):
        fake = folder / program
        fake.write_text(f'#!/bin/sh\necho "{program} $*" >>{called}\n{does}\n')
        fake.chmod(0o755)
    script = (TOP / "debian/tcon-switch.prerm").read_text().replace("/run/systemd", str(folder))
    script = script.replace("/run/openvswitch/tcon-switchd.pid", str(pid))
    (folder / "system").mkdir()
    for action in ("upgrade", "remove"):
        assert not called.exists(), "nothing is stopped"
        command = ["/bin/sh", "-c", script, "prerm", action]
        subprocess.run(command, env={"PATH": f"{folder}:/bin"}, check=True)
    return called.read_text().splitlines()


@pytest.mark.parametrize("database", [True, False])
def test_a_removal_ends_the_daemon_last(tmp_path, database):
    """The monitors' rules are taken back by it; it ends, too, where it takes no command."""
    assert removed(tmp_path, database=database) == [
        "deb-systemd-invoke stop tcon-exporter.service tcon-monitor@*.service",
        # One that was stopped before has left its rules in tcon.ko.
        "tcon-switchd --pidfile --detach -vconsole:off",
        "ovs-appctl --timeout=10 -t tcon-switchd exit --cleanup",
    ]
    if not database:
        ended((tmp_path / "pid").read_text())


def ended(pid):
    """Wait for a process; a minute is more than a signal takes."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(int(pid))
        assert select.select([descriptor], [], [], 60)[0], "it runs on"
        os.close(descriptor)


def test_packages_replace_only_packages(tmp_path):
    (tmp_path / "mine").touch()
    for words, complaint in (
        ((), "name the folder for the packages, and nothing else"),
        (("",), "name the folder for the packages, and nothing else"),
        (("a", "b"), "name the folder for the packages, and nothing else"),
        ((tmp_path,), f"{tmp_path} has something else than packages that were made here"),
    ):
        done = subprocess.run([TOP / "tools/make-deb", *words], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (1, f"make-deb: {complaint}\n")
    assert (tmp_path / "mine").exists()
