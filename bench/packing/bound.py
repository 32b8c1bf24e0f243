#!/usr/bin/env python3
"""What no schedule can exceed: an upper bound on allocated GPU for each trace with an order file.

A linear program over groups of identical nodes: how many pods of each shape go to each group. CPU
and memory bind per group. The GPUs of a group bind once for each dual-feasible function: one that
gives every share of a GPU a weight so that shares which fit on a GPU together weigh at most 1.
Pods may be cut and moved at will, so the program's optimum is no less than what any schedule
reaches, online or not, with migrations or without.

With a mandatory prefix of P percent the bound holds for schedules that refuse no pod of it.
"""
import argparse
import collections
import json
import pathlib
import sys
from fractions import Fraction

import openb
import published
from linear_program import LinearProgram, SolverError, maximise

# Arrived percent and mandatory percent of the bounds that are computed.
CASES = ((100, 0), (100, 94), (130, 0), (130, 94))
SHOWN_SEED = 42
FILE = "bounds.json"
GPU_MILLI = openb.WHOLE_GPU_MILLI


# Dual-feasible functions: milli of a GPU to a weight, where 1 is a GPU.
def share_itself(milli: int) -> Fraction:
    return Fraction(milli, GPU_MILLI)


def threshold(limit_milli: int):
    """Beside more than `1 - limit` no share of `limit` or more fits, so the smaller ones are given
    away: they weigh nothing, the large ones a whole GPU."""
    def weigh(milli: int) -> Fraction:
        if milli > GPU_MILLI - limit_milli:
            return Fraction(1)
        return Fraction(milli, GPU_MILLI) if milli >= limit_milli else Fraction(0)
    return weigh


def rounded(pieces: int):
    """Rounds a share down to k-ths of a GPU after stretching it by (k + 1) / k."""
    def weigh(milli: int) -> Fraction:
        stretched = Fraction((pieces + 1) * milli, GPU_MILLI)
        if stretched.denominator == 1:
            return Fraction(milli, GPU_MILLI)
        return Fraction(int(stretched), pieces)
    return weigh


def dual_feasible_functions():
    yield share_itself
    for limit_milli in range(50, GPU_MILLI // 2 + 1, 10):
        yield threshold(limit_milli)
    for pieces in range(1, 6):
        yield rounded(pieces)


def weight_tables(sizes_milli: set[int]) -> list[dict[int, float]]:
    """Each function on the sizes that occur, without those that agree on all of them."""
    ordered = sorted(sizes_milli)
    unique = dict.fromkeys(tuple(weigh(milli) for milli in ordered)
                           for weigh in dual_feasible_functions())
    return [dict(zip(ordered, map(float, weights))) for weights in unique]


def may_go(pod: openb.PodShape, node: openb.NodeShape) -> bool:
    return (pod.gpus <= node.gpus and pod.cpu_milli <= node.cpu_milli
            and pod.memory_mib <= node.memory_mib
            and (not pod.models or node.model in pod.models))


def program_of(nodes: list[openb.NodeShape], arrived: list[openb.PodShape],
               mandatory: list[openb.PodShape]) -> LinearProgram:
    """In GPUs, vCPU and GiB: numbers of like size keep the solver exact."""
    groups, pods = collections.Counter(nodes), collections.Counter(arrived)
    required = collections.Counter(mandatory)
    tables = weight_tables({pod.gpu_milli for pod in pods if pod.gpus})
    program = LinearProgram()
    columns = {(pod, node): program.add_column(pod.asked_milli() / GPU_MILLI)
               for pod in pods for node in groups if may_go(pod, node)}
    for pod, count in pods.items():
        placed = {columns[pod, node]: 1 for node in groups if (pod, node) in columns}
        program.add_row(placed, "<=", count)
        program.add_row(placed, ">=", required[pod])
    for node, count in groups.items():
        placed = {pod: columns[pod, node] for pod in pods if (pod, node) in columns}
        program.add_row({column: pod.cpu_milli / 1000 for pod, column in placed.items()},
                        "<=", count * node.cpu_milli / 1000)
        program.add_row({column: pod.memory_mib / 1024 for pod, column in placed.items()},
                        "<=", count * node.memory_mib / 1024)
        for table in tables:
            program.add_row({column: pod.gpus * table[pod.gpu_milli]
                             for pod, column in placed.items() if pod.gpus},
                            "<=", count * node.gpus)
    return program


def bound_percent(nodes: list[openb.NodeShape], arrivals: list[openb.PodShape],
                  arrived_percent: float, mandatory_percent: float) -> float | None:
    """The greatest allocated percent; None where the mandatory prefix cannot be placed."""
    capacity = openb.capacity_milli(nodes)
    arrived = openb.arrived_prefix(arrivals, capacity * arrived_percent / 100)
    mandatory = openb.arrived_prefix(arrivals, capacity * mandatory_percent / 100)
    gpus = maximise(program_of(nodes, arrived, mandatory if mandatory_percent else []))
    return None if gpus is None else 100 * gpus * GPU_MILLI / capacity


def compute(folder: pathlib.Path, seeds: dict[str, list[int]], progress) -> list[dict]:
    """Each case for each trace and seed."""
    nodes = openb.read_nodes(openb.nodes_path(folder))
    rows = []
    for trace, seed in ((trace, seed) for trace in seeds for seed in seeds[trace]):
        progress(f"bound: {trace}, seed {seed}")
        arrivals = openb.read_arrivals(folder, trace, seed)
        rows += [{"trace": trace, "seed": seed, "arrived_percent": arrived,
                  "mandatory_percent": mandatory,
                  "bound_percent": bound_percent(nodes, arrivals, arrived, mandatory)}
                 for arrived, mandatory in CASES]
    return rows


def write(rows: list[dict], path: pathlib.Path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def table_text(rows: list[dict]) -> str:
    lines = [f"{'trace':<12} {'arrived':>7} {'mandatory':>9} {'bound':>7} {'published':>9} "
             f"{'difference':>10}"]
    for row in (row for row in rows if row["seed"] == SHOWN_SEED):
        key = (row["trace"], row["arrived_percent"], row["mandatory_percent"])
        ours, theirs = row["bound_percent"], published.BOUNDS_PERCENT.get(key)
        lines.append(
            f"{key[0]:<12} {key[1]:>7} {key[2]:>9} {'none' if ours is None else f'{ours:.2f}':>7} "
            f"{'' if theirs is None else f'{theirs:.2f}':>9} "
            f"{'' if None in (ours, theirs) else f'{ours - theirs:+.2f}':>10}")
    lines.append(f"Allocated %, seed {SHOWN_SEED}. none: the mandatory prefix cannot all be placed")
    return "\n".join(lines)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trace", action="append", help="only this one; may be repeated")
    parser.add_argument("--json", type=pathlib.Path, default=openb.ROOT / "build" /
                        "bench-packing" / FILE, help="where the figures of all seeds go as JSON")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    settings = parse_arguments(arguments)
    folder = openb.find_folder()
    if folder is None:
        print(openb.missing_text(), end="", file=sys.stderr)
        return 0
    orders = openb.orders(folder)
    unknown = set(settings.trace or ()) - set(orders)
    if unknown:
        print(f"bound: no order file for {', '.join(sorted(unknown))}", file=sys.stderr)
        return 1
    try:
        rows = compute(folder, {trace: orders[trace] for trace in settings.trace or orders},
                       lambda line: print(line, file=sys.stderr))
    except SolverError as error:
        print(f"bound: {error}", file=sys.stderr)
        return 1
    write(rows, settings.json)
    print(table_text(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
