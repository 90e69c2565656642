# SPDX-License-Identifier: GPL-2.0-only
"""The packages in a fresh chroot, at the speed of this machine: as root, nothing is started.

The tests are one story, in this order.
"""

import subprocess
import time

import pytest

SNAPSHOT = """
find / -xdev \\( -path /proc -o -path /tmp -o -path /run -o -path /var/log -o -path /var/cache \\
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /srv \\) \\
    -prune -o \\
    ! -type d ! -name 'modules.*' -printf '%p %y %m %u %s %T@ %l\\n' | sort >/tmp/$name
dpkg-divert --list | sort >>/tmp/$name
"""

#: A chroot with the devices that programs expect, for as long as the script runs.
ENTER = """
mount -t proc proc $0/proc
mount -t tmpfs none $0/dev
mknod -m 666 $0/dev/null c 1 3
mknod -m 666 $0/dev/urandom c 1 9
ln -s /proc/self/fd $0/dev/fd
exec chroot $0 bash -ec "$1"
"""


@pytest.fixture(scope="module")
def chroot(tmp_path_factory, root, packages, another_ovs):
    """A function that runs a script there."""
    folder = tmp_path_factory.mktemp("chroot")
    tar = ["tar", "-xf", root, "-C", folder, "--exclude=./dev/*"]
    subprocess.run(tar, check=True)
    files = [packages["tcon-dkms"], packages["tcon-switch"], *another_ovs.values()]
    subprocess.run(["cp", *files, folder / "srv"], check=True)
    policy = folder / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)

    def run(script):
        done = subprocess.run(
            ["nice", "unshare", "--mount", "--pid", "--fork", "bash", "-ec", ENTER, folder, script],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    yield run
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def test_modules_are_built_and_signed(chroot):
    chroot("name=before" + SNAPSHOT)
    start = time.monotonic()
    said = chroot("apt-get install /srv/tcon-*.deb >/dev/null 2>&1; times")
    print(f"installed in {time.monotonic() - start:.0f} s; CPU: {said.splitlines()[-1]}")
    for kernel in chroot("ls /lib/modules").split():
        for module in ("tcon", "tcon_bbr", "tcon_linux"):
            path = chroot(f"modinfo -k {kernel} -n {module}").strip()
            assert path.startswith(f"/lib/modules/{kernel}/updates/dkms/")
            assert chroot(f"modinfo -F signer {path}").strip(), "DKMS's key"


def test_another_open_vswitch_is_diverted_too(chroot):
    own = "/usr/lib/tcon-switch/ovs-appctl"
    assert own in chroot("dpkg-divert --list tcon-switch")
    chroot("apt-get install /srv/openvswitch-*-next.deb")
    assert "next1" in chroot("dpkg-query -W openvswitch-switch")
    for script in (f"{own} --version", "ovs-appctl --version"):
        assert "Open vSwitch" in chroot(script)
    assert chroot("head -c 2 /usr/bin/ovs-appctl") == "#!"
    assert chroot("dpkg --verify openvswitch-common openvswitch-switch tcon-switch") == ""
    chroot("apt-get install --allow-downgrades /srv/next/openvswitch-*.deb")


def test_all_that_was_installed_is_removed(chroot):
    chroot("apt-get purge tcon-dkms tcon-switch")
    chroot("name=after" + SNAPSHOT)
    changed = chroot("diff /tmp/before /tmp/after || true")
    # DKMS keeps its key for the next module.
    assert [line for line in changed.splitlines() if line[0] in "<>" and "/mok." not in line] == []
