# SPDX-License-Identifier: GPL-2.0-only
"""Puts engine, root and jobs together: the work of the CLI's commands.

A run is one mode of one scenario with one seed, and gets a machine of its own:
earlier runs cannot matter, and runs go in parallel, one on each core.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import machines
from .errors import LabError
from .experiment.campaign import Campaign
from .machine import products, root
from .machine import suite as suites
from .machine import uml_kernel as uml_kernels
from .machine.cache import scratch
from .machine.engine import DEFAULT_SHIFT, Engine, Machine, Outcome
from .machine.guest_kernel import guest_kernel
from .machine.products import Say
from .machine.qemu import Qemu
from .machine.uml import Uml, UmlSmp
from .machine.uml_kernel import UmlKernel
from .numbers.campaign_run import Failure, Runner, Store, conduct, runs_of
from .scenario import Scenario

_BASE_MODULES = ("openvswitch", "nf_conntrack_netlink", "veth", "sch_netem", "sch_tbf", "tcp_diag")
#: Files that run on this side and decide on numbers that a campaign keeps.
_DECISIVE = (
    "lab.py", "machine/qemu.py", "machine/uml.py", "machine/uml/cpu.h", "machine/uml/host.c",
    "numbers/results.py", "numbers/sharing.py", "numbers/samples.py", "numbers/gallery.py",
)  # fmt: skip
_BUILT_IN_CCS = ("cubic", "reno")
_PROBE_IN_VM = "/usr/bin/tcon-probe"
_MIB_PER_PAIR = 16
#: Real seconds: for boot and checks, and for a virtual second of 100 Mbit/s.
_TIMEOUT_BASE_S = 600.0
_TIMEOUT_PER_100MBIT_S = 30.0


@dataclass(frozen=True)
class Options:
    """The command line's choices for all machines.

    ``debug_kernel``: User-Mode Linux has KASAN, lockdep and others.
    ``race_kernel``: it has several CPUs and KCSAN.
    ``suite``: whose kernel and programs; none: Debian 12's, as this host has them.
    ``newest_kernel``: User-Mode Linux is of the newest source, with 1000 ticks a second.
    """

    engine: str = "qemu"
    debug_kernel: bool = False
    kvm: bool = False
    stock: bool = False
    shift: int | None = DEFAULT_SHIFT
    suite: str = ""
    race_kernel: bool = False
    newest_kernel: bool = False


def uml_recipe(options: Options) -> uml_kernels.Recipe | None:
    """The User-Mode Linux that was chosen, if one was."""
    if options.engine == "uml":
        if options.newest_kernel:
            return uml_kernels.NEWEST
        return uml_kernels.DEBUG if options.debug_kernel else uml_kernels.FAST
    if options.engine == "uml-smp":
        if options.race_kernel:
            return uml_kernels.KCSAN
        return uml_kernels.SMP_DEBUG if options.debug_kernel else uml_kernels.SMP
    return None


def _own_kernel(options: Options, say: Say) -> UmlKernel | None:
    recipe = uml_recipe(options)
    return uml_kernels.uml_kernel(recipe, lambda line: say("lab", line)) if recipe else None


def suite_of(options: Options, say: Say) -> suites.Suite | None:
    """The suite that was chosen, ready for use; None: the host's.  Raises LabError."""
    if not options.suite:
        return None
    return suites.prepare(options.suite, lambda line: say("suite", line))


def kernel_tree(options: Options, say: Say) -> Path:
    """The folder to build modules against; of a suite, as its chroot has it.  Raises LabError."""
    if suite := suite_of(options, say):
        return suite.kernel_tree
    if kernel := _own_kernel(options, say):
        return kernel.kdir
    return Path(f"/usr/src/linux-headers-{root.lab_kernel_release()}")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _engine(options: Options, kernel: UmlKernel | None, vmlinux: Path) -> Engine:
    if kernel is None:
        return Qemu(vmlinux, options.kvm)
    return UmlSmp(kernel) if options.engine == "uml-smp" else Uml(kernel)


