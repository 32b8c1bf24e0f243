"""Means, and how far chance may have moved them."""
import math
import statistics

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond, the normal's.
T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
               2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)
NORMAL_QUANTILE = 1.96


def half_width(values: list[float]) -> float | None:
    """Of the 95 % confidence interval of the mean; None for one value."""
    freedom = len(values) - 1
    if freedom < 1:
        return None
    quantile = T_QUANTILES[freedom - 1] if freedom <= len(T_QUANTILES) else NORMAL_QUANTILE
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


def differences(ours: list[float], theirs: list[float]) -> list[float]:
    return [a - b for a, b in zip(ours, theirs, strict=True)]


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high
