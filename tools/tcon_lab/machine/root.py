# SPDX-License-Identifier: GPL-2.0-only
"""The VM's kernel and root file system, made without root privileges.

Two layers, both uncompressed cpio archives that the kernel unpacks into RAM:

* the base: Debian packages (apt resolves their dependencies against an empty
  package database, downloads only) without documentation, and the modules of
  the distribution's kernel that the lab needs.  Cached; its key is what it is
  made from.
* the overlay, made for each boot: TCon's modules, the patched ovs-vswitchd,
  the probe, the lab's own Python code and the job to do.

The kernel is the vmlinux taken out of the package's bzImage.
"""

from __future__ import annotations

import json
import lzma
import os
import platform
import py_compile
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import BinaryIO

from ..errors import LabError
from .cache import cache_dir, digest, locked, note_use, unfinished
from .cpio import CpioWriter
from .cpuid import without_cpuid
from .suite import Archive, Suite

Progress = Callable[[str], None]

PACKAGES = (
    "bash",
    "coreutils",
    "debianutils",
    "diffutils",
    "ethtool",
    "findutils",
    "grep",
    "hostname",
    "iperf3",
    "iproute2",
    "nftables",
    "iputils-ping",
    "kmod",
    "mininet",
    "mount",
    "ncurses-base",
    "openvswitch-switch",
    "procps",
    "python3-minimal",
    "python3-pytest",
    "sed",
    "tcpdump",
    "util-linux",
)

# In the dependency closure, but of no use in the VM.
EXCLUDED_PACKAGES = (
    "adduser",
    "base-files",
    "base-passwd",
    "cgroup-tools",
    "cpio",
    "debconf",
    "dpkg",
    "e2fsprogs",
    "gcc-12-base",
    "inetutils-telnet",
    "init-system-helpers",
    "initramfs-tools",
    "initramfs-tools-core",
    "iperf",
    "klibc-utils",
    "libdb5.3",
    "libfile-find-rule-perl",
    "libgdbm-compat4",
    "libgdbm6",
    "libklibc",
    "libnumber-compare-perl",
    "libpam-modules",
    "libpam-modules-bin",
    "libperl5.36",
    "libsemanage-common",
    "libsemanage2",
    "libsepol2",
    "libtext-glob-perl",
    "linux-base",
    "logsave",
    "media-types",
    "openssl",
    "passwd",
    "perl",
    "perl-base",
    "perl-modules-5.36",
    "python3-netifaces",
    "python3-openvswitch",
    "python3-pkg-resources",
    "python3-sortedcontainers",
    "socat",
    "systemd",
    "tar",
    "telnet",
    "udev",
    "usrmerge",
    "util-linux-extra",
    "uuid-runtime",
)

# The same of other suites than Debian 12, as patterns.
OTHER_EXCLUDED_PACKAGES = ("gcc-*-base", "libperl5.*", "perl-modules-*")

# Path prefixes (merged /usr) that are left out.
EXCLUDED_PATHS = (
    "etc/",
    "usr/include/",
    "usr/lib/debug/",
    "usr/lib/python3/dist-packages/mininet/examples/",
    "usr/lib/systemd/",
    "usr/lib/udev/",
    "usr/lib/x86_64-linux-gnu/gconv/",
    "usr/lib/x86_64-linux-gnu/perl",
    "usr/share/bash-completion/",
    "usr/share/bug/",
    "usr/share/debhelper/",
    "usr/share/doc/",
    "usr/share/gcc/",
    "usr/share/gdb/",
    "usr/share/doc-base/",
    "usr/share/info/",
    "usr/share/initramfs-tools/",
    "usr/share/lintian/",
    "usr/share/locale/",
    "usr/share/man/",
    "usr/share/perl5/",
    "usr/share/pixmaps/",
    "usr/share/python3/",
    "usr/share/zsh/",
    "var/",
)

# The same of Python's own folder.
EXCLUDED_PYTHON = (
    "ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo",
)  # fmt: skip

# Files out of etc/ that are kept: iproute2 wants its tables, tools the names.
KEPT_PATHS = ("etc/iproute2/", "etc/protocols", "etc/services", "etc/ethertypes")

