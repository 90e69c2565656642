# SPDX-License-Identifier: GPL-2.0-only
"""The User-Mode Linux kernels of the lab, built once and kept in the cache.

Debian's own User-Mode Linux has no time travel, so it is built from the same
source package as the distribution's kernel; those that look for faults from the
newest that Debian has.  Each is configured by some of
uml/*.config.  The cache keeps the kernel, its modules, and the files that building modules
for it needs (headers, scripts, symbols, and the source of openvswitch.ko).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import LabError
from .cache import cache_dir, digest, locked, unfinished
from .kernel_source import Source, host_source, newest_source
from .root import Kernel, Progress

_FRAGMENTS = Path(__file__).parent / "uml"
#: Folders for building a module, beside the files at the tree's top, and scripts that tests run.
_KEPT_FOLDERS = (
    "arch/um", "arch/x86", "include", "net/openvswitch", "scripts",
    "tools/testing/selftests/net/packetdrill",
)  # fmt: skip
_KBUILD_FILES = ("Kconfig", "Makefile")
_SOURCE_SUFFIXES = (".c", ".S", ".o", ".a", ".ko", ".mod", ".cmd")
#: The distribution's ticks a second.
_HZ = 250
#: Version of the steps below: a change of theirs that changes the kernel raises it.
_RECIPE = "1"
#: Built twice, a kernel is the same, and so are the numbers that it gives.
_BUILD_ID = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "tcon",
    "KBUILD_BUILD_HOST": "lab",
}


@dataclass(frozen=True)
class Recipe:
    """How a kernel is made.

    ``fragments``: names of uml/*.config, a later one wins.  ``patch``: a file in uml/.
    ``arguments``: of make, for the kernel and not for modules that are built later.
    ``newest``: of the newest source, not of the distribution's.  ``smp``: with several CPUs.
    ``boot``: words of its command line.  ``hz``: ticks a second; TCP's timers count ticks.
    """

    name: str
    fragments: tuple[str, ...]
    patch: str = ""
    arguments: tuple[str, ...] = ()
    newest: bool = False
    smp: bool = False
    boot: tuple[str, ...] = ()
    hz: int = _HZ


FAST = Recipe("fast", ("kernel",), boot=("iomem=mmapper,channel",))
#: hostfs takes an absolute name only: this one is the same for all folders.  Unless it checks
#: itself, SLUB keeps what it gave away in its sheaves, and kmemleak sees no leak.
DEBUG = Recipe(
    "debug",
    ("kernel", "newest", "debug"),
    "debug.patch",
    newest=True,
    boot=("hostfs=/proc/self/cwd", "slab_debug=F"),
)
#: As the kernel's own tests of TCP ask for it (selftests/net/packetdrill/config).
NEWEST = Recipe(
    "newest",
    ("kernel", "newest", "selftests"),
    newest=True,
    boot=("hostfs=/proc/self/cwd",),
    hz=1000,
)
SMP = Recipe("smp", ("kernel", "newest", "smp"), newest=True, smp=True)
SMP_DEBUG = Recipe(
    "smp-debug",
    ("kernel", "newest", "debug", "smp", "smp-debug"),
    "smp-debug.patch",
    newest=True,
    smp=True,
)
#: Linux itself goes uninstrumented, except for its barriers: its races are not TCon's, and
#: its locks tell what happens before what all the same.
KCSAN = Recipe(
    "kcsan",
    ("kernel", "newest", "smp", "kcsan"),
    "kcsan.patch",
    ("CFLAGS_KCSAN=-D__KCSAN_INSTRUMENT_BARRIERS__",),
    newest=True,
    smp=True,
)


@dataclass(frozen=True)
class UmlKernel(Kernel):
    """A kernel in the cache; its image is a program of the host.

    ``boot``: words of its command line.
    """

    kdir: Path  # what modules are built against
    boot: tuple[str, ...] = ()


def settings(text: str) -> dict[str, str]:
    """The CONFIG_ lines of a configuration; a later line replaces an earlier one."""
    return dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.M))


def lost_settings(wanted: str, got: str) -> list[str]:
    """What Kconfig did not take, as "CONFIG_X=y"; not set is the same as n."""
    have = settings(got)
    return [
        f"{name}={value}"
        for name, value in settings(wanted).items()
        if have.get(name, "n") != value
    ]


def fragment(recipe: Recipe) -> str:
    """The configuration that is wanted, on top of allnoconfig."""
    texts = ((_FRAGMENTS / f"{name}.config").read_text() for name in recipe.fragments)
    lines = settings("".join(texts))
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def kernel_key(source_version: str, compiler: str, recipe: Recipe) -> str:
    """A short key of all that a kernel is made from."""
    patch = [(_FRAGMENTS / recipe.patch).read_bytes()] if recipe.patch else []
    hz = [] if recipe.hz == _HZ else [f"hz={recipe.hz}"]
    return digest(
        source_version, compiler, fragment(recipe), _RECIPE, *patch, *recipe.arguments, *hz
    )


def _output(*command: str) -> str:
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise LabError(f"{command[0]} not found: run tools/install-deps") from missing
    return run.stdout.strip() if run.returncode == 0 else ""


#: make removes what it has begun to write, but its shells do not tell those below them to.
_ENDS_WITH_US = (
    "setpriv", "--pdeathsig", "TERM",
    "sh", "-c", 'trap "trap - TERM; kill 0" TERM; "$@" & wait $!', "sh",
)  # fmt: skip


def _make(tree: Path, *arguments: str) -> None:
    """Run make in the kernel's tree.  Raises LabError with its first complaint."""
    command = [*_ENDS_WITH_US, "make", "-s", "-C", str(tree), "ARCH=um", *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | _BUILD_ID,
        close_fds=False,
        start_new_session=True,
    ) as run:
        try:
            _, complaints = run.communicate()
        except BaseException:
            os.killpg(run.pid, signal.SIGTERM)
            raise
    if run.returncode:
        said = [line for line in complaints.splitlines() if line.strip()]
        errors = [line for line in said if "error" in line.lower()]
        raise LabError(f"User-Mode Linux does not build: {(errors or said or ['no reason'])[0]}")


def _unpack(tarball: Path, recipe: Recipe, dest: Path) -> None:
    """The kernel's source, with the recipe's tick rate instead of UML's fixed 100."""
    command = ["tar", "-xJf", str(tarball), "-C", str(dest), "--strip-components=1"]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        raise LabError(f"{tarball} cannot be unpacked")
    kconfig = dest / "arch/um/Kconfig"
    text, changed = re.subn(
        r"(\nconfig HZ\n\tint\n\tdefault )100\n", rf"\g<1>{recipe.hz}\n", kconfig.read_text()
    )
    if changed != 1:
        raise LabError(f"{tarball}: the tick rate of User-Mode Linux is not where it was")
    kconfig.write_text(text)
    if recipe.patch:
        command = ["patch", "-s", "-p1", "-d", str(dest), "-i", str(_FRAGMENTS / recipe.patch)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            raise LabError(f"uml/{recipe.patch} does not apply to {tarball}")


def _configure(tree: Path, wanted: str) -> None:
    (tree / "lab.config").write_text(wanted)
    _make(tree, f"KCONFIG_ALLCONFIG={tree / 'lab.config'}", "allnoconfig")
    if lost := lost_settings(wanted, (tree / ".config").read_text()):
        raise LabError(f"this kernel's configuration cannot have {', '.join(lost)}")


def _prune_folders(tree: Path, folder: Path) -> None:
    """Remove what is neither a kept folder nor on the way to one."""
    for entry in list(folder.iterdir()):
        path = str(entry.relative_to(tree))
        if not entry.is_dir() or entry.is_symlink() or path in _KEPT_FOLDERS:
            continue
        if any(kept.startswith(f"{path}/") for kept in _KEPT_FOLDERS):
            _prune_folders(tree, entry)
        else:
            shutil.rmtree(entry)


def _prune(tree: Path) -> None:
    """Leave what building modules needs."""
    _prune_folders(tree, tree)
    for file in [*tree.glob("net/**/*"), *tree.glob("net/**/.*")]:
        if file.is_file() and file.suffix not in (".c", ".h") and file.name not in _KBUILD_FILES:
            file.unlink()
    for file in [*tree.glob("arch/**/*"), *tree.glob("*")]:
        if file.is_file() and (file.name.startswith("vmlinux") or file.suffix in _SOURCE_SUFFIXES):
            file.unlink()


