"""The full run: which cells are measured, what must hold, and `docs/coverage.md` in words and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.coverage import measure
from tests.coverage.measure import Shares

SIZES = (20, 50, 100, 300)
RATES = (0.5, 0.8, 0.95)
REPETITIONS = (1, 3, 5)
DROPS = (0.0, 0.05)
RUNS = (3, 5, 10, 20, 50)
GROUPS = (
    ("10 × 10", (10,) * 10),
    ("20 × 5", (5,) * 20),
    ("20 × 15", (15,) * 20),
    ("50 × 4", (4,) * 50),
    ("20 uneven, 2 to 40", (2,) * 8 + (5,) * 6 + (20,) * 4 + (40,) * 2),
)
SHARED = (0.0, 0.3, 0.6)

LOWEST, HIGHEST = 0.92, 0.999
"""Bounds of the leading interval's real coverage, from 20 cases on."""

type Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: a function of `measure`, by name, with its arguments. The data sets are the last one."""

    kind: str
    arguments: Key
    datasets: int

    def run(self) -> tuple[Key, Shares]:
        return (self.kind, *self.arguments), getattr(measure, self.kind)(*self.arguments, datasets=self.datasets)


def cells(datasets: int) -> Iterator[Cell]:
    """Every cell of the full run, the dear ones first."""
    for cases in reversed(SIZES):
        for rate in RATES:
            for repetitions in REPETITIONS:
                for drop in DROPS:
                    for pairing in ("usual", "strong", "none"):
                        yield Cell("paired_passes", (cases, rate, repetitions, drop, pairing), datasets)
                yield Cell("one_arm", (cases, rate, repetitions), datasets)
            for drop in DROPS:
                yield Cell("independent_arms", (cases, rate, drop), datasets)
            yield Cell("calibration", (cases, rate), datasets)
            yield Cell("many_tests", (cases, rate), datasets // 4)
            yield Cell("peeking", (cases, rate), datasets)
            yield Cell("identical_arms", (cases, rate), datasets)
        for kind in ("rubric", "latency"):
            for repetitions in REPETITIONS:
                for moved in (False, True):
                    yield Cell("paired_numbers", (cases, kind, repetitions, moved), datasets)
    for _, sizes in GROUPS:
        for share in SHARED:
            yield Cell("grouped", (sizes, share), datasets)
    for runs in RUNS:
        for moved in (False, True):
            yield Cell("independent_runs", (runs, moved), datasets)


class Results:
    """Measured shares by cell. A share that was never counted did not happen."""

    def __init__(self, found: dict[Key, Shares]) -> None:
        self.found = found

    def share(self, key: Key, name: str) -> float:
        return self.found[key].get(name, 0.0)

    def leading(self) -> list[tuple[Key, float]]:
        """Coverage of the leading interval in every cell that has one."""
        return [
            (key, self.share(key, "lead covers")) for key in self.found if key[0] in ("paired_passes", "paired_numbers")
        ]

    def outside(self) -> list[tuple[Key, float]]:
        return [(key, share) for key, share in self.leading() if not LOWEST <= share <= HIGHEST]


type Column = tuple[str, Callable[[int, float], tuple[Key, str]]]


def single(
    name: str, drop: float = 0.0, repetitions: int = 1, pairing: str = "usual"
) -> Callable[..., tuple[Key, str]]:
    """A share of the paired pass/fail cells."""
    return lambda cases, rate: (("paired_passes", cases, rate, repetitions, drop, pairing), name)


def of(kind: str, name: str, *more: object) -> Callable[..., tuple[Key, str]]:
    """A share of the cells of another kind."""
    return lambda cases, rate: ((kind, cases, rate, *more), name)


COLUMNS: dict[str, list[Column]] = {
    "references": [
        ("score", single("lead covers", 0.05)),
        ("t", single("t covers", 0.05)),
        ("bootstrap", single("bootstrap covers", 0.05)),
        *((name, single(f"{name} covers", 0.05)) for name in ("Newcombe 10", *measure.PAIRED_REFERENCES)),
    ],
    "alarms": [
        ("mid-p", single("mid-p alarm")),
        ("exact (reference)", single("exact alarm")),
        ("asymptotic (reference)", single("asymptotic alarm")),
        ("z, unpaired", single("z alarm")),
        ("z, no pairing", single("z alarm", pairing="none")),
        ("z, strong pairing", single("z alarm", pairing="strong")),
        *((f"sign-flip, {count} rep.", single("sign-flip alarm", repetitions=count)) for count in REPETITIONS),
        *((f"resolved, {count} rep.", single("resolved", repetitions=count)) for count in REPETITIONS),
    ],
    "power": [
        ("mid-p", single("mid-p alarm", 0.05)),
        ("z, unpaired", single("z alarm", 0.05)),
        *((f"resolved, {count} rep.", single("resolved", 0.05, count)) for count in REPETITIONS),
    ],
    "independent": [
        ("Newcombe", of("independent_arms", "Newcombe covers", 0.0)),
        ("Newcombe, − 5 points", of("independent_arms", "Newcombe covers", 0.05)),
        ("z alarms", of("independent_arms", "z alarm", 0.0)),
    ],
    "calibration": [
        ("kappa", of("calibration", "kappa covers")),
        ("kappa not given", of("calibration", "kappa none")),
        ("sensitivity", of("calibration", "sensitivity covers")),
        ("specificity", of("calibration", "specificity covers")),
        ("specificity not given", of("calibration", "specificity none")),
        ("corrected", of("calibration", "corrected covers")),
        ("corrected not given", of("calibration", "corrected none")),
    ],
    "sequences": [
        ("any of 12", of("many_tests", "unadjusted alarm")),
        ("any of 12, Holm", of("many_tests", "Holm alarm")),
        ("e-value, any time", of("peeking", "e-value alarm")),
        ("mid-p, every look", of("peeking", "mid-p at every look alarm")),
        ("mid-p, at the end", of("peeking", "mid-p at the end alarm")),
        ("one winner of five", of("identical_arms", "one winner")),
    ],
}
"""Tables by cases and pass rate: each column says which share of which cell it shows."""


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def by_cases_and_repetitions(results: Results, name: str) -> str:
    """Rows are cases and repetitions; columns are pass rates, without and with a true drop."""
    columns = [(rate, drop) for rate in RATES for drop in DROPS]
    head = ["cases", "repetitions", *(f"{rate}{' − 5 points' if drop else ''}" for rate, drop in columns)]

    def rows() -> Iterator[Sequence[str]]:
        for cases in SIZES:
            for repetitions in REPETITIONS:
                keys = [("paired_passes", cases, rate, repetitions, drop, "usual") for rate, drop in columns]
                yield [str(cases), str(repetitions), *(percent(results.share(key, name)) for key in keys)]

    return table(head, rows())


def by_cases_and_rate(results: Results, columns: Sequence[Column]) -> str:
    """Rows are cases and pass rates."""

    def rows() -> Iterator[Sequence[str]]:
        for cases in SIZES:
            for rate in RATES:
                shown = (results.share(*column(cases, rate)) for _, column in columns)
                yield [str(cases), str(rate), *map(percent, shown)]

    return table(["cases", "pass rate", *(name for name, _ in columns)], rows())


def pairings(results: Results) -> str:
    """Lowest, mean and highest coverage of the leading interval by kind of pairing."""

    def rows() -> Iterator[Sequence[str]]:
        for pairing in ("usual", "strong", "none"):
            for cases in SIZES:
                found = [
                    results.share(("paired_passes", cases, rate, repetitions, drop, pairing), "lead covers")
                    for rate in RATES
                    for repetitions in REPETITIONS
                    for drop in DROPS
                ]
                figures = min(found), sum(found) / len(found), max(found)
                yield [pairing, str(cases), *map(percent, figures)]

    return table(["pairing", "cases", "lowest", "mean", "highest"], rows())


def numbers(results: Results) -> str:
    head = ["cases", "repetitions", "values", "t, no difference", "t, a difference"]
    head += ["bootstrap, no difference", "bootstrap, a difference", "sign-flip alarms"]

    def rows() -> Iterator[Sequence[str]]:
        for cases in SIZES:
            for repetitions in REPETITIONS:
                for kind in ("rubric", "latency"):
                    keys = [("paired_numbers", cases, kind, repetitions, moved) for moved in (False, True)]
                    shown = [results.share(key, f"{name} covers") for name in ("lead", "bootstrap") for key in keys]
                    shown.append(results.share(keys[0], "sign-flip alarm"))
                    yield [str(cases), str(repetitions), kind, *map(percent, shown)]

    return table(head, rows())


def one_arm(results: Results) -> str:
    head = ["cases", "pass rate", *(f"shown, {count} rep." for count in REPETITIONS)]
    head += [*(f"runs as cases, {count} rep." for count in REPETITIONS[1:]), "Clopper–Pearson, 1 rep. (reference)"]

    def rows() -> Iterator[Sequence[str]]:
        for cases in SIZES:
            for rate in RATES:
                shown = [results.share(("one_arm", cases, rate, count), "Wilson covers") for count in REPETITIONS]
                shown += [
                    results.share(("one_arm", cases, rate, count), "pooled runs covers") for count in REPETITIONS[1:]
                ]
                shown.append(results.share(("one_arm", cases, rate, 1), "Clopper-Pearson covers"))
                yield [str(cases), str(rate), *map(percent, shown)]

    return table(head, rows())


def runs(results: Results) -> str:
    head = ["runs per arm", "Welch", "Welch, a difference", "bootstrap", "bootstrap, a difference", "Welch alarms"]

    def rows() -> Iterator[Sequence[str]]:
        for count in RUNS:
            keys = [("independent_runs", count, moved) for moved in (False, True)]
            shown = [results.share(key, f"{name} covers") for name in ("Welch", "bootstrap") for key in keys]
            yield [str(count), *map(percent, (*shown, results.share(keys[0], "Welch alarm")))]

    return table(head, rows())


def groups(results: Results) -> str:
    names = ["clustered t covers", "group bootstrap covers", "Tango on cases covers"]
    names += ["group sign-flip alarm", "mid-p on cases alarm"]
    head = ["groups × cases", "shared, %", "clustered t", "group bootstrap", "cases as independent (Tango)"]
    head += ["group sign-flip alarms", "mid-p on cases, alarms"]

    def rows() -> Iterator[Sequence[str]]:
        for label, sizes in GROUPS:
            for share in SHARED:
                shown = (results.share(("grouped", sizes, share), name) for name in names)
                yield [label, f"{100 * share:.0f}", *map(percent, shown)]

    return table(head, rows())


def chance(results: Results) -> str:
    head = ["cases", "pass rate", *(f"{what}, {count} rep." for count in REPETITIONS for what in ("seen", "expected"))]

    def rows() -> Iterator[Sequence[str]]:
        for cases in SIZES:
            for rate in RATES:
                keys = [("paired_passes", cases, rate, count, 0.0, "usual") for count in REPETITIONS]
                shown = (results.share(key, name) for key in keys for name in ("moved", "expected"))
                yield [str(cases), str(rate), *(f"{value:.2f}" for value in shown)]

    return table(head, rows())


def document(results: Results, datasets: int) -> str:
    """The whole of `docs/coverage.md`."""
    leading = [share for _, share in results.leading()]
    outside = results.outside()
    held = (
        "all inside"
        if not outside
        else "**outside**: " + "; ".join(f"{' '.join(map(str, key))}: {percent(share)} %" for key, share in outside)
    )
    noise = 100 * (0.95 * 0.05 / datasets) ** 0.5
    paired = [key for key in results.found if key[0] == "paired_passes"]
    gate = [results.share(key, "lead above") for key in paired if key[4]]
    disagreeing = [results.share(key, "disagree") for key in paired]
    tables = {name: by_cases_and_rate(results, columns) for name, columns in COLUMNS.items()}
    return f"""# How well the intervals and tests hold

