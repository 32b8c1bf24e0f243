#!/usr/bin/env python3
"""Runs the packing engine's simulations and writes what they come to: Markdown tables, and plots.

What a program has run once it does not run again: results are kept by the program's hash in
build/bench-packing/. Strategies that the program lacks are named and left out.
"""
import argparse
import json
import pathlib
import sys

import bound
import openb
import plots
import runs
import tables
from linear_program import SolverError

README = openb.ROOT / "bench" / "README.md"
BEGIN = "<!-- packing tables: `make bench-packing` writes from here -->"
END = "<!-- packing tables: to here -->"
RESULTS = openb.ROOT / "build" / "bench-packing"
MOST_JOBS = 2


def progress(line: str):
    print(line, file=sys.stderr, flush=True)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("offcut", type=pathlib.Path, help="the program under test")
    parser.add_argument("--all", action="store_true",
                        help="every published strategy on every trace, not only best-fit and fgd")
    parser.add_argument("--write", action="store_true",
                        help="into bench/README.md, with plots beside it; else to standard output")
    parser.add_argument("--jobs", type=int, choices=range(1, MOST_JOBS + 1), default=MOST_JOBS,
                        help="simulations at a time")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS,
                        help="the folder that keeps what was run")
    return parser.parse_args(arguments)


def offered(wanted: list[runs.Run], missing: dict[str, str]) -> list[runs.Run]:
    return [run for run in wanted if runs.option_of(run, "--strategy") not in missing]


def name_missing(what: str, missing: dict[str, str]):
    for strategy, reason in missing.items():
        progress(f"SKIPPED {what} {strategy}: {reason}")


def wanted_runs(binary: pathlib.Path, folder: pathlib.Path, has_all: bool) -> list[runs.Run]:
    strategies = dict.fromkeys((*runs.PUBLISHED_STRATEGIES, *runs.STRICT_STRATEGIES))
    missing = runs.missing_replay_strategies(binary, strategies)
    name_missing("strategy", missing)
    wanted = offered(runs.replay_runs(folder, has_all), missing)
    churn = offered(runs.churn_runs(folder), missing)
    reason = runs.missing_churn(binary, churn[0]) if churn else "it has none of the strategies"
    if reason is None:
        wanted += churn
    else:
        progress(f"SKIPPED churn on the trace: {reason}")
    missing_mig = runs.missing_mig_strategies(binary)
    name_missing("strategy for MIG", missing_mig)
    strategies = [name for name in runs.MIG_STRATEGIES if name not in missing_mig]
    return wanted + (runs.mig_runs(strategies) if strategies else [])


def read_bounds(results: pathlib.Path, folder: pathlib.Path) -> dict[tuple, float | None]:
    """From bound.py's file where it covers all order files; computed anew elsewhere."""
    path = results / bound.FILE
    orders = openb.orders(folder)
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    there = {(row["trace"], row["seed"]) for row in rows}
    if not there >= {(trace, seed) for trace, seeds in orders.items() for seed in seeds}:
        rows = bound.compute(folder, orders, progress)
        bound.write(rows, path)
    return {(row["trace"], row["seed"], row["arrived_percent"], row["mandatory_percent"]):
            row["bound_percent"] for row in rows}


