"""The command `raan report`, within this process."""

import gzip
import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from raan.cli.report import report
from raan.lab.results.records import format_explanation
from raan.lab.study.plan import packs
from raan.lab.study.study import read_study
from report.records import explanation, line, study, write

pytestmark = pytest.mark.usefixtures("as_users_call")

app = typer.Typer()
app.command()(report)

SMALL = study(("Vanilla", "RAAN"), ("adam",), seeds=2, candidates=1)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_options_the_page_is_report_html_and_the_headline_is_said(here: Path) -> None:
    result = run(write(SMALL, here / "small.jsonl"))
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert "meps, adam: RAAN raises the worst-served group from" in said
    assert said.endswith("Written: report.html")
    text = (here / "report.html").read_text()
    assert "<h1>table-2</h1>" in text
    assert "raan report " in text


def test_quiet_says_nothing(here: Path) -> None:
    assert run(write(SMALL, here / "small.jsonl"), "--quiet", "--out", here / "new" / "a.html").output == ""
    assert (here / "new" / "a.html").stat().st_size > 5e4


def test_tables_go_to_standard_output_or_to_a_file(here: Path) -> None:
    results = write(SMALL, here / "small.jsonl")
    assert run(results, "--format", "md").output.startswith("# table-2\n\n- meps, adam: RAAN raises")
    assert run(results, "--format", "tex").output.startswith("% Needs the package booktabs.\n")
    assert "Written: a.tex" in run(results, "--format", "tex", "--out", "a.tex").output
    assert Path("a.tex").read_text() == run(results, "--format", "tex").output


def test_figures_are_drawn_where_they_are_asked_for(here: Path) -> None:
    result = run(write(SMALL, here / "small.jsonl"), "--format", "md", "--figures", "drawn")
    assert "Written: 3 figures in drawn" in " ".join(result.output.split())
    assert Path("drawn/meps-adam-trade-off.svg").is_file()


def test_another_aim_and_allowance_choose_anew(here: Path) -> None:
    results = write(SMALL, here / "small.jsonl")
    own, other = (
        run(results, "--format", "md", *options).output
        for options in ((), ("--aim", "equalized-odds", "--accuracy-drop", "2"))
    )
    assert (
        "the highest worst-group accuracy on validation rows, among the points that lose at most 0.5 points" in own
    )
    assert "the smallest equalized-odds gap (sum) on validation rows" in other
    assert "at most 2 points" in other


def test_several_files_are_one_report(here: Path) -> None:
    write([line("RAAN", data="adult")], here / "other.jsonl")
    (here / "other.explain.json").write_text(format_explanation(explanation("adult")))
    zipped = here / "small.jsonl.gz"
    zipped.write_bytes(gzip.compress(write(SMALL, here / "small.jsonl").read_bytes()))
    result = run(zipped, "small.jsonl", "other.jsonl", "--format", "md")
    assert "adult, adam: RAAN raises" in result.output
    assert "yes · Female | 220 | 3.10" in result.output


def test_the_rule_is_that_stated_beside_the_runs_or_of_their_packaged_study_or_the_default(here: Path) -> None:
    def rule(study: str) -> str:
        results = write([{**each, "study": study} for each in SMALL], here / "some.jsonl")
        return run(results, "--format", "md").output

    default = "the highest worst-group accuracy on validation rows, among the points that lose at most 0.5 points"
    assert default in rule("no such study")
    assert default in rule("table-2")
    stated = {"aim": "equalized_odds", "accuracy_drop": 0.01}
    (here / "some.explain.json").write_text(format_explanation({"rule": stated}))
    shown = "the smallest equalized-odds gap (sum) on validation rows, among the points that lose at most 1 point"
    assert shown in rule("table-2")
    (here / "some.explain.json").write_text(format_explanation({"rule": {"aim": "none such"}}))
    assert "some.explain.json is no explanation of results" in str(run(here / "some.jsonl").exception)


def test_what_an_older_version_stored_of_its_choice_is_not_looked_at(here: Path) -> None:
    old = {"rule": {"aim": "demographic_parity", "accuracy_drop": 0.5}, "point": 3}
    texts = [
        run(write(lines, here / "some.jsonl"), "--format", "md").output
        for lines in (SMALL, [{**each, "chosen": old} for each in SMALL])
    ]
    assert texts[0] == texts[1]