Written by `make coverage-check`; do not edit. It draws {datasets:,} seeded data sets for each setting, whose true
difference is known, gives them to the functions that the product uses, and counts. All figures are percent.
One figure of 95 has a standard error of {noise:.1f} points, figures of 5 likewise; the case bootstrap and what rests on
it are measured on half of the data sets ({noise * 2**0.5:.1f} points).

**Held to**: the leading interval really covers {100 * LOWEST:.0f} to {100 * HIGHEST:.1f} % in every setting from
20 cases on. Measured over {len(leading)} settings: lowest {percent(min(leading))}, mean
{percent(sum(leading) / len(leading))}, highest {percent(max(leading))}; {held}.

Every case has a difficulty that both arms share and one that is an arm's own, on the probit scale, and cases are drawn
anew for each data set (`tests/coverage/worlds.py`). Pairing is *usual* (variance 1 shared, 0.25 own) where nothing else
is said; *strong* is 4 to 0.1, *none* 0 to 1.25. "− 5 points" means that the candidate truly passes 5 points less often.

## Pass or fail, paired

**The leading interval** (Tango's score interval; with repetitions on the effective sample):

{by_cases_and_repetitions(results, "lead covers")}

The same over all pass rates, repetitions and drops, by how strongly the arms are paired:

{pairings(results)}

**The case bootstrap** (`interval95`, 2,000 resamples), which is always shown beside it:

{by_cases_and_repetitions(results, "bootstrap covers")}

It cannot draw an outcome that did not occur, so it is no 95 % interval at 20 cases. How often it has no width at all:

{by_cases_and_repetitions(results, "bootstrap no width")}

Where the two disagree about zero (up to {percent(max(disagreeing))} % of data sets), the comparison is *not resolved*.

**Formulas that are not offered**, single runs with a true 5-point drop, for reference:

{tables["references"]}

Wald and t are too narrow where few cases differ; BCa and the Bayesian bootstrap cover less than the plain bootstrap;
Newcombe, Bonett–Price and Agresti–Min hold on single runs but have no form for repetitions that we found better than
the effective sample.

## False alarms on pass or fail (nominal 5)

Arms of equal pass rates. *Resolved* is what the sentence says: both intervals exclude zero. On single runs the
sign-flip test is the exact McNemar test.

{tables["alarms"]}

The unpaired z-test is right only where nothing pairs; on paired cases it is safe and blind. The share of real 5-point
drops that are found:

{tables["power"]}

**Non-inferiority** with a margin of 5 points passes a candidate that is truly 5 points worse in at most
{percent(max(gate))} % of data sets, {percent(sum(gate) / len(gate))} % on average (nominal 2.5).

## Numbers, paired

The t interval on case means leads. *rubric* has five levels from 0 to 1, *latency* is log-normal.

{numbers(results)}

## One arm

Wilson on cases, and with repetitions on the effective sample from 100 cases with five mixed ones. Counting runs as
independent cases, which nothing here does, would give the columns after it.

{one_arm(results)}

## Arms that do not pair

Different cases on each side, pass or fail (Newcombe's interval, pooled z-test):

{tables["independent"]}

Independent runs of one case with graded scores:

{runs(results)}

## Cases that share a source

Identical arms, pass or fail, {", ".join(f"{100 * share:.0f}" for share in SHARED)} % of what is an arm's own shared
inside a group. Below ten groups nothing leads. Very uneven groups cost the clustered interval 2 to 4 points: the
largest few decide.

{groups(results)}

## Calibration

People and a judge rate the same cases; the judge confirms 90 % of passes and 85 % of fails. *corrected* is the true
pass rate behind the judge's rate on 300 further cases. What is not given (no case failed by people, kappa 1 or
undefined) counts as a miss. Kappa's limits are the large-sample ones, too narrow below 100 cases or where nearly all
pass.

{tables["calibration"]}

## Many tests, peeking, chance

Twelve comparisons of identical arms, any alarm among them; identical arms watched while they run, with the e-value read
after every case (strong from 20) or mid-p after every 20 cases; and how often five identical arms have one raw winner.

{tables["sequences"]}

Cases that got worse between arms of equal pass rates, and `chance_moves_per_side` (numbers of cases, averages). With
repetitions slightly more are seen than expected, because the arms differ a little on every case here; the expectation
is for arms that are the same on every case.

{chance(results)}
"""
