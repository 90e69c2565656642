# SPDX-License-Identifier: GPL-2.0-only
"""The command tcon-lab."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from typer.exceptions import TyperException

from . import lab, repeat
from . import schema as schemas
from .errors import LabError
from .experiment import campaign_file, published, scenario_file
from .machine import uml
from .machine.engine import DEFAULT_SHIFT, Machine, Outcome
from .machine.products import TOP
from .machine.suite import SUITES
from .numbers import against_earlier, against_native, campaign_run, gallery, results
from .pages import against_earlier_table
from .pages import recommend as recommendations
from .pages.tables import Wide
from .scenario import MODES

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Congestion control on networks in virtual time: native against enforced by TCon.",
)
_errors = Console(stderr=True, highlight=False, soft_wrap=True)

#: Columns of the table where standard output is no terminal.
_FILE_WIDTH = 160
_ENGINES = ("qemu", "uml")
#: In real time on threads of the host it gives no numbers.
_ALL_ENGINES = (*_ENGINES, "uml-smp")
_DEMO = TOP / "tools/scenarios/demo.toml"

Kvm = Annotated[bool, typer.Option("--kvm", help="Real time by KVM, where a probe shows it works.")]
Stock = Annotated[
    bool, typer.Option("--stock", help="The distribution's openvswitch and vswitchd, no TCon.")
]
Engine = Annotated[
    str, typer.Option(help="qemu, or uml: User-Mode Linux, fast, where CPU work takes no time.")
]
DebugKernel = Annotated[
    bool, typer.Option("--debug-kernel", help="User-Mode Linux with KASAN, lockdep and others.")
]
AnyEngine = Annotated[
    str, typer.Option(help="qemu, uml, or uml-smp: User-Mode Linux with several CPUs, real time.")
]
RaceKernel = Annotated[
    bool, typer.Option("--race-kernel", help="uml-smp with KCSAN, which reports data races.")
]
NewestKernel = Annotated[
    bool, typer.Option("--newest-kernel", help="uml of the newest Linux, 1000 ticks a second.")
]
Shift = Annotated[
    int, typer.Option(help="Virtual time: an instruction takes 2^N ns.", min=0, max=10)
]

Suite = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"Kernel and programs of {', '.join(SUITES)}; as root.",
        show_default="this host's",
    ),
]


class _Display:
    """Progress on stderr: a line for each run; plain lines where it is no terminal."""

    def __init__(self) -> None:
        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        self._bars = Progress(*columns, console=_errors)
        self._tasks: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._start_s = time.monotonic()

    def __enter__(self) -> _Display:
        if _errors.is_terminal:
            self._bars.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if _errors.is_terminal:
            self._bars.stop()

    def say(self, label: str, line: str) -> None:
        """Show what a run does now."""
        with self._lock:
            if not _errors.is_terminal:
                elapsed_s = time.monotonic() - self._start_s
                print(f"{elapsed_s:6.1f} s  {label}: {line}", file=sys.stderr, flush=True)
                return
            if label not in self._tasks:
                self._tasks[label] = self._bars.add_task("", total=1)
            done = {"completed": 1} if line.startswith("done") else {}
            text = f"[bold]{label}[/bold]  {line}"
            self._bars.update(self._tasks[label], description=text, **done)


@app.command()
def run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.toml...", help="Scenarios.")],
    seed: Annotated[int | None, typer.Option(help="Instead of the scenario's own.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.json and report.html.")] = Path(
        "tcon-results"
    ),
    site: Annotated[str, typer.Option(help="vm, or host: this machine, in real time.")] = "vm",
    engine: Engine = "qemu",
    debug_kernel: DebugKernel = False,
    kvm: Kvm = False,
    stock: Stock = False,
    shift: Shift = DEFAULT_SHIFT,
    suite: Suite = "",
    jobs: Annotated[int, typer.Option(help="Machines at a time.", min=1)] = os.cpu_count() or 1,
) -> None:
    """Run scenarios; write DIR/results.json and DIR/report.html, print a table."""
    from .pages import report  # slow to import

    _one_of("--site", site, ("vm", "host"))
    _numbers_engine(engine)
    options = _options(engine, debug_kernel, kvm, stock, shift, suite)
    if site == "host" and options != lab.Options():
        raise LabError("--site=host is this machine as it is: it takes no option of an engine")
    scenarios = [scenario_file.load(file) for file in files]
    if seed is not None:
        scenarios = [s.with_seed(seed) for s in scenarios]
    names = [s.name for s in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise LabError(f'two of the scenarios have the name "{name}"')
    _make_folder(out)
    with _Display() as display:
        raw = lab.run_all(scenarios, options, site, jobs, out, display.say)
    made = results.all_results(raw)
    _write(out / "results.json", results.to_text(made[0] if len(made) == 1 else made))
    _write(out / "report.html", report.report_html(made))
    _print(report.table(made))
    print(f"{out / 'results.json'}\n{out / 'report.html'}")


@app.command()
def campaign(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The campaign.")],
    out: Annotated[Path | None, typer.Option(help="Its folder; default tcon-results/NAME.")] = None,
    report_only: Annotated[
        bool, typer.Option("--report", help="Run nothing: report what is there.")
    ] = False,
    short: Annotated[
        bool, typer.Option("--short", help="What its table short makes of it, in less time.")
    ] = False,
    engine: Engine = "qemu",
    debug_kernel: DebugKernel = False,
    kvm: Kvm = False,
    shift: Shift = DEFAULT_SHIFT,
    jobs: Annotated[int, typer.Option(help="Machines at a time.", min=1)] = os.cpu_count() or 1,
    cluster: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Instead of this machine: workers of this scheduler."),
    ] = "",
) -> None:
    """Run a matrix of scenarios; write tables and heat maps of enforced against native.

    Finished runs are kept: started again, a campaign goes on where it stood.  A run
    that fails does not stop the others; the exit status is then 1.
    """
    from .pages import campaign_page  # slow to import

    _numbers_engine(engine)
    options = _options(engine, debug_kernel, kvm, False, shift)
    chosen = campaign_file.load(file, short)
    folder = out or Path("tcon-results") / chosen.name
    store, failures = campaign_run.Store(folder), []
    if not report_only:
        with _Display() as display:
            failures = lab.run_campaign(chosen, options, jobs, folder, display.say, cluster)
    made = against_native.compare(chosen, store.index(chosen), store.load)
    series = gallery.collect(store.index(chosen), store.load)
    written = {
        "comparison.json": results.to_text(made),
        "comparison.md": campaign_page.markdown(made),
        "report.html": campaign_page.page(made, series),
    }
    if series:
        written["series.json"] = json.dumps(series, separators=(",", ":")) + "\n"
    for name, text in written.items():
        _write(folder / name, text)
    _print(campaign_page.table(made))
    for name in written:
        print(folder / name)
    for failure in failures:
        _errors.print(f"tcon-lab: {failure.run.label}: {failure.reason}", markup=False)
    raise typer.Exit(1 if failures else 0)


@app.command()
def worker(
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Where `dask scheduler` listens: tcp://H:8786.")
    ],
    engine: Engine = "qemu",
    shift: Shift = DEFAULT_SHIFT,
    guests: Annotated[
        bool, typer.Option("--guests", help='Also runs with guest = "vm"; its kernel is built.')
    ] = False,
    jobs: Annotated[int, typer.Option(help="Machines at a time.", min=1)] = os.cpu_count() or 1,
) -> None:
    """Do runs for `campaign --cluster=ADDRESS`, until the scheduler ends.

    Only for campaigns of the same tree and engine, which bring the same numbers anywhere.
    """
    _numbers_engine(engine)
    with _Display() as display:
        lab.offer(address, _options(engine, False, False, False, shift), guests, jobs, display.say)


@app.command("compare")
def compare_results(
    before: Annotated[Path, typer.Argument(metavar="A", help="A campaign's folder, results.json.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The same of what is to be judged.")],
    alpha: Annotated[
        float, typer.Option(help="Which part of what is called a change may be chance.")
    ] = against_earlier.DEFAULT_ALPHA,
    least: Annotated[float, typer.Option(metavar="PERCENT", help="Smaller changes are none.")] = 100
    * against_earlier.DEFAULT_LEAST,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all numbers there.")
    ] = None,
) -> None:
    """Significant changes from one set of results to another.

    The exit status is 0 where nothing became worse, 1 where something did, 2 where the
    two cannot be compared.
    """
    try:
        if not 0 < alpha < 1:
            raise LabError(f"--alpha is {alpha:g}, not between 0 and 1")
        if not 0 <= least < 100:
            raise LabError(f"--least is {least:g}, not from 0 to below 100")
        made = against_earlier.changes(
            against_earlier.load(before), against_earlier.load(after), alpha, least / 100
        )
        if json_file:
            _write(json_file, results.to_text(made))
    except LabError as error:
        _errors.print(f"tcon-lab: {error}", markup=False)
        raise typer.Exit(2) from None
    _print(against_earlier_table.table(made))
    raise typer.Exit(1 if against_earlier.worse(made) else 0)


@app.command("report")
def report_campaigns(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of campaigns that were run.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE.html", help="The page; FILE.json and .csv go beside.")
    ] = Path("tcon-results/report.html"),
) -> None:
    """One page of several campaigns: is enforced as native, and both as published?"""
    from .numbers import many_campaigns
    from .pages import many_campaigns_page  # slow to import

    if out.suffix != ".html":
        raise LabError(f"--out is {out}: it must end in .html")
    experiments = many_campaigns.load_all(folders)
    made = many_campaigns.overview(experiments)
    _make_folder(out.parent)
    _write(out, many_campaigns_page.page(made, experiments))
    _write(out.with_suffix(".json"), results.to_text(made))
    _write(out.with_suffix(".csv"), many_campaigns.csv_text(made))
    headings, rows = many_campaigns_page.answer_rows(made) if made["answers"] else ([], [])
    if rows:
        _print(Wide(headings, rows, left=frozenset(range(len(headings)))))
    for suffix in (".html", ".json", ".csv"):
        print(out.with_suffix(suffix))


@app.command()
def naming(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Of a campaign that ran in mode observed.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE.html", help="The matrix as a plot; FILE.json beside.")
    ] = Path("tcon-results/naming.html"),
) -> None:
    """Which CC TCon takes guests' own for: a confusion matrix.

    Its numbers are of what tcon/flows said at the end of each run.
    """
    from .numbers import naming as named
    from .pages import naming_table  # slow to import

    if out.suffix != ".html":
        raise LabError(f"--out is {out}: it must end in .html")
    made = named.confusion(named.load(folder))
    _make_folder(out.parent)
    _write(out, naming_table.page(made))
    _write(out.with_suffix(".json"), results.to_text(made))
    _print(naming_table.table(made))
    for suffix in (".html", ".json"):
        print(out.with_suffix(suffix))


@app.command()
def documents(
    csv_file: Annotated[
        Path, typer.Argument(metavar="FILE.csv", help="As report writes it; default the tree's.")
    ] = TOP / "tools/campaigns/documents.csv",
    monitor: Annotated[
        Path, typer.Option(metavar="FILE.csv", help="Of tcon-monitor; default the tree's.")
    ] = TOP / "tools/campaigns/monitor.csv",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the plots.")] = Path(
        "tcon-results"
    ),
) -> None:
    """Plots of docs/documents.md and docs/weights.md, as SVG."""
    from .pages import documents_plots, monitor_plot  # slow to import

    plots = documents_plots.plots(documents_plots.read(csv_file))
    made = {f"documents-{name}": text for name, text in plots.items()}
    cases = monitor_plot.read(monitor)
    made["weights-monitor"] = documents_plots.svg(lambda: monitor_plot.figure(cases))
    _make_folder(out)
    for name, text in made.items():
        file = out / f"{name}.svg"
        _write(file, text)
        print(file)


@app.command()
def export(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of campaigns that were run.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE.parquet", help="Samples; FILE-runs.parquet: the runs.")
    ] = Path("tcon-results/samples.parquet"),
) -> None:
    """Samples and runs of campaigns as Parquet, for pandas, Polars, DuckDB or R."""
    from .numbers import export as parquet  # slow to import
    from .numbers import many_campaigns

    if out.suffix != ".parquet":
        raise LabError(f"--out is {out}: it must end in .parquet")
    experiments = many_campaigns.load_all(folders)
    _make_folder(out.parent)
    try:
        runs_file, samples, runs = parquet.write(experiments, out)
    except OSError as error:
        raise LabError(f"{out}: {error.strerror or error}") from None
    print(f"{out}: {samples} samples\n{runs_file}: {runs} runs")


@app.command()
def recommend(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders of the vm-* campaigns.")
    ],
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers there.")
    ] = None,
) -> None:
    """Which CC is best at what in the virtual machines' experiments, beside Table 6.1."""
    made = recommendations.recommend(recommendations.load(folders))
    if json_file:
        _write(json_file, results.to_text(made))
    document = published.load(TOP / "tools/published/virtual-machines.toml")
    _print(recommendations.table(made, document))


