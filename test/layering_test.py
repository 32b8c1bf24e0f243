#!/usr/bin/env python3
"""The layering of ARCHITECTURE.md as a test: who may include whom, and what the pure folders may
not touch. Prints `file:line: what is wrong` for each fault and exits 1. With --self-test it checks
that each rule catches a fault."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PURE = {"binpack", "quota", "scheduler"}
MAY_INCLUDE = {
    "binpack": {"binpack"},
    "quota": {"quota"},
    "scheduler": {"scheduler", "binpack", "quota"},
    "api": {"api", "scheduler", "binpack", "quota"},
    "bench": {"bench", "api", "scheduler", "binpack", "quota"},
    "test": {"test", "bench", "api", "scheduler", "binpack", "quota"},
}
# What a pure folder may not include: the outside world, clocks, randomness without a seed, locks.
IMPURE_HEADERS = {
    "chrono", "condition_variable", "cstdio", "cstdlib", "ctime", "filesystem", "fstream",
    "future", "iostream", "mutex", "random", "shared_mutex", "thread",
}
# The one mutex of the decision layer.
ALLOWED = {("scheduler/state_store.h", "mutex"), ("scheduler/state_store.cc", "mutex")}
IMPURE_WORDS = re.compile(r"\b(getenv|std::rand|rand\(\)|random_device|::now\(\))")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
NO_SUCH_FOLDERS = {"common", "util", "utils", "helpers", "misc"}


def faults(path: str, text: str):
    folder = path.split("/", 1)[0]
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match is None:
            if folder in PURE and IMPURE_WORDS.search(line.split("//")[0]):
                yield f"{path}:{number}: a pure folder takes time and randomness as arguments"
            continue
        quoted, angled = match.groups()
        if quoted is not None:
            target = quoted.split("/", 1)[0] if "/" in quoted else ""
            if target not in MAY_INCLUDE[folder]:
                yield f'{path}:{number}: {folder}/ may not include "{quoted}"'
        elif folder in PURE:
            if "/" in angled or angled.endswith(".h"):
                yield f"{path}:{number}: {folder}/ knows only the standard library, not <{angled}>"
            elif angled in IMPURE_HEADERS and (path, angled) not in ALLOWED:
                yield f"{path}:{number}: {folder}/ is pure and may not include <{angled}>"


def tree_faults():
    for folder in MAY_INCLUDE:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".h", ".cc"}:
                yield from faults(path.relative_to(ROOT).as_posix(), path.read_text())
    for path in ROOT.iterdir():
        if path.is_dir() and path.name in NO_SUCH_FOLDERS:
            yield f"{path.name}/: a type lives with its owner"


def self_test():
    wrong = [
        ("binpack/x.h", '#include "quota/amount.h"'),
        ("quota/x.h", '#include "binpack/gpu_model.h"'),
        ("scheduler/x.cc", '#include "api/error.h"'),
        ("scheduler/x.cc", "#include <mutex>"),
        ("binpack/x.cc", "#include <boost/asio.hpp>"),
        ("binpack/x.cc", "#include <chrono>"),
        ("scheduler/x.cc", "auto t = std::chrono::steady_clock::now();"),
        ("api/x.cc", '#include "bench/trace.h"'),
        ("api/x.cc", '#include "sibling.h"'),
    ]
    right = [
        ("scheduler/state_store.h", "#include <mutex>"),
        ("scheduler/x.h", '#include "binpack/gpu_model.h"'),
        ("api/x.cc", "#include <boost/asio.hpp>"),
        ("binpack/x.cc", "// the clock's ::now() stays outside"),
    ]
    for path, line in wrong:
        if not list(faults(path, line)):
            yield f"self-test: {path} with `{line}` should be a fault"
    for path, line in right:
        if list(faults(path, line)):
            yield f"self-test: {path} with `{line}` should be allowed"


if __name__ == "__main__":
    found = list(self_test() if sys.argv[1:] == ["--self-test"] else tree_faults())
    print("\n".join(found) if found else "layering: no fault")
    sys.exit(1 if found else 0)
