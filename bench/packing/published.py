"""Figures of others, none of them measured here: what this folder's results stand beside."""

# Unallocated GPU in percent of all GPUs at 100 % arrived load, means over seeds 42..51. Source:
# Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
# Gradient Descent", USENIX ATC 2023, from the analysis results of its artifact
# (https://github.com/hkust-adsl/kubernetes-scheduler-simulator, commit 8f3d641).
STRATEGIES = ("random", "dot-product", "clustering", "packing", "best-fit", "fgd")
UNALLOCATED_PERCENT_AT_100 = {
    "default": (13.70, 9.38, 8.35, 8.22, 7.14, 4.77),
    "cpu050": (10.98, 6.97, 6.48, 6.54, 6.44, 5.00),
    "cpu100": (12.56, 8.27, 7.58, 7.50, 6.74, 4.79),
    "cpu250": (20.00, 16.43, 12.25, 11.95, 8.79, 6.80),
    "gpushare40": (15.14, 10.70, 10.24, 10.23, 8.56, 6.04),
    "gpushare80": (19.38, 15.86, 15.50, 15.35, 13.34, 10.92),
    "gpushare100": (21.10, 18.02, 17.78, 17.87, 15.38, 13.36),
    "gpuspec10": (13.74, 9.83, 8.04, 7.76, 6.90, 5.34),
    "gpuspec20": (14.10, 11.71, 10.89, 10.72, 11.54, 5.34),
    "gpuspec33": (16.13, 20.18, 18.91, 17.78, 19.61, 12.16),
    "multigpu20": (13.08, 8.15, 6.66, 6.50, 6.27, 4.47),
    "multigpu40": (14.62, 5.96, 4.65, 4.41, 4.90, 3.09),
    "multigpu50": (18.72, 5.27, 4.31, 3.94, 4.38, 2.91),
}

# Allocated GPU in percent on the default trace at 130 % arrived; same source.
DEFAULT_ALLOCATED_PERCENT_AT_130 = dict(zip(STRATEGIES, (87.47, 90.85, 91.88, 92.00, 93.08, 95.39)))

# Fragmentation amount in percent of all GPUs on the default trace at 100 % arrived; same source.
DEFAULT_FRAGMENTATION_PERCENT_AT_100 = dict(zip(STRATEGIES, (13.49, 9.30, 8.21, 8.13, 7.05, 4.73)))

# The upper bound of bound.py as an independent program of the same formulation gave it for this
# project, with scipy's HiGHS: (trace, arrived percent, mandatory percent) -> allocated percent.
BOUNDS_PERCENT = {
    ("default", 100, 0): 97.24, ("default", 100, 94): 96.84,
    ("default", 130, 0): 100.00, ("default", 130, 94): 97.13,
    ("cpu050", 100, 0): 97.24, ("cpu100", 100, 0): 97.21, ("cpu250", 100, 0): 97.24,
    ("gpushare40", 100, 0): 96.11, ("gpushare40", 100, 94): 95.56,
    ("gpushare80", 100, 0): 92.27,
    ("gpushare100", 100, 0): 90.45, ("gpushare100", 130, 0): 93.24,
    ("gpuspec10", 100, 0): 97.20, ("gpuspec20", 100, 0): 97.24, ("gpuspec33", 100, 0): 96.43,
    ("multigpu20", 100, 0): 97.65, ("multigpu40", 100, 0): 98.29,
    ("multigpu50", 100, 0): 98.46, ("multigpu50", 100, 94): 98.26,
}


def allocated_percent_at_100(trace: str, strategy: str) -> float | None:
    """None where nothing is published. Both variants of packing stand beside the one figure."""
    figures = UNALLOCATED_PERCENT_AT_100.get(trace)
    name = "packing" if strategy == "packing-published" else strategy
    if figures is None or name not in STRATEGIES:
        return None
    return round(100 - figures[STRATEGIES.index(name)], 2)

# Pods that fail on the default trace, seed 42, ties by name. Source: an independent program by the
# published formulas. Whoever places by the same formulas fails exactly as many.
FAILED_PODS = {"fgd": 2519, "best-fit": 2673, "dot-product": 2824, "clustering": 2802,
               "packing": 2636}