@app.command()
def shell(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.toml", help="Its network.", show_default="that of the demo"),
    ] = _DEMO,
    mode: Annotated[str, typer.Option(help=", ".join(MODES) + ".")] = "enforced",
    kvm: Kvm = False,
    stock: Stock = False,
) -> None:
    """An interactive lab in real time: the network is up, the prompt is Mininet's."""
    _one_of("--mode", mode, MODES)
    chosen = scenario_file.load(file)
    with _Display() as display:
        options = lab.Options(kvm=kvm, stock=stock or mode == "stock", shift=None)
        host = lab.Host(options, display.say)
    raise typer.Exit(lab.shell(host, chosen, mode))


@app.command("exec")
def execute(
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="Run in the VM.")],
    append: Annotated[
        list[str] | None, typer.Option(metavar="PATH:DEST", help="Put a file or folder there.")
    ] = None,
    modprobe: Annotated[list[str] | None, typer.Option(help="Load this module first.")] = None,
    ovs: Annotated[bool, typer.Option("--ovs", help="Start Open vSwitch first.")] = False,
    guests: Annotated[
        bool, typer.Option("--guests", help="Have a kernel for guests with one of their own.")
    ] = False,
    smp: Annotated[int, typer.Option(help="CPUs; more than one needs real time.", min=1)] = 1,
    no_icount: Annotated[bool, typer.Option("--no-icount", help="Real time.")] = False,
    shift: Shift = DEFAULT_SHIFT,
    memory: Annotated[int, typer.Option(help="MiB of RAM.", min=512)] = 1024,
    seed: Annotated[int, typer.Option(help="Of the machine's randomness.", min=0)] = 1,
    link: Annotated[
        str, typer.Option(metavar="PATH[,listen]", help="Join eth0 to another machine's.")
    ] = "",
    plugin: Annotated[
        str, typer.Option(metavar="FILE[,NAME=VALUE...]", help="For QEMU's translator.")
    ] = "",
    timeout: Annotated[float, typer.Option(help="Real seconds until it is killed.", min=1)] = 1800,
    kernel_log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the kernel's log there.")
    ] = None,
    engine: AnyEngine = "qemu",
    debug_kernel: DebugKernel = False,
    race_kernel: RaceKernel = False,
    newest_kernel: NewestKernel = False,
    kvm: Kvm = False,
    stock: Stock = False,
    suite: Suite = "",
) -> None:
    """Run a command in a VM; its output and exit status are this command's.

    A kernel warning fails it with status 1 whatever the command says.  The lab's
    Python is at /lab (on PYTHONPATH), tcon-probe on PATH.
    """
    pairs = [_append_pair(entry) for entry in append or []]
    real_time = no_icount or kvm or engine == "uml-smp"
    options = _options(
        engine, debug_kernel, kvm, stock, None if real_time else shift, suite, race_kernel,
        newest_kernel,
    )  # fmt: skip
    machine = Machine(options.shift, smp, memory, seed, timeout, link=link, plugin=plugin)
    if engine == "uml":
        uml.refuse(machine)
    if engine == "uml-smp":
        uml.refuse_devices(machine)
    if smp > 1 and not real_time:
        raise LabError("--smp needs --no-icount: virtual time has one CPU")
    if link and not real_time:
        raise LabError("linked machines cannot share virtual time: use --no-icount")

    if kernel_log:
        _make_folder(kernel_log.parent)
        _write(kernel_log, "")

    def on_output(raw: bytes) -> None:
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()

    with _Display() as display:
        host = lab.Host(options, display.say, guests)
    with tempfile.NamedTemporaryFile(prefix="tcon-console-", suffix=".log") as log:
        outcome = Outcome(on_output=on_output)
        try:
            status = lab.execute(
                host, command, machine, pairs, modprobe or [], ovs, outcome, Path(log.name)
            )
        finally:
            if kernel_log:
                _write(kernel_log, outcome.kernel_log or outcome.console)
    raise typer.Exit(status)