class Host:
    """Everything that boots need, made once: kernel, base root, products, engine."""

    def __init__(self, options: Options, say: Say, guests: bool = False) -> None:
        """``guests``: with a kernel for guests that have one of their own.  Raises LabError."""
        if guests and options.engine != "qemu":
            raise LabError('guests with a kernel of their own (guest = "vm") need --engine=qemu')
        self.options = options
        suite = suite_of(options, say)
        release = suite.release if suite else root.lab_kernel_release()
        kernel = _own_kernel(options, say)
        with ThreadPoolExecutor(1) as pool:
            base = pool.submit(
                root.base_root, release, lambda line: say("root", line), kernel, suite
            )
            kdir = kernel_tree(options, say)
            self.products = products.build(kdir, options.stock, suite, say)
            self.base = base.result()
        self._guest_kernel = guest_kernel(suite, lambda line: say("guest", line)) if guests else []
        self.engine = _engine(options, kernel, self.base.vmlinux)

    @property
    def machine_name(self) -> str:
        """The machine's name in results."""
        if self.options.engine == "uml":
            return "uml, debug kernel" if self.options.debug_kernel else "uml"
        if self.options.suite:
            return f"qemu, {self.options.suite}, icount shift {self.options.shift}"
        return "qemu, KVM" if self.options.kvm else f"qemu, icount shift {self.options.shift}"

    @property
    def instruction_ns(self) -> int | None:
        """How long an instruction takes; None: that is not known, or no time at all."""
        if self.options.engine == "uml" or self.options.kvm or self.options.shift is None:
            return None
        return 1 << self.options.shift

    def initrd(self, job: dict[str, Any], dest: Path, files: Iterable[tuple[Path, str]]) -> None:
        """Write the root file system with a job in it."""
        overlay = root.Overlay(
            job,
            list(self.products.modules),
            [
                (self.products.probe, _PROBE_IN_VM),
                *self.engine.guest_files(),
                *self._guest_kernel,
                *files,
            ],
            self.products.vswitchd,
        )
        root.write_initrd(self.base, overlay, dest)

    def digest(self) -> str:
        """A digest of all that a run's numbers depend on beside its job: kernel, root,
        engine, and the files that make numbers of its records.
        """
        program = f"{self.engine.name} {self.engine.version()}"
        state = hashlib.sha256(f"{program} {self.options}".encode())
        for file in _DECISIVE:
            state.update((Path(__file__).parent / file).read_bytes())
        with scratch() as folder:
            initrd = folder / "initrd.cpio"
            self.initrd({}, initrd, [])
            for file in (self.base.vmlinux, initrd):
                with file.open("rb") as stream:
                    state.update(hashlib.file_digest(stream, "sha256").digest())
        return state.hexdigest()

    def parts(self) -> dict[str, str]:
        """SHA-256 of each file that was made for this host's machines, and of the lab's
        own code on both sides ("lab").
        """
        made = [*self.products.modules, self.products.probe, self.base.vmlinux, self.base.cpio]
        if self.products.vswitchd:
            made.append(self.products.vswitchd)
        code = hashlib.sha256()
        for file in root.guest_code() + [Path(__file__).parent / name for name in _DECISIVE]:
            code.update(file.read_bytes())
        return {file.name: _sha256(file) for file in made} | {"lab": code.hexdigest()}

    def tcon_modules(self) -> list[str]:
        """Names of tcon.ko and the CC modules, if they are there."""
        names = [m.name.removesuffix(".ko") for m in self.products.modules]
        return [name for name in names if name.startswith("tcon")]


def _scenario_modules(scenario: Scenario) -> list[str]:
    runs = [(flow, mode) for flow in scenario.flows for mode in scenario.modes]
    ccs = {flow.stack_cc(mode) for flow, mode in runs}
    ccs |= {cc for flow, mode in runs for cc, _ in flow.kernel_ccs(mode)}
    queue = [scenario.path.aqm.module] if scenario.path.aqm else []
    plug = ["sch_plug"] if any(flow.guest_pause_us for flow in scenario.flows) else []
    tcp = [f"tcp_{cc}" for cc in sorted(ccs) if cc not in _BUILT_IN_CCS]
    tap = ["tun"] if any(flow.in_machine for flow in scenario.flows) else []
    return [*_BASE_MODULES, *queue, *plug, *tap, *tcp]


def _memory_mib(scenario: Scenario) -> int:
    """Half of the memory may be in files of a tmpfs, as guests' memory is."""
    pairs = scenario.connections()
    in_machines = sum(flow.in_machine for flow in pairs)
    return 1024 + _MIB_PER_PAIR * len(pairs) + 2 * machines.MEMORY_MIB * in_machines