# Kernel modules, with what modules.dep says they need.
KERNEL_MODULES = (
    "8021q", "act_csum", "act_gact", "act_mirred", "act_pedit", "act_police", "act_skbedit",
    "act_vlan", "br_netfilter", "bridge", "cls_basic", "cls_bpf", "cls_flower", "cls_fw",
    "cls_matchall", "cls_u32", "crc32c_generic", "dummy", "geneve", "ifb", "inet_diag",
    "ip6_udp_tunnel", "ip_gre", "macvlan", "macvtap", "nf_conncount", "nf_conntrack",
    "nf_conntrack_netlink", "nf_nat", "nf_tables", "nfnetlink", "nfnetlink_log",
    "nft_chain_nat", "nft_ct", "nft_masq", "nft_nat", "nlmon", "nsh", "openvswitch", "pktgen",
    "sch_cake", "sch_codel", "sch_etf", "sch_fq", "sch_fq_codel", "sch_htb", "sch_ingress",
    "sch_netem", "sch_pie", "sch_plug", "sch_prio", "sch_red", "sch_tbf", "tap",
    "tcp_bbr", "tcp_bic", "tcp_cdg", "tcp_dctcp",
    "tcp_diag", "tcp_highspeed", "tcp_htcp", "tcp_hybla", "tcp_illinois", "tcp_lp", "tcp_nv",
    "tcp_scalable", "tcp_vegas", "tcp_veno", "tcp_westwood", "tcp_yeah", "tun", "udp_tunnel",
    "unix_diag", "veth", "virtio_net", "virtio_pci", "vport_geneve", "vport_gre", "vport_vxlan",
    "vxlan",
)  # fmt: skip

# The part of this package that runs in the VM.  No more: a run's numbers depend
# on each byte of its root.
GUEST_CODE = (
    "__init__.py", "aqm.py", "channel.py", "duplex.py", "errors.py", "records.py", "guest",
    "kernel_params.py", "machines.py", "ovs.py", "placement.py", "qdisc.py", "runner.py",
    "scenario.py", "topo.py", "transfer.py",
)  # fmt: skip

# Modules that some kernels do without, or have built in without a name.
MISSING_MODULES = {"crc32c_generic", "nfnetlink"}

# Where in the kernel package those may be.
_MODULE_DIRS = ("net", "lib", "crypto", "drivers/net", "drivers/virtio", "arch/x86/crypto")

#: Where the VM's shared libraries are.
LIBRARIES = "usr/lib/x86_64-linux-gnu"

_MERGED_USR = ("bin", "lib", "lib64", "sbin")

_CONFIG_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/hostname": "tcon-lab\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


def lab_kernel_release() -> str:
    """Release of the kernel to boot: the newest whose headers are installed.

    Raises LabError where there is none.
    """
    if release := os.environ.get("TCON_LAB_KERNEL"):
        return release
    prefix, suffix = "linux-headers-6.1.", "-amd64"
    found = [
        p.name.removeprefix("linux-headers-")
        for p in Path("/usr/src").glob(f"{prefix}*{suffix}")
        if (p / "Makefile").exists()
    ]
    if not found:
        raise LabError(
            "no kernel headers found: install the package linux-headers-amd64 "
            "or name a release in TCON_LAB_KERNEL"
        )
    return max(found, key=lambda release: [int(n) for n in re.findall(r"\d+", release)])


@dataclass(frozen=True)
class Kernel:
    """A kernel that is not the distribution's.

    ``hides_cpu``: it is a program that answers CPUID for those that it runs.
    """

    release: str
    image: Path
    modules: Path  # lib/modules/RELEASE
    hides_cpu: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class BaseRoot:
    """A kernel and the base layer that fits it, as files in the cache.

    ``on_host_cpu``: programs must not ask the CPU, which is the host's, but the kernel.
    """

    release: str
    vmlinux: Path
    cpio: Path
    modules: Path  # lib/modules/RELEASE, unpacked, for depmod
    versions: dict[str, str]  # package -> version
    on_host_cpu: bool