def _print(made: RenderableType) -> None:
    """Print a table, wide enough where standard output is no terminal."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_FILE_WIDTH)
    console.print(made)


@app.command()
def kdir(
    engine: AnyEngine = "qemu",
    debug_kernel: DebugKernel = False,
    race_kernel: RaceKernel = False,
    newest_kernel: NewestKernel = False,
    suite: Suite = "",
) -> None:
    """Print the folder to build modules against, for --append to `tcon-lab exec`.

    A suite's is in its chroot, where `tcon-lab inside` runs commands.
    """
    options = _options(engine, debug_kernel, False, False, None, suite, race_kernel, newest_kernel)
    with _Display() as display:
        print(lab.kernel_tree(options, display.say))


@app.command("suites")
def list_suites() -> None:
    """Print the names of suites, for --suite."""
    print("\n".join(SUITES))


@app.command()
def inside(
    name: Annotated[str, typer.Argument(metavar="SUITE", help=f"{', '.join(SUITES)}.")],
    command: Annotated[list[str], typer.Argument(metavar="-- CMD...", help="What to run.")],
) -> None:
    """Run a command in a suite's chroot, in this tree: with its compiler and headers."""
    with _Display() as display:
        chosen = lab.suite_of(lab.Options(suite=name), display.say)
    assert chosen is not None
    raise typer.Exit(subprocess.run(chosen.inside(*command), check=False).returncode)


