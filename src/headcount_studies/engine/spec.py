"""Specs of studies: read from TOML, checked, and the objects that they name."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from headcount._support.files import toml_text
from headcount._support.parameters import check_count
from headcount.errors import HeadcountError

_MOST_SHOWN = 120


def module_of(path: str) -> str:
    """Module of an import path.

    >>> module_of("sklearn.svm:SVC"), module_of("sklearn.svm.SVC")
    ('sklearn.svm', 'sklearn.svm')
    """
    return path.partition(":")[0] if ":" in path else path.rpartition(".")[0]


def import_object(what: str, path: str) -> Any:
    """Import an object by its path."""
    module = module_of(path)
    try:
        return getattr(importlib.import_module(module), path[len(module) + 1 :])
    except Exception as error:  # a module of the user may raise anything on import
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST_SHOWN]
        raise HeadcountError(
            f"The {what} {path!r} cannot be imported ({reason}): check the names of the module "
            "and of the object in it, and that PYTHONPATH leads to it."
        ) from error


def reason(error: Exception) -> str:
    """Reason of a failure, in one line."""
    kind = "" if isinstance(error, HeadcountError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())[:500]


def duration(seconds: float) -> str:
    """Time as text.

    >>> duration(12), duration(750), duration(11_000)
    ('12 s', '12 min 30 s', '3 h 3 min')
    """
    if seconds < 9.5:
        return f"{seconds:.1f} s"
    minutes, over = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {over} s" if minutes else f"{over} s"
    return f"{minutes // 60} h {minutes % 60} min"


# Packages whose objects a spec may name; those of installed plug-ins are added.
_TRUSTED = ("headcount", "headcount_studies", "sklearn")
_PLUG_INS = ("headcount.methods", "headcount.studies", "headcount.commands")


def check_imports(spec: Spec) -> None:
    """Refuse a spec that names an object of a package that is no plug-in of headcount.

    Importing a module runs its code, so that a spec of a stranger could do anything.
    """
    trusted = {*_TRUSTED}
    for group in _PLUG_INS:
        trusted |= {entry.module.partition(".")[0] for entry in entry_points(group=group)}
    for what, path in spec.import_paths():
        package = module_of(path).partition(".")[0]
        if package in trusted:
            # A module of a trusted package holds objects of others, such as functions of os.
            origin = getattr(import_object(what, path), "__module__", None)
            package = str(origin).partition(".")[0]
        if package not in trusted:
            raise HeadcountError(
                f"The spec names the {what} {path!r}, which is neither of headcount and "
                "scikit-learn nor of an installed plug-in: if you trust the spec and that "
                "code, add --allow-imports."
            )


def check_known(what: str, name: Any, allowed: Iterable[str]) -> str:
    """Return a name if it is known.

    >>> check_known("dataset", "wine", ["adult", "wine"])
    'wine'
    """
    names = list(allowed)
    if isinstance(name, str) and name in names:
        return name
    raise HeadcountError(f"There is no {what} {name!r}: {_hint(name, names)}.")


def check_keys(
    where: str, table: Iterable[str], allowed: Iterable[str], needed: Iterable[str] = ()
) -> None:
    """Refuse unknown keys, and a table that lacks one it needs.

    >>> check_keys("[protocol]", {"splits": 4}, ["draws"], needed=["splits"])
    """
    names = [*needed, *allowed]
    for key in table:
        if key not in names:
            raise HeadcountError(f"{where} has an unknown key {key!r}: {_hint(key, names)}.")
    for key in needed:
        if key not in table:
            raise HeadcountError(f"{where} has no {key!r}: add it.")


def _hint(name: Any, names: list[str]) -> str:
    folded = {name.lower(): name for name in names}
    close = get_close_matches(str(name).lower(), list(folded), n=1)
    if close:
        return f"did you mean {folded[close[0]]!r}"
    if not names:
        return "none are known"
    listed = ", ".join(map(repr, names[:12])) + (", ..." if len(names) > 12 else "")
    return f"it must be one of {listed}"


_SPECS = Path(__file__).parents[1] / "specs"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TABLES = ("protocol", "selection", "classifier", "data", "quick")


@dataclass(frozen=True)
class MethodSpec:
    """One method of a study.

    Parameters
    ----------
    name : str
        Name in the tables.
    quantifier : str, default=None
        Name in headcount; the same one by default.
    parameters : dict
        Parameters of the quantifier.
    options : dict
        Options that the kind of study defines, such as fewer draws.

    Examples
    --------
    >>> from headcount_studies import MethodSpec
    >>> MethodSpec("AC", "ACC").quantifier
    'ACC'
    """

    name: str
    quantifier: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_text("the name of a method", self.name)
        if self.quantifier == "":
            object.__setattr__(self, "quantifier", self.name)
        _check_text(f"quantifier of method {self.name!r}", self.quantifier)
        _check_table(f"parameters of method {self.name!r}", self.parameters)
        _check_table(f"options of method {self.name!r}", self.options)

    @property
    def arguments(self) -> dict[str, Any]:
        """Parameters as a quantifier takes them: "none", as TOML has no null, is None."""
        return {
            name: None if value == "none" else value for name, value in self.parameters.items()
        }


@dataclass(frozen=True)
class Spec:
    """A study: methods, datasets, protocol and metrics.

    Parameters
    ----------
    name : str
        Name of the study: letters, digits, dots, hyphens and underscores.
    kind : str
        Code that runs the study: one of the published studies, or ``"module:object"`` of
        your own.
    datasets : tuple of str
        Datasets in the order of the tables.
    methods : tuple of MethodSpec
        Methods in the order of the tables.
    metrics : tuple of str
        Error measures; columns of the results.
    title, paper : str, default=""
        Title of the report, and reference.
    seed : int, default=0
        Random seed of the whole study.
    protocol, selection : dict
        Settings that the kind of study defines.
    classifier : dict
        Classifier of a study of your own data.
    data : dict of str to dict
        Files of a study of your own data, by dataset.
    quick : dict
        Entries of ``protocol``, ``selection`` and ``datasets`` that `quickened` changes.
    is_quick : bool, default=False
        True for a small part of a study, which `quickened` returned.

    Examples
    --------
    >>> from headcount_studies import MethodSpec, Spec
    >>> spec = Spec("mine", "comparison", ("adult", "wine"), (MethodSpec("CC"),), ("tae",))
    >>> spec.restricted(datasets=["wine"]).datasets
    ('wine',)
    """

    name: str
    kind: str
    datasets: tuple[str, ...]
    methods: tuple[MethodSpec, ...]
    metrics: tuple[str, ...]
    title: str = ""
    paper: str = ""
    seed: int = 0
    protocol: dict[str, Any] = field(default_factory=dict)
    selection: dict[str, Any] = field(default_factory=dict)
    classifier: dict[str, Any] = field(default_factory=dict)
    data: dict[str, dict[str, Any]] = field(default_factory=dict)
    quick: dict[str, Any] = field(default_factory=dict)
    is_quick: bool = False

    def __post_init__(self) -> None:
        _check_text("name", self.name)
        if not _NAME.fullmatch(self.name):
            raise HeadcountError(
                f"name is {self.name!r}; it must be made of letters, digits, '.', '-' and '_'."
            )
        _check_text("kind", self.kind)
        check_count("seed", self.seed, least=0)
        for name in ("title", "paper"):
            if not isinstance(getattr(self, name), str):
                raise HeadcountError(f"{name} is {getattr(self, name)!r}; it must be a text.")
        for name in ("datasets", "metrics"):
            object.__setattr__(self, name, _check_names(name, getattr(self, name)))
        methods = tuple(self.methods)
        object.__setattr__(self, "methods", methods)
        _check_names("methods", [method.name for method in methods])
        for name in _TABLES:
            _check_table(name, getattr(self, name))
        for name, table in self.data.items():
            _check_table(f"[data.{name}]", table)
        check_keys("[quick]", self.quick, ("protocol", "selection", "datasets"))
        if not isinstance(self.is_quick, bool):
            raise HeadcountError(f"is_quick is {self.is_quick!r}; it must be true or false.")

    def import_paths(self) -> list[tuple[str, str]]:
        """Objects that are imported by their path, and what each of them is."""
        paths = [("method", method.quantifier) for method in self.methods]
        paths = [(what, path) for what, path in (("kind of study", self.kind), *paths)
                 if ":" in path]  # fmt: skip
        tables = [method.options.get("classifier", {}) for method in self.methods]
        for table in (self.classifier, *tables):
            if isinstance(table, dict) and isinstance(table.get("class"), str):
                paths.append(("classifier", table["class"]))
        return paths

    def restricted(
        self, *, datasets: Iterable[str] | None = None, methods: Iterable[str] | None = None
    ) -> Spec:
        """Restrict the study to some datasets or methods; None keeps all."""
        names_of_datasets = _kept("dataset", datasets, self.datasets)
        names = _kept("method", methods, [method.name for method in self.methods])
        return replace(
            self,
            datasets=names_of_datasets,
            methods=tuple(method for method in self.methods if method.name in names),
        )

    def quickened(self, *, datasets: Iterable[str] | None = None) -> Spec:
        """Small part of the study, with the changes that ``[quick]`` names.

        It is on some of the study's datasets, by default those of ``[quick]``. It has
        ``is_quick`` set, so its results never mix with those of the whole study.
        """
        if not self.quick:
            raise HeadcountError(
                f"{self.name!r} has no [quick]: add one with the entries of [protocol] and "
                "[selection] to make smaller, such as [quick.protocol] with repeats = 1."
            )
        return replace(
            self,
            datasets=_kept("dataset", datasets or self.quick.get("datasets"), self.datasets),
            protocol=_changed(self.protocol, self.quick.get("protocol", {})),
            selection=_changed(self.selection, self.quick.get("selection", {})),
            quick={},
            is_quick=True,
        )

    def with_methods(self, names: Iterable[str]) -> Spec:
        """Restrict the study to some methods, in the order given."""
        by_name = {method.name: method for method in self.methods}
        return replace(self, methods=tuple(by_name[name] for name in names))

    def to_toml(self) -> str:
        """Write the spec as TOML; reading it gives the same spec."""
        content = {
            field_.name: getattr(self, field_.name)
            for field_ in fields(self)
            if field_.name not in (*_TABLES, "methods")
        }
        return toml_text(
            content
            | {name: getattr(self, name) for name in _TABLES}
            | {"methods": [vars(method) for method in self.methods]}
        )


def built_in_specs() -> dict[str, Path]:
    """TOML files of the published studies by name, sorted."""
    return {path.stem: path for path in sorted(_SPECS.glob("*.toml"))}


def read_spec(name_or_path: str | Path) -> Spec:
    """Read a spec by name or from a TOML file.

    Parameters
    ----------
    name_or_path : str or Path
        Name of one of `built_in_specs`, or a file of your own.
    """
    built_in = built_in_specs()
    if str(name_or_path) in built_in:
        path = built_in[str(name_or_path)]
    else:
        path = Path(name_or_path)
        if path.suffix.lower() != ".toml" and not path.is_file():
            check_known("built-in study", str(name_or_path), built_in)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise HeadcountError(f"There is no file {str(path)!r}: check its name.") from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a text"
        raise HeadcountError(f"The spec {str(path)!r} cannot be read: {why}.") from None
    return parse_spec(text, where=str(path))


def parse_spec(text: str, *, where: str = "the spec") -> Spec:
    """Read a spec from TOML."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HeadcountError(f"The spec {where!r} is not valid TOML: {error}.") from None
    try:
        return _made(content)
    except HeadcountError as error:
        raise HeadcountError(f"The spec {where!r} cannot be used: {error}") from None


