"""The wait-for graph as a picture: an arrow from who waits to who is waited for; a cycle lies on a circle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from omni_ipc.records import Wait

_WIDTH, _NODE_HEIGHT = 310, 28
_CHARACTER = 7.2  # width of one, about
_LONGEST = 28  # characters in a node or on an arrow
_STEP, _MARGIN = 72, 12  # of nodes one below the other
_NOBODY = "nobody"

Point = tuple[float, float]


def wait_for_graph(waits: Sequence[Wait]) -> Markup | None:
    """Draw who waits for whom as SVG; None if nobody waits."""
    if not waits:
        return None
    names = list(dict.fromkeys([*(wait.task for wait in waits), *map(_holder, waits)]))
    pairs = {(wait.task, _holder(wait)) for wait in waits}
    places, height = (_circle if _has_cycle(waits) else _column)(names)
    stuck = {wait.task for wait in waits}
    edges = [_edge(wait, places, pairs) for wait in waits]
    nodes = [_node(name, places[name], name in stuck, name == _NOBODY) for name in names]
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8Z"/></marker></defs>'
    )
    body = Markup("").join([*edges, *nodes])
    size = f'viewBox="0 0 {_WIDTH} {height:.0f}"'
    return Markup(f'<svg class="graph" {size} role="img" aria-label="wait-for graph">{tip}{body}</svg>')


def _holder(wait: Wait) -> str:
    return wait.held_by or _NOBODY


def _has_cycle(waits: Sequence[Wait]) -> bool:
    """Tell whether some task waits, in the end, for itself."""
    holders = {wait.task: _holder(wait) for wait in waits}
    for name in holders:
        met = {name}
        while (name := holders.get(name, _NOBODY)) != _NOBODY:
            if name in met:
                return True
            met.add(name)
    return False


def _column(names: Sequence[str]) -> tuple[Mapping[str, Point], float]:
    """Place the nodes one below the other, and tell how high that is."""
    height = _NODE_HEIGHT + 2 * _MARGIN + _STEP * (len(names) - 1)
    return {name: (_WIDTH / 2, _MARGIN + _NODE_HEIGHT / 2 + _STEP * k) for k, name in enumerate(names)}, height


def _circle(names: Sequence[str]) -> tuple[Mapping[str, Point], float]:
    """Place the nodes on an ellipse, two of them beside each other, and tell how high that is."""
    if len(names) <= 2:
        return {name: (62 + k * (_WIDTH - 124), 70.0) for k, name in enumerate(names)}, 130
    height = 120 + 50 * len(names)
    angles = [2 * math.pi * k / len(names) - math.pi / 2 for k in range(len(names))]
    radius_x, radius_y = _WIDTH / 2 - 62, height / 2 - 34
    return {
        name: (_WIDTH / 2 + radius_x * math.cos(angle), height / 2 + radius_y * math.sin(angle))
        for name, angle in zip(names, angles, strict=True)
    }, height


def _edge(wait: Wait, places: Mapping[str, Point], pairs: set[tuple[str, str]]) -> Markup:
    holder = _holder(wait)
    (x1, y1), (x2, y2) = places[wait.task], places[holder]
    if wait.task == holder:
        top, far = y1 - 14, y1 - 54
        path = f"M{x1 - 18:.0f} {top:.0f}C{x1 - 40:.0f} {far:.0f} {x1 + 40:.0f} {far:.0f} {x1 + 18:.0f} {top:.0f}"
        return _arrow(path, (x1, y1 - 46), wait.target)
    length = math.hypot(x2 - x1, y2 - y1)
    along = ((x2 - x1) / length, (y2 - y1) / length)
    bend = 34.0 if (holder, wait.task) in pairs else 0.0  # so that two opposite arrows lie side by side
    if x1 == x2 and length > _STEP * 1.5:
        bend = length * 0.3  # past the nodes between
    begin, end = _border(x1, y1, along, wait.task), _border(x2, y2, (-along[0], -along[1]), holder)
    middle = ((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2)
    across = (-along[1] * bend, along[0] * bend)
    control = (middle[0] + across[0] * 1.6, middle[1] + across[1] * 1.6)
    path = f"M{begin[0]:.0f} {begin[1]:.0f}Q{control[0]:.0f} {control[1]:.0f} {end[0]:.0f} {end[1]:.0f}"
    return _arrow(path, (middle[0] + across[0] * 0.95, middle[1] + across[1] * 0.95), wait.target)


def _arrow(path: str, label: Point, text: str) -> Markup:
    arrow = Markup(f'<path d="{path}" marker-end="url(#tip)"/>')
    x, y = label
    return arrow + Markup(f'<text class="label" x="{x:.0f}" y="{y:.0f}">{Markup.escape(_short(text))}</text>')


def _border(x: float, y: float, towards: Point, name: str) -> Point:
    """Return where the line from the middle of a node leaves its box."""
    half_width, half_height = _node_width(name) / 2 + 2, _NODE_HEIGHT / 2 + 2
    scale = min(
        half_width / abs(towards[0]) if towards[0] else math.inf,
        half_height / abs(towards[1]) if towards[1] else math.inf,
    )
    return x + towards[0] * scale, y + towards[1] * scale


def _node(name: str, place: Point, is_stuck: bool, is_nobody: bool) -> Markup:
    x, y = place
    width = _node_width(name)
    dashes = ' stroke-dasharray="4 3"' if is_nobody else ""
    kind = "node stuck" if is_stuck else "node"
    box = (
        f'<rect class="{kind}" x="{x - width / 2:.0f}" y="{y - _NODE_HEIGHT / 2:.0f}" width="{width:.0f}" '
        f'height="{_NODE_HEIGHT}" rx="7"{dashes}/>'
    )
    return Markup(f'{box}<text x="{x:.0f}" y="{y:.0f}">{Markup.escape(_short(name))}</text>')


def _node_width(name: str) -> float:
    return max(44.0, len(_short(name)) * _CHARACTER + 18)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