def _once(tree: Path, step: str, do: Callable[[], None]) -> None:
    """Do a step that a process before this one may have done."""
    done = tree / f".lab-{step}"
    if not done.exists():
        do()
        done.touch()


def _build_kernel(source: Source, recipe: Recipe, dest: Path) -> None:
    """Build below ``dest``, from where a process that was killed there stood.

    make goes on by itself: Kbuild notes a file's command after the file is whole.
    """
    tree = dest / "build"
    tree.mkdir(exist_ok=True)
    _once(tree, "unpacked", lambda: _unpack(source.tarball, recipe, tree))
    _once(tree, "configured", lambda: _configure(tree, fragment(recipe)))
    _once(tree, "built", lambda: _make_kernel(tree, recipe, dest))
    _prune(tree)


def _make_kernel(tree: Path, recipe: Recipe, dest: Path) -> None:
    jobs = f"-j{os.cpu_count() or 1}"
    compiler = "CC=ccache gcc" if shutil.which("ccache") else "CC=gcc"
    _make(tree, jobs, compiler, *recipe.arguments, "linux", "modules")
    _make(tree, f"INSTALL_MOD_PATH={dest}", "INSTALL_MOD_STRIP=1", "modules_install")
    for link in dest.glob("lib/modules/*/*"):
        if link.is_symlink():
            link.unlink()
    shutil.copy2((tree / "linux").resolve(), dest / "linux")
    (tree / "linux").unlink()


