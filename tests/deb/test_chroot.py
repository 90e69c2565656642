# SPDX-License-Identifier: GPL-2.0-only
"""The packages in a fresh chroot, at the speed of this machine: as root, nothing is started.

The tests are one story for each suite, in this order.
"""

import time

import pytest
from chroot import Chroot

SNAPSHOT = """
find / -xdev \\( -path /proc -o -path /tmp -o -path /run -o -path /var/log -o -path /var/cache \\
    -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /srv \\) \\
    -prune -o \\
    ! -type d ! -name 'modules.*' ! -path /etc/ld.so.cache \\
    -printf '%p %y %m %u %s %T@ %l\\n' | sort >/tmp/$name
dpkg-divert --list | sort >>/tmp/$name
"""
PACKAGES = "dpkg-query -W -f '${Package}\\n' | sort"


@pytest.fixture(scope="module")
def chroot(tmp_path_factory, suite, packages):
    made = Chroot(tmp_path_factory.mktemp(suite), suite, list(packages.values()))
    yield made
    made.close()


def test_modules_are_built_and_signed(chroot, suite, readme):
    chroot.run(f"name=before{SNAPSHOT}{PACKAGES} >/tmp/packages")
    start = time.monotonic()
    said = chroot.install(readme[1][1])
    print(f"{suite}: installed in {time.monotonic() - start:.0f} s, of which CPU time"
          f" {said.splitlines()[-1]}")  # fmt: skip
    (kernel,) = chroot.run("ls /lib/modules").split()
    for module in ("tcon", "tcon_bbr", "tcon_linux"):
        path = chroot.run(f"modinfo -k {kernel} -n {module}").strip()
        assert path.startswith(f"/lib/modules/{kernel}/updates/dkms/")
        assert chroot.run(f"modinfo -F signer {path}").strip(), "DKMS's key"


def test_programs_find_their_libraries(chroot):
    chroot.run("cd /srv/tcon; apt-get install ./tcon-top_*.deb")
    for program in ("tcon-top", "tcon-exporter", "tcon-monitor", "tcon-switchd"):
        assert "usage" in chroot.run(f"{program} --help").lower()
        page = chroot.run(f"zcat /usr/share/man/man8/{program}.8.gz")
        assert page.startswith(".")


def test_another_open_vswitch_is_diverted_too(chroot):
    own = "/usr/lib/tcon-switch/ovs-appctl"
    assert own in chroot.run("dpkg-divert --list tcon-switch")
    chroot.run("apt-get install /srv/next/openvswitch-*.deb")
    assert "next1" in chroot.run("dpkg-query -W openvswitch-switch")
    for script in (f"{own} --version", "ovs-appctl --version"):
        assert "Open vSwitch" in chroot.run(script)
    assert chroot.run("head -c 2 /usr/bin/ovs-appctl") == "#!"
    assert chroot.run("dpkg --verify openvswitch-common openvswitch-switch tcon-switch") == ""
    chroot.run("apt-get install --allow-downgrades /srv/now/openvswitch-*.deb")


def test_all_that_was_installed_is_removed(chroot):
    """Also what an operator has enabled."""
    chroot.run("systemctl enable tcon-exporter tcon-monitor@br0")
    chroot.run(f"apt-get purge $({PACKAGES} | comm -13 /tmp/packages -)")
    chroot.run(f"name=after{SNAPSHOT}")
    changed = chroot.run("diff /tmp/before /tmp/after || true")
    # DKMS keeps its key for the next module.
    assert [line for line in changed.splitlines() if line[0] in "<>" and "/mok." not in line] == []
