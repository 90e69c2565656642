# SPDX-License-Identifier: GPL-2.0-only
"""Documents name nothing that is missing, and all that users look up is named in its document."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "SECURITY.md",
    "docs/README.md",
    "tools/README.md",
    "algorithms/README.md",
    "tests/bench/README.md",
    "datapath/README.md",
    "docs/documents.md",
    "docs/experiments.md",
    "docs/fleet.md",
    "docs/foreign.md",
    "docs/naming.md",
    "docs/packages.md",
    "docs/placements.md",
    "docs/proofs.md",
    "docs/races.md",
    "docs/reality.md",
    "docs/rebuilt.md",
    "docs/results.md",
    "docs/top.md",
    "docs/tracing.md",
    "docs/weights.md",
    *sorted(f"tools/campaigns/{file.name}" for file in (TOP / "tools/campaigns").glob("*.md")),
)
UAPI = (TOP / "datapath/include/uapi/linux/tcon.h").read_text()
MAN = (TOP / "userspace/man/tcon.7").read_text().replace("\\-", "-")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_a_document_names_exist(name: str) -> None:
    text = (TOP / name).read_text()
    folders = "datapath|algorithms|userspace|tools|tests"
    named = set(re.findall(rf"(?<![\w/.])((?:{folders})/[\w./-]*\w)", text))
    named = {file for file in named if "NAME" not in file} - {"algorithms/aimd.c"}  # to be made
    assert [file for file in sorted(named) if not (TOP / file).exists()] == []


def test_each_page_is_in_the_index() -> None:
    index = (TOP / "docs/README.md").read_text()
    pages = {file.name for file in (TOP / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()
    assert {f"docs/{page}" for page in pages} <= set(DOCUMENTS)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_targets_and_commands_that_a_document_names_exist(name: str) -> None:
    text, makefile = (TOP / name).read_text(), (TOP / "Makefile").read_text()
    targets = re.findall(r"(?:^ {4,}|`)(?:sudo )?make ([a-z]+(?:-[a-z]+)*)(?=`|$| +#)", text, re.M)
    assert [target for target in targets if f"\n{target}:" not in makefile] == []
    cli = (TOP / "tools/tcon_lab/cli.py").read_text()
    commands = set(re.findall(r"(?:tools/|`)tcon-lab ([a-z]+)", text))
    known = set(re.findall(r'@app\.command\("(\w+)"\)', cli))
    known |= set(re.findall(r"@app\.command\(\)\ndef (\w+)", cli))
    assert commands <= known


def test_the_datapaths_page_names_what_there_is() -> None:
    text = (TOP / "datapath/README.md").read_text()
    sources = {file: file.read_text() for file in (TOP / "datapath").rglob("*.[ch]")}
    code = "".join(sources.values())
    named = set(re.findall(r"`([a-z_]+)\(\)`", text))
    assert [name for name in sorted(named) if not re.search(rf"\b{name}\(", code)] == []
    for folder in ("act", "base", "ends", "sender", "state", "wire"):
        (row,) = re.findall(rf"^\| `{folder}/` \|.*$", text, re.M)
        there = {file.stem for file in sources if file.parent.name == folder}
        assert there <= set(re.findall(r"`([a-z_]+)`", row)), folder


def test_the_page_about_ccs_has_a_row_for_each() -> None:
    text = (TOP / "algorithms/README.md").read_text()
    part = text.split("## The CCs that TCon has")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", part, re.M)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    there = {file.stem for file in (TOP / "algorithms").glob("*.c")}
    assert sorted(named) == sorted(there - {"linux"})


def test_the_man_page_has_every_module_parameter_with_its_default() -> None:
    found, there = {}, 0
    for file in (TOP / "datapath").rglob("*.c"):
        text = file.read_text()
        there += text.count("module_param")
        for name in re.findall(r"^module_param(?:_cb)?\((\w+),", text, re.M):
            kind = r"(?:unsigned int |bool |char \*)"
            value = re.search(rf"^static {kind}{name}(?: = (.+))?;$", text, re.M)
            assert value, name
            found[name] = value[1] or "false"
    assert len(found) == there > 0
    for name, value in found.items():
        shown = {"true": "on", "false": "off"}.get(value, value.strip('"'))
        if shift := re.fullmatch(r"(\d+)U? << (20|30)", value):
            shown = f"{shift[1]} {'MiB' if shift[2] == '20' else 'GiB'}"
        assert re.search(rf'\b{name} "(?: |, )?\({shown}\)', MAN), f"{name} = {value}"


def test_the_man_page_has_every_reason_and_ecn_mode() -> None:
    for start, end in (
        ("TCON_REASONS(X)", "enum tcon_reason"),
        ("TCON_ECN_MODES(X)", "enum tcon_e"),
    ):
        part = UAPI[UAPI.index(start) :]
        names = re.findall(r'X\(\w+,\s*"([a-z0-9-]+)"', part[: part.index(end)])
        assert len(names) > 5
        assert [n for n in names if n not in ("none", "unused") and f"\n.B {n}\n" not in MAN] == []


def test_counters_that_the_man_page_explains_exist() -> None:
    part = MAN[MAN.index(".SH COUNTERS") : MAN.index(".SH LIMITS")]
    named = set(
        re.findall(r"\b[a-z]+(?:-[a-z]+)+\b", "\n".join(re.findall(r"^\.BR? .*", part, re.M)))
    )
    assert named
    assert sorted(name for name in named if f'"{name}"' not in UAPI) == []


def test_the_page_about_the_database_is_made_of_its_text(tmp_path: Path) -> None:
    parts = ("/ovsdb/ovsdb-doc", "/vswitchd/vswitch.ovsschema", "/python/")
    with tarfile.open("/usr/src/openvswitch/openvswitch.tar.gz") as tar:
        wanted = [member for member in tar if any(part in member.name for part in parts)]
        tar.extractall(tmp_path, wanted)
    (tree,) = tmp_path.iterdir()
    man = TOP / "userspace/man"
    page = subprocess.run([sys.executable, man / "make-page", tree], check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    assert page == (man / "tcon-ovsdb.5").read_text()


def test_each_tracepoint_is_described() -> None:
    header = (TOP / "datapath/state/trace.h").read_text()
    made = re.findall(r"^(?:TRACE|DEFINE)_EVENT\w*\((?:tcon_\w+, )?(tcon_\w+),", header, re.M)
    told = re.findall(r"^\| `(tcon_\w+)` \|", (TOP / "docs/tracing.md").read_text(), re.M)
    assert sorted(told) == sorted(made)


def test_the_support_table_is_of_what_was_run() -> None:
    """`make check-matrix` keeps that in tests/matrix.json; before, there is no table."""
    made = subprocess.run([sys.executable, TOP / "tests/check-matrix", "--table"], check=True,
                          capture_output=True, text=True).stdout  # fmt: skip
    shown = re.findall(
        r"^\| suite \| kernel .*\n(?:\|.*\n)*", (TOP / "README.md").read_text(), re.M
    )
    assert shown == ([made] if (TOP / "tests/matrix.json").exists() else [])
