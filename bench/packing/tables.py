"""Markdown tables of what the runs printed. A dash stands where something was not run, or nothing
is published."""
import dataclasses
import statistics

import aims
import paired
import published
import runs

DASH = "–"
COMPARED_PERCENTS = (100, 130)
# The better of these is what offcut is held against.
FGD_TIES = ("name", "strict")


@dataclasses.dataclass(frozen=True)
class Measured:
    outputs: dict[str, dict]  # by name of the run
    seeds: dict[str, list[int]]  # that have an order file, by trace
    # (trace, seed, arrived percent, mandatory percent) -> allocated percent; None: no schedule
    bounds: dict[tuple, float | None]

    def replays(self, trace: str, strategy: str, ties: str) -> list[dict]:
        """One for each seed, or none at all: means over other seeds cannot be compared."""
        names = [runs.replay_name(trace, seed, strategy, ties) for seed in self.seeds[trace]]
        return [self.outputs[name] for name in names] if self.has_all(names) else []

    def has_all(self, names: list[str]) -> bool:
        return all(name in self.outputs for name in names)

    def values(self, trace: str, strategy: str, ties: str, percent: int,
               member="allocated_percent") -> list[float]:
        return [output["at"][str(percent)][member]
                for output in self.replays(trace, strategy, ties)]

    def bound(self, trace: str, arrived_percent: int, mandatory_percent: int) -> float | None:
        """Mean over the trace's seeds; None where one of them has none."""
        values = [self.bounds.get((trace, seed, arrived_percent, mandatory_percent))
                  for seed in self.seeds[trace]]
        return None if None in values else statistics.fmean(values)


def number(value: float | None, form=".2f") -> str:
    return DASH if value is None else format(value, form)


def mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


def minus(ours: float | None, theirs: float | None) -> float | None:
    return None if None in (ours, theirs) else ours - theirs


def with_interval(values: list[float], decimals=2) -> str:
    """The mean of differences and its 95 % confidence interval."""
    if not values:
        return DASH
    half_width = paired.half_width(values)
    return f"{statistics.fmean(values):+.{decimals}f}" + (
        "" if half_width is None else f" ± {half_width:.{decimals}f}")


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def verdict(is_met: bool | None) -> str:
    return {True: "yes", False: "**no**", None: DASH}[is_met]


def reproduction(measured: Measured) -> str:
    rows = []
    for strategy in runs.PUBLISHED_STRATEGIES:
        name = strategy.removesuffix("-published")
        values = measured.values("default", strategy, "name", 100)
        theirs = published.allocated_percent_at_100("default", strategy)
        difference = minus(mean(values), theirs)
        bar = aims.REPRODUCTION_POINTS.get(strategy)
        is_met = None if None in (difference, bar) else abs(difference) <= bar
        at_130 = mean(measured.values("default", strategy, "name", 130))
        fragmented = mean(measured.values("default", strategy, "name", 100,
                                          "fragmentation_percent"))
        rows.append([
            f"`{strategy}`", number(mean(values)),
            number(statistics.stdev(values) if len(values) > 1 else None), number(theirs),
            number(difference, "+.2f"), number(bar), verdict(is_met), number(at_130),
            number(published.DEFAULT_ALLOCATED_PERCENT_AT_130[name]), number(fragmented),
            number(published.DEFAULT_FRAGMENTATION_PERCENT_AT_100[name])])
    return table(["strategy", "allocated % at 100", "sd", "published", "difference", "bar", "met",
                  "allocated % at 130", "published", "fragmented % at 100", "published"], rows)


def failed_pods(measured: Measured) -> str:
    rows = []
    for strategy, expected in published.FAILED_PODS.items():
        output = measured.outputs.get(runs.replay_name("default", 42, strategy, "name"))
        ours = output and output["failed_pods"]
        rows.append([f"`{strategy}`", number(ours, "d"), str(expected),
                     number(minus(ours, expected), "+d")])
    return table(["strategy", "failed pods", "expected", "difference"], rows)


def beside_published(measured: Measured) -> str:
    rows = []
    for trace in measured.seeds:
        for strategy in runs.PUBLISHED_STRATEGIES:
            ours = mean(measured.values(trace, strategy, "name", 100))
            if trace == "default" or ours is None:
                continue
            theirs = published.allocated_percent_at_100(trace, strategy)
            rows.append([trace, f"`{strategy}`", number(ours), number(theirs),
                         number(minus(ours, theirs), "+.2f")])
    return table(["trace", "strategy", "allocated % at 100", "published", "difference"], rows)


def best_fgd(measured: Measured, trace: str, percent: int) -> float | None:
    means = [mean(measured.values(trace, "fgd", ties, percent)) for ties in FGD_TIES]
    return max((value for value in means if value is not None), default=None)


def failures(measured: Measured, trace: str, strategy: str, ties: str) -> float | None:
    return mean([output["failed_pods"] for output in measured.replays(trace, strategy, ties)])


def against_fgd(measured: Measured) -> str:
    rows = []
    for trace in measured.seeds:
        row, losses = [trace], []
        for percent in COMPARED_PERCENTS:
            ours = mean(measured.values(trace, "offcut", "name", percent))
            theirs = best_fgd(measured, trace, percent)
            losses.append(minus(ours, theirs))
            row += [number(ours), number(theirs), number(losses[-1], "+.2f")]
        aim = aims.ALLOCATED_PERCENT_AT_100.get(trace)
        ours = mean(measured.values(trace, "offcut", "name", 100))
        is_met = None
        if None not in losses:
            is_met = min(losses) >= -aims.LOSS_POINTS and (aim is None or ours >= aim)
        rows.append([*row, number(aim, ".1f"), verdict(is_met),
                     number(failures(measured, trace, "offcut", "name"), ".0f"),
                     number(failures(measured, trace, "fgd", "name"), ".0f")])
    return table(["trace", "offcut at 100", "FGD", "difference", "offcut at 130", "FGD",
                  "difference", "aim at 100", "met", "failed pods", "FGD's, ties by name"], rows)


