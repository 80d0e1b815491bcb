"""Who may import whom: `simcore` not `dse`, reports nothing of a live study, and no two modules each other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = ("simcore", "dse")


def root(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@cache
def modules() -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        base = root(package)
        for path in sorted(base.rglob("*.py")):
            parts = (package, *path.relative_to(base).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(body: list[ast.stmt], at_import: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a module; only those that run when it is imported, where asked."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.orelse if at_import else [*node.body, *node.orelse], at_import)
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, name, []), at_import)
            for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                yield from statements(part.body, at_import)


@cache
def imports(module: str, at_import: bool) -> frozenset[str]:
    """The modules of both packages that `module` imports."""
    path = modules()[module]
    found = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8")).body, at_import):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        base = node.module or ""
        if node.level:
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, *([base] if base else [])])
        for alias in node.names:
            below = f"{base}.{alias.name}"
            found.add(below if below in modules() else base)
    return frozenset(name for name in found if name.split(".")[0] in PACKAGES) - {module}


def test_the_walk_sees_the_imports_that_are_there() -> None:
    assert "dse.space.objective" in imports("dse.study.study", True)
    assert "dse.search.external" not in imports("dse.search", True)
    assert "dse.search.external" in imports("dse.search", False)
    assert "simcore.catalog" in imports("dse.run.resolved", True)
    assert len(modules()) > 80


@pytest.mark.parametrize("module", [name for name in modules() if name.split(".")[0] == "simcore"])
def test_the_simulator_never_imports_the_search(module: str) -> None:
    assert not [name for name in imports(module, False) if name.split(".")[0] == "dse"]


@pytest.mark.parametrize("module", [name for name in modules() if name.startswith("dse.report")])
def test_a_report_never_imports_what_runs_a_study(module: str) -> None:
    live = (
        "dse.study.study",
        "dse.search",
        "dse.execute",
        "dse.run.drive",
        "dse.run.record",
        "dse.evaluate.evaluate",
        "dse.study.store",
        "dse.study.journal",
    )
    assert not [name for name in imports(module, False) if name.startswith((*live, "dse.space.space", "dse.cli"))]


@pytest.mark.parametrize("module", [name for name in modules() if name.startswith(("dse.search", "dse.space.space"))])
def test_a_sampler_never_imports_what_evaluates(module: str) -> None:
    never = ("dse.evaluate.evaluate", "dse.execute", "dse.study.study", "dse.study.store", "dse.study.journal")
    simulator = ("simcore.simulate", "simcore.engine")
    assert not [name for name in imports(module, False) if name.startswith((*never, *simulator))]


ORDER = {
    "simcore": (
        *(
            "family",
            "kernels",
            "compiled",
            "astra",
            "document",
            "catalog",
            "network",
            "collective",
            "schedule",
            "policy",
            "design",
            "graph",
            "program",
        ),
        *(
            "result",
            "workload",
            "system",
            "compute",
            "memory",
            "reliability",
            "cost",
            "power",
            "metrics",
            "provenance",
            "prediction_interval",
            "engine",
            "layout",
            "check",
        ),
        *("bounds", "uncertainty", "jobs", "simulate", "traces"),
    ),
    "dse": (
        *("space", "evaluate", "proof", "search", "execute", "study", "buy", "run", "measured", "export", "whatif"),
        *("report", "explain", "catalogue", "door", "reproduce", "cli"),
    ),
}
"""The folders and root modules of each package in the order in which they are read: none imports a later one."""
BACK = {
    ("simcore.design.change", "simcore.check.load"),
    ("simcore.metrics", "simcore.uncertainty.upper"),
    ("simcore.memory.plan", "simcore.layout.settle"),
}
"""`Design.with_` gives a design that went through the door, which is above it; a metric that is only taken where it is
named lowers its design once more, as the engine does; the program of a design whose stages are to be solved has those
that are solved from what its collectives take."""


def test_the_order_names_every_folder_and_module() -> None:
    named = {f"{package}.{part}" for package, parts in ORDER.items() for part in parts}
    assert {".".join(name.split(".")[:2]) for name in modules() if "." in name} == named | {"dse.__main__"}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_documentation_has_the_order(package: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "design.md").read_text(encoding="utf-8")
    table = text.partition(f"| `{package}/` | answers |")[2].partition("\n\n")[0]
    first = [row.split("|")[1].partition("(")[0] for row in table.splitlines() if row.startswith("| `")]
    assert [part for cell in first for part in re.findall(r"`(\w+)`", cell)] == [*ORDER[package]]


@pytest.mark.parametrize("module", [name for name in modules() if "." in name and name != "dse.__main__"])
def test_a_folder_imports_none_that_is_read_after_it(module: str) -> None:
    package, part = module.split(".")[:2]
    later = ORDER[package][ORDER[package].index(part) + 1 :]
    found = {name for name in imports(module, False) if name.startswith(f"{package}.") and name.split(".")[1] in later}
    assert {(module, name) for name in found} == {pair for pair in BACK if pair[0] == module}


def cycles(at_import: bool) -> list[list[str]]:
    """The groups of modules that reach each other (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(imports(module, at_import)):
            if other not in modules():
                continue
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in modules():
        if module not in index:
            visit(module)
    return found


def test_no_modules_import_each_other_when_they_are_imported() -> None:
    assert cycles(at_import=True) == []


def test_no_two_modules_import_each_other_even_later() -> None:
    pairs = [
        (a, b) for a in modules() for b in imports(a, False) if b in modules() and a < b and a in imports(b, False)
    ]
    assert pairs == []
