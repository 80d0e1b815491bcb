"""Studies: read with every problem at once, obtained once, remembered, judged by what they say themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dse.cli import main
from dse.door.optimize import optimize
from dse.reproduce import remember
from dse.reproduce.play import Player
from dse.reproduce.study import read_study
from dse.reproduce.table import as_json, markdown
from simcore.document.problem import InputError

DESIGN = """\
workload: {collective: all_reduce, size: 1 GB}
cluster:
  npu: a100-80gb
  dimensions: [{topology: ring, size: 4, bandwidth: 100 GB/s, latency: 0 ns, tier: node}]
system: {collective: [ring], chunks: 1}
"""
STUDY = """\
title: Rings
source: a closed form
parts:
  - name: one ring
    run: {design: ring.yaml, engine: fast}
    axes:
      size:
        small: {set: {workload.size: 1 GB}, given: {share: 1}}
        large: {set: {workload.size: 2 GB}, given: {share: 2}}
    against: {size: small}
    obtained: iteration_time / base.iteration_time / share * 15
    published: rings.csv
    unit: ms
    within: 0.5
    quick: {size: [small]}
"""
ROWS = "size,published,why\nsmall,15,\nlarge,15.4,\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "studies" / "rings"
    folder.mkdir(parents=True)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "ring.yaml").write_text(DESIGN)
    (folder / "rings.csv").write_text(ROWS)
    return folder


def verdicts(folder: Path, kept: Path) -> list[str]:
    study = read_study(folder)
    return [each.verdict for each in Player(study, kept).obtain(study.rows)]


def test_values_are_obtained_and_judged(folder: Path, tmp_path: Path) -> None:
    study = read_study(folder)
    done = list(Player(study, tmp_path).obtain(study.rows))
    assert [each.value.number for each in done] == pytest.approx([15, 15])
    assert [each.verdict for each in done] == ["exact", "reproduced"]
    assert "| large | 15.4 | 15 | -0.4 | reproduced |" in markdown(study, done, {})


@pytest.mark.parametrize(
    ("published", "why", "verdict"),
    [
        ("16", "", "differs"),
        ("16", "another rule", "known to differ"),
        ("15.2", "another rule", "no longer differs"),
    ],
)
def test_a_reason_is_needed_where_values_differ_and_only_there(
    folder: Path, tmp_path: Path, published: str, why: str, verdict: str
) -> None:
    (folder / "rings.csv").write_text(f"size,published,why\nsmall,{published},{why}\n")
    assert verdicts(folder, tmp_path) == [verdict]


def test_what_was_measured_is_remembered(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = verdicts(folder, tmp_path / "kept")
    monkeypatch.setattr("dse.reproduce.measures.design._simulate", None)
    assert verdicts(folder, tmp_path / "kept") == first
    monkeypatch.setattr(remember, "_code", lambda: "other code")
    with pytest.raises(TypeError):
        verdicts(folder, tmp_path / "kept")


def test_the_command_prints_rows_and_fails_where_a_verdict_is_not_the_expected_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--root", str(folder.parent), "--kept", str(tmp_path / "kept")]
    assert main(["reproduce", *options, "--json", "--quick"]) == 0
    assert [row["place"] for row in json.loads(capsys.readouterr().out)] == [{"size": "small"}]
    (folder / "rings.csv").write_text("size,published,why\nsmall,40,\n")
    assert main(["reproduce", "rings", *options, "--out", str(tmp_path / "page.md")]) == 1
    assert "1 rows: 1 differs" in capsys.readouterr().out
    assert "differs" in (tmp_path / "page.md").read_text()


def test_every_problem_of_a_table_is_told_at_once_with_its_line(folder: Path) -> None:
    (folder / "rings.csv").write_text("size,published,why\nhuge,15,\nsmall,many,\nsmall,16,\nlarge,15,a cause, too\n")
    with pytest.raises(InputError) as refused:
        read_study(folder)
    assert str(refused.value).splitlines() == [
        f"{folder / 'rings.csv'}: 4 problems",
        "  line 2: size: expected one of small, large, got 'huge'",
        "  line 3: published: expected a number, got 'many'",
        "  line 4: row: expected each row once, got small again (first on line 3)",
        "  line 5: row: expected 3 cells, got 4; a cell with a comma is quoted",
    ]
    (folder / "rings.csv").write_text("size,published,why,note,why\nsmall,15,,,\n")
    with pytest.raises(InputError, match="another column, 'note'") as refused:
        read_study(folder)
    assert "a second 'why'" in str(refused.value)


def test_the_problems_of_all_files_are_told_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "study.yaml").write_text(
        STUDY.replace("against: {size: small}", "against: {size: smal}") + "    bars: 3\n"
    )
    (folder / "rings.csv").write_text("size,published,why\nhuge,15,\n")
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "study.yaml").write_text("title: Other\n")
    assert main(["reproduce", "--root", str(folder.parent)]) == 2
    said = capsys.readouterr().err
    assert f"{folder.parent / 'other' / 'study.yaml'}: 2 problems" in said
    assert "line 16: parts[0].bars: expected a known key" in said
    assert "line 10: parts[0].against.size: expected an alternative" in said
    assert "did you mean 'small'?" in said
    assert f"{folder / 'rings.csv'}: 1 problem" in said


def test_documents_are_read_before_anything_is_measured(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "study.yaml").write_text(STUDY.replace("workload.size: 2 GB", "workload.sise: 2 GB"))
    options = ["reproduce", "--root", str(folder.parent), "--kept", str(folder / "kept")]
    assert main(options) == 2
    assert "line 9: parts[0].axes.size.large.set.workload.sise: expected a known key" in capsys.readouterr().err
    (folder / "study.yaml").write_text(STUDY)
    (folder / "ring.yaml").write_text(DESIGN.replace("size: 4", "size: four").replace("chunks: 1", "chunks: none"))
    assert main(options) == 2
    assert capsys.readouterr().err.count(f"{folder / 'ring.yaml'}: 2 problems") == 1
    assert not (folder / "kept").exists()


def test_a_folder_that_is_run_by_itself_says_how(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = folder.parent / "sweep"
    sweep.mkdir()
    (sweep / "README.md").write_text("# A sweep\n\n```sh\npython sweep.py    # an hour\n```\n")
    assert main(["reproduce", "sweep", "--root", str(folder.parent)]) == 2
    said = capsys.readouterr().err
    assert (
        f"{sweep} has no study.yaml: A sweep, which is run by itself: python sweep.py ({sweep / 'README.md'})" in said
    )


def test_what_was_fitted_is_no_evidence(folder: Path, tmp_path: Path) -> None:
    fitted = STUDY + "    fitted: {what: 'the bandwidth, to the first row', rows: {size: [small]}}\n"
    (folder / "study.yaml").write_text(fitted)
    (folder / "rings.csv").write_text("size,published,why\nsmall,15,\nlarge,40,another rule\n")
    study = read_study(folder)
    done = list(Player(study, tmp_path).obtain(study.rows))
    assert [each.verdict for each in done] == ["fitted", "known to differ"]
    assert all(each.expected for each in done)
    assert [row["fitted"] for row in as_json(done)] == ["the bandwidth, to the first row", ""]
    assert "**Fitted**: the bandwidth, to the first row" in markdown(study, done, {})


def test_the_help_lists_the_studies(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # a line a study
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    listed = capsys.readouterr().out.partition("studies:\n")[2].partition("\n\n")[0]
    folders = Path(__file__).parents[3].glob("studies/*/study.yaml")
    assert [line.split()[0] for line in listed.splitlines()] == sorted(path.parent.name for path in folders)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("published: rings.csv", "published: ../rings.csv", "a file in the study's folder"),
        ("{size: small}", "{size: huge}", "an alternative of an axis"),
        ("iteration_time /", "open('x') /", "comparisons and paths"),
        ("{design: ring.yaml, engine: fast}", "{picture: ring.yaml}", "one of design"),
        ("title: Rings", "titel: Rings", "titel"),
    ],
)
def test_bad_studies_are_refused(folder: Path, tmp_path: Path, old: str, new: str, message: str) -> None:
    (folder / "study.yaml").write_text(STUDY.replace(old, new))
    with pytest.raises(InputError, match=message):
        verdicts(folder, tmp_path)


def test_names_that_are_no_studies_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "ring", "--root", str(folder.parent)]) == 2
    assert "did you mean 'rings'" in capsys.readouterr().err
    assert main(["reproduce", "--root", str(folder / "nothing")]) == 2


CHOSEN = STUDY.replace(
    "    against: {size: small}\n",
    """\
      links:
        slow: {set: {'cluster.dimensions[0].bandwidth': 50 GB/s}, given: {fast: 0}}
        fast: {set: {'cluster.dimensions[0].bandwidth': 100 GB/s}, given: {fast: 1}}
    choose: {over: [links], least: iteration_time, where: fast < 1}
    against: {links: fast}
    show: {cost: cost.total, of the base: base.cost.total}
    compare: at_least
    plots:
      - {file: rings, kind: bars, x: size}
