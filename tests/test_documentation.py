from __future__ import annotations

import inspect
import re

import pytest

from headcount import learn, metrics, plots, samples, shift
from headcount._support.documentation import documented, parametrised


@parametrised
class Base:
    """A base.

    Parameters
    ----------
    first, second : int
        Two numbers.
    kind : {"a", "b"}, default="a"
        A kind.

    Attributes
    ----------
    fitted_ : int
        A result.
    """

    first: int = 1
    second: int = 2
    kind: str = "a"


@parametrised
class Derived(Base):
    """A derived class.

    In two paragraphs.

    Parameters
    ----------
    third : float, default=0.5
        Another number.

    References
    ----------
    None.
    """

    third: float = 0.5
    kind: str = "b"


def test_bases_describe_what_a_class_does_not():
    assert list(inspect.signature(Derived).parameters) == ["first", "second", "kind", "third"]
    assert inspect.getdoc(Derived) == (
        "A derived class.\n\nIn two paragraphs.\n\n"
        "Parameters\n----------\n"
        "first, second : int\n    Two numbers.\n"
        'kind : {"a", "b"}, default="b"\n    A kind.\n'
        "third : float, default=0.5\n    Another number.\n\n"
        "Attributes\n----------\nfitted_ : int\n    A result.\n\n"
        "References\n----------\nNone."
    )


def test_own_descriptions_come_first():
    @documented(Base)
    def function(kind="c", *, other=None):
        """Do nothing.

        Parameters
        ----------
        kind : str, default="c"
            Any text.
        """

    text = inspect.getdoc(function)
    assert "Any text." in text
    assert "A kind." not in text
    assert "other" not in text


def test_docstrings_without_sections_and_without_text():
    @documented()
    def plain():
        """Do nothing."""

    @documented(plain)
    def bare(): ...

    assert inspect.getdoc(plain) == "Do nothing."
    assert not bare.__doc__


@pytest.mark.parametrize("fields", [{}, {"first": 3, "kind": "b"}])
def test_fields_are_keyword_parameters(fields):
    made = Derived(**fields)
    assert vars(made) == {"first": 1, "second": 2, "kind": "b", "third": 0.5} | fields
    with pytest.raises(TypeError, match=re.escape("__init__() takes 1 positional argument")):
        Derived(3)


def test_options_stand_for_the_keywords_of_the_sources():
    @documented()
    def source(x, *, kind="a", size=1):
        """Do nothing.

        Parameters
        ----------
        x : int
            A number.
        kind : str, default="a"
            A kind.
        size : int, default=1
            A size.
        """

    @documented(source)
    def function(x, **options):
        """Do nothing."""

    @documented(source)
    def described(**options):
        """Do nothing.

        Parameters
        ----------
        **options : Any
            A few options.
        """

    entries = 'x : int\n    A number.\nkind : str, default="a"\n    A kind.'
    assert f"{entries}\nsize : int, default=1\n    A size." in inspect.getdoc(function)
    assert inspect.getdoc(described).endswith("**options : Any\n    A few options.")


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (learn, metrics, plots, samples, shift)
    for name in module.__all__
}
COMPLETE = [name for name, value in PUBLIC.items() if "\nParameters\n" in (value.__doc__ or "")]


def test_most_functions_and_classes_have_parameters():
    assert len(COMPLETE) > 45


@pytest.mark.parametrize("name", COMPLETE)
def test_parameters_are_described_in_order(name):
    section = inspect.getdoc(PUBLIC[name]).split("\nParameters\n----------\n")[1]
    entries = re.findall(r"^(\w+(?:, \w+)*) : ", section.split("\n\n")[0], re.MULTILINE)
    described = [parameter for entry in entries for parameter in entry.split(", ")]
    assert described == list(inspect.signature(PUBLIC[name]).parameters)
