"""The report's plots, by name of their file."""
import statistics

import paired
import runs
from svg_plot import Panel, Plot, Point, Series, draw
from tables import Measured, churned, mig_accepted

CURVES = (("offcut", "name"),
          *((name, "name") for name in runs.PUBLISHED_STRATEGIES if name != "packing-published"))
LOAD_PERCENTS = range(75, 131)
CHURN_CURVES = {"allocated": "allocated_percent", "fragmented": "fragmentation_percent"}


def curve_of(measured: Measured, strategy: str, ties: str, value_at) -> Series:
    outputs = measured.replays("default", strategy, ties)
    points = []
    for percent in LOAD_PERCENTS:
        values = [value_at(output["at"][str(percent)]) for output in outputs
                  if str(percent) in output["at"]]
        if values:
            low, middle, high = paired.quartiles(values)
            points.append(Point(percent, middle, low, high))
    return Series(strategy, tuple(points))


def load_plot(measured: Measured, title: str, y_title: str, value_at) -> str | None:
    curves = [curve_of(measured, *kind, value_at) for kind in CURVES]
    drawn = tuple(series for series in curves if series.points)
    if not drawn:
        return None
    return draw(Plot(title=f"{title}: median and middle half of the seeds, default trace",
                     x_title="GPUs that arrived pods ask for, % of the cluster's",
                     y_title=y_title, panels=(Panel("", drawn),)))


def churn_series(measured: Measured, case: runs.ChurnCase, load: float, strategy: str,
                 member: str) -> Series:
    """A point at the end of each period, in mean lives."""
    outputs = churned(measured, case, load, strategy)
    points = []
    for percent in sorted(outputs[0]["at"], key=int) if outputs else ():
        low, middle, high = paired.quartiles([output["at"][percent][member] for output in outputs])
        points.append(Point(int(percent) / 100, middle, low, high))
    return Series(strategy, tuple(points))


def churn_plot(measured: Measured, case: runs.ChurnCase, what: str, member: str) -> str | None:
    names = ["offcut", *(name for name in runs.CHURN_STRATEGIES if name != "offcut")]
    panels = []
    for load in runs.CHURN_LOADS:
        series = [churn_series(measured, case, load, name, member) for name in names]
        panels.append(Panel(f"load {load:.1f}", tuple(each for each in series if each.points)))
    if not all(panel.series for panel in panels):
        return None
    return draw(Plot(title=f"{what.capitalize()} GPU under churn: median and middle half of the "
                           f"seeds, {case.title}",
                     x_title="time, mean lives; the first is not counted in the table",
                     y_title=f"{what}, % of all GPUs", panels=tuple(panels), panel_width=270))


def mig_series(accepted: dict[tuple, list[float]], mix: str, strategy: str) -> Series:
    points = []
    for load in runs.MIG_LOADS:
        ours, theirs = (accepted.get((mix, load, name)) for name in (strategy, "mig-best-fit"))
        if ours and theirs:
            gaps = paired.differences(ours, theirs)
            middle, half_width = statistics.fmean(gaps), paired.half_width(gaps) or 0
            points.append(Point(load, middle, middle - half_width, middle + half_width))
    return Series(strategy, tuple(points))


def mig_plot(measured: Measured, model: str) -> str | None:
    accepted = mig_accepted(measured, model)
    # First fit is so far below that the others would lie on one another.
    names = ["offcut", *(name for name in runs.MIG_STRATEGIES
                         if name not in ("offcut", "mig-first-fit"))]
    panels = []
    for mix in runs.MIG_MIXES[model]:
        series = [mig_series(accepted, mix, name) for name in names]
        panels.append(Panel(mix, tuple(each for each in series if each.points)))
    if not all(panel.series for panel in panels):
        return None
    return draw(Plot(title=f"MIG pods accepted on {model}, against best fit: mean and 95 % "
                           "confidence interval",
                     x_title="load", y_title="points of accepted %", panels=tuple(panels),
                     panel_width=230))


def all_plots(measured: Measured) -> dict[str, str]:
    plots = {
        "unallocated.svg": load_plot(measured, "Unallocated GPU", "unallocated, % of all GPUs",
                                     lambda point: 100 - point["allocated_percent"]),
        "fragmentation.svg": load_plot(measured, "Fragmented GPU", "fragmented, % of all GPUs",
                                       lambda point: point["fragmentation_percent"]),
    }
    for case in runs.CHURN_CASES:
        for what, member in CHURN_CURVES.items():
            plots[f"churn-{what}-{case.name}.svg"] = churn_plot(measured, case, what, member)
    for model in runs.MIG_MIXES:
        plots[f"mig-{model}.svg"] = mig_plot(measured, model)
    return {name: content for name, content in plots.items() if content is not None}
