"""Which simulations the report rests on, and running them: at most a few at a time, and none that
has been run already with the same program and arguments."""
import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib
import subprocess
import time

import openb

DEFAULT_SEEDS = tuple(range(42, 52))
PUBLISHED_STRATEGIES = ("random", "dot-product", "clustering", "packing", "packing-published",
                        "best-fit", "fgd")
STRICT_STRATEGIES = ("best-fit", "fgd", "offcut")
TIES_STRATEGIES = ("fgd", "offcut")
CHURN_STRATEGIES = ("best-fit", "fgd", "offcut")
CHURN_LOADS = (0.9, 1.0, 1.1)
CHURN_SEEDS = DEFAULT_SEEDS[:4]  # a run takes seconds

MIG_STRATEGIES = ("mig-first-fit", "mig-best-fit", "mfi", "fgd-mask", "cap-mask", "offcut")
MIG_SEEDS = DEFAULT_SEEDS
MIG_LOADS = (0.85, 1.0, 1.2)
MIG_GPUS = 100
THREE_MIXES = ("uniform", "skew-small", "skew-big")
MIG_MIXES = {
    "A100-40GB": (*THREE_MIXES, "bimodal"),
    "A30-24GB": THREE_MIXES,
    "RTX-PRO-6000-Blackwell-96GB": THREE_MIXES,
}

RUN_TIME_LIMIT_S = 3600
USAGE_ERROR = 2  # offcut's exit code for options and values that it does not know


@dataclasses.dataclass(frozen=True)
class Run:
    name: str  # of its file, without suffix
    arguments: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ChurnCase:
    trace: str
    lives: str  # as --lives takes it

    @property
    def name(self) -> str:  # of files
        return self.trace if self.lives == "exponential" else f"{self.trace}-{self.lives}-lives"

    @property
    def title(self) -> str:
        return self.trace if self.lives == "exponential" else f"{self.trace}, lives of the trace"


CHURN_CASES = (ChurnCase("default", "exponential"), ChurnCase("default", "trace"),
               ChurnCase("multigpu20", "exponential"), ChurnCase("gpuspec33", "exponential"))


class Results:
    """What runs printed, by name of the run, in a folder of the program's own."""

    def __init__(self, folder: pathlib.Path, binary: pathlib.Path):
        self.program_hash = hashlib.sha256(binary.read_bytes()).hexdigest()[:12]
        self.folder = folder / self.program_hash
        self.folder.mkdir(parents=True, exist_ok=True)

    def read(self, run: Run) -> dict | None:
        """None where it has not been run, or was run with other arguments."""
        path = self.folder / f"{run.name}.json"
        if not path.is_file():
            return None
        kept = json.loads(path.read_text(encoding="utf-8"))
        return kept["output"] if kept["arguments"] == list(run.arguments) else None

    def write(self, run: Run, output: dict):
        path = self.folder / f"{run.name}.json"
        text = json.dumps({"arguments": run.arguments, "output": output}, indent=1)
        unfinished = path.with_suffix(".unfinished")  # a run that is broken off leaves no half file
        unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(path)


def replay_name(trace: str, seed: int, strategy: str, ties: str) -> str:
    return f"{trace}-{seed}-{strategy}-{ties}"


def churn_name(case: ChurnCase, load: float, seed: int, strategy: str) -> str:
    return f"churn-{case.name}-{load}-{seed}-{strategy}"


def mig_name(model: str, seed: int) -> str:
    return f"mig-{model}-{seed}"


def replay_run(folder: pathlib.Path, trace: str, seed: int, strategy: str, ties: str) -> Run:
    return Run(replay_name(trace, seed, strategy, ties),
               ("simulate", "--nodes", str(openb.nodes_path(folder)),
                "--pods", str(openb.pods_path(folder, trace)),
                "--order", str(openb.order_path(folder, trace, seed)),
                "--strategy", strategy, "--ties", ties, "--seed", str(seed), "-o", "json"))


def default_runs(folder: pathlib.Path, seeds: list[int]) -> list[Run]:
    kinds = [(strategy, "name") for strategy in (*PUBLISHED_STRATEGIES, "offcut")]
    kinds += [(strategy, "strict") for strategy in STRICT_STRATEGIES]
    kinds += [(strategy, "random") for strategy in TIES_STRATEGIES]
    return [replay_run(folder, "default", seed, strategy, ties)
            for strategy, ties in kinds for seed in seeds]


def other_runs(folder: pathlib.Path, trace: str, seeds: list[int], has_all: bool) -> list[Run]:
    named = PUBLISHED_STRATEGIES if has_all else ("best-fit", "fgd")
    kinds = [(strategy, "name") for strategy in (*named, "offcut")]
    kinds += [(strategy, "strict") for strategy in STRICT_STRATEGIES]
    return [replay_run(folder, trace, seed, strategy, ties)
            for strategy, ties in kinds for seed in seeds]


