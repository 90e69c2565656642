# SPDX-License-Identifier: GPL-2.0-only
"""Applications in a guest, asked from beyond a path of 20 Mbit/s and 30 ms.

    guest g1 (the servers) -- p1 [br0] up0 -- router r -- s (the clients)
                                               20 Mbit/s ^       ^ 30 ms, losses

Each is measured in three modes, in turn, as many rounds as TCON_ROUNDS says: the guest's CUBIC by
itself, native BBR in the guest, and the CUBIC guest under BBR.  Bytes must be right, and where
nothing is lost nobody may wait longer under enforced BBR than under native BBR.  A line of JSON
says what each program reached; `foreign/table` makes a table of them.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import re
import socket
import ssl
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import genl
import hosts
import pytest
import rig as rigs
from hosts import MEGA
from rig import Rig, poll, run

GUEST = "10.0.0.1"
WORK = Path("/tmp/programs")
POSTGRES = "/usr/lib/postgresql/15/bin"
PAGE_BYTES, FILE_BYTES = 100_000, 4_000_000
#: A guest's own CC, and what TCon enforces on it.
MODES = {"none": ("cubic", "none"), "native": ("bbr", "none"), "enforced": ("cubic", "bbr")}
LOSSES = ("0%", "1%")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
#: Limit of a program that hangs.
TIMEOUT_S = 300
ROUNDS = int(os.environ.get("TCON_ROUNDS", "1"))
#: Factor of enforced over native BBR in the time within which 99 of 100 requests are answered.
WORST = 1.05


@dataclass(frozen=True)
class Figures:
    """A program's figures as its users feel them; times only where it tells its requests' times."""

    rate: float
    unit: str = "Mbit/s"
    p50_ms: float | None = None
    p99_ms: float | None = None


def median(rounds: list[Figures]) -> Figures:
    """Figure by figure."""

    def of(name: str) -> float | None:
        values = [getattr(one, name) for one in rounds]
        return None if None in values else round(statistics.median(values), 2)

    return Figures(of("rate"), rounds[0].unit, of("p50_ms"), of("p99_ms"))


def quantiles(times_ms: list[float]) -> tuple[float, float]:
    """p50 and p99."""
    cuts = statistics.quantiles(times_ms, n=100, method="inclusive")
    return cuts[49], cuts[98]


def client(*command: str) -> str:
    """A program at the far end."""
    with rigs.inside("s"):
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=WORK
        )
    assert not done.returncode, f"{command[0]}: {done.stderr or done.stdout}"
    return done.stdout


@contextlib.contextmanager
def server(*command: str, port: int) -> Iterator[None]:
    """A program in the guest, once it listens on the port."""
    with rigs.inside("g1"), open(WORK / f"server-{port}.log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=WORK)
    try:
        poll(lambda: f":{port} " in run("ss", "-Hltn", ns="g1"), f"{command[0]} listens", 30)
        yield
    finally:
        process.terminate()
        process.wait(30)


# --- what is run ----------------------------------------------------------------


def http2() -> Figures:
    """nginx: pages over HTTP/2 and TLS, 4 connections with 4 streams."""
    log = WORK / "h2load.log"
    log.unlink(missing_ok=True)
    start_s = time.monotonic()
    said = client("h2load", "-n", "160", "-c", "4", "-m", "4", f"--log-file={log}",
                  f"https://{GUEST}/page")  # fmt: skip
    seconds = time.monotonic() - start_s
    assert "160 succeeded, 0 failed" in said, said
    rows = csv.reader(log.read_text().splitlines(), delimiter="\t")
    times = quantiles([int(row[2]) / 1000 for row in rows])
    return Figures(160 * PAGE_BYTES * 8 / seconds / 1e6, "Mbit/s", *times)


def wrk() -> Figures:
    """nginx: small answers over TLS, 64 connections."""
    said = client("wrk", "-t1", "-c64", "-d5s", "--latency", f"https://{GUEST}/small")
    assert "Non-2xx" not in said, said
    assert "Socket errors" not in said, said

    def time_ms(percentage: int) -> float:
        found = re.search(rf"{percentage}%\s+([\d.]+)(us|ms|s)", said)
        assert found, said
        return float(found[1]) * {"us": 0.001, "ms": 1, "s": 1000}[found[2]]

    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    assert rate, said
    return Figures(float(rate[1]), "/s", time_ms(50), time_ms(99))


def pgbench() -> Figures:
    """PostgreSQL: its own mix of transactions, 8 clients."""
    for old in WORK.glob("pgbench_log.*"):
        old.unlink()
    said = client("pgbench", "-h", GUEST, "-U", "nobody", "-c", "8", "-T", "8", "-l", "-n", "test")
    assert "number of failed transactions: 0 " in said, said
    rate = re.search(r"tps = ([\d.]+)", said)
    assert rate, said
    rows = [row for log in WORK.glob("pgbench_log.*") for row in log.read_text().splitlines()]
    return Figures(float(rate[1]), "/s", *quantiles([int(row.split()[2]) / 1000 for row in rows]))


def psql() -> Figures:
    """PostgreSQL: a table as a whole, whose bytes tell themselves whether they are right."""
    query = "copy (select n, md5(n::text) from generate_series(1, 80000) n) to stdout"
    start_s = time.monotonic()
    said = client("psql", "-h", GUEST, "-U", "nobody", "-c", query, "test")
    seconds = time.monotonic() - start_s
    rows = [row.split("\t") for row in said.splitlines()]
    assert [row[0] for row in rows] == [str(n) for n in range(1, 80001)]
    assert all(hashlib.md5(n.encode()).hexdigest() == value for n, value in rows)
    return Figures(len(said) * 8 / seconds / 1e6)


def redis(command: str) -> Figures:
    """Redis: values of 4 kB, 16 clients."""
    said = client("redis-benchmark", "-h", GUEST, "-t", command, "-d", "4096", "-n", "2000",
                  "-c", "16", "--csv")  # fmt: skip
    row = next(csv.DictReader(said.splitlines()))
    return Figures(float(row["rps"]), "/s", float(row["p50_latency_ms"]),
                   float(row["p99_latency_ms"]))  # fmt: skip


def rsync() -> Figures:
    """A file by rsync over ssh, from the guest."""
    copy = WORK / "copy"
    copy.unlink(missing_ok=True)
    start_s = time.monotonic()
    client("rsync", "--whole-file", "-e", f"ssh -F {WORK}/ssh_config",
           f"root@{GUEST}:{WORK}/file", str(copy))  # fmt: skip
    seconds = time.monotonic() - start_s
    assert copy.read_bytes() == hosts.some_bytes(FILE_BYTES)
    return Figures(FILE_BYTES * 8 / seconds / 1e6)


def iperf3() -> Figures:
    """Both ways at once; the rate of what the guest sends."""
    said = json.loads(client("iperf3", "-c", GUEST, "--bidir", "-t", "5", "-J"))
    return Figures(said["end"]["sum_received_bidir_reverse"]["bits_per_second"] / 1e6)


#: Which, and on what port the guest serves it.
PROGRAMS: dict[str, tuple[int, Callable[[], Figures]]] = {
    "nginx, HTTP/2 over TLS": (443, http2),
    "nginx, wrk": (443, wrk),
    "PostgreSQL, pgbench": (5432, pgbench),
    "PostgreSQL, a table": (5432, psql),
    "Redis, GET": (6379, lambda: redis("get")),
    "Redis, SET": (6379, lambda: redis("set")),
    "rsync over ssh": (22, rsync),
    "iperf3 --bidir": (5201, iperf3),
}


# --- whole files ----------------------------------------------------------------


def page_is_whole() -> None:
    """The file that the guest has is the file that nginx gives."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with rigs.inside("s"):
        plain = socket.create_connection((GUEST, 443), TIMEOUT_S)
    with context.wrap_socket(plain) as stream:
        stream.sendall(b"GET /file HTTP/1.1\r\nHost: guest\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: stream.recv(1 << 16), b""))
    assert answer.partition(b"\r\n\r\n")[2] == hosts.some_bytes(FILE_BYTES)


def value_is_whole() -> None:
    """What Redis is given it gives back."""
    value = hosts.some_bytes(MEGA).hex()
    run("redis-cli", "-h", GUEST, "-x", "set", "whole", stdin=value, ns="s")
    assert run("redis-cli", "-h", GUEST, "--raw", "get", "whole", ns="s") == f"{value}\n"


#: Checks of the programs whose own figures do not tell it.
WHOLE = {443: page_is_whole, 6379: value_is_whole}


# --- the guest's servers ----------------------------------------------------------


def prepare() -> None:
    """Keys, pages, a database."""
    os.environ["PATH"] += f":{POSTGRES}"
    WORK.mkdir()
    WORK.chmod(0o777)
    (WORK / "file").write_bytes(hosts.some_bytes(FILE_BYTES))
    (WORK / "page").write_bytes(hosts.some_bytes(PAGE_BYTES))
    (WORK / "small").write_bytes(hosts.some_bytes(1000))
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=guest", "-config", "/dev/null",
        "-keyout", f"{WORK}/key.pem", "-out", f"{WORK}/cert.pem")  # fmt: skip
    (WORK / "nginx.conf").write_text(NGINX)
    for key in ("host_key", "id_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{WORK}/{key}")
    (WORK / "authorized").write_bytes((WORK / "id_key.pub").read_bytes())
    (WORK / "sshd_config").write_text(SSHD)
    (WORK / "ssh_config").write_text(SSH)
    Path("/run/sshd").mkdir(exist_ok=True)
    with open("/etc/passwd", "a") as users:
        users.write("sshd:x:101:65534::/run/sshd:/usr/sbin/nologin\n")
    as_nobody = (*NOBODY, f"{POSTGRES}/initdb", "-A", "trust", "-U", "nobody", "--no-locale")
    run(*as_nobody, "-D", f"{WORK}/db")
    with open(WORK / "db/pg_hba.conf", "a") as access:
        access.write("host all all 0.0.0.0/0 trust\n")