@dataclass
class Overlay:
    """One boot's additions to the base layer."""

    job: dict
    modules: list[Path] = field(default_factory=list)  # .ko files of ours
    files: list[tuple[Path, str]] = field(default_factory=list)  # source, name in the VM
    vswitchd: Path | None = None


# --- packages ---------------------------------------------------------------


def _apt_options(state: Path, suite: Suite | Archive | None) -> list[str]:
    (state / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    options = {
        "Dir::State::status": state / "status",
        "Dir::Cache::archives": state / "archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Dir::Log": state,
        "Debug::NoLocking": "1",
        "APT::Install-Recommends": "0",
        "APT::Sandbox::User": "",
    }
    if suite:
        options |= suite.apt_options()
    return [f"-o{key}={value}" for key, value in options.items()]


def apt(state: Path, suite: Suite | Archive | None, *args: str) -> str:
    """Run apt-get in the archive folder (where `download` leaves its files)."""
    command = ["apt-get", "-qq", "-y", *_apt_options(state, suite), *args]
    try:
        run = subprocess.run(
            command, cwd=state / "archives", capture_output=True, text=True, check=False
        )
    except FileNotFoundError as missing:
        raise LabError("apt-get not found: the lab's root is made of Debian packages") from missing
    if run.returncode:
        reason = [line for line in run.stderr.splitlines() if line.startswith("E:")]
        raise LabError(f"apt-get {args[0]} failed: {' '.join(reason) or run.stderr.strip()}")
    return run.stdout


def _is_left_out(package: str, suite: Suite | None) -> bool:
    patterns = OTHER_EXCLUDED_PACKAGES if suite else ()
    return package in EXCLUDED_PACKAGES or any(fnmatch(package, p) for p in patterns)


def _debs(state: Path, release: str, suite: Suite | None, progress: Progress) -> list[Path]:
    """Download the closure of PACKAGES and the kernel; paths of the .debs.

    A resolved list is kept, so that the root changes only when the
    wanted list does (or the cache is removed).
    """
    wanted = [*PACKAGES, f"linux-image-{release}"]
    key = digest(*wanted, *EXCLUDED_PACKAGES, *(OTHER_EXCLUDED_PACKAGES if suite else ()))
    listing = state / f"packages-{key}.json"
    if listing.exists():
        debs = [state / "archives" / name for name in json.loads(listing.read_text())]
        if all(deb.exists() for deb in debs):
            return debs
    progress("downloading the lab's Debian packages")
    if suite:
        apt(state, suite, "update")
    said = apt(state, suite, "-s", "install", *wanted)
    plan = re.findall(r"^Inst (\S+) \((\S+) .*\[(\S+)\]\)", said, re.M)
    plan = [entry for entry in plan if not _is_left_out(entry[0], suite)]
    apt(state, suite, "download", *(f"{name}={version}" for name, version, _ in plan))
    names = [f"{name}_{version.replace(':', '%3a')}_{arch}.deb" for name, version, arch in plan]
    have = [state / "archives" / name for name in names]
    for deb in have:
        if not deb.exists():
            raise LabError(f"apt-get did not download {deb.name}")
    complete = listing.with_suffix(".new")
    complete.write_text(json.dumps(names, indent=1))
    complete.rename(listing)
    return have


def deb_members(deb: Path) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Members of a package's data with their contents, names without "./"."""
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as dpkg,
        tarfile.open(fileobj=dpkg.stdout, mode="r|") as tar,
    ):
        for member in tar:
            source = tar.extractfile(member) if member.isreg() else None
            member.name = member.name.removeprefix("./").rstrip("/")
            yield member, source.read() if source else b""
    if dpkg.returncode:
        raise LabError(f"dpkg-deb cannot read {deb}")


# --- kernel -----------------------------------------------------------------