def sections(measured: tables.Measured, links: dict[str, str]) -> list[str]:
    """Blocks of Markdown. `links`: addresses of the plots that there are, by name."""
    def plot(name: str, words: str) -> list[str]:
        return [f"![{words}]({links[name]})"] if name in links else []

    blocks = [
        "### The published protocol, again",
        "Default trace, mean over its seeds, ties by name.", tables.reproduction(measured),
        *plot("unallocated.svg", "Unallocated GPU by arrived load"),
        *plot("fragmentation.svg", "Fragmented GPU by arrived load"),
        "Seed 42 alone:", tables.failed_pods(measured),
        "### Other traces beside the published figures",
        "Ours are seed 42 with the released node names, the published ones means over ten seeds "
        "with others, which decide ties. No bar.", tables.beside_published(measured),
        "### offcut against FGD",
        "Allocated % of all GPUs; default: mean over its seeds, else seed 42. FGD with ties by "
        "name or strict, whichever is better; offcut by name, since the fill level as the first "
        "tie costs it two tenths of a point (see Ties). Failed pods: at the end.",
        tables.against_fgd(measured),
        "### What is left to gain",
        "Upper bounds by `bound.py` and what is missing to them, in points. At 130 % a schedule "
        "may choose among more pods than fit, so the plain bound says little; the other one holds "
        "for schedules that place all of the first 94 %, which no schedule can where a dash "
        "stands.", tables.gaps_to_bound(measured),
        "### Ties",
        "Default trace; differences are paired by seed, with 95 % confidence intervals, here and "
        "below.", tables.ties(measured),
        "### Churn",
        "Pods that leave again, by `offcut simulate --load`, ties strict: two mean lives after a "
        f"warm-up of one, means over {len(runs.CHURN_SEEDS)} seeds; every strategy meets the same "
        "pods. Accepted: of the pods, and of the GPUs that they ask for. Allocated and fragmented: "
        "of all GPUs, on average over time.",
    ]
    for case in runs.CHURN_CASES:
        blocks += [f"**{case.title}**", tables.churn(measured, case)]
        for what in plots.CHURN_CURVES:
            blocks += plot(f"churn-{what}-{case.name}.svg",
                           f"{what.capitalize()} GPU over time, {case.title}")
    blocks += [
        "### MIG",
        f"{runs.MIG_GPUS} GPUs, {len(runs.MIG_SEEDS)} seeds, accepted % of pods; every strategy "
        "meets the same pods.",
    ]
    for model in runs.MIG_MIXES:
        blocks += [f"**{model}**", tables.mig(measured, model),
                   *plot(f"mig-{model}.svg", f"Accepted MIG pods on {model}")]
    return blocks


def between_markers(text: str, content: str) -> str | None:
    """The text with `content` between the markers; None where it lacks them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{content}\n{end}{after}" if begin and end else None


def write_plots(contents: dict[str, str], folder: pathlib.Path):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")


def write_report(measured: tables.Measured, source: str, settings: argparse.Namespace) -> int:
    contents = plots.all_plots(measured)
    folder = (README.parent / "packing" if settings.write else settings.results) / "figures"
    write_plots(contents, folder)
    links = {name: f"packing/figures/{name}" if settings.write else str(folder / name)
             for name in contents}
    content = "\n\n".join([source, *sections(measured, links)])
    if not settings.write:
        print(content)
        return 0
    text = between_markers(README.read_text(encoding="utf-8"), content)
    if text is None:
        progress(f"report: {README} lacks the markers for its tables")
        return 1
    README.write_text(text, encoding="utf-8")
    progress(f"report: wrote {README} and {folder}")
    return 0


def main(arguments: list[str]) -> int:
    settings = parse_arguments(arguments)
    folder = openb.find_folder()
    if folder is None:
        print(openb.missing_text(), end="", file=sys.stderr)
        return 0
    if not settings.offcut.is_file():
        progress(f"report: no program {settings.offcut}")
        return 1
    binary = settings.offcut.absolute()
    results = runs.Results(settings.results, binary)
    wanted = wanted_runs(binary, folder, settings.all)
    failed = runs.run_all(binary, results, wanted, settings.jobs, progress)
    try:
        bounds = read_bounds(settings.results, folder)
    except SolverError as error:
        progress(f"SKIPPED bounds: {error}")
        bounds = {}
    outputs = {run.name: results.read(run) for run in wanted if run.name not in failed}
    version = runs.call(binary, ["version"]).stdout.strip()
    source = f"{version} (SHA-256 {results.program_hash}...), {len(outputs)} simulations."
    status = write_report(tables.Measured(outputs, openb.orders(folder), bounds), source, settings)
    for name, reason in failed.items():
        progress(f"FAILED {name}: {reason}")
    return 1 if failed else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
