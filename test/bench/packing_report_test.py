#!/usr/bin/env python3
"""What bench/packing/report.py makes of figures that are made up, and which runs it asks for."""
import math
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "packing"))

import bound  # noqa: E402
import paired  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import runs  # noqa: E402
import svg_plot  # noqa: E402
import tables  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
# Says that it knows the strategy fgd alone, and counts its simulations in a file beside it.
STUB = """#!/usr/bin/env python3
import json, pathlib, sys
if "fgd" not in sys.argv:
    print("offcut: --strategy: is none of fgd", file=sys.stderr)
    sys.exit(2)
if "/dev/null" in sys.argv:
    sys.exit(1)
with open(pathlib.Path(__file__).with_name("calls"), "a") as calls:
    calls.write("one\\n")
print(json.dumps({"failed_pods": 3}))
"""


def replay(allocated_percent, failed_pods=7):
    point = {"allocated_percent": allocated_percent, "fragmentation_percent": 4.0}
    return {"failed_pods": failed_pods, "arrived": 100,
            "at": {str(percent): point for percent in range(131)}}


def replays(trace, strategy, ties, values):
    return {runs.replay_name(trace, seed, strategy, ties): replay(value)
            for seed, value in values.items()}


def measured(outputs, seeds=None, bounds=None):
    return tables.Measured(outputs, seeds or {"default": [42, 43]}, bounds or {})


CASE = runs.CHURN_CASES[0]


def churn_outputs(strategy, accepted_percent, accepted_gpus_percent, loads=(1.0,)):
    point = {"allocated_percent": 90.0, "fragmentation_percent": 4.0}
    output = {**point, "accepted_percent": accepted_percent, "allocated_percent": 91.0,
              "accepted_gpus_percent": accepted_gpus_percent,
              "arrived_by_class": {"share": 9, "8 GPUs": 4}, "failed_by_class": {"8 GPUs": 3},
              "at": {str(percent): point for percent in range(10, 301, 10)}}
    return {runs.churn_name(CASE, load, seed, strategy): output
            for load in loads for seed in runs.CHURN_SEEDS}


def mig_output(by_strategy):
    return {"results": [{"mix": "uniform", "load": 1.0, "strategy": strategy,
                         "accepted_percent": percent} for strategy, percent in by_strategy.items()]}


def row_of(table, first):
    """The cells of the row whose first cell is `first`."""
    for line in table.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == first:
            return cells
    raise AssertionError(f"no row {first} in\n{table}")


class PairedTest(unittest.TestCase):
    def test_the_interval_is_students(self):
        # 1, 2, 3: deviation 1, two degrees of freedom: 4.303 / sqrt(3).
        self.assertAlmostEqual(paired.half_width([1, 2, 3]), 4.303 / math.sqrt(3))

    def test_one_value_has_no_interval(self):
        self.assertIsNone(paired.half_width([1]))

    def test_the_middle_half_of_five_is_the_second_to_the_fourth(self):
        self.assertEqual(paired.quartiles([5, 1, 4, 2, 3]), (2, 3, 4))


