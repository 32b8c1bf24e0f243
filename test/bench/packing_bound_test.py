#!/usr/bin/env python3
"""The upper bound of bench/packing/bound.py on instances small enough to solve by hand.

Exits 77 where glpsol is missing: ctest shows the test as skipped then.
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "packing"))

import bound  # noqa: E402
import linear_program  # noqa: E402
from openb import NodeShape, PodShape  # noqa: E402

SKIPPED = 77
STEP_MILLI = 50


def node(gpus, vcpu=100, model="T4"):
    return NodeShape(model, gpus, 1000 * vcpu, 1024 * 1024)


def pod(milli, gpus=1, vcpu=0, models=()):
    return PodShape(1000 * vcpu, 0, gpus, milli, frozenset(models))


def fillings(left, largest):
    """All multisets of shares in steps of STEP_MILLI that fit into `left`."""
    yield ()
    for share in range(STEP_MILLI, min(left, largest) + 1, STEP_MILLI):
        for rest in fillings(left - share, share):
            yield (share, *rest)


class BoundTest(unittest.TestCase):
    def assert_bound(self, expected, nodes, arrivals, arrived_percent=1000, mandatory_percent=0):
        bound_percent = bound.bound_percent(nodes, arrivals, arrived_percent, mandatory_percent)
        self.assertAlmostEqual(bound_percent, expected, places=6)

    def test_shares_that_fit_on_a_gpu_weigh_at_most_one_by_every_function(self):
        for weigh in bound.dual_feasible_functions():
            for filling in fillings(1000, 1000):
                self.assertLessEqual(sum(map(weigh, filling)), 1, filling)

    def test_everything_is_placed_where_there_is_room(self):
        # 0.5 + 0.5 + 1 of 4 GPUs.
        self.assert_bound(50, [node(4)], [pod(500), pod(500), pod(1000)])

    def test_two_shares_above_a_half_never_meet(self):
        # Four pods of 0.6 ask for 2.4 of 2 GPUs, but each GPU takes one: 1.2.
        self.assert_bound(60, [node(2)], [pod(600)] * 4)

    def test_three_shares_above_a_third_never_meet(self):
        # 0.35 twice a GPU: 0.7 of each of two.
        self.assert_bound(70, [node(2)], [pod(350)] * 9)

    def test_the_bound_may_cut_pods_and_so_lies_above_what_is_possible(self):
        # Beside 0.81 no 0.2 fits: 0.81 + 0.15 is the best. Cut, 0.8 pods of 0.81 and one each of
        # the others keep every row: 0.648 + 0.15 + 0.2.
        self.assert_bound(99.8, [node(1)], [pod(810), pod(150), pod(200)])

    def test_cpu_that_is_short_binds(self):
        # 4 vCPU, 3 a pod: four thirds of a pod of half a GPU each.
        self.assert_bound(100 * 4 / 3 / 2, [node(1, vcpu=4)], [pod(500, vcpu=3)] * 2)

    def test_a_pod_keeps_to_its_models(self):
        # Three GPUs' worth of pods for T4 alone, of which there is one; one pod for any.
        nodes = [node(1, model="T4"), node(4, model="A10")]
        self.assert_bound(40, nodes, [pod(1000, models=["T4"])] * 3 + [pod(1000)])

    def test_a_pod_of_many_gpus_keeps_to_nodes_with_as_many(self):
        self.assert_bound(100 * 8 / 12, [node(8), node(4)], [pod(1000, gpus=8)] * 2)

    def test_only_what_has_arrived_counts(self):
        # At 50 % arrived of two GPUs one pod has come; the next passes the mark.
        self.assert_bound(45, [node(2)], [pod(900), pod(900)], arrived_percent=50)

    def test_mandatory_pods_take_the_place_of_better_ones(self):
        # Free choice takes the whole GPU. With the first 60 % mandatory the 0.6 stays, alone.
        arrivals = [pod(600), pod(1000)]
        self.assert_bound(100, [node(1)], arrivals)
        self.assert_bound(60, [node(1)], arrivals, mandatory_percent=60)

    def test_there_is_no_bound_where_mandatory_pods_cannot_all_be_placed(self):
        arrivals = [pod(600), pod(600)]
        self.assertIsNone(bound.bound_percent([node(1)], arrivals, 200, 200))

    def test_there_is_no_bound_where_a_mandatory_pod_may_go_nowhere(self):
        arrivals = [pod(1000, models=["T4"])]
        self.assertIsNone(bound.bound_percent([node(1, model="A10")], arrivals, 100, 100))


if __name__ == "__main__":
    if not linear_program.is_solver_there():
        print("Skipped\nno glpsol: deploy/install-build-dependencies bench-packing\n[  SKIPPED ]")
        sys.exit(SKIPPED)
    unittest.main()
