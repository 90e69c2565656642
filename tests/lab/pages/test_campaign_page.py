# SPDX-License-Identifier: GPL-2.0-only
"""A campaign's tables and its page."""

from __future__ import annotations

import re

import pytest
from campaigns import CAMPAIGNS, GOODPUTS, MEAN, SMALL, Tags, comparison, drawn, text_of
from tcon_lab.experiment.campaign_file import load
from tcon_lab.numbers.against_native import compare
from tcon_lab.pages import campaign_page, gallery_plots
from tcon_lab.pages.completion import completion_curves


def test_the_answer_of_a_campaign_comes_first() -> None:
    made = comparison(GOODPUTS)
    ratios = [cell["metrics"]["goodput"]["mean"] for cell in made["cells"]]
    (sentence,) = campaign_page.answer(made)
    assert sentence.startswith("Guests under an enforced CC have ")
    assert f"of the goodput ({min(ratios):.2f} to {max(ratios):.2f}) and " in sentence
    assert sentence.endswith(f" of native ones, over {len(ratios)} cells.")
    page, markdown = campaign_page.page(made), campaign_page.markdown(made)
    assert page.index(sentence) < page.index("<h2>")
    assert markdown.index(sentence) < markdown.index("| loss |")
    for cell in made["cells"]:
        del cell["metrics"]["rtt"]
    assert campaign_page.answer(made) == []


def test_the_terminals_table_leaves_out_what_a_cases_name_says() -> None:
    keys = {"case": "far", "rate": "5mbit", "rtt": "200ms", "loss": "0%"}
    cells = [{"values": keys}, {"values": keys | {"loss": "1%"}}]
    near = {"case": "near", "rate": "100mbit", "rtt": "1ms"}
    cells += [{"values": keys | near}, {"values": keys | near | {"loss": "1%"}}]
    made = {"cells": [cell | {"metrics": {}, "modes": {}} for cell in cells], "overall": {}}
    made["baseline"] = "native"
    assert campaign_page.columns(made)[0] == ["case", "rate", "rtt", "loss"]
    assert campaign_page.telling_keys(made) == ["case", "loss"]
    assert campaign_page.columns(made, ["case", "loss"])[1][1] == ["far", "1%"]


def test_completion_curves_are_steps_to_all() -> None:
    figure = completion_curves({"a": {"guest": [3.0, 1.0, 2.0, 4.0]}, "b": {"x": [1.0]}}, {})
    first = figure.data[0]
    assert list(first.x) == [1.0, 1.0, 2.0, 3.0, 4.0]
    assert list(first.y) == [0.0, 25.0, 50.0, 75.0, 100.0]
    assert [trace.showlegend for trace in figure.data] == [True, False]


def test_what_a_document_says_stands_beside() -> None:
    campaign = load(CAMPAIGNS / "vm-loss.toml")
    made = compare(campaign, [], {}.get)
    ((title, headings, rows),) = campaign_page.beside(made)
    assert title == "Published: 5.4, packet loss, one VM (section 5.4, Table 5.4)"
    assert headings[:5] == ["vms", "loss, %", "cc", "cwnd sum, kB", "retransmissions, packets"]
    assert rows[1] == ["1", "5", "bbr2", "1147.44", "21475", "1.0", "9.849", "600.785", "9.217"]
    assert f"## {title}" in campaign_page.markdown(made)
    html = campaign_page.page(made)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert "21475" in html
    assert "do Carmo" in html
    words = campaign_page.beside(compare(load(CAMPAIGNS / "cc-pairs.toml"), [], {}.get))[-1]
    assert words[0] == "Published, in words"
    assert [row[2] for row in words[2]] == [
        "850 +- 20 Mbit/s", "24 Mbit/s", "0.2 to 0.6 MB/s", "0.3 to 0.7 MB/s"
    ]  # fmt: skip
    ctcp = campaign_page.beside(compare(load(CAMPAIGNS / "cc-pairs-ctcp.toml"), [], {}.get))
    assert "at least 800 Mbit/s" in [row[2] for row in ctcp[-1][2]]


