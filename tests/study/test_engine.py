"""The study engine: the plan, the results file, and what a kill leaves behind."""

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from commands import installed_raan, raan, said
from raan.fairness.metrics import metrics
from raan.fairness.rule import Rule
from raan.lab.datasets.catalogue import DATA
from raan.lab.results.records import StudyRunning, format_line, open_results, read
from raan.lab.studies import find, names, read_rule
from raan.lab.study.plan import PACK, packs
from raan.lab.study.run import run_in_memory, run_study
from raan.lab.study.study import StudyError, read_study
from raan.methods import RAAN, Scope
from raan.models.model import mlp
from raan.training.stages import first_stage, second_stage
from raan.training.train import Schedule
from raan.training.update import Update
from systems import posix

STUDY = """
title = "A small one"
seeds = [3, 5]
styles = ["adam", "sgd"]

[select]
aim = "worst_group"
accuracy_drop = 0.02

[first]
epochs = 2

[second]
epochs = 2
points_per_epoch = 2
learning_rate = [1e-2, 1e-3]

[[data]]
name = "toy"
rows = 400
architecture = "mlp"

[methods.Vanilla]
[methods.RL-RAAN]
temperature = [0.1, 0.5]
averaging_rate = [0.5]
balance = ["group", "sample"]
[methods.RAAN]
temperature = 0.5
[methods.DFR]
inverse_penalty = 1
"""


RAAN_STUDY = [sys.executable, "-m", "raan", "study"]


