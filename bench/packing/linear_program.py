"""Linear programs, solved by glpsol of Debian's glpk-utils."""
import dataclasses
import pathlib
import shutil
import subprocess
import tempfile

TIME_LIMIT_S = 600


@dataclasses.dataclass
class LinearProgram:
    """Maximise the sum of value x column, columns bounded, rows of the form `sum <= limit` or
    `sum >= limit`."""
    values: list[float] = dataclasses.field(default_factory=list)
    rows: list[tuple[dict[int, float], str, float]] = dataclasses.field(default_factory=list)

    def add_column(self, value: float) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def add_row(self, coefficients: dict[int, float], sense: str, limit: float):
        kept = {column: number for column, number in coefficients.items() if number != 0}
        if kept or (limit < 0 if sense == "<=" else limit > 0):
            self.rows.append((kept, sense, limit))


class SolverError(Exception):
    """The solver is missing, or answered neither a solution nor that there is none."""


def is_solver_there() -> bool:
    return shutil.which("glpsol") is not None


def maximise(program: LinearProgram) -> float | None:
    """The greatest value; None where no point keeps all rows. Columns are >= 0."""
    if any(not coefficients for coefficients, _, _ in program.rows):
        return None  # 0 on the left of a limit that 0 does not keep
    if not is_solver_there():
        raise SolverError("no glpsol: apt-get install glpk-utils")
    with tempfile.TemporaryDirectory() as folder:
        model, solution = pathlib.Path(folder, "model.lp"), pathlib.Path(folder, "solution")
        model.write_text(lp_text(program), encoding="ascii")
        done = subprocess.run(
            ["glpsol", "--lp", str(model), "--tmlim", str(TIME_LIMIT_S), "--write", str(solution)],
            capture_output=True, text=True, check=False)
        if "NO PRIMAL FEASIBLE SOLUTION" in done.stdout:
            return None
        if done.returncode != 0 or not solution.is_file():
            raise SolverError(f"glpsol ended with {done.returncode}: {done.stdout[-2000:]}")
        return objective_of(solution.read_text(encoding="ascii"))


def lp_text(program: LinearProgram) -> str:
    """CPLEX's LP format. A term a line: the format limits the length of lines."""
    lines = ["Maximize", " value:"]
    lines += [f" + {value!r} x{column}" for column, value in enumerate(program.values)]
    lines.append("Subject To")
    for number, (coefficients, sense, limit) in enumerate(program.rows):
        lines.append(f" r{number}:")
        lines += [f" {factor:+.17g} x{column}" for column, factor in coefficients.items()]
        lines.append(f" {sense} {limit!r}")
    return "\n".join(lines + ["End", ""])


def objective_of(solution: str) -> float | None:
    """From glpsol's plain form: `s bas ROWS COLUMNS PRIMAL DUAL OBJECTIVE`, where f is feasible
    and n says that no feasible point exists."""
    for line in solution.splitlines():
        if line.startswith("s bas "):
            primal, dual, objective = line.split()[4:7]
            if primal == "n":
                return None
            if (primal, dual) == ("f", "f"):
                return float(objective)
            raise SolverError(f"glpsol stopped before the optimum: {line}")
    raise SolverError("glpsol wrote no solution")