def test_the_table_for_people() -> None:
    text = text_of(comparison(GOODPUTS, warning="the probe lost 3 packets"))
    row = next(line for line in text.splitlines() if "10mbit" in line and "0.1%" in line)
    assert re.split(r"  +", row.strip()) == [
        "10mbit", "8ms", "0.1%", "9.00", "8.90", "20.0", "30.0", "0.990 (0.980 .. 1.000)",
        "1.500 (1.500 .. 1.500)", "1.5% (1.0% .. 2.0%)",
    ]  # fmt: skip
    assert "0.931 (0.921 .. 0.940) !" in text
    assert "geometric mean 0.975 over 4 cells (at least 0.98: missed)" in text
    assert "Goodput to native: 1 of 4 cells miss their bar: 10mbit 8ms 0%" in text
    assert "warning: 10mbit 8ms 0%, native, seed 1: the probe lost 3 packets" in text


def test_only_cells_with_a_bar_are_counted() -> None:
    bar = '[[bar]]\nmetric = "rtt"\nloss_max = "0%"\nmax = 1.4\n'
    text = text_of(comparison(GOODPUTS, SMALL + bar))
    assert "RTT p50 to native: 2 of 2 cells that have a bar miss their bar: " in text
    text = text_of(comparison(GOODPUTS, SMALL + bar.replace("1.4", "1.6")))
    assert "RTT p50 to native: each of 2 cells that have one reaches its bar" in text
    assert "aim" not in text.split("RTT p50 to native: each")[1].splitlines()[0]


def test_the_table_in_markdown() -> None:
    lines = campaign_page.markdown(comparison(GOODPUTS)).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + 4
    assert {row.count("|") for row in rows} == {11}
    assert rows[0].startswith("| rate | rtt | loss | native Mbit/s |")
    assert lines[0] == "# grid"


def test_the_page_stands_alone() -> None:
    made = comparison(GOODPUTS, warning="<script>alert(1)</script>")
    html = campaign_page.page(made)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert tags.addresses == []
    assert tags.rows == 1 + 4
    assert "<script>alert" not in html
    assert html.count('class="plotly-graph-div"') == 3


def test_the_gallery_lays_the_modes_over_each_other() -> None:
    some = {
        "one <b>": {
            "native": {"1": drawn([1, 2, None]), "2": drawn([3, 4])},
            "enforced": {"1": drawn([5, 6]), "2": drawn([7, 8])},
        },
        **{f"cell {n}": {"native": {"1": drawn([n, n])}} for n in range(4)},
    }
    windows, rtts = (gallery_plots.figure(some, panel) for panel in gallery_plots.PANELS)
    first = [line for line in windows.data if line.xaxis == "x"]
    assert [(line.name, list(line.y), line.opacity < 1) for line in first] == [
        ("native", [3, 4], True), ("native", [1, 2, None], False),
        ("enforced", [7, 8], True), ("enforced", [5, 6], False),
    ]  # fmt: skip
    assert [line.showlegend for line in first] == [False, True, False, True]
    assert not any(line.showlegend for line in windows.data[4:])
    front = [line.zorder for line in first if line.opacity == 1]
    assert min(front) > max(line.zorder for line in first if line.opacity < 1)
    assert (first[0].x0, first[0].dx) == (0.1, 0.1)
    assert windows.data[-1].xaxis == "x5"  # alone in the second row
    assert len(rtts.data) == len(windows.data)
    assert windows.layout.annotations[0].text == "one &lt;b&gt;"
    unmeasured = {"c": {"native": {"1": drawn([None, None])}}}
    assert len(gallery_plots.figure(unmeasured, gallery_plots.PANELS[0]).data) == 0


def test_the_page_with_a_gallery_stands_alone() -> None:
    some = {"</script>": {"native": {"1": drawn([1, 2])}, "enforced": {"1": drawn([2, 3])}}}
    html = campaign_page.page(comparison(GOODPUTS), some)
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    assert tags.addresses == []
    assert html.count('class="plotly-graph-div"') == 5
    assert "the first is in front" in html
    assert "Gallery" not in campaign_page.page(comparison(GOODPUTS))


def test_a_heat_map_has_each_cell_in_its_place() -> None:
    figure = campaign_page.heat_map(comparison(GOODPUTS), "goodput")
    data = figure.data[0]
    assert list(data.x) == ["10mbit 8ms", "10mbit 64ms"]
    assert list(data.y) == ["0%", "0.1%"]
    assert [list(row) for row in data.z] == [
        [pytest.approx(0.94 * MEAN), pytest.approx(MEAN)], [pytest.approx(MEAN)] * 2
    ]  # fmt: skip
    assert data.text[0][0] == "0.931 !"
    lower = campaign_page.heat_map(comparison(GOODPUTS), "rtt").data[0].colorscale
    upper = data.colorscale
    assert [c for _, c in lower] == [c for _, c in reversed(upper)]