@pytest.fixture
def study_file(tmp_path):
    """A study of 2 styles x (2 + 8 + 6 + 1 candidates) x 2 seeds on the toy."""
    file = tmp_path / "small.toml"
    file.write_text(STUDY)
    return file


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The results of the study, which is carried out once."""
    folder = tmp_path_factory.mktemp("engine")
    run_study(read_study(write(folder, STUDY, "small.toml")), folder / "out.jsonl")
    return folder / "out.jsonl"


@pytest.fixture
def results(finished, tmp_path):
    """A copy of the results of the study, to go on with."""
    return Path(shutil.copy(finished, tmp_path / "out.jsonl"))


def shards(path):
    """The shards of finished packs beside a results file."""
    return sorted(path.parent.glob(f"{path.name}.parts/*.jsonl"))


def write(tmp_path, text, name="study.toml"):
    file = tmp_path / name
    file.write_text(text)
    return file


class TestPlan:
    def test_every_candidate_meets_every_seed_and_style_once(self, study_file):
        planned = packs(read_study(study_file))
        runs = [run for pack in planned for run in pack.runs]
        assert len(runs) == len(set(runs)) == 2 * (2 + 8 + 6 + 1) * 2
        assert all(len(pack.runs) <= PACK for pack in planned)

    def test_a_pack_differs_in_numbers_only(self, study_file):
        for pack in packs(read_study(study_file)):
            assert (
                len({(type(each.method), getattr(each.method, "balance", None)) for each in pack.candidates}) == 1
            )

    def test_settings_that_are_listed_are_taken_one_by_one(self, tmp_path):
        listed = "settings = [{ balance = 'group', learning_rate = 1e-2 }, { strength = 0.5 }]"
        text = STUDY.replace(
            'temperature = [0.1, 0.5]\naveraging_rate = [0.5]\nbalance = ["group", "sample"]', listed
        )
        planned = packs(read_study(write(tmp_path, text)))
        ours = [each for pack in planned for each in pack.candidates if each.entry.name == "RL-RAAN"]
        found = {(each.learning_rate, each.method.strength, each.method.temperature) for each in ours}
        assert found == {(1e-2, 1.0, 0.5), (1e-2, 0.5, 0.5), (1e-3, 0.5, 0.5)}

    def test_dials_that_the_file_does_not_turn_keep_the_papers_grid(self, study_file):
        raan = [pack for pack in packs(read_study(study_file)) if pack.candidates[0].entry.name == "RAAN"]
        rates = {each.method.averaging_rate for pack in raan for each in pack.candidates}
        assert rates == {0.1, 0.5, 0.9}

    def test_a_penalty_is_one_more_dial_and_none_changes_no_hash(self, study_file):
        before = {run for pack in packs(read_study(study_file)) for run in pack.runs}
        study_file.write_text(STUDY.replace("[1e-2, 1e-3]", "[1e-2, 1e-3]\nl2 = [0, 0.1]"))
        planned = [run for pack in packs(read_study(study_file)) for run in pack.runs]
        assert before < {*planned}
        assert len({*planned}) == len(planned) == 2 * (4 + 16 + 12 + 1) * 2  # DFR, which refits, has no penalty

    def test_the_hash_changes_with_whatever_the_outcome_depends_on(self, study_file):
        text = study_file.read_text()
        before = packs(read_study(study_file))[0].runs[0]
        for old, new in [
            ("rows = 400", "rows = 500"),
            ("[first]\nepochs = 2", "[first]\nepochs = 3"),
            ("points_per_epoch = 2", "points_per_epoch = 1"),
            ("seeds = [3, 5]", "seeds = [4, 5]"),
            ('"mlp"', '"linear"'),
            ("[1e-2, 1e-3]", "[2e-2, 1e-3]"),
            ("[first]", "[first]\nl2 = 0.1"),
            ("[1e-2, 1e-3]", "[1e-2, 1e-3]\nl2 = 0.1"),
        ]:
            study_file.write_text(text.replace(old, new))
            assert packs(read_study(study_file))[0].runs[0] != before, new
        study_file.write_text(
            text.replace("accuracy_drop = 0.02", "accuracy_drop = 0.5").replace("A small", "One")
        )
        assert packs(read_study(study_file))[0].runs[0] == before


class TestRecords:
    def test_a_run_of_a_study_is_the_run_alone(self, results):
        (record,) = [
            record
            for record in read(results)
            if (record.method, record.style, record.seed) == ("RL-RAAN", "sgd", 5)
            and record.hyperparameters["learning_rate"] == 1e-2
            and record.hyperparameters["temperature"] == 0.1
            and record.hyperparameters["balance"] == "sample"
        ]
        problem = DATA["toy"].load({"rows": 400}, (5,))
        schedule = Schedule(epochs=2, points_per_epoch=2, watch_test=True)
        plain = first_stage(mlp(problem.table), problem.table, problem.split, [5], schedule).last
        method = RAAN(temperature=0.1, averaging_rate=0.5, balance="sample", scope=Scope.MODEL)
        alone = second_stage(
            method,
            plain,
            problem.table,
            problem.split,
            [5],
            replace(schedule, learning_rate=1e-2, update=Update(style="sgd")),
        )
        points = alone.path.points
        assert list(record.step) == [point.step for point in points] == [0, 2, 4, 6, 8]
        for part in ("validation", "test"):
            ours, theirs = record.counts(part), np.stack([getattr(p, f"{part}_counts")[0] for p in points])
            # Rounding in a pack may turn a row or two that stand on the boundary.
            assert np.abs(ours - theirs).sum((1, 2, 3)).max() <= 4
            np.testing.assert_allclose(metrics(ours).accuracy, metrics(theirs).accuracy, atol=0.03, rtol=0)

    def test_a_diverged_run_is_recorded_and_its_pack_goes_on(self, study_file, tmp_path):
        study_file.write_text(STUDY.replace("[1e-2, 1e-3]", "[1e30, 1e-3]"))
        outcome = run_study(read_study(study_file), tmp_path / "out.jsonl")
        records = [r for r in read(tmp_path / "out.jsonl") if r.method == "Vanilla" and r.style == "sgd"]
        diverged = {record.hyperparameters["learning_rate"]: record.diverged is not None for record in records}
        assert diverged == {1e30: True, 1e-3: False}
        assert outcome.diverged >= 2
        assert outcome.complete

    def test_a_study_in_memory_has_the_records_that_are_written(self, study_file, results):
        assert "".join(map(format_line, run_in_memory(read_study(study_file)))) == results.read_text()

    def test_another_rule_is_another_reading_of_the_same_bytes(self, study_file, results):
        before = results.read_bytes()
        study_file.write_text(STUDY.replace('"worst_group"', '"demographic_parity"'))
        seen = []
        run_study(read_study(study_file), results, progress=lambda *each: seen.append(each))
        assert seen == [(0, 0, 68)]
        assert results.read_bytes() == before

    def test_more_seeds_add_runs_and_repeat_none(self, study_file, results):
        before = {record.run: record for record in read(results)}
        study_file.write_text(STUDY.replace("[3, 5]", "[3, 5, 7]"))
        assert run_study(read_study(study_file), results).finished == 3 * len(before) // 2
        after = {record.run: record for record in read(results)}
        assert all(after[run] == record for run, record in before.items())

    def test_data_that_changed_are_refused(self, study_file, tmp_path):
        frame = np.random.default_rng(0).random((300, 2))
        header = "x,z,y,a"
        rows = [f"{x:.3f},{z:.3f},{int(x > 0.5)},{'fm'[int(z > 0.6)]}" for x, z in frame]
        table = write(tmp_path, "\n".join([header, *rows]) + "\n", "people.csv")
        told = f'name = "table"\npath = "{table}"\nlabel = "y"\nattribute = "a"\n'
        text = f"seeds = 2\n[first]\nepochs = 1\n[[data]]\n{told}"
        study = write(tmp_path, text + "[methods.Vanilla]\n")
        with pytest.warns(UserWarning, match="."):
            run_study(read_study(study), tmp_path / "out.jsonl")
        table.write_text("\n".join([header, *rows[::-1]]) + "\n")
        study.write_text(text + "[methods.Vanilla]\n[methods.DFR]\n")
        refused = installed_raan("study", study, "--results", tmp_path / "out.jsonl", "--workers", 1)
        assert refused.returncode == 2
        assert "has changed since" in said(refused)


class TestInterruptions:
    def test_workers_change_no_byte(self, study_file, tmp_path):
        study = read_study(study_file)
        run_study(study, tmp_path / "one.jsonl.gz")
        run_study(study, tmp_path / "two.jsonl.gz", workers=2)
        assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
        assert sorted(path.name for path in tmp_path.glob("*.jsonl*")) == [
            "one.jsonl.gz",
            "two.jsonl.gz",
        ]

    @posix
    @pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.exhaustive)])
    def test_killed_at_random_moments_it_ends_with_the_same_bytes(self, kills, finished, study_file, tmp_path):
        path = tmp_path / "out.jsonl"
        command = [*RAAN_STUDY, study_file, "--results", path, "--workers", "1", "--quiet"]
        rng, seen = random.Random(0), set()
        for _ in range(kills):
            before = len(shards(path))
            child = subprocess.Popen(command)
            # Only from the first fresh shard on does a kill meet work; then at a random moment of it.
            while child.poll() is None and len(shards(path)) == before:
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.5))
            child.kill()
            child.wait()
            files = [*([path] if path.exists() else []), *shards(path)]
            found = {record.run for file in files for record in read(file)}
            assert found >= seen, "a finished run was lost"
            seen = found
            if len(found) == len(read(finished)):  # it was done: the next one begins anew
                path.unlink(missing_ok=True)
                shutil.rmtree(f"{path}.parts", ignore_errors=True)
                seen = set()
        subprocess.run(command, check=True)
        assert path.read_bytes() == finished.read_bytes()
        assert sorted(os.listdir(tmp_path)) == ["out.explain.json", "out.jsonl", "small.toml"]

    def test_a_damaged_shard_is_named_and_its_runs_are_trained_again(self, finished, study_file, tmp_path):
        study, path = read_study(study_file), tmp_path / "out.jsonl"
        with open_results(path) as results:
            for pack in packs(study)[:3]:
                results.save([record for record in read(finished) if record.run in pack.runs])
        damaged = shards(path)[1]
        damaged.write_bytes(damaged.read_bytes()[:-100])
        with pytest.warns(UserWarning, match=rf"{damaged.name}, line \d+, is not a run .* trained again"):
            run_study(study, path)
        assert path.read_bytes() == finished.read_bytes()

    @posix
    def test_a_shard_that_the_disk_has_no_room_for_leaves_nothing(self, finished, tmp_path):
        """A limit on the size of files stands for a full disk: the system takes a part of what is written."""
        script = """
