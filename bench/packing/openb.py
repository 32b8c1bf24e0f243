"""The cluster trace as the scripts of this folder read it. Columns and units are the trace's own;
bench/README.md says where it comes from."""
import csv
import dataclasses
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NODES_FILE = "openb_node_list_gpu_node.csv"
WHOLE_GPU_MILLI = 1000


@dataclasses.dataclass(frozen=True)
class NodeShape:
    model: str
    gpus: int
    cpu_milli: int
    memory_mib: int


@dataclasses.dataclass(frozen=True)
class PodShape:
    cpu_milli: int
    memory_mib: int
    gpus: int
    gpu_milli: int  # of each GPU; 0 where no GPU is asked for
    models: frozenset  # allowed ones; empty: any

    def asked_milli(self) -> int:
        return self.gpus * self.gpu_milli


def default_folder() -> pathlib.Path:
    return ROOT.parent / "shared" / "data" / "alibaba-gpu-2023"


def find_folder() -> pathlib.Path | None:
    """The folder that OFFCUT_TRACES names, else the default one; None where it lacks the nodes."""
    folder = pathlib.Path(os.environ.get("OFFCUT_TRACES") or default_folder()).absolute()
    return folder if (folder / NODES_FILE).is_file() else None


def missing_text() -> str:
    return (f"The traces are not there: no {NODES_FILE} in the folder that OFFCUT_TRACES names "
            f"(default: {default_folder()}).\n"
            "The public originals: https://github.com/alibaba/clusterdata, folder\n"
            "cluster-trace-gpu-v2023/csv. Copy that folder, name it in OFFCUT_TRACES, and try "
            "again.\n")


def orders(folder: pathlib.Path) -> dict[str, list[int]]:
    """The seeds that have an order of arrival, by trace; `default` first."""
    found = {}
    for path in sorted((folder / "order").glob("*_*.txt")):
        name, _, seed = path.stem.rpartition("_")
        found.setdefault(name, []).append(int(seed))
    return dict(sorted(found.items(), key=lambda item: (item[0] != "default", item[0])))


def nodes_path(folder: pathlib.Path) -> pathlib.Path:
    return folder / NODES_FILE


def pods_path(folder: pathlib.Path, trace: str) -> pathlib.Path:
    return folder / f"openb_pod_list_{trace}.csv"


def order_path(folder: pathlib.Path, trace: str, seed: int) -> pathlib.Path:
    return folder / "order" / f"{trace}_{seed}.txt"


def read_nodes(path: pathlib.Path) -> list[NodeShape]:
    with path.open(encoding="utf-8", newline="") as file:
        return [NodeShape(row["model"], int(row["gpu"]), int(row["cpu_milli"]),
                          int(row["memory_mib"])) for row in csv.DictReader(file)]


def read_pods(path: pathlib.Path) -> list[PodShape]:
    """Sorted by name: the orders count rows so."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    return [pod_shape(row) for row in rows]


def pod_shape(row: dict) -> PodShape:
    gpus = int(row["num_gpu"])
    models = frozenset(filter(None, (row.get("gpu_spec") or "").split("|")))
    return PodShape(int(row["cpu_milli"]), int(row["memory_mib"]), gpus,
                    int(row["gpu_milli"]) if gpus else 0, models if gpus else frozenset())


def read_arrivals(folder: pathlib.Path, trace: str, seed: int) -> list[PodShape]:
    pods = read_pods(pods_path(folder, trace))
    rows = order_path(folder, trace, seed).read_text(encoding="utf-8").split()
    return [pods[int(row)] for row in rows]


def capacity_milli(nodes: list[NodeShape]) -> int:
    return WHOLE_GPU_MILLI * sum(node.gpus for node in nodes)


def arrived_prefix(arrivals: list[PodShape], limit_milli: float) -> list[PodShape]:
    """The longest prefix that asks for at most `limit_milli` of GPU."""
    asked_milli = 0
    for count, pod in enumerate(arrivals):
        asked_milli += pod.asked_milli()
        if asked_milli > limit_milli:
            return arrivals[:count]
    return arrivals