def replay_runs(folder: pathlib.Path, has_all: bool) -> list[Run]:
    runs = []
    for trace, seeds in openb.orders(folder).items():
        runs += (default_runs(folder, seeds) if trace == "default"
                 else other_runs(folder, trace, seeds, has_all))
    return runs


def churn_run(folder: pathlib.Path, case: ChurnCase, load: float, seed: int,
              strategy: str) -> Run:
    return Run(churn_name(case, load, seed, strategy),
               ("simulate", "--nodes", str(openb.nodes_path(folder)),
                "--pods", str(openb.pods_path(folder, case.trace)), "--load", str(load),
                "--lives", case.lives, "--strategy", strategy, "--seed", str(seed), "-o", "json"))


def churn_runs(folder: pathlib.Path) -> list[Run]:
    """By seed all strategies meet the same pods."""
    return [churn_run(folder, case, load, seed, strategy)
            for case in CHURN_CASES if openb.pods_path(folder, case.trace).is_file()
            for load in CHURN_LOADS for strategy in CHURN_STRATEGIES for seed in CHURN_SEEDS]


def mig_runs(strategies: list[str]) -> list[Run]:
    """One run a seed, so that differences can be paired; all strategies meet the same pods."""
    runs = []
    for model, mixes in MIG_MIXES.items():
        options = ["simulate", "--mig", "--model", model, "--gpus", str(MIG_GPUS)]
        options += [word for mix in mixes for word in ("--mix", mix)]
        options += [word for load in MIG_LOADS for word in ("--load", str(load))]
        options += [word for name in strategies for word in ("--strategy", name)]
        runs += [Run(mig_name(model, seed), (*options, "--seed", str(seed), "-o", "json"))
                 for seed in MIG_SEEDS]
    return runs


def option_of(run: Run, option: str) -> str:
    return run.arguments[run.arguments.index(option) + 1]


def call(binary: pathlib.Path, arguments) -> subprocess.CompletedProcess:
    return subprocess.run([str(binary), *arguments], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=RUN_TIME_LIMIT_S)


def missing_replay_strategies(binary: pathlib.Path, strategies) -> dict[str, str]:
    """Why the program refuses a strategy, by strategy. Without pods a known one finds its files
    empty, which is another exit code."""
    missing = {}
    for strategy in strategies:
        done = call(binary, ["simulate", "--nodes", "/dev/null", "--pods", "/dev/null",
                             "--strategy", strategy])
        if done.returncode == USAGE_ERROR:
            missing[strategy] = first_line(done.stderr)
    return missing


def missing_mig_strategies(binary: pathlib.Path) -> dict[str, str]:
    missing = {}
    for strategy in MIG_STRATEGIES:
        done = call(binary, ["simulate", "--mig", "--gpus", "1", "--arrivals", "1",
                             "--strategy", strategy])
        if done.returncode != 0:
            missing[strategy] = first_line(done.stderr)
    return missing


def missing_churn(binary: pathlib.Path, run: Run) -> str | None:
    """Why the program plays no departures; None where it does. Asked with a real run, since one
    that takes no notice of --load would look like any other."""
    done = call(binary, run.arguments)
    if done.returncode != 0:
        return first_line(done.stderr)
    return None if "load" in json.loads(done.stdout) else "its JSON has no member `load`"


def first_line(text: str) -> str:
    return text.strip().split("\n")[0] or "no reason given"


def run_one(binary: pathlib.Path, results: Results, run: Run) -> tuple[Run, float, str | None]:
    """The run, what it took in seconds, and what went wrong, if anything."""
    started = time.monotonic()
    try:
        done = call(binary, run.arguments)
        if done.returncode != 0:
            return run, time.monotonic() - started, first_line(done.stderr)
        results.write(run, json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return run, time.monotonic() - started, f"not done after {RUN_TIME_LIMIT_S} s"
    except json.JSONDecodeError as error:
        return run, time.monotonic() - started, f"prints no JSON: {error}"
    return run, time.monotonic() - started, None


def run_all(binary: pathlib.Path, results: Results, runs: list[Run], jobs: int,
            progress) -> dict[str, str]:
    """Runs what is missing. Returns what went wrong, by name of the run."""
    wanted = [run for run in runs if results.read(run) is None]
    if len(wanted) < len(runs):
        progress(f"{len(runs) - len(wanted)} of {len(runs)} runs are there already")
    failures = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        calls = [pool.submit(run_one, binary, results, run) for run in wanted]
        for count, done in enumerate(concurrent.futures.as_completed(calls), 1):
            run, duration_s, failure = done.result()
            progress(f"[{count}/{len(wanted)}] {run.name}: "
                     f"{f'{duration_s:.1f} s' if failure is None else f'FAILED: {failure}'}")
            if failure is not None:
                failures[run.name] = failure
    return failures
