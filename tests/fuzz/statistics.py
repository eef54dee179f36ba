"""What was generated and what asphalt said about it, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rich.table import Table

from fuzz.transformation import Case


@dataclass
class Statistics:
    """Counts of programs and exchanges; all of them add up over batches."""

    programs: int = 0
    changed: int = 0
    illegal: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case, illegal: bool) -> None:
        """Count one program."""
        self.programs += 1
        self.changed += case.changed
        self.illegal += illegal
        self.codes.update(f"{verdict} {code or ''}".strip() for verdict, code in case.verdicts)
        if case.changed:
            for exchange in case.program.exchanges:
                self.features[f"shape {exchange.shape}"] += 1
                self.features[f"storage {exchange.storage}"] += 1
                self.features["uneven"] += bool(exchange.uneven)
                self.features[f"work {exchange.work or 'none'}"] += 1
            self.features[case.program.binding] += 1
            self.features["fixed form" if case.program.fixed else "free form"] += 1

    def __iadd__(self, other: Statistics) -> Statistics:
        self.programs += other.programs
        self.changed += other.changed
        self.illegal += other.illegal
        self.codes += other.codes
        self.features += other.features
        return self

    def row(self) -> dict[str, object]:
        """As plain values."""
        return {
            "programs": self.programs,
            "changed": self.changed,
            "illegal": self.illegal,
            "codes": dict(self.codes.most_common()),
            "features": dict(self.features.most_common()),
        }

    def table(self) -> Table:
        """For the terminal."""
        table = Table(title=f"{self.programs} programs, {self.changed} transformed, "
                            f"{self.illegal} that must stay")  # fmt: skip
        table.add_column("verdict")
        table.add_column("exchanges", justify="right")
        for code, number in self.codes.most_common():
            table.add_row(code, str(number))
        return table