@app.command()
def digest(
    out: Annotated[Path, typer.Option(help="Folder for the results and digest.json.")] = Path(
        "tcon-digest"
    ),
    engine: Annotated[str, typer.Option(help="qemu, uml or both.")] = "both",
    keep: Annotated[bool, typer.Option("--keep", help="Keep these, do not compare.")] = False,
) -> None:
    """Do equal seeds give equal numbers, here and elsewhere?

    Runs scenarios/repeat.toml until two rounds are equal, prints the digest of its numbers and
    compares it with the kept one.  --keep is for a change of this tree that is meant to change
    numbers.
    """
    _one_of("--engine", engine, (*_ENGINES, "both"))
    engines = list(_ENGINES) if engine == "both" else [engine]
    _make_folder(out)
    with _Display() as display:
        repeat.check(engines, out, keep, display.say, print)


@app.command()
def schema(
    name: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(schemas.FORMATS) + ".")],
) -> None:
    """Print a format's JSON Schema, for editors and other programs."""
    _one_of("FORMAT", name, tuple(schemas.FORMATS))
    print(results.to_text(schemas.schema(name)), end="")


def _append_pair(entry: str) -> tuple[Path, str]:
    source, colon, dest = entry.rpartition(":")
    if not colon or not source or not dest.startswith("/"):
        raise LabError(f'--append takes PATH:DEST with an absolute DEST, not "{entry}"')
    if not Path(source).exists():
        raise LabError(f"--append: there is no {source}")
    return Path(source), dest


