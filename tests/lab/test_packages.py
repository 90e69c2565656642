# SPDX-License-Identifier: GPL-2.0-only
"""debian/ repeats the tree's facts, and repeats them right."""

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


def test_the_packages_version_is_the_modules_and_the_daemons():
    changelog = (TOP / "debian/changelog").read_text()
    version = re.match(r"tcon \((\S+)\)", changelog)[1]
    for name in ("datapath/netlink.h", "userspace/vswitchd/tcon-command.h"):
        header = (TOP / name).read_text()
        assert re.search(r'#define TCON_VERSION\s+"(.*)"', header)[1] == version, name


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
    """tests/deb tests them, on a host that boots."""
    found = steps()
    assert {number: len(blocks) for number, blocks in found.items()} == {
        1: 2, 2: 1, 3: 1, 4: 2, 5: 0, 6: 1
    }  # fmt: skip
    assert found[1][1].startswith("apt-get install")
    assert [line.split()[0] for line in found[6][0].splitlines()] == [
        "ovs-appctl", "rmmod", "apt-get"
    ]  # fmt: skip


def test_the_readme_names_what_packages_are_built_with():
    """The page has it installed before `make check`."""
    control = (TOP / "debian/control").read_text()
    needed = re.search(r"^Build-Depends: (.*?)^\S", control, re.M | re.S)[1]
    needed = {word.split()[0] for word in needed.split(",")} - {"debhelper-compat"}
    needed = {word.replace("dh-sequence-", "dh-") for word in needed} | {"debhelper", "lintian"}
    command = steps()[1][0].replace("\\\n", "").splitlines()[0]
    _, _, named = command.partition("apt-get install --no-install-recommends ")
    assert set(named.split()) == needed | {"build-essential"}
    script = (TOP / "tools/install-deps").read_text()
    assert set(named.split()) <= set(re.findall(r"[\w.-]+", re.sub(r"#.*", "", script)))


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
    """A running service goes on, as the new version; a stopped one is not started."""
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


def test_the_flags_do_not_say_where_packages_are_built(tmp_path):
    """Open vSwitch would be built again for each folder."""
    said = set()
    for name in ("a", "b"):
        shutil.copytree(TOP / "debian", tmp_path / name / "debian")
        said.add(subprocess.run(
            ["make", "-s", "-f", "debian/rules", "--eval=flags: ; @echo $(CFLAGS)", "flags"],
            cwd=tmp_path / name, check=True, capture_output=True, text=True,
        ).stdout)  # fmt: skip
    assert len(said) == 1
    assert "-O2" in said.pop()


def removed(folder, *, database):
    """The calls at the removal of tcon-switch, in order: on a host without systemd's programs, and
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


def refused(*words):
    done = subprocess.run([TOP / "tools/make-deb", *words], capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr


def test_packages_replace_only_packages(tmp_path):
    (tmp_path / "mine").touch()
    for words in ((), ("",), ("a", "b")):
        assert refused(*words) == ("make-deb: name the folder for the packages, and nothing else\n")
    assert refused(tmp_path) == (
        f"make-deb: {tmp_path} has something else than packages that were made here: empty it,"
        " or name another\n"
    )
    assert (tmp_path / "mine").exists()


#: In place of the build: its packages are the list of files that it was given, and a file's text.
BUILD = """#!/bin/sh
find . -type f | LC_ALL=C sort >../tcon_1.changes
cp algorithms/tcon_a.c ../tcon-dkms_1_all.deb
"""


class Tree:
    """A small tree with tools/make-deb, whose tools are others."""

    def __init__(self, folder):
        self.top = folder / "tree"
        self.out = folder / "out"
        self._programs = folder / "bin"
        self._programs.mkdir()
        for program in ("dh", "dh_dkms", "lintian", "dpkg-checkbuilddeps"):
            self._program(program, "#!/bin/sh\n")
        self._program("dpkg-parsechangelog", "#!/bin/sh\necho 1\n")
        self._program("dpkg-buildpackage", BUILD)
        for name in ("algorithms/tcon_a.c", "debian/control", "tests/go.mod"):
            self.write(name, "first\n")
        (self.top / "tools").mkdir()
        shutil.copy(TOP / "tools/make-deb", self.top / "tools")

    def _program(self, name, text):
        (self._programs / name).write_text(text)
        (self._programs / name).chmod(0o755)

    def write(self, name, text=""):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words):
        subprocess.run(["git", "-C", self.top, *words], check=True, capture_output=True)

    def packed(self):
        """The files that packages are made of, without those that each tree here has."""
        path = f"{self._programs}:{os.environ['PATH']}"
        subprocess.run([self.top / "tools/make-deb", self.out], check=True, capture_output=True,
                       env=os.environ | {"PATH": path})  # fmt: skip
        listed = (self.out / "tcon_1.changes").read_text().split()
        return sorted(set(listed) - {"./debian/control", "./tools/make-deb"})


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


STRAY = (
    "algorithms/tcon_a.o", "algorithms/.tcon_a.o.cmd", "algorithms/tcon_a.mod", "tcon_a.ko",
    "algorithms/tcon_a.mod.c", "Module.symvers", "build/x", "tools/__pycache__/x.pyc",
)  # fmt: skip


def test_packages_are_of_what_git_has(tree):
    """As it is in the work tree."""
    tree.write("algorithms/gone.c")
    tree.git("init", "--quiet")
    tree.git("add", ".")
    (tree.top / "algorithms/gone.c").unlink()
    for name in (*STRAY, "algorithms/untracked.c"):
        tree.write(name)
    tree.write("algorithms/tcon_a.c", "second\n")
    assert tree.packed() == ["./algorithms/tcon_a.c", "./tests/go.mod"]
    assert (tree.out / "tcon-dkms_1_all.deb").read_text() == "second\n"


def test_packages_without_a_repository_are_of_what_is_not_built(tree):
    for name in STRAY:
        tree.write(name)
    assert tree.packed() == ["./algorithms/tcon_a.c", "./tests/go.mod"]


def test_a_repository_that_git_refuses_is_not_taken_for_none(tree):
    tree.write(".git", "gitdir: nowhere\n")
    with pytest.raises(subprocess.CalledProcessError):
        tree.packed()


def test_a_folder_with_a_log_is_not_removed(tree):
    """It may be of a build of something else."""
    tree.out.mkdir()
    (tree.out / "build.log").touch()
    (tree.out / "thesis.tex").touch()
    with pytest.raises(subprocess.CalledProcessError):
        tree.packed()
    assert sorted(file.name for file in tree.out.iterdir()) == ["build.log", "thesis.tex"]


def test_what_was_made_is_replaced_and_nothing_else(tree):
    tree.packed()
    (tree.out / "tcon-dkms_1_all.deb").rename(tree.out / "kept.deb")
    (tree.out / "notes").mkdir()
    (tree.out / "notes/mine").touch()
    tree.write("algorithms/tcon_b.c")
    assert "./algorithms/tcon_b.c" in tree.packed()
    assert sorted(file.name for file in tree.out.iterdir()) == [
        ".make-deb", "build.log", "kept.deb", "notes", "tcon-dkms_1_all.deb", "tcon_1.changes"
    ]  # fmt: skip
    assert (tree.out / "notes/mine").exists()
    # A package that is not made any more is not left.
    (tree.out / ".make-deb").open("a").write("tcon-old_1_all.deb\n")
    (tree.out / "tcon-old_1_all.deb").touch()
    tree.packed()
    assert not (tree.out / "tcon-old_1_all.deb").exists()