NGINX = f"""\
pid {WORK}/nginx.pid;
error_log {WORK}/nginx.log;
user nobody nogroup;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {WORK}/body;
    proxy_temp_path {WORK}/proxy;
    fastcgi_temp_path {WORK}/fastcgi;
    uwsgi_temp_path {WORK}/uwsgi;
    scgi_temp_path {WORK}/scgi;
    server {{
        listen 443 ssl http2;
        ssl_certificate {WORK}/cert.pem;
        ssl_certificate_key {WORK}/key.pem;
        root {WORK};
    }}
}}
"""
SSHD = f"""\
HostKey {WORK}/host_key
AuthorizedKeysFile {WORK}/authorized
StrictModes no
UsePAM no
PidFile {WORK}/sshd.pid
"""
SSH = f"""\
Host *
IdentityFile {WORK}/id_key
StrictHostKeyChecking no
UserKnownHostsFile {WORK}/known
"""


@contextlib.contextmanager
def servers() -> Iterator[None]:
    """All of them, in the guest."""
    with contextlib.ExitStack() as stack:
        for port, command in {
            443: ("nginx", "-c", f"{WORK}/nginx.conf", "-g", "daemon off;"),
            22: ("/usr/sbin/sshd", "-D", "-e", "-f", f"{WORK}/sshd_config"),
            6379: ("redis-server", "--save", "", "--protected-mode", "no"),
            5432: (*NOBODY, f"{POSTGRES}/postgres", "-D", f"{WORK}/db", "-h", GUEST, "-k", "",
                   "-c", "fsync=off", "-c", "jit=off"),
            5201: ("iperf3", "-s"),
        }.items():  # fmt: skip
            stack.enter_context(server(*command, port=port))
        yield


