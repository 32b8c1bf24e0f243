#!/usr/bin/env python3
"""The house rules that a line of text shows. Prints `file:line: what is wrong` for each fault and
exits 1; long files are named without being faults. With --self-test it checks that each rule
catches a fault."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("binpack", "quota", "scheduler", "api", "bench", "test", "deploy", ".ci")
COLUMNS = 100
LONG_FILE_LINES = 500
CODE = {".h", ".cc"}
SCRIPTS = {".py", ".sh", ".cmake", ""}  # "": Makefile, .ci/run and their like
NO_SCRIPTS = {"LICENSE", ".clang-tidy", "test/.clang-tidy"}
PROSE = {".md", ".txt", ".json", ".yaml", ".yml", ".toml"}
# Recorded or copied from elsewhere: kept byte for byte.
VERBATIM = ("test/data/",)
# Words that this file and its like must spell to forbid them.
SPEAKS_OF_RULES = {"test/house_test.py", "CONTRIBUTING.md"}

LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\")")
PRAGMA = re.compile(r"^\s*#\s*pragma\s+(?!once\b)")
USING_NAMESPACE = re.compile(r"^\s*using\s+namespace\b")
RAW_STRING = re.compile(r'R"([^()\\\s]{0,16})\(')
SLEEP = re.compile(r"\b(sleep_for|sleep_until|u?sleep|nanosleep)\s*\(")


def raw_text_lines(text: str) -> set[int]:
    """The lines that hold a part of a raw string literal: text of the outside, as it came."""
    numbers, position = set(), 0
    while match := RAW_STRING.search(text, position):
        end = text.find(f'){match.group(1)}"', match.end())
        position = len(text) if end < 0 else end
        first = text.count("\n", 0, match.start()) + 1
        numbers.update(range(first, first + text.count("\n", match.start(), position) + 1))
    return numbers


def code_line_faults(path: str, line: str):
    code = line.split("//")[0]
    if PRAGMA.match(line):
        yield "no #pragma but once: fix what the compiler says"
    if USING_NAMESPACE.match(code):
        yield "no `using namespace`: name what you use"
    if "\t" in line:
        yield "a tab: two spaces indent"
    if path.startswith("test/") and SLEEP.search(code):
        yield "a test that sleeps: wait for the event, or give the time as an argument"


def faults(path: str, text: str):
    suffix = pathlib.PurePosixPath(path).suffix
    if text and not text.endswith("\n"):
        yield f"{path}:{text.count(chr(10)) + 1}: the file must end in a newline"
    if suffix == ".h" and "#pragma once" not in text.splitlines():
        yield f"{path}:1: a header needs #pragma once"
    raw = raw_text_lines(text) if suffix in CODE else set()
    for number, line in enumerate(text.splitlines(), 1):
        if path not in SPEAKS_OF_RULES and LATER.search(line):
            yield f"{path}:{number}: finish it, or leave it out and say so in the documents"
        if suffix in CODE | SCRIPTS and len(line) > COLUMNS and not (number in raw or "http" in line):
            yield f"{path}:{number}: {len(line)} columns, {COLUMNS} at most"
        if suffix in CODE:
            for fault in code_line_faults(path, line):
                yield f"{path}:{number}: {fault}"


def tracked_files():
    """The files of ours: git's, or without git every file of our folders."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False) if (ROOT / ".git").exists() else None
    if listed is not None and listed.returncode == 0:
        names = sorted(set(filter(None, listed.stdout.split("\0"))))
    else:
        files = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*")] + list(ROOT.iterdir())
        names = sorted(p.relative_to(ROOT).as_posix() for p in files if p.is_file())
    for name in names:
        suffix = pathlib.PurePosixPath(name).suffix
        if name.startswith(VERBATIM) or suffix not in CODE | SCRIPTS | PROSE or name in NO_SCRIPTS:
            continue
        if (ROOT / name).is_file():
            yield name


def tree_faults():
    for name in tracked_files():
        text = (ROOT / name).read_text(encoding="utf-8")
        yield from faults(name, text)
        lines = text.count("\n")
        if lines > LONG_FILE_LINES and pathlib.PurePosixPath(name).suffix in CODE | SCRIPTS:
            print(f"{name}: {lines} lines; more than {LONG_FILE_LINES} want a reason")


def self_test():
    wrong = [
        ("api/x.cc", "int a;  // TO" "DO: b\n"),
        ("api/x.cc", "#pragma GCC diagnostic ignored\n"),
        ("api/x.h", "int a;\n"),
        ("api/x.cc", "using namespace std;\n"),
        ("api/x.cc", "\tint a;\n"),
        ("api/x.cc", "int a;"),
        ("api/x.cc", "int a;" + " " * 100 + "\n"),
        ("api/x.cc", 'f(R"(a\nb)");\nint a;' + " " * 100 + "\n"),
        ("README.md", "last line"),
        ("test/api/x_test.cc", "std::this_thread::sleep_for(1ms);\n"),
        ("test/api/x_test.cc", "usleep(5);\n"),
    ]
    right = [
        ("api/x.h", "#pragma once\nint a;\n"),
        ("api/x.cc", "using std::string;\n"),
        ("api/x.cc", "std::this_thread::sleep_for(1ms);\n"),
        ("test/api/x_test.cc", "// never sleep_for() here\n"),
        ("README.md", "a line of prose " * 20 + "\n"),
        ("api/x.cc", 'f(R"(a\n' + "b" * 101 + '\n)");\n'),
        ("api/empty.cc", ""),
    ]
    for path, text in wrong:
        if not list(faults(path, text)):
            yield f"self-test: {path} with {text!r} should be a fault"
    for path, text in right:
        for fault in faults(path, text):
            yield f"self-test: {path} with {text!r} should be allowed: {fault}"


if __name__ == "__main__":
    found = list(self_test() if sys.argv[1:] == ["--self-test"] else tree_faults())
    print("\n".join(found) if found else "house: no fault")
    sys.exit(1 if found else 0)
