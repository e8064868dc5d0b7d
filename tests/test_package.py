from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import pytest

import headcount as hc
from headcount import quantifiers as quantify
from headcount.errors import HeadcountError, HeadcountWarning
from headcount.quantifiers import deep

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
        assert thing.__name__ == name
        assert thing.__module__.startswith("headcount.")


def test_the_directory_is_what_is_exported():
    assert dir(hc) == sorted([*hc.__all__, "__version__"])
    assert len(set(hc.__all__)) == len(hc.__all__)


def for_type_checkers(module):
    """Lines that only type checkers read."""
    return inspect.getsource(module).split("if TYPE_CHECKING:")[1].split("\n\n")[0]


def test_type_checkers_see_the_same_names():
    block = for_type_checkers(hc)
    assert "from headcount.quantifiers import *" in block
    named = set(re.findall(r" as (\w+)", block))
    assert named == set(hc.__all__) - set(quantify.__all__)


def test_type_checkers_see_every_module_with_methods():
    named = re.findall(r"from ([\w.]+) import \*", for_type_checkers(quantify))
    holding = {found.__module__ for found in quantify.quantifiers().values()}
    # Networks belong to a package above this one.
    holding = {name for name in holding if name.startswith("headcount.quantifiers.")}
    missing = [f"from {name} import *" for name in sorted(holding - set(named))]
    assert not missing, f"add to headcount/quantify/__init__.py: {missing}"
    assert set(named) == holding
    for module in map(importlib.import_module, named):
        own = [name for name, found in quantify.quantifiers().items() if name in vars(module)]
        own = [name for name in own if vars(module)[name].__module__ == module.__name__]
        assert sorted(module.__all__) == sorted(own)


def test_type_checkers_see_the_networks():
    assert "from headcount.quantifiers.deep import *" in for_type_checkers(hc)
    found = quantify.quantifiers().values()
    networks = {each.__name__ for each in found if each.info.family == "network"}
    assert set(deep.__all__) == networks


def test_packages_are_loaded_when_they_are_used():
    names = ["accuracy", "diagnose", "learn", "metrics", "plots", "shift", "study"]
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
    with pytest.raises(AttributeError, match="module 'headcount' has no attribute 'SLDD'"):
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