def fill_database() -> None:
    with rigs.inside("g1"):
        run(f"{POSTGRES}/createdb", "-h", GUEST, "-U", "nobody", "test")
        run(f"{POSTGRES}/pgbench", "-h", GUEST, "-U", "nobody", "-q", "-i", "-s", "2", "test")


@pytest.fixture(scope="module", params=LOSSES)
def served(machine: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """The servers run; this is how much of what they send gets lost."""
    rig = Rig()
    try:
        net = hosts.usual(rig, genl.Genl())
        net.cut()
        net.shape(rate="20mbit", delay="30ms", loss=request.param)
        new = not WORK.exists()
        if new:
            prepare()
        with servers():
            if new:
                fill_database()
            yield request.param
    finally:
        rig.close()


def measured(tcon: genl.Genl, mode: str, name: str) -> Figures:
    """One round; what the guest sends must be enforced in that mode only."""
    port, program = PROGRAMS[name]
    cc, rule = MODES[mode]
    with rigs.inside("g1"):
        Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text(cc)
    tcon.set_rule(rule)
    written = tcon.counters()["window-written"]
    WHOLE.get(port, lambda: None)()
    found = program()
    assert (tcon.counters()["window-written"] > written) == (mode == "enforced")
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(served: str, tcon: genl.Genl, name: str) -> None:
    rounds: dict[str, list[Figures]] = {mode: [] for mode in MODES}
    for _ in range(ROUNDS):
        for mode in MODES:
            rounds[mode].append(measured(tcon, mode, name))
    figures = {mode: median(found) for mode, found in rounds.items()}
    row = {"program": name, "loss": served, "rounds": ROUNDS}
    print("\n" + json.dumps(row | {mode: asdict(found) for mode, found in figures.items()}))
    enforced, native = figures["enforced"], figures["native"]
    if served == "0%" and native.p99_ms:
        assert enforced.p99_ms <= WORST * native.p99_ms