def _timeout_s(scenario: Scenario) -> float:
    rate = max(1.0, (scenario.path.rate_bps + scenario.path.back_rate_bps) / 1e8)
    kernels = 1 + sum(flow.in_machine for flow in scenario.connections())
    return kernels * (_TIMEOUT_BASE_S + scenario.seconds * rate * _TIMEOUT_PER_100MBIT_S)


def run_in_vm(
    host: Host, scenario: Scenario, mode: str, out: Path, say: Say, stop: threading.Event
) -> dict[str, Any]:
    """One run in a machine of its own; its raw data.  Raises LabError.

    The console goes to a file in ``out``.
    """
    label = f"{scenario.name} {mode}"
    job = {
        "kind": "run",
        "scenario": scenario.to_dict(),
        "mode": mode,
        "modules": _scenario_modules(scenario) + host.tcon_modules(),
        "ovs": True,
        "probe": _PROBE_IN_VM,
        "virtual_time": not host.options.kvm,
        "instruction_ns": host.instruction_ns,
        "machine": host.machine_name,
        "tear_down": False,
    }
    machine = Machine(
        shift=host.options.shift,
        seed=scenario.seed,
        memory_mib=_memory_mib(scenario),
        timeout_s=_timeout_s(scenario),
    )
    outcome = Outcome(on_progress=lambda line: say(label, line), stop=stop)
    with scratch() as folder:
        initrd = folder / "initrd.cpio"
        host.initrd(job, initrd, [])
        log = out / f"console-{scenario.name}-{scenario.seed}-{mode}.log"
        try:
            host.engine.run(machine, initrd, outcome, log)
            outcome.check_kernel()
            if outcome.error or outcome.status:
                raise LabError(outcome.error or f"exit status {outcome.status}")
        except LabError as error:
            raise LabError(f"{label}: {error}") from error
    say(label, f"done in {outcome.real_s:.0f} s")
    return json.loads(outcome.result) | outcome.records


def run_on_host(scenario: Scenario, mode: str, say: Say) -> dict[str, Any]:
    """One run on this machine, in real time.  Needs root.  Raises LabError."""
    if os.geteuid():
        raise LabError("--site=host needs root: use sudo")
    if mode == "stock":
        raise LabError(f"{scenario.name}: mode stock boots a machine: it needs --site=vm")
    if any(flow.in_machine for flow in scenario.flows):
        raise LabError(f"{scenario.name}: a guest with a kernel of its own needs --site=vm")
    try:
        from . import runner
    except ModuleNotFoundError as missing:
        raise LabError(f"--site=host needs the package {missing.name}") from missing
    subprocess.run(["modprobe", "-a", *_scenario_modules(scenario)], check=False)
    probe = products.build_probe()
    job = {
        "scenario": scenario.to_dict(),
        "mode": mode,
        "probe": str(probe),
        "virtual_time": False,
        "instruction_ns": None,
        "machine": "host",
        "tear_down": True,
    }
    records: dict[str, list[dict[str, Any]]] = {}

    def take(kind: str, lines: Iterable[str]) -> None:
        records[kind] = [json.loads(line) for line in lines]

    raw = runner.run(job, lambda line: say(f"{scenario.name} {mode}", line), take)
    return raw | records


def run_all(
    scenarios: list[Scenario], options: Options, site: str, jobs: int, out: Path, say: Say
) -> list[dict[str, Any]]:
    """Run every mode of every scenario; raw data in that order.

    The first failure stops the others.  Raises LabError.
    """
    wanted = [(scenario, mode) for scenario in scenarios for mode in scenario.modes]
    if site == "host":
        return [run_on_host(scenario, mode, say) for scenario, mode in wanted]
    hosts = _hosts(wanted, options, say)
    stop = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_in_vm, hosts[m], s, m, out, say, stop) for s, m in wanted]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def run_campaign(
    campaign: Campaign, options: Options, jobs: int, folder: Path, say: Say, cluster: str = ""
) -> list[Failure]:
    """Run what is left of a campaign, here or by the workers of a cluster; return the failures.

    Raises LabError where nothing can run at all.
    """
    scenarios = [cell.scenario for cell in campaign.cells]
    hosts = _hosts([(s, mode) for s in scenarios for mode in s.modes], options, say)
    digests = {host: host.digest() for host in set(hosts.values())}
    runs = runs_of(campaign, lambda mode: digests[hosts[mode]])
    store = Store(folder)

    def progress(line: str) -> None:
        say(campaign.name, line)

    def here(scenario: Scenario, mode: str, out: Path, stop: threading.Event) -> dict[str, Any]:
        return run_in_vm(hosts[mode], scenario, mode, out, _quiet, stop)

    with store.alone():
        store.prepare(campaign, runs)
        if not cluster:
            return conduct(runs, store, here, jobs, progress)
        from .cluster import PENDING, Cluster  # slow to import

        with contextlib.closing(Cluster(cluster)) as remote:
            cpus = remote.cpus(set(digests.values()))
            progress(f"{cpus} CPUs of {cluster} are for it" if cpus else
                     f"{cluster} has no worker for it yet: start `tcon-lab worker {cluster} "
                     f"--engine={options.engine}` from this tree")  # fmt: skip

            def there(scenario: Scenario, mode: str, *rest: Any) -> dict[str, Any]:
                return remote.run(digests[hosts[mode]], scenario, mode, *rest)

            return conduct(runs, store, there, PENDING, progress)