""",
).replace("iteration_time / base.iteration_time / share * 15", "iteration_time / base.iteration_time * 7.5")


def test_a_row_is_the_best_of_what_may_be_chosen_on_the_other_axes(folder: Path, tmp_path: Path) -> None:
    (folder / "study.yaml").write_text(CHOSEN)
    study = read_study(folder)
    done = list(Player(study, tmp_path).obtain(study.rows))
    assert [each.value.chosen for each in done] == [{"links": "slow"}] * 2  # fast ones are not allowed
    assert [each.value.number for each in done] == pytest.approx([15, 15])
    assert done[0].value.shown["cost"] < done[0].value.shown["of the base"]
    text = markdown(study, done, {"one ring": ["![](ring.png)"]})
    assert "| size | links (chosen) | cost | of the base | published [ms] |" in text
    assert "![](ring.png)" in text


def test_nothing_that_may_be_chosen_is_no_value(folder: Path, tmp_path: Path) -> None:
    (folder / "study.yaml").write_text(CHOSEN.replace("fast < 1", "fast > 1"))
    study = read_study(folder)
    (done, _) = Player(study, tmp_path).obtain(study.rows)
    assert (done.value.number, done.difference, done.verdict) == (None, None, "differs")


@pytest.mark.parametrize(
    ("compare", "published", "verdict"),
    [
        ("at_least", "10", "reproduced"),
        ("at_least", "16", "differs"),
        ("at_most", "10", "differs"),
        ("at_most", "16", "reproduced"),
        ("equal", "10", "differs"),
    ],
)
def test_a_value_may_be_published_as_a_limit(
    folder: Path, tmp_path: Path, compare: str, published: str, verdict: str
) -> None:
    (folder / "study.yaml").write_text(CHOSEN.replace("at_least", compare))
    (folder / "rings.csv").write_text(f"size,published,why\nsmall,{published},\n")
    assert verdicts(folder, tmp_path) == [verdict]


def test_without_published_values_every_combination_is_a_row_of_ours(folder: Path, tmp_path: Path) -> None:
    (folder / "study.yaml").write_text(STUDY.replace("    published: rings.csv\n", ""))
    assert verdicts(folder, tmp_path) == ["ours", "ours"]
    assert len(read_study(folder).rows) == 2


def test_pictures_are_drawn_beside_the_page(folder: Path, tmp_path: Path) -> None:
    (folder / "study.yaml").write_text(CHOSEN)
    options = ["--root", str(folder.parent), "--kept", str(tmp_path / "kept")]
    main(["reproduce", *options, "--out", str(tmp_path / "page.md")])
    assert "(pictures/reproduction/rings-rings.png)" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "pictures/reproduction/rings-rings.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("plot", "message"),
    [
        ("{file: rings, kind: bars, x: links}", "each of size once"),
        ("{file: rings, kind: heat, x: size}", "a heat map with x and y"),
        ("{file: rings, kind: bars, x: sizes}", "an axis"),
        ("{file: ../rings, kind: bars, x: size}", "file"),
    ],
)
def test_bad_pictures_are_refused(folder: Path, plot: str, message: str) -> None:
    (folder / "study.yaml").write_text(CHOSEN.replace("{file: rings, kind: bars, x: size}", plot))
    with pytest.raises(InputError, match=message):
        read_study(folder)


SPACE = """\
workload: {collective: all_reduce, size: 1 GB}
cluster:
  npu: a100-80gb
  dimensions:
    - {topology: ring, size: 4, bandwidth: {choice: [50 GB/s, 100 GB/s]}, latency: 0 ns, tier: node}
