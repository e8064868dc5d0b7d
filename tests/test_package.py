from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import headcount as hc
from headcount import quantifiers
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.quantifiers import Quantifier

HEAVY = ("numba", "sklearn", "polars", "pandas", "scipy", "numpy", "narwhals")


def imported_by(statement):
    script = f"{statement}; import sys; print(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_importing_the_package_imports_nothing_heavy():
    modules = imported_by("import headcount; headcount.__version__; headcount.__doc__")
    assert "headcount" in modules
    assert not modules.intersection(HEAVY)


def test_errors_are_light_too():
    modules = imported_by("from headcount import HeadcountError")
    assert "headcount.errors" in modules
    assert not modules.intersection(HEAVY)


def test_quantifying_does_not_import_what_only_tables_need():
    modules = imported_by("import headcount; headcount.SLD; headcount.APP")
    assert "sklearn" in modules
    assert not modules.intersection({"polars", "matplotlib", "dask", "torch"})


@pytest.mark.parametrize("name", hc.__all__)
def test_every_name_resolves_to_its_own_thing(name):
    thing = getattr(hc, name)
    assert thing is getattr(hc, name)
    if isinstance(thing, ModuleType):
        assert thing is importlib.import_module(f"headcount.{name}")
    else:
        assert thing.__name__ == name.replace("analyze", "analyse")
        assert thing.__module__.startswith("headcount.")


def test_the_directory_is_what_is_exported():
    assert dir(hc) == sorted(hc.__all__)
    assert len(set(hc.__all__)) == len(hc.__all__)


STUBS = sorted(Path(hc.__file__).parent.rglob("__init__.pyi"))


@pytest.mark.parametrize("stub", STUBS, ids=[stub.parent.name for stub in STUBS])
def test_stubs_list_what_is_exported(stub):
    path = stub.parent.relative_to(Path(hc.__file__).parents[1])
    package = importlib.import_module(".".join(path.parts))
    names = re.findall(r" as (\w+)", stub.read_text(encoding="utf-8"))
    assert sorted(names) == sorted(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


def test_stubs_list_every_method():
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(quantifiers.__path__, "headcount.quantifiers.")
        if not (module.name.endswith(".networks") and find_spec("torch") is None)
    ]
    methods = {
        name
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and issubclass(value, Quantifier)
        and "info" in vars(value)
        and not name.startswith("_")
    }
    missing = sorted(methods - set(quantifiers.__all__) | methods - set(hc.__all__))
    assert not missing, f"add to the stubs of headcount and headcount.quantifiers: {missing}"


def test_packages_are_loaded_when_they_are_used():
    names = ["accuracy", "interop", "metrics", "plots", "shift"]
    packages = {f"headcount.{name}" for name in names}
    assert not packages & imported_by("import headcount")
    assert packages <= imported_by(f"import headcount; {'; '.join(sorted(packages))}")


def test_a_star_import_gives_all_names():
    names: dict[str, object] = {}
    exec("from headcount import *", names)
    assert set(hc.__all__) <= names.keys()


def test_the_version_is_the_installed_one():
    assert hc.__version__ == version("headcount")
    assert re.match(r"\d+\.\d+\.\d+", hc.__version__)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="No headcount attribute SLDD"):
        _ = hc.SLDD
    assert not hasattr(hc, "find_methods")
    assert "headcount.quantifiers" not in imported_by(
        "import headcount; hasattr(headcount, '__x__')"
    )


def test_errors_are_of_the_usual_kinds():
    assert issubclass(HeadcountError, ValueError)
    assert issubclass(HeadcountWarning, UserWarning)


def test_the_table_of_methods():
    table = hc.methods()
    assert len(table) == len(list(table)) == len(set(table))
    assert "SLD" in table
    assert "nothing" not in table
    lines = repr(table).splitlines()
    assert len(lines) == len(table) + 2
    assert lines[0].split()[:2] == ["method", "title"]
    frame = table.to_frame()
    assert frame["method"].to_list() == list(table)
    assert frame.null_count().sum_horizontal().item() == 0