class TablesTest(unittest.TestCase):
    def test_the_difference_is_to_the_published_mean(self):
        # Published: 4.77 % unallocated, so 95.23; ours 95.0 on average, 0.23 off of at most 0.35.
        outputs = replays("default", "fgd", "name", {42: 94.9, 43: 95.1})
        cells = row_of(tables.reproduction(measured(outputs)), "`fgd`")
        self.assertEqual(cells[1:7], ["95.00", "0.14", "95.23", "-0.23", "0.35", "yes"])

    def test_a_mean_that_lacks_a_seed_is_not_shown(self):
        outputs = replays("default", "fgd", "name", {42: 94.9})
        cells = row_of(tables.reproduction(measured(outputs)), "`fgd`")
        self.assertEqual(cells[1], tables.DASH)

    def test_offcut_is_held_against_the_better_fgd_and_the_aim(self):
        outputs = {**replays("default", "offcut", "name", {42: 95.9, 43: 95.9}),
                   **replays("default", "fgd", "name", {42: 95.0, 43: 95.0}),
                   **replays("default", "fgd", "strict", {42: 95.2, 43: 95.2})}
        cells = row_of(tables.against_fgd(measured(outputs)), "default")
        self.assertEqual(cells[1:4], ["95.90", "95.20", "+0.70"])
        self.assertEqual(cells[7:9], ["95.8", "yes"])
        outputs |= replays("default", "offcut", "name", {42: 95.7, 43: 95.7})
        self.assertEqual(row_of(tables.against_fgd(measured(outputs)), "default")[8], "**no**")

    def test_the_gap_is_to_the_mean_bound_of_the_seeds(self):
        outputs = replays("default", "fgd", "name", {42: 95.0, 43: 95.2})
        bounds = {("default", 42, 100, 0): 97.0, ("default", 43, 100, 0): 97.4}
        cells = row_of(tables.gaps_to_bound(measured(outputs, bounds=bounds)), "default")
        self.assertEqual(cells[1:4], ["97.20", tables.DASH, "2.10"])

    def test_ties_are_paired_by_seed(self):
        # Differences 5 and 7: mean 6, half width 12.706 * sqrt(2) / sqrt(2).
        outputs = {**replays("default", "fgd", "name", {42: 95, 43: 96}),
                   **replays("default", "fgd", "random", {42: 90, 43: 89})}
        self.assertEqual(row_of(tables.ties(measured(outputs)), "`fgd`")[4], "+6.00 ± 12.71")

    def test_mig_is_held_against_the_best_of_the_others(self):
        outputs = {}
        for seed in runs.MIG_SEEDS:
            outputs[runs.mig_name("A30-24GB", seed)] = mig_output(
                {"mig-first-fit": 99.0, "mig-best-fit": 94.0, "mfi": 94.5, "offcut": 94.3})
        table = tables.mig(measured(outputs), "A30-24GB")
        self.assertIn("| mig-first-fit | mig-best-fit | mfi |", table)
        cells = row_of(table, "uniform")
        self.assertEqual(cells[8:], ["`mfi`", "-0.200 ± 0.000", "**no**"])

    def test_churn_is_paired_by_seed(self):
        # Accepted 98 and 97: -1; of GPUs 90 and 94: -4. Of 4 x 4 pods of 8 GPUs 4 x 3 are refused.
        outputs = {**churn_outputs("fgd", 98, 94), **churn_outputs("offcut", 97, 90)}
        lines = tables.churn(measured(outputs), CASE).split("\n")
        cells = [line.strip("| ").split(" | ") for line in lines if "`offcut`" in line]
        self.assertEqual(cells[1], ["1.0", "`offcut`", "97.00", "-1.00 ± 0.00", "90.00",
                                    "-4.00 ± 0.00", "91.00", "4.00", "0.0", tables.DASH, "75.0"])
        self.assertEqual(cells[0][2:], [tables.DASH] * 9)

    def test_churn_of_one_case_is_not_that_of_another(self):
        outputs = churn_outputs("fgd", 98, 94)
        self.assertNotIn("98.00", tables.churn(measured(outputs), runs.CHURN_CASES[1]))