import resource, sys
from raan.lab.results.records import open_results, read
records = read(sys.argv[1])
with open_results(sys.argv[2]) as results:
    results.save(records[:1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, -1))
    try:
        results.save(records[1:5])
    except OSError:
        print("full")
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    results.save(records[5:7])
"""
        path = tmp_path / "out.jsonl"
        command = [sys.executable, "-c", script, finished, path]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "full\n"
        found = {record.run for shard in shards(path) for record in read(shard)}
        assert found == {read(finished)[number].run for number in (0, 5, 6)}
        assert len(os.listdir(f"{path}.parts")) == 2

    @posix
    def test_control_c_settles_what_is_finished(self, study_file, tmp_path):
        study_file.write_text(STUDY.replace("[second]\nepochs = 2", "[second]\nepochs = 200"))
        path = tmp_path / "out.jsonl"
        command = [*RAAN_STUDY, study_file, "--results", path, "--workers", "2"]
        # Where the tests run in the background SIGINT is ignored, and children inherit that.
        heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heeds)
        while child.poll() is None and not shards(path):
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, words = child.communicate(timeout=120)
        assert child.returncode == 130
        assert "Traceback" not in words
        assert 0 < len(read(path)) < 68
        assert not shards(path)

    @posix
    def test_two_processes_on_one_file_are_refused(self, tmp_path):
        path = tmp_path / "out.jsonl"
        script = "import sys, time; from raan.lab.results.records import open_results\n"
        script += "with open_results(sys.argv[1]): print(flush=True); time.sleep(60)"
        child = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
        try:
            child.stdout.readline()
            with (
                pytest.raises(StudyRunning, match=r"another process is writing to .*out\.jsonl"),
                open_results(path),
            ):
                pass
        finally:
            child.kill()
            child.wait()
            child.stdout.close()
        with open_results(path) as results:  # the dead hold no lock
            assert results.done == {}


class TestFiles:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"{}\n", "line 1, is not a run of a study: 'run' is missing"),
            (b"[1]\n", "line 1, is not a run of a study"),
            (b"hello\n", "line 1, is not a run of a study"),
            (b"\xff\xfe\n", "holds no results"),
        ],
    )
    def test_what_is_no_results_file_is_said_to_be_none(self, tmp_path, content, message):
        path = tmp_path / "out.jsonl"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read(path)
        zipped = tmp_path / "out.jsonl.gz"
        zipped.write_bytes(gzip.compress(content)[:-4])
        with pytest.raises(ValueError, match="holds no results"):
            read(zipped)

    def test_a_flipped_bit_of_a_gzipped_file_is_told_with_its_name_or_changes_nothing(self, finished, tmp_path):
        whole = gzip.compress(finished.read_bytes(), mtime=0)
        path = tmp_path / "out.jsonl.gz"
        for place in np.random.default_rng(0).integers(10, len(whole), size=150):
            broken = bytearray(whole)
            broken[place] ^= 1 << int(place % 8)
            path.write_bytes(broken)
            try:
                found = read(path)
            except ValueError as error:
                said_of = str(error)
                found = None
            # The last byte of the stream has bits that mean nothing.
            assert "out.jsonl.gz" in said_of if found is None else found == read(finished)

    @pytest.mark.parametrize(
        "part",
        [
            {"seed": "3"},
            {"seed": 10**30},
            {"test": [[1e400]]},
            {"validation": [[10**400]]},
            {"validation": ["abc"]},
            {"run": None},
            {"versions": []},
            {"classes": [None]},
            {"diverged": "never"},
        ],
        ids=str,
    )
    def test_parts_of_a_wrong_type_are_named(self, part, finished, tmp_path):
        path = tmp_path / "out.jsonl"
        first = json.loads(finished.read_text().splitlines()[0])
        path.write_text(json.dumps({**first, **part}) + "\n")
        with pytest.raises(
            ValueError, match=rf"out.jsonl, line 1, is not a run of a study: .*({next(iter(part))}|digit)"
        ):
            read(path)


class TestFaults:
    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("[select]", "[selekt]", r"line 6: selekt is not known there \(did you mean 'select'\?\)"),
            (
                '"worst_group"',
                '"worst"',
                r"line 7: select.aim is 'worst'; expected .* \(did you mean 'worst_group'\?\)",
            ),
            ("inverse_penalty = 1", "settings = 1", r"methods.DFR.settings is 1; expected a list such as"),
            (
                "inverse_penalty = 1",
                "settings = [{ penalty = 1 }]",
                r"methods.DFR.settings is 'penalty'; expected",
            ),
            ("inverse_penalty = 1", "settings = [{ inverse_penalty = -1 }]", "inverse_penalty is -1"),
            ("accuracy_drop = 0.02", "accuracy_drop = 2", "line 8: select.accuracy_drop is 2; expected a share"),
            (
                "epochs = 2\n\n[second]",
                "epochs = 0\n\n[second]",
                "first.epochs is 0; expected a number greater than",
            ),
            ("[1e-2, 1e-3]", '["fast"]', "line 16: second.learning_rate.0 is 'fast'; expected a valid number"),
            ("[1e-2, 1e-3]", "1e-2\nl2 = [0, -1]", "line 17: second.l2.1 is -1; expected a number greater"),
            ("epochs = 2\n\n[second]", "l2 = [0, 1]\n\n[second]", "line 11: first.l2 is .*; expected one value"),
            ('name = "toy"', 'name = "adlut"', r"line 19: data.0.name is 'adlut'; .*did you mean 'adult'"),
            ("rows = 400", "row = 400", r"line 20: data.0.row is not known there \(did you mean 'rows'\?\)"),
            (
                "[methods.RL-RAAN]",
                "[methods.RLRAAN]",
                r"line 24: methods.RLRAAN is 'RLRAAN'; .*did you mean 'RL-RAAN'",
            ),
            (
                "averaging_rate = [0.5]",
                "averaging_rate = [5]",
                "line 26: methods.RL-RAAN.averaging_rate is .*0 to 1",
            ),
            (
                "temperature = 0.5",
                "temprature = 0.5",
                r"line 29: .*temprature is not known there \(did you mean 'temp",
            ),
            ('["adam", "sgd"]', '["adam", "sdg"]', r"line 4: styles.1 is 'sdg'; .*did you mean 'sgd'"),
            ("seeds = [3, 5]", "seeds = [3, 3]", "line 3: seeds is .*different seeds"),
            ("seeds = [3, 5]", "seeds = 100000000", "line 3: seeds is 100000000; expected 10,000 at most"),
            ("seeds = [3, 5]", "seeds = [3, true]", "line 3: seeds.1 is True; expected a valid integer"),
            (
                "seeds = [3, 5]",
                "seeds = [99999999999999999999]",
                "line 3: seeds.0 is .*; expected a number less than",
            ),
            ("[0.1, 0.5]", str([x / 1e4 for x in range(1, 1000)] * 99), "methods is a grid of .* at most"),
            ("[1e-2, 1e-3]", "[inf]", "line 16: second.learning_rate.0 is inf; expected a finite number"),
            ("seeds = [3, 5]", "seeds = 2.5", "line 3: seeds is 2.5; expected a number of seeds, or a list"),
            ("[[data]]", "[data]", r"line 18: data is .*; expected a list, each under \[\[data\]\]"),
            (
                'name = "toy"\nrows = 400',
                'name = "table"\nlabel = "y"',
                "data.0.path is missing; .*'table'",
            ),
            ("[methods.Vanilla]", "[methods]\nVanilla = 3", r"line 24: methods.Vanilla is 3; expected a table"),
            (STUDY[STUDY.index("[methods") :], "", "methods is missing; a comparison needs at least one"),
            (
                "[methods.Vanilla]",
                "[[paper]]\nRAAN = [1, 2]\n[methods.Vanilla]",
                "toml: paper.0.data is missing",
            ),
            (
                "[methods.Vanilla]",
                '[[paper]]\ndata = "toy"\nmeasure = "accuracy"\nRAAN = 3\n[methods.Vanilla]',
                "paper.0.RAAN is 3; expected .mean, standard",
            ),
            (
                "[methods.Vanilla]",
                '[[paper]]\ndata = "toy"\nmeasure = "accuarcy"\nRAAN = [1, 2]\n[methods.Vanilla]',
                "line 25: paper.0.measure is 'accuarcy'; expected one of accuracy,",
            ),
            ("seeds = [3, 5]", "seeds = [3", "is not TOML: .*line"),
        ],
    )
    def test_say_line_key_and_nearest_name(self, study_file, old, new, message):
        study_file.write_text(STUDY.replace(old, new))
        with pytest.raises(StudyError, match=message):
            read_study(study_file)

    def test_a_file_that_is_not_there_names_its_neighbours(self, study_file):
        with pytest.raises(StudyError, match=r"smal\.toml is not there; study files in its folder: small\.toml"):
            read_study(study_file.with_name("smal.toml"))

    def test_a_study_may_tell_anothers_runs(self, study_file, tmp_path):
        other = write(
            tmp_path, 'extends = "small.toml"\ntitle = "Curves"\n[select]\naim = "equalized_odds"\n', "c.toml"
        )
        base, study = read_study(study_file), read_study(other)
        assert [pack.runs for pack in packs(study)] == [pack.runs for pack in packs(base)]
        assert (study.title, study.results, study.select) == (
            "Curves",
            "small",
            Rule("equalized_odds", 0.005),
        )
        other.write_text('extends = "none.toml"\n')
        with pytest.raises(StudyError, match=r"extends is none\.toml, which is neither beside"):
            read_study(other)

    @pytest.mark.parametrize("ring", [("a",), ("a", "b"), ("a", "b", "c")])
    def test_a_study_that_extends_itself_is_told(self, ring, tmp_path):
        for name, other in zip(ring, (*ring[1:], ring[0]), strict=True):
            write(tmp_path, f'extends = "{other}.toml"\n', f"{name}.toml")
        with pytest.raises(StudyError, match=r"extends is a\.toml, which extends this one in turn"):
            read_study(tmp_path / "a.toml")


class TestCommand:
    def test_dry_run_shows_the_plan_and_trains_nothing(self, study_file, tmp_path):
        command = ("study", study_file, "--results", tmp_path / "out.jsonl", "--dry-run")
        shown = raan(*command).stdout
        assert "68 runs, 0 of them finished" in shown
        assert "RL-RAAN" in shown
        assert not (tmp_path / "out.jsonl").exists()
        told = json.loads(raan(*command, "--json").stdout)
        assert sum(share["runs"] for share in told["left"]) == 68
        assert 0 < told["seconds"] < 600

    def test_at_the_end_it_shows_what_came_of_it_and_explains_the_chosen_runs(self, study_file, tmp_path):
        command = [*RAAN_STUDY, study_file, "--results", tmp_path / "out.jsonl", "--workers", "1"]
        wide = {**os.environ, "COLUMNS": "120"}  # no header is broken into lines
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=wide)
        assert done.stdout.count("worst group %") == 2  # a table for each style
        assert "toy, sgd: " in done.stdout
        assert "68 of 68 runs" in done.stdout
        assert json.loads((tmp_path / "out.explain.json").read_text())["weights"]

    def test_a_picture_of_the_paper_is_not_run_here(self, tmp_path):
        file = write(tmp_path, 'kind = "toy"\n')
        done = raan("study", file)
        assert done.returncode == 2
        assert "which `python -m reproduce.figures` computes" in said(done)

    def test_a_bad_file_is_one_paragraph_and_exit_code_2(self, study_file):
        study_file.write_text(STUDY.replace("rows = 400", "row = 400"))
        done = raan("study", study_file)
        assert done.returncode == 2
        assert "line 20" in done.stderr
        assert "Traceback" not in done.stderr


def test_every_study_file_of_the_project_is_sound():
    assert "table-2" in names()
    for name in names():
        study = read_study(name)
        assert (study.name, read_study(find(name))) == (name, study)
        if study.kind == "comparison":
            assert packs(study), name
            assert read_rule(name) == study.select


def test_a_file_comes_before_the_packaged_study_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, STUDY, "table-2.toml")
    assert read_study("table-2.toml").title == "A small one"
    assert read_study("table-2").title == "Table 2: worst-group accuracy"
    with pytest.raises(StudyError, match=r"table-9 is not there; .* packaged: .*table-2"):
        read_study("table-9")


def test_a_study_may_extend_a_packaged_one(tmp_path):
    study = read_study(write(tmp_path, 'extends = "table-2.toml"\ntitle = "Mine"\n'))
    assert (study.title, study.results) == ("Mine", "table-2")


@pytest.mark.parametrize("name", ["celeba", "table-2", "table-3"])
def test_the_committed_results_are_read_and_written_to_the_same_bytes(name):
    path = Path(__file__).parents[2] / "results" / f"{name}.jsonl.gz"
    assert "".join(map(format_line, read(path))).encode() == gzip.decompress(path.read_bytes())
