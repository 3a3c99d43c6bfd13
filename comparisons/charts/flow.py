"""Where the cases go: from each arm's cases to what pairs, and from there to better, same and worse."""

from __future__ import annotations

from dataclasses import dataclass

_WIDTH = 1000
_HEIGHT = 200
_GAP = 10.0
_NODE = 14.0
_SLIVER = 2.0  # a single case among thousands stays visible


@dataclass(frozen=True, slots=True)
class Stop:
    """One end of the flow. `kind` is its colour: better, worse, same, changed, lost or only."""

    kind: str
    label: str
    cases: int
    href: str = ""


@dataclass(frozen=True, slots=True)
class Band:
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Flow:
    """`bands` and `nodes` are SVG paths in `view_box`, in the order of `stops`; no band for an empty one."""

    sentence: str
    total: int
    stops: tuple[Stop, ...]
    bands: tuple[Band, ...]
    nodes: tuple[Band, ...]
    source: str
    view_box: str
    height: int


def flow(stops: tuple[Stop, ...]) -> Flow | None:
    """All cases of either arm, split into `stops`, each a band as thick as its share; None without cases."""
    total = sum(stop.cases for stop in stops)
    if not total:
        return None
    present = [stop for stop in stops if stop.cases]
    room = _HEIGHT - _GAP * (len(present) - 1)
    raw = [max(_SLIVER, room * stop.cases / total) for stop in present]
    ends = [one * room / sum(raw) for one in raw]
    starts = [one * _HEIGHT / sum(raw) for one in raw]
    bands, nodes = [], []
    top, bottom = 0.0, 0.0
    for stop, start, end in zip(present, starts, ends, strict=True):
        bands.append(Band(stop.kind, _band(top, top + start, bottom, bottom + end)))
        nodes.append(Band(stop.kind, f"M{_WIDTH - _NODE:g} {bottom:.1f}h{_NODE:g}v{end:.1f}h-{_NODE:g}z"))
        top += start
        bottom += end + _GAP
    return Flow(
        sentence=_sentence(total, stops),
        total=total,
        stops=stops,
        bands=tuple(bands),
        nodes=tuple(nodes),
        source=f"M0 0h{_NODE:g}v{_HEIGHT}h-{_NODE:g}z",
        view_box=f"0 0 {_WIDTH} {_HEIGHT}",
        height=_HEIGHT,
    )


def _band(top: float, bottom: float, end_top: float, end_bottom: float) -> str:
    left, right, middle = _NODE, _WIDTH - _NODE, _WIDTH / 2
    return (
        f"M{left:g} {top:.1f}C{middle:g} {top:.1f} {middle:g} {end_top:.1f} {right:g} {end_top:.1f}"
        f"V{end_bottom:.1f}C{middle:g} {end_bottom:.1f} {middle:g} {bottom:.1f} {left:g} {bottom:.1f}z"
    )


def _sentence(total: int, stops: tuple[Stop, ...]) -> str:
    parts = [f"{stop.cases:,} {stop.label}" for stop in stops]
    return f"Of {total:,} cases on either side: {', '.join(parts)}."