system: {collective: [ring], chunks: {choice: [1, 2]}}
objectives: {minimize: [iteration_time, cost.total]}
"""
SEARCH = """\
title: Rings
source: a closed form
parts:
  - name: a search
    run: {optimize: space.yaml, sampler: exhaustive, trials: 10, reference: {iteration_time: 1, cost.total: 1e6}}
    axes:
      chunks: {open: {}, one: {set: {system.chunks: 1}}}
    obtained: 1000 * best.iteration_time
    show: {chosen: chosen, trials: trials, cost: cost.total}
"""


def test_a_search_gives_its_best_and_a_value_in_place_of_a_hole_closes_it(folder: Path, tmp_path: Path) -> None:
    (folder / "study.yaml").write_text(SEARCH)
    (folder / "space.yaml").write_text(SPACE)
    study = read_study(folder)
    both, one = Player(study, tmp_path).obtain(study.rows)
    assert (both.value.shown["trials"], one.value.shown["trials"]) == (4, 2)
    assert one.value.number == pytest.approx(15)  # 2 GB x 3/4 at 100 GB/s
    assert "bandwidth" in one.value.shown["chosen"]
    assert "chunks" not in one.value.shown["chosen"]
    (folder / "study.yaml").write_text(SEARCH.replace("system.chunks: 1", "'cluster.dimensions[1].size': 1"))
    with pytest.raises(InputError, match="a path of the document"):
        verdicts(folder, tmp_path)


def test_an_interrupted_search_is_not_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "study.yaml").write_text(SEARCH)
    (folder / "space.yaml").write_text(SPACE)
    whole = optimize

    def interrupted(*args: Any, **options: Any) -> Any:
        found = whole(*args, **options)
        found.ended = "interrupted"
        return found

    with monkeypatch.context() as patch:
        patch.setattr("dse.door.optimize.optimize", interrupted)
        with pytest.raises(KeyboardInterrupt):
            verdicts(folder, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    assert verdicts(folder, tmp_path / "kept") == ["ours", "ours"]


def test_a_damaged_file_of_what_was_measured_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rings.json").write_text("{")
    with pytest.raises(InputError, match=r"rings\.json; delete it"):
        verdicts(folder, tmp_path)


def test_a_missing_column_and_an_unknown_engine_are_told_with_their_place(folder: Path, tmp_path: Path) -> None:
    (folder / "rings.csv").write_text("size,value\nsmall,15\n")
    with pytest.raises(InputError, match="expected the columns size, published, and why"):
        verdicts(folder, tmp_path)
    (folder / "rings.csv").write_text(ROWS)
    (folder / "study.yaml").write_text(STUDY.replace("engine: fast", "engine: fasst"))
    with pytest.raises(InputError, match=r"line 5: parts\[0\]\.run: expected an engine"):
        verdicts(folder, tmp_path)
