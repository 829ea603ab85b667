"""Modules of the standard library's own, copied and instrumented: what their documentation shows stays true."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.testbed.instrument.running import run


def of_heapq(module: Any) -> object:
    heap: list[int] = []
    for value in (5, 1, 4, 1, 3):
        module._siftdown_max(heap, 0, len(heap) - 1) if heap else None
        heap.append(value)
    module._heapify_max(heap)
    largest = [module._heappop_max(heap) for _ in range(len(heap))]
    return largest, list(module.merge([1, 4], [2, 3], reverse=False)), module.nsmallest(2, [3, 1, 2], key=lambda x: -x)


def of_textwrap(module: Any) -> object:
    text = "    The quick brown fox jumped over the-lazy dog.\n    And (twice).  "
    wrapper = module.TextWrapper(width=12, initial_indent="* ", max_lines=4, placeholder=" ...")
    return wrapper.wrap(text), module.dedent(text), module.indent(text, "> "), module.shorten(text, 20)


def of_json(module: Any) -> object:
    value = {"a": [1, 2.5, None, True, "x\u20ac\n"], "b": {"c": {}, "d": []}}
    if hasattr(module, "JSONEncoder"):
        encoder = module.JSONEncoder(indent=2, sort_keys=True, ensure_ascii=True)
        return encoder.encode(value), list(encoder.iterencode([value])), module.py_encode_basestring_ascii("x\u20ac")
    decoder = module.JSONDecoder(object_pairs_hook=list)
    return decoder.decode(json.dumps(value)), module.py_scanstring('ab\\u0041c" rest', 0), decoder.raw_decode("[1] x")


def of_dataclasses(module: Any) -> object:
    made = module.make_dataclass("Made", [("x", int), ("y", list, module.field(default_factory=list))], order=True)
    one = made(1)
    return repr(one), module.asdict(one), module.astuple(one), one < made(2), [f.name for f in module.fields(made)]


def of_graphlib(module: Any) -> object:
    sorter = module.TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}})
    try:
        module.TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
    except module.CycleError as error:
        return sorted(sorter.static_order()), str(error)
    return None


def of_shlex(module: Any) -> object:
    return module.split('a \'b c\' "d\\"e" # no', comments=True), module.quote("it's"), module.join(["a b", "c"])


def of_string(module: Any) -> object:
    template = module.Template("$who likes ${what} $$")
    return template.substitute(who="tim", what="kung pao"), module.Formatter().vformat(
        "{0.real} {k!r:>5}", (3,), {"k": 1}
    )


PROGRAMS: dict[str, Callable[[Any], object]] = {
    "heapq": of_heapq,
    "textwrap": of_textwrap,
    "json.encoder": of_json,
    "json.decoder": of_json,
    "dataclasses": of_dataclasses,
    "graphlib": of_graphlib,
    "shlex": of_shlex,
    "string": of_string,
}


@pytest.fixture
def copied(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Import a module of the standard library from a copy of its source, which is nobody's."""
    spec = importlib.util.find_spec(request.param)
    assert spec is not None
    assert spec.origin is not None
    name = f"copied_{request.param.replace('.', '_')}"
    (tmp_path / f"{name}.py").write_text(Path(spec.origin).read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    del sys.modules[name]


def examples_of(module: ModuleType) -> tuple[int, int, str]:
    """Run the examples in a module's documentation; return how many there are, how many failed, and how."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
        runner.run(test, out=said.append)
    return runner.tries, runner.failures, "".join(said)


@pytest.mark.parametrize("points", [False, True], ids=["noted", "points"])
@pytest.mark.parametrize("copied", ["difflib", "statistics", "collections", "fractions"], indirect=True)
def test_examples_of_a_library_module_hold(copied: ModuleType, points: bool) -> None:
    """Each example prints what it prints without instrumentation."""
    expected = examples_of(copied)
    assert expected[0] > 3
    assert run(lambda: examples_of(copied), copied.__name__, points=points) == expected


@pytest.mark.parametrize("points", [False, True], ids=["noted", "points"])
@pytest.mark.parametrize("copied", PROGRAMS, indirect=True)
def test_a_library_module_does_what_it_did(copied: ModuleType, points: bool, request: pytest.FixtureRequest) -> None:
    """Programs that go through most of its own code return the same."""
    program = PROGRAMS[request.node.callspec.params["copied"]]
    expected = repr(program(copied))
    assert repr(run(lambda: program(copied), copied.__name__, points=points)) == expected
