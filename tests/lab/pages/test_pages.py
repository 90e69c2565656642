# SPDX-License-Identifier: GPL-2.0-only
"""The pages in a real browser: offline, nothing complains, plots are drawn, tables sort."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import folders
import pytest
import synthetic
from browser import Page, browser
from tcon_lab.numbers import gallery, many_campaigns
from tcon_lab.numbers.campaign_run import Store
from tcon_lab.numbers.results import results_from_raw
from tcon_lab.pages import campaign_page, many_campaigns_page, report

#: Each plot's name, how many of its curves and maps are drawn, and how many it has.
MARKS = """
Object.fromEntries(Array.from(document.querySelectorAll(".plotly-graph-div"), plot => {
  const drawn = e => (e.getAttribute("d") || (e.href && e.href.baseVal) || "").length > 9;
  const layers = "[class^=scatterlayer] .trace, .heatmaplayer .hm";
  const traces = Array.from(plot.querySelectorAll(layers));
  const marks = "path.js-line, path.point, image";
  return [plot.id, [traces.filter(t => Array.from(t.querySelectorAll(marks)).some(drawn)).length,
                    plot.data.length]];
}))
"""
#: Plots are drawn when they are seen: open what is folded, and look at each.
UNFOLD = """
(async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const plot of document.querySelectorAll(".later")) {
    plot.scrollIntoView();
    for (let n = 0; n < 500 && !plot.querySelector(".main-svg"); n++)
      await new Promise(done => setTimeout(done, 20));
  }
  scrollTo(0, 0);
})()
"""
COLUMN = """
Array.from(document.querySelector("{table}").tBodies[0].rows, r => r.cells[{column}].textContent)
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def all_campaigns(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The overview of several campaigns, which the page shows, with all unfolded."""
    top = tmp_path_factory.mktemp("pages")
    texts = {"a": folders.BASELINE, "b": folders.PAIRS, "c": folders.ONE_FLOW, "d": folders.FILES}
    made = [folders.make(top / name, text, folders.seeds_apart)[1] for name, text in texts.items()]
    experiments = many_campaigns.load_all(made)
    file = top / "all.html"
    file.write_text(many_campaigns_page.page(many_campaigns.overview(experiments), experiments))
    page.open(file)
    drawn = page.run("document.querySelectorAll('.main-svg').length")
    page.run(UNFOLD)
    assert drawn < page.run("document.querySelectorAll('.main-svg').length") / 2
    return file


def column(page: Page, table: str, number: int) -> list[str]:
    found: list[str] = page.run(COLUMN.format(table=table, column=number))
    return found


def check_drawn(marks: dict[str, list[int]]) -> None:
    assert {name: drawn for name, (drawn, of) in marks.items() if drawn != of or not of} == {}


def check_quiet(page: Page, file: Path) -> None:
    assert page.complaints() == []
    assert [url for url in page.requested() if not url.startswith(("data:", "blob:"))] == [
        file.as_uri()
    ]


def test_every_plot_of_the_overview_is_drawn(page: Page, all_campaigns: Path) -> None:
    marks = page.run(MARKS)
    assert {"answer-goodput", "answer-rtt", "answer-completion", "vm-pairs-shares",
            "files-completion", "cubic-one-flow-path-0", "cubic-one-flow-time-0",
            "vm-baseline-time-3", "vm-baseline-map-goodput"} <= set(marks)  # fmt: skip
    check_drawn(marks)
    assert marks["vm-pairs-shares"] == [2, 2]  # a matrix for each mode
    # For each mode cwnd, ssthresh, RTT, goodput, bytes sent again, una; for the enforced one the
    # window given and nxt; the model's window and RTT.
    assert marks["cubic-one-flow-time-0"] == [6 + 8 + 2] * 2
    check_quiet(page, all_campaigns)


def test_nothing_is_wider_than_the_page(page: Page, all_campaigns: Path) -> None:
    assert page.run("document.documentElement.scrollWidth <= innerWidth")
    widths = page.run(
        "Array.from(document.querySelectorAll('.plotly-graph-div'), p => p.clientWidth)"
    )
    assert min(widths) > 500


def test_a_click_sorts_a_table(page: Page, all_campaigns: Path) -> None:
    before = column(page, "#answers", 2)
    assert before != sorted(before)
    page.click("#answers thead th:nth-child(3)")
    numbers = [text.split()[0] for text in column(page, "#answers", 2)]
    known = [float(text) for text in numbers if text != "-"]
    assert known == sorted(known)
    assert len(known) > 4
    assert set(numbers[len(known) :]) <= {"-"}  # what is not there is last
    page.click("#answers thead th:nth-child(3)")
    numbers = [text.split()[0] for text in column(page, "#answers", 2)]
    assert [float(text) for text in numbers if text != "-"] == known[::-1]
    assert set(numbers[len(known) :]) <= {"-"}
    states = page.run("Array.from(document.querySelectorAll('#answers thead th'), h => h.ariaSort)")
    assert states[2] == "descending"
    assert set(states[:2] + states[3:]) == {"none"}
    page.run("document.querySelector('#answers thead th').focus()")
    page.press("Enter")
    words = column(page, "#answers", 0)
    assert words == sorted(words)
    assert sorted(column(page, "#answers", 2)) == sorted(before)  # rows stay whole
    check_quiet(page, all_campaigns)


def test_links_lead_to_the_experiments(page: Page, all_campaigns: Path) -> None:
    page.click("nav a[href='#files']")
    assert page.run("location.hash") == "#files"
    assert page.run("Math.abs(document.querySelector('#files').getBoundingClientRect().top) < 900")


def test_a_narrow_page(page: Page, all_campaigns: Path) -> None:
    """Plots with legends scroll, the page does not; lists are lists."""
    page.call(
        "Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1,
        mobile=False,
    )  # fmt: skip
    page.open(all_campaigns)
    try:
        assert page.run("document.documentElement.scrollWidth") == 400
        widths = page.run("Array.from(document.querySelectorAll('.wide > *'), e => e.offsetWidth)")
        assert len(widths) > 1
        assert min(width for width in widths if width) >= 600  # what is folded has none
        assert page.run("document.querySelectorAll(':not(ul) > li').length") == 0
    finally:
        page.call("Emulation.clearDeviceMetricsOverride")


def test_a_campaigns_own_page(page: Page, tmp_path: Path) -> None:
    text = folders.BASELINE.replace("count = [1, 2]", 'rtt = ["20ms", "30ms"]')
    campaign, folder = folders.make(tmp_path / "x", text, folders.seeds_apart)
    file = tmp_path / "campaign.html"
    store = Store(folder)
    series = gallery.collect(store.index(campaign), store.load)
    assert len(series) == 4
    file.write_text(campaign_page.page(many_campaigns.load(folder).comparison, series))
    page.open(file)
    marks = page.run(MARKS)
    assert {"map-goodput", "map-rtt"} < set(marks)  # and those of the gallery
    check_drawn(marks)
    page.click("thead th:nth-child(3)")
    numbers = [float(text) for text in column(page, "table", 2)]
    assert numbers == sorted(numbers)
    check_quiet(page, file)


def test_a_runs_own_page(page: Page, tmp_path: Path) -> None:
    results = [results_from_raw([synthetic.raw(mode) for mode in ("guest", "native", "enforced")])]
    file = tmp_path / "run.html"
    file.write_text(report.report_html(results))
    page.open(file)
    marks = page.run(MARKS)
    assert set(marks) == {"plot-0"}
    check_drawn(marks)
    goodput = 1 + page.run(
        "Array.from(document.querySelectorAll('thead th'), h => h.firstChild.textContent)"
    ).index("Goodput")
    page.click(f"thead th:nth-child({goodput})")
    numbers = [float(text) for text in column(page, "table", goodput - 1)]
    assert numbers == sorted(numbers)
    check_quiet(page, file)