def shared_library(name: str) -> Path:
    """uml/NAME.c, compiled, in the cache.  Raises LabError."""
    source = _FRAGMENTS / f"{name}.c"
    folder = cache_dir() / "uml"
    parts = [source, *sorted(_FRAGMENTS.glob("*.h"))]
    key = digest(_output("gcc", "--version"), *(part.read_bytes() for part in parts))
    library = folder / f"{name}-{key}.so"
    with locked(folder / "libraries.lock"):
        if not library.exists():
            made = library.with_suffix(".partial")
            command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                raise LabError(f"uml/{name}.c does not build: {run.stderr.strip()}")
            made.rename(library)
    return library


def _find(folder: Path, recipe: Recipe) -> UmlKernel:
    """CPUID is answered where programs are traced (uml/host.c), which several CPUs rule out."""
    (modules,) = folder.glob("lib/modules/*")
    image, kdir = folder / "linux", folder / "build"
    hides = not recipe.smp
    return UmlKernel(modules.name, image, modules, kdir, recipe.boot, hides_cpu=hides)


def uml_kernel(recipe: Recipe, progress: Progress) -> UmlKernel:
    """The kernel, from the cache or built now.  Raises LabError."""
    source = newest_source(progress) if recipe.newest else host_source()
    state, name = cache_dir() / "uml", recipe.name
    key = kernel_key(source.version, _output("gcc", "--version"), recipe)
    dest = state / f"{name}-{key}"
    with locked(state / f"{name}.lock"):
        if not dest.exists():
            say = f"building User-Mode Linux {source.version}, {name} kernel"
            progress(f"{say}: this takes minutes, once")
            with unfinished(dest) as partial:
                _build_kernel(source, recipe, partial)
    return _find(dest, recipe)