class PlotsTest(unittest.TestCase):
    def test_a_plot_is_xml_on_a_white_ground_with_a_curve_a_strategy(self):
        outputs = {**replays("default", "fgd", "name", {42: 95, 43: 96}),
                   **replays("default", "random", "name", {42: 86, 43: 87})}
        root = ElementTree.fromstring(plots.all_plots(measured(outputs))["unallocated.svg"])
        self.assertEqual(root.find(f"{SVG}rect").get("fill"), "#ffffff")
        self.assertEqual(len(list(root.iter(f"{SVG}polyline"))), 2)
        words = [each.text for each in root.iter(f"{SVG}text")]
        self.assertIn("fgd", words)
        self.assertIn("unallocated, % of all GPUs", words)

    def test_churn_is_drawn_along_time_with_a_panel_a_load(self):
        outputs = churn_outputs("fgd", 98, 94, runs.CHURN_LOADS)
        drawn = plots.all_plots(measured(outputs))
        self.assertEqual(sorted(drawn), ["churn-allocated-default.svg",
                                         "churn-fragmented-default.svg"])
        root = ElementTree.fromstring(drawn["churn-fragmented-default.svg"])
        self.assertEqual(len(list(root.iter(f"{SVG}polyline"))), 3)
        words = [each.text for each in root.iter(f"{SVG}text")]
        self.assertIn("load 0.9", words)

    def test_what_was_not_run_is_not_drawn(self):
        self.assertEqual(plots.all_plots(measured({})), {})

    def test_ticks_are_round_numbers(self):
        self.assertEqual(svg_plot.ticks(75, 130), [80, 90, 100, 110, 120, 130])
        self.assertEqual(svg_plot.ticks(0.85, 1.2), [0.9, 1.0, 1.1, 1.2])


class RunsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.binary = pathlib.Path(self.folder.name, "offcut")
        self.binary.write_text(STUB, encoding="utf-8")
        self.binary.chmod(0o755)
        self.run = runs.Run("default-42-fgd-name", ("simulate", "--strategy", "fgd"))

    def run_all(self, wanted):
        results = runs.Results(pathlib.Path(self.folder.name, "results"), self.binary)
        failed = runs.run_all(self.binary, results, wanted, 2, lambda line: None)
        return results, failed

    def calls(self):
        return self.binary.with_name("calls").read_text(encoding="utf-8").count("one")

    def test_a_result_is_kept_for_the_same_program_and_arguments(self):
        for _ in range(2):
            results, failed = self.run_all([self.run])
            self.assertEqual((results.read(self.run), failed), ({"failed_pods": 3}, {}))
        self.assertEqual(self.calls(), 1)
        self.run_all([runs.Run(self.run.name, (*self.run.arguments, "--seed", "7"))])
        self.assertEqual(self.calls(), 2)

    def test_another_program_runs_anew(self):
        self.run_all([self.run])
        self.binary.write_text(STUB + "# another\n", encoding="utf-8")
        self.run_all([self.run])
        self.assertEqual(self.calls(), 2)

    def test_a_run_that_fails_is_named_and_not_kept(self):
        wanted = runs.Run("x", ("simulate", "--strategy", "none"))
        results, failed = self.run_all([wanted])
        self.assertIsNone(results.read(wanted))
        self.assertEqual(failed, {"x": "offcut: --strategy: is none of fgd"})

    def test_a_strategy_that_the_program_lacks_is_told_from_one_that_it_has(self):
        missing = runs.missing_replay_strategies(self.binary, ["fgd", "offcut"])
        self.assertEqual(missing, {"offcut": "offcut: --strategy: is none of fgd"})

    def test_a_program_that_takes_no_notice_of_the_load_has_no_churn(self):
        self.assertIn("no member `load`", runs.missing_churn(self.binary, self.run))


class ReportTest(unittest.TestCase):
    def test_tables_replace_what_stands_between_the_markers(self):
        text = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
        self.assertEqual(report.between_markers(text, "new"),
                         f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n")
        self.assertIsNone(report.between_markers("neither", "new"))

    def test_the_readme_has_the_markers(self):
        text = report.README.read_text(encoding="utf-8")
        self.assertIsNotNone(report.between_markers(text, ""))

    def test_every_section_can_be_written_without_a_single_run(self):
        blocks = report.sections(measured({}), {})
        self.assertIn("### MIG", blocks)

    def test_without_the_traces_both_scripts_say_so_and_succeed(self):
        with tempfile.TemporaryDirectory() as empty, unittest.mock.patch.dict(
                "os.environ", OFFCUT_TRACES=empty), unittest.mock.patch("sys.stderr") as err:
            self.assertEqual(report.main(["offcut"]), 0)
            self.assertEqual(bound.main([]), 0)
        self.assertIn("OFFCUT_TRACES", err.write.call_args_list[0].args[0])


if __name__ == "__main__":
    unittest.main()