def test_a_study_file_brings_its_title_rule_and_the_papers_numbers(here: Path) -> None:
    (here / "mine.toml").write_text(
        'title = "My table"\nseeds = 2\n[select]\naim = "demographic_parity"\n[[data]]\nname = "meps"\n'
        'title = "MEPS"\n[methods.Vanilla]\n[methods.RAAN]\ntemperature = 0.5\naveraging_rate = 0.5\n'
        '[[paper]]\nmeasure = "worst_group_accuracy"\ndata = "MEPS"\nRAAN = [12.5, 0.5]\n'
    )
    runs = [run for pack in packs(read_study(here / "mine.toml")) for run in pack.runs]
    lines = [{**each, "study": "mine", "data": "MEPS", "run": run} for each, run in zip(SMALL, runs, strict=True)]
    # A run that the file no longer plans is not told of.
    lines += [{**line("GroupDRO", data="MEPS"), "study": "mine"}]
    (here / "results").mkdir()
    (here / "results" / "mine.jsonl.gz").write_bytes(gzip.compress(write(lines, here / "x").read_bytes()))
    result = run("mine.toml", "--format", "md")
    assert result.output.startswith("# My table\n")
    assert "the smallest demographic-parity gap" in result.output
    assert "12.5 ± 0.5" in result.output
    assert "| worst group % in the paper |" in result.output
    assert "DP gap % in the paper" not in result.output
    assert "GroupDRO" not in result.output


def test_what_is_reported_is_not_written_over(here: Path) -> None:
    results = write(SMALL, here / "small.jsonl")
    before = results.read_bytes()
    result = run(results, "--out", here / "." / "small.jsonl")
    assert isinstance(result.exception, ValueError)
    assert "name another file" in str(result.exception)
    assert results.read_bytes() == before


def test_runs_of_a_study_that_is_not_finished_are_pointed_out(here: Path) -> None:
    results = write(SMALL, here / "small.jsonl")
    (here / "small.jsonl.parts").mkdir()
    assert "More runs are finished in small.jsonl.parts" in " ".join(run(results).output.split())


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.jsonl", None, "missing.jsonl is not there; expected a results file"),
        ("empty.jsonl", "", "empty.jsonl holds no runs"),
        ("torn.jsonl", '{"run"', "torn.jsonl, line 1, is not a run of a study"),
        ("other.jsonl", '{"a": 1}\n', "line 1, is not a run of a study"),
        ("list.jsonl", "[1]\n", "line 1, is not a run of a study"),
        ("text.jsonl", "hello\n", "line 1, is not a run of a study"),
        ("counts.jsonl", json.dumps({**SMALL[0], "test": [[1, 2]] * 21}) + "\n", "expected 12 whole numbers"),
        ("path.jsonl", json.dumps({**SMALL[0], "step": []}) + "\n", "step is empty"),
        ("step.jsonl", json.dumps({**SMALL[0], "step": 3}) + "\n", "step is 3; expected a list"),
        ("versions.jsonl", json.dumps({**SMALL[0], "versions": None}) + "\n", "versions is None; expected a dict"),
        ("names.jsonl", json.dumps({**SMALL[0], "classes": [1, 2]}) + "\n", "expected text"),
        ("zip.jsonl.gz", "no gzip\n", "holds no results"),
    ],
)
def test_what_is_no_results_file_is_said_plainly(here: Path, name: str, content: str | None, said: str) -> None:
    if content is not None:
        (here / name).write_text(content)
    result = run(here / name)
    assert isinstance(result.exception, ValueError)
    assert said in str(result.exception)


def test_a_folder_without_an_outcome_and_a_broken_explanation_are_errors(here: Path) -> None:
    assert "has no outcome.npz; expected one that `raan fit` wrote" in str(run(here).exception)
    results = write(SMALL, here / "small.jsonl")
    for broken in ("{", "{}", '{"format": 2}', '{"format": 1, "maps": [{"data": "x"}]}'):
        (here / "small.explain.json").write_text(broken)
        assert "small.explain.json is no explanation of results" in str(run(results).exception)