def gaps_to_bound(measured: Measured) -> str:
    rows = []
    for trace in measured.seeds:
        bound = measured.bound(trace, 100, 0)
        offcut = mean(measured.values(trace, "offcut", "name", 100))
        fgd, best_fit = best_fgd(measured, trace, 100), mean(
            measured.values(trace, "best-fit", "name", 100))
        rows.append([trace, number(bound),
                     *(number(minus(bound, ours)) for ours in (offcut, fgd, best_fit)),
                     number(measured.bound(trace, 130, 0)), number(measured.bound(trace, 130, 94)),
                     number(minus(measured.bound(trace, 130, 94),
                                  mean(measured.values(trace, "offcut", "name", 130))))])
    return table(["trace", "bound at 100", "gap of offcut", "of FGD", "of best fit",
                  "bound at 130", "if the first 94 % are placed", "gap of offcut"], rows)


def ties(measured: Measured) -> str:
    rows = []
    for strategy in runs.TIES_STRATEGIES:
        strict = measured.values("default", strategy, "strict", 100)
        named = measured.values("default", strategy, "name", 100)
        chance = measured.values("default", strategy, "random", 100)
        gap = paired.differences(named, chance) if named and chance else []
        rows.append([f"`{strategy}`", number(mean(strict)), number(mean(named)),
                     number(mean(chance)), with_interval(gap)])
    return table(["strategy", "ties strict, allocated % at 100", "by name", "random",
                  "by name - random"], rows)


def churned(measured: Measured, case: runs.ChurnCase, load: float, strategy: str) -> list[dict]:
    names = [runs.churn_name(case, load, seed, strategy) for seed in runs.CHURN_SEEDS]
    return [measured.outputs[name] for name in names] if measured.has_all(names) else []


def members(outputs: list[dict], member: str) -> list[float]:
    return [output[member] for output in outputs]


def refused_percent(outputs: list[dict], name: str) -> float | None:
    """Of the pods of that class, all runs together; None where none came."""
    arrived = sum(output["arrived_by_class"].get(name, 0) for output in outputs)
    refused = sum(output["failed_by_class"].get(name, 0) for output in outputs)
    return 100 * refused / arrived if arrived else None


def churn(measured: Measured, case: runs.ChurnCase) -> str:
    rows = []
    for load in runs.CHURN_LOADS:
        theirs = churned(measured, case, load, "fgd")
        for strategy in runs.CHURN_STRATEGIES:
            ours = churned(measured, case, load, strategy)
            row = [f"{load:.1f}", f"`{strategy}`"]
            for member in ("accepted_percent", "accepted_gpus_percent"):
                gap = (paired.differences(members(ours, member), members(theirs, member))
                       if ours and theirs else [])
                row += [number(mean(members(ours, member))),
                        DASH if strategy == "fgd" else with_interval(gap)]
            row += [number(mean(members(ours, member)))
                    for member in ("allocated_percent", "fragmentation_percent")]
            row += [number(refused_percent(ours, name), ".1f")
                    for name in ("share", "1 GPU", "8 GPUs")]
            rows.append(row)
    return table(["load", "strategy", "accepted %", "to FGD", "accepted % of GPUs", "to FGD",
                  "allocated %", "fragmented %", "refused % of shares", "of 1 GPU", "of 8 GPUs"],
                 rows)


def mig_accepted(measured: Measured, model: str) -> dict[tuple, list[float]]:
    """By mix, load and strategy: a value for each seed."""
    accepted = {}
    for seed in runs.MIG_SEEDS:
        output = measured.outputs.get(runs.mig_name(model, seed))
        for row in output["results"] if output else ():
            key = row["mix"], row["load"], row["strategy"]
            accepted.setdefault(key, []).append(row["accepted_percent"])
    return accepted


def best_rival(accepted: dict[tuple, list[float]], mix: str, load: float) -> str | None:
    rivals = [name for name in aims.MIG_RIVALS if (mix, load, name) in accepted]
    return max(rivals, key=lambda name: statistics.fmean(accepted[mix, load, name]), default=None)


def mig(measured: Measured, model: str) -> str:
    accepted = mig_accepted(measured, model)
    rows, gaps = [], []
    for mix, load in dict.fromkeys((mix, load) for mix, load, _ in accepted):
        rival = best_rival(accepted, mix, load)
        ours = accepted.get((mix, load, "offcut"))
        gap = paired.differences(ours, accepted[mix, load, rival]) if ours and rival else []
        gaps += [statistics.fmean(gap)] if gap else []
        rows.append([mix, f"{load:g}",
                     *(number(mean(accepted.get((mix, load, name), [])))
                       for name in runs.MIG_STRATEGIES),
                     f"`{rival}`" if rival else DASH, with_interval(gap, decimals=3),
                     verdict(statistics.fmean(gap) >= -aims.LOSS_POINTS if gap else None)])
    if gaps:
        rows.append(["mean", "", *[""] * len(runs.MIG_STRATEGIES), "",
                     number(statistics.fmean(gaps), "+.3f"), verdict(statistics.fmean(gaps) > 0)])
    return table(["mix", "load", *runs.MIG_STRATEGIES,
                  "best of the others", "offcut to it", "met"], rows)