def _quiet(label: str, line: str) -> None:
    """A campaign's own line says enough."""


def offer(address: str, options: Options, guests: bool, jobs: int, say: Say) -> None:
    """Do runs of campaigns that a cluster's scheduler hands out, until it ends.

    ``guests``: also such in which guests have a kernel of their own.  Raises LabError.
    """
    from .cluster import Cluster, work  # slow to import

    Cluster(address).close()  # before much is built

    def runner(host: Host) -> Runner:
        def run(scenario: Scenario, mode: str, out: Path, stop: threading.Event) -> dict[str, Any]:
            say(scenario.name, f"{mode}, seed {scenario.seed}")
            return run_in_vm(host, scenario, mode, out, _quiet, stop)

        return run

    kinds = [(stock, machines) for stock in (False, True) for machines in {False, guests}]
    made = [Host(replace(options, stock=stock), say, machines) for stock, machines in kinds]
    work(address, {host.digest(): runner(host) for host in made}, jobs,
         lambda line: say("worker", line))  # fmt: skip


def _hosts(wanted: list[tuple[Scenario, str]], options: Options, say: Say) -> dict[str, Host]:
    """The host that each mode boots from: mode "stock" goes without TCon.  Raises LabError."""
    modes = dict.fromkeys(mode for _, mode in wanted)
    stock = {mode: options.stock or mode == "stock" for mode in modes}
    guests = any(flow.in_machine for scenario, _ in wanted for flow in scenario.flows)
    made = {kind: Host(replace(options, stock=kind), say, guests) for kind in set(stock.values())}
    hosts = {mode: made[stock[mode]] for mode in modes}
    for scenario, mode in wanted:
        _refuse_impossible(hosts[mode], scenario, mode)
    return hosts


def _refuse_impossible(host: Host, scenario: Scenario, mode: str) -> None:
    needed = {flow.enforced_cc(mode) for flow in scenario.flows} - {None}
    for cc in sorted(needed):
        module = f"tcon_{cc.partition(':')[0]}"
        if module not in host.tcon_modules():
            raise LabError(f"{scenario.name}: mode {mode} needs the module {module}.ko")


def execute(
    host: Host,
    argv: list[str],
    machine: Machine,
    files: list[tuple[Path, str]],
    modules: list[str],
    ovs: bool,
    outcome: Outcome,
    log: Path,
) -> int:
    """Run a command in a machine and fill outcome; the command's exit status.

    Raises LabError if the kernel reports a fault or the machine dies.
    """
    job = {"kind": "exec", "argv": argv, "modules": modules, "ovs": ovs}
    with scratch() as folder:
        initrd = folder / "initrd.cpio"
        host.initrd(job, initrd, files)
        host.engine.run(machine, initrd, outcome, log)
    outcome.check_kernel()
    if outcome.error:
        raise LabError(outcome.error)
    return outcome.status or 0


def shell(host: Host, scenario: Scenario, mode: str) -> int:
    """Boot with a scenario's network up and a prompt on this terminal."""
    if any(flow.in_machine for flow in scenario.flows):
        raise LabError("Mininet's prompt does not reach a guest with a kernel of its own")
    job = {
        "kind": "shell",
        "scenario": scenario.to_dict(),
        "mode": mode,
        "modules": _scenario_modules(replace(scenario, modes=(mode,))) + host.tcon_modules(),
        "ovs": True,
        "tear_down": False,
    }
    machine = Machine(shift=None, memory_mib=2048)
    with scratch() as folder:
        initrd = folder / "initrd.cpio"
        host.initrd(job, initrd, [])
        return host.engine.interactive(machine, initrd)
