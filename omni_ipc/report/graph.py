"""The wait-for graph as a picture: tasks on a circle, an arrow from who waits to who is waited for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from omni_ipc.records import Wait

_WIDTH, _NODE_HEIGHT = 310, 28
_CHARACTER = 7.2  # width of one, about
_LONGEST = 22  # characters in a node
_NOBODY = "nobody"

Point = tuple[float, float]


def wait_for_graph(waits: Sequence[Wait]) -> Markup | None:
    """Draw who waits for whom as SVG; None if nobody waits."""
    if not waits:
        return None
    names = list(dict.fromkeys([*(wait.task for wait in waits), *(wait.held_by or _NOBODY for wait in waits)]))
    height = 120 if len(names) == 2 else 110 + 46 * len(names)
    places = _circle(names, height)
    stuck = {wait.task for wait in waits}
    edges = [_edge(wait, places, {(other.task, other.held_by or _NOBODY) for other in waits}) for wait in waits]
    nodes = [_node(name, places[name], name in stuck, name == _NOBODY) for name in names]
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8Z"/></marker></defs>'
    )
    body = Markup("").join([*edges, *nodes])
    return Markup(
        f'<svg class="graph" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="wait-for graph">{tip}{body}</svg>'
    )


def _circle(names: Sequence[str], height: float) -> Mapping[str, Point]:
    """Place the nodes: two beside each other, more on an ellipse."""
    middle, radius_x, radius_y = _WIDTH / 2, _WIDTH / 2 - 62, height / 2 - 26
    if len(names) == 2:
        return {names[0]: (62, height / 2), names[1]: (_WIDTH - 62, height / 2)}
    angles = [2 * math.pi * k / len(names) - math.pi / 2 for k in range(len(names))]
    return {
        name: (middle + radius_x * math.cos(angle), height / 2 + radius_y * math.sin(angle))
        for name, angle in zip(names, angles, strict=True)
    }


def _edge(wait: Wait, places: Mapping[str, Point], pairs: set[tuple[str, str]]) -> Markup:
    holder = wait.held_by or _NOBODY
    (x1, y1), (x2, y2) = places[wait.task], places[holder]
    if wait.task == holder:
        top, far = y1 - 14, y1 - 54
        path = f"M{x1 - 18:.0f} {top:.0f}C{x1 - 40:.0f} {far:.0f} {x1 + 40:.0f} {far:.0f} {x1 + 18:.0f} {top:.0f}"
        label_x, label_y = x1, y1 - 46
    else:
        bend = 34.0 if (holder, wait.task) in pairs else 0.0  # so that two opposite arrows lie side by side
        length = math.hypot(x2 - x1, y2 - y1)
        along = ((x2 - x1) / length, (y2 - y1) / length)
        across = (-along[1] * bend, along[0] * bend)
        begin, end = _border(x1, y1, along, wait.task), _border(x2, y2, (-along[0], -along[1]), holder)
        control = ((begin[0] + end[0]) / 2 + across[0] * 1.6, (begin[1] + end[1]) / 2 + across[1] * 1.6)
        path = f"M{begin[0]:.0f} {begin[1]:.0f}Q{control[0]:.0f} {control[1]:.0f} {end[0]:.0f} {end[1]:.0f}"
        label_x, label_y = (begin[0] + end[0]) / 2 + across[0] * 0.95, (begin[1] + end[1]) / 2 + across[1] * 0.95
    text = Markup.escape(_short(wait.target))
    arrow = Markup(f'<path d="{path}" marker-end="url(#tip)"/>')
    return arrow + Markup(f'<text class="label" x="{label_x:.0f}" y="{label_y:.0f}">{text}</text>')


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
