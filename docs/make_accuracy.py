"""Make the figure of accuracy.md and the tables of results/accuracy.md.

python docs/make_accuracy.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from make_gallery import BLOCK, save

PAGE = Path(__file__).with_name("accuracy.md")
TABLE_PAGE = PAGE.parent / "results" / "accuracy.md"
RESULTS = PAGE.parents[1] / "benchmarks" / "results"

Rows = list[dict[str, Any]]


def main() -> None:
    """Run the page, save its last figure, and renew the tables."""
    namespace: dict[str, Any] = {}
    for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        exec(block["code"], namespace)
    save(namespace["ax"].figure, PAGE.with_name("images") / "accuracy-estimates.png")
    page = TABLE_PAGE.read_text(encoding="utf-8")
    for name, (file, make) in TABLES.items():
        page = _renewed(page, name, make(_rows(file)))
    TABLE_PAGE.write_text(page, encoding="utf-8")


def _renewed(page: str, name: str, table: str) -> str:
    """Page with the table after a mark replaced or inserted."""
    old = rf"(<!-- {name} -->\n)(?:\n(?:\|[^\n]*\n)+)?"
    return re.sub(old, lambda found: f"{found[1]}\n{table}\n", page, count=1)


def _rows(name: str) -> Rows:
    path = RESULTS / f"accuracy_{name}.json"
    rows: Rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _nannyml(rows: Rows) -> str:
    errors: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        by_method = errors.setdefault((row["shift"], row["data"]), {})
        by_method.setdefault(row["method"], []).append(row["accuracy error"])
    columns = list(errors)
    head = ["method", *(f"{shift}: {data}" for shift, data in columns)]
    methods = list(errors[columns[0]])
    means = {
        method: [f"{_mean(errors[column][method]):.4f}" for column in columns]
        for method in methods
    }
    return _table(head, [[method, *means[method]] for method in methods])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _speed(rows: Rows) -> str:
    lines = [[row["method"], f"{row['fit']:.2f}", f"{row['predict']:.2f}"] for row in rows]
    return _table(["method", "fit", "predict"], lines)


TABLES = {
    "nannyml": ("versus_nannyml", _nannyml),
    "speed": ("speed", _speed),
}

if __name__ == "__main__":
    main()