def _made(content: dict[str, Any]) -> Spec:
    check_keys("it", content, [field_.name for field_ in fields(Spec)])
    if isinstance(content.get("data"), dict):
        content = {"datasets": list(content["data"])} | content
    for key in ("name", "kind", "datasets", "methods", "metrics"):
        if key not in content:
            raise HeadcountError(f"it has no {key!r}: add it.")
    methods = content["methods"]
    if not isinstance(methods, list) or not all(isinstance(method, dict) for method in methods):
        raise HeadcountError("methods must be tables, each headed [[methods]].")
    allowed = [field_.name for field_ in fields(MethodSpec)]
    for table in methods:
        check_keys("a table of [[methods]]", table, allowed)
        if "name" not in table:
            raise HeadcountError("a table of [[methods]] has no 'name': add it.")
    method_specs = tuple(MethodSpec(**method) for method in methods)
    return Spec(**(content | {"methods": method_specs}))


def _changed(table: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Table with some entries changed, in tables inside it as well."""
    inner = {
        name: _changed(table[name], value)
        for name, value in changes.items()
        if isinstance(value, dict) and isinstance(table.get(name), dict)
    }
    return table | changes | inner


def _kept(what: str, wanted: Iterable[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    if wanted is None:
        return tuple(names)
    selected = {check_known(what, wanted_name, names) for wanted_name in wanted}
    if not selected:
        raise HeadcountError(f"No {what} was named: name at least one.")
    return tuple(name for name in names if name in selected)


def _check_names(what: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise HeadcountError(f"{what} is {names!r}; it must be a list of names.")
    if not names:
        raise HeadcountError(f"{what} is empty; it must hold at least one name.")
    for name in names:
        _check_text(f"an entry of {what}", name)
    doubled = [name for i, name in enumerate(names) if name in names[:i]]
    if doubled:
        raise HeadcountError(f"{what} has {doubled[0]!r} twice: keep one.")
    return tuple(names)


def _check_text(what: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise HeadcountError(f"{what} is {value!r}; it must be a text that is not empty.")


def _check_table(what: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise HeadcountError(f"{what} is {value!r}; it must be a table.")
    toml_text({"value": value})  # refuses values that TOML cannot hold