def _numbers_engine(engine: str) -> None:
    """Raises LabError where an engine gives no numbers."""
    _one_of("--engine", engine, _ALL_ENGINES)
    if engine == "uml-smp":
        raise LabError(
            "--engine=uml-smp is for exec and kdir: its CPUs are threads that share this "
            "host's, so it gives no numbers"
        )


def _options(
    engine: str,
    debug_kernel: bool,
    kvm: bool,
    stock: bool,
    shift: int | None,
    suite: str = "",
    race_kernel: bool = False,
    newest_kernel: bool = False,
) -> lab.Options:
    """The options taken together.  Raises LabError where they contradict."""
    _one_of("--engine", engine, _ALL_ENGINES)
    if debug_kernel and engine == "qemu":
        raise LabError(
            "--debug-kernel needs --engine=uml or uml-smp: the kernel is a User-Mode Linux"
        )
    if debug_kernel and race_kernel:
        raise LabError("--debug-kernel and --race-kernel are two kernels: choose one")
    if race_kernel and engine != "uml-smp":
        raise LabError("--race-kernel needs --engine=uml-smp: races need several CPUs")
    if newest_kernel and (engine != "uml" or debug_kernel):
        raise LabError("--newest-kernel needs --engine=uml, and is without --debug-kernel")
    if engine != "qemu" and kvm:
        raise LabError("--kvm is for --engine=qemu: User-Mode Linux is a program of this host")
    if engine == "uml" and shift not in (None, DEFAULT_SHIFT):
        raise LabError("--shift is for --engine=qemu: in User-Mode Linux CPU work takes no time")
    if kvm and shift not in (None, DEFAULT_SHIFT):
        raise LabError("--shift is of virtual time, and --kvm of real time")
    if engine != "qemu" and suite:
        raise LabError("--suite is for --engine=qemu: User-Mode Linux is a kernel of its own")
    return lab.Options(engine, debug_kernel, kvm, stock, shift, suite, race_kernel, newest_kernel)


def _make_folder(folder: Path) -> None:
    """Raises LabError where there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{folder}: {error.strerror}") from None


def _write(file: Path, text: str) -> None:
    """Write a file, line ends as they are.  Raises LabError where that cannot be."""
    try:
        file.write_text(text, newline="")
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}") from None


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise LabError(f'{option} is "{value}"; known are {", ".join(known)}')


def _end(number: int, frame: object) -> None:
    """On the way out machines are stopped and folders removed."""
    sys.exit(128 + number)


def main() -> None:
    """Entry point: errors that a user can mend are one line, and status 1, or 2 of a
    command line that names no command, option or argument that there is.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    status: int | None = 1
    try:
        status = app(prog_name="tcon-lab", standalone_mode=False)
    except LabError as error:
        _errors.print(f"tcon-lab: {error}", markup=False)
    except TyperException as error:
        status = error.exit_code
        if what := " ".join(error.format_message().split()).rstrip("."):
            _errors.print(f"tcon-lab: {what[0].lower()}{what[1:]}; see --help", markup=False)
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