def extract_vmlinux(image: bytes) -> bytes:
    """The uncompressed kernel inside a bzImage.

    The boot protocol's setup header says where the payload is
    (Documentation/x86/boot.rst: setup_sects, payload_offset, payload_length).
    """
    if image[0x202:0x206] != b"HdrS":
        raise LabError("the kernel image has no x86 setup header")
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = image[start : start + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        run = subprocess.run(["zstd", "-dc"], input=payload, capture_output=True, check=False)
        if run.stdout.startswith(b"\x7fELF"):  # zstd complains about the size behind the frame
            return run.stdout
    raise LabError("the kernel image is compressed in a way that the lab does not know")


def _unpack_kernel(debs: list[Path], release: str, dest: Path) -> None:
    """Write vmlinux and the candidate modules below dest, modules uncompressed."""
    base = f"lib/modules/{release}"
    wanted = tuple(f"{base}/kernel/{sub}/" for sub in _MODULE_DIRS)
    for member, data in (entry for deb in debs for entry in deb_members(deb)):
        name = member.name.removeprefix("usr/")
        if name in (f"boot/vmlinuz-{release}", f"{base}/vmlinuz"):
            (dest / "vmlinux").write_bytes(extract_vmlinux(data))
        elif member.isreg() and (name.startswith(wanted) or name.startswith(f"{base}/modules.")):
            target = dest / name.removesuffix(".xz")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(lzma.decompress(data) if name.endswith(".ko.xz") else data)
    if not (dest / "vmlinux").exists():
        raise LabError(f"{', '.join(deb.name for deb in debs)}: no kernel for {release}")


def _run_tool(name: str, package: str, *arguments: str | Path) -> None:
    """Run a program of /sbin, which users may not have in their PATH.  Raises LabError."""
    program = shutil.which(name) or f"/sbin/{name}"
    try:
        run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise LabError(f"{name} not found: install the package {package}") from missing
    if run.returncode:
        raise LabError(f"{name} failed: {run.stderr.strip()}")


def run_depmod(base: Path, release: str) -> None:
    """Index the modules of base/lib/modules/RELEASE.  Raises LabError."""
    _run_tool("depmod", "kmod", "-b", base, release)


def _prune_modules(base: Path, release: str) -> None:
    """Keep KERNEL_MODULES and their dependencies."""
    top = base / "lib/modules" / release
    deps: dict[str, list[str]] = {}
    by_name: dict[str, str] = {}
    for line in (top / "modules.dep").read_text().splitlines():
        path, _, needs = line.partition(":")
        deps[path] = needs.split()
        by_name[Path(path).name.removesuffix(".ko").replace("-", "_")] = path
    builtin = (top / "modules.builtin").read_text()
    keep: set[str] = set()
    for name in KERNEL_MODULES:
        path = by_name.get(name.replace("-", "_"))
        if path:
            keep.update([path, *deps[path]])
        elif (
            f"/{name}.ko" not in builtin
            and not name.startswith("vport_")
            and name not in MISSING_MODULES
        ):
            raise LabError(f"kernel {release} has no module {name}")
    for module in top.rglob("*.ko"):
        if str(module.relative_to(top)) not in keep:
            module.unlink()


# --- base layer -------------------------------------------------------------


def _merged(name: str) -> str:
    top = name.partition("/")[0]
    return f"usr/{name}" if top in _MERGED_USR else name


def _left_out(name: str) -> bool:
    if python := re.match(r"usr/lib/python3\.\d+/(\w+)/", name):
        return python[1] in EXCLUDED_PYTHON
    return name.startswith(EXCLUDED_PATHS) and not name.startswith(KEPT_PATHS)


def _python_of(debs: list[Path]) -> str:
    """The version of the root's Python, as in "3.11".  Raises LabError."""
    for deb in debs:
        if found := re.match(r"python(3\.\d+)-minimal_", deb.name):
            return found[1]
    raise LabError("the lab's root has no Python")


def _compiled(source: bytes, name: str, scratch: Path) -> bytes | None:
    """Byte code of a Python file, trusted without a look at the source."""
    path, result = scratch / "module.py", scratch / "module.pyc"
    path.write_bytes(source)
    try:
        py_compile.compile(
            str(path),
            str(result),
            dfile=f"/{name}",
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    except py_compile.PyCompileError:
        return None
    return result.read_bytes()


def _writer(stream: BinaryIO, on_host_cpu: bool) -> CpioWriter:
    return CpioWriter(stream, without_cpuid) if on_host_cpu else CpioWriter(stream)


def _add_deb(out: CpioWriter, deb: Path, scratch: Path | None) -> None:
    """Copy a package's useful files; with scratch, compile its Python."""
    for member, data in deb_members(deb):
        name = _merged(member.name)
        if not name or name in _MERGED_USR or _left_out(name) or member.isdir():
            continue
        if member.issym():
            out.symlink(name, member.linkname)
        elif member.islnk():
            out.symlink(name, "/" + _merged(member.linkname.removeprefix("./")))
        elif member.isreg():
            out.file(name, data, member.mode & 0o777)
            if scratch and name.endswith(".py"):
                code = _compiled(data, name, scratch)
                parent, _, leaf = name.rpartition("/")
                if code:
                    tag = f"{leaf.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc"
                    out.file(f"{parent}/__pycache__/{tag}", code)


def _add_loader_cache(out: CpioWriter, debs: list[Path], scratch: Path) -> None:
    """/etc/ld.so.cache: where the loader finds shared libraries.

    Without it the loader looks into folders for the CPU's features first
    (glibc-hwcaps/x86-64-v4, ...).  On User-Mode Linux that CPU is the host's, and each
    system call counts: a run's numbers would depend on it.
    """
    top = scratch / "root"
    folder = top / LIBRARIES
    folder.mkdir(parents=True)
    for name in _MERGED_USR:
        (top / name).symlink_to(f"usr/{name}")
    for deb in debs:
        for member, data in deb_members(deb):
            home, _, leaf = _merged(member.name).rpartition("/")
            if home != LIBRARIES or ".so" not in leaf:
                continue
            if member.issym():
                (folder / leaf).symlink_to(member.linkname)
            elif member.isreg():
                (folder / leaf).write_bytes(data)
    (top / "etc").mkdir()
    (top / "etc/ld.so.conf").write_text(f"/{LIBRARIES}\n")
    _run_tool("ldconfig", "libc-bin", "-X", "-r", top)
    out.file("etc/ld.so.cache", (top / "etc/ld.so.cache").read_bytes())


def _asks_kernel(kernel: Kernel | None) -> bool:
    return kernel is not None and kernel.hides_cpu


def _kernel_modules(debs: list[Path], kernel: Kernel | None, release: str, dest: Path) -> None:
    """Put the kernel's modules below dest, and the distribution's vmlinux."""
    shutil.rmtree(dest / "lib", ignore_errors=True)  # of a process that was killed here
    if kernel:
        shutil.copytree(kernel.modules, dest / "lib/modules" / release)
    else:
        _unpack_kernel(debs, release, dest)
        run_depmod(dest, release)
        _prune_modules(dest, release)
    run_depmod(dest, release)


def _build_base(
    debs: list[Path], kernel: Kernel | None, release: str, dest: Path, progress: Progress
) -> None:
    kernel_debs = [deb for deb in debs if deb.name.startswith("linux-")]
    others = [deb for deb in debs if deb not in kernel_debs]
    progress(f"unpacking kernel {release}")
    _kernel_modules(kernel_debs, kernel, release, dest)
    progress("packing the lab's root file system")
    python = _python_of(others)
    same_python = python == ".".join(platform.python_version_tuple()[:2])
    with (dest / "base.cpio").open("wb") as stream, tempfile.TemporaryDirectory() as scratch:
        out = _writer(stream, _asks_kernel(kernel))
        for name in _MERGED_USR:
            out.directory(f"usr/{name}")
            out.symlink(name, f"usr/{name}")
        for name in ("dev", "etc", "proc", "root", "run", "sys", "tmp", "var/log", "var/run"):
            out.directory(name)
        out.device("dev/console", 5, 1)
        for deb in others:
            _add_deb(out, deb, Path(scratch) if same_python else None)
        _add_loader_cache(out, others, Path(scratch))
        for name, text in _CONFIG_FILES.items():
            out.file(name, text.encode())
        out.tree(dest / "lib/modules" / release, f"usr/lib/modules/{release}")
        out.symlink("usr/bin/sh", "bash")
        out.symlink("usr/bin/which", "which.debianutils")
        out.symlink("usr/bin/python3", f"python{python}")
        out.symlink("usr/sbin/ovs-vswitchd", "../lib/openvswitch-switch/ovs-vswitchd")
        out.close()


def base_root(
    release: str, progress: Progress, kernel: Kernel | None = None, suite: Suite | None = None
) -> BaseRoot:
    """The kernel and base layer for a release, from the cache or made now.

    ``release`` is the distribution's; ``kernel`` replaces its kernel.  ``suite``: not the host's.
    """
    state = suite.lab if suite else cache_dir() / "lab"
    with locked(state / "lock"):
        return _base_root(state, release, progress, kernel, suite)


def _base_root(
    state: Path, release: str, progress: Progress, kernel: Kernel | None, suite: Suite | None
) -> BaseRoot:
    debs = _debs(state, release, suite, progress)
    here = Path(__file__)
    code = [here.with_name(name).read_bytes() for name in (here.name, "cpio.py", "cpuid.py")]
    made_from = [*code, *(deb.name for deb in debs)]
    if kernel:
        release = kernel.release
        made_from.append(str(kernel.image.parent))  # its key
    dest = state / f"root-{release}-{digest(*made_from)}"
    if not dest.exists():
        with unfinished(dest) as partial:
            _build_base(debs, kernel, release, partial, progress)
    note_use(dest, "root-*")
    versions = {}
    for deb in debs:
        name, version, _ = deb.name.rsplit("_", 2)
        versions[name] = version.replace("%3a", ":")
    image = kernel.image if kernel else dest / "vmlinux"
    modules = dest / "lib/modules" / release
    return BaseRoot(release, image, dest / "base.cpio", modules, versions, _asks_kernel(kernel))


# --- overlay ----------------------------------------------------------------


def _add_modules(out: CpioWriter, base: BaseRoot, modules: list[Path]) -> None:
    """Our modules go to updates/, which depmod prefers to the stock ones."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch) / "lib/modules" / base.release
        shutil.copytree(base.modules, top)
        (top / "updates").mkdir()
        for module in modules:
            shutil.copy2(module, top / "updates")
        run_depmod(Path(scratch), base.release)
        name = f"usr/lib/modules/{base.release}"
        for index in sorted(top.glob("modules.*")):
            out.file(f"{name}/{index.name}", index.read_bytes())
        out.tree(top / "updates", f"{name}/updates")


def guest_code() -> list[Path]:
    """The files of this package that are in each root."""
    here = Path(__file__).parents[1]
    found = [file for name in GUEST_CODE for file in [here / name, *(here / name).rglob("*")]]
    return sorted(file for file in found if file.is_file() and file.suffix != ".pyc")


def write_initrd(base: BaseRoot, overlay: Overlay, dest: Path) -> None:
    """Write base layer and overlay, one after the other, to dest.

    Raises LabError where a file of the overlay does not exist.
    """
    for source in [*overlay.modules, *(s for s, _ in overlay.files)]:
        if not source.exists():
            raise LabError(f"{source} does not exist")
    here = Path(__file__).parents[1]
    with dest.open("wb") as stream:
        with base.cpio.open("rb") as layer:
            shutil.copyfileobj(layer, stream)
        out = _writer(stream, base.on_host_cpu)
        out.file("init", (here / "guest" / "init").read_bytes(), 0o755)
        for module in GUEST_CODE:
            out.tree(here / module, f"lab/tcon_lab/{module}")
        out.file("lab/job.json", json.dumps(overlay.job).encode())
        if overlay.modules:
            _add_modules(out, base, overlay.modules)
        if overlay.vswitchd:
            out.file("usr/sbin/ovs-vswitchd", overlay.vswitchd.read_bytes(), 0o755)
        for source, name in overlay.files:
            out.tree(source, name.strip("/"))
        out.close()
