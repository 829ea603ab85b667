"""python-http-client 3: clients made of one client share its version and its headers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.thirdparty.exploring import expect_fault, expect_hold, together

python_http_client = pytest.importorskip("python_http_client")
MODULE = "python_http_client.client"
HOST = "http://localhost"


class Answer:
    """What a server says."""

    def getcode(self) -> int:
        return 200

    def read(self) -> bytes:
        return b"{}"

    def info(self) -> dict[str, str]:
        return {}


def client_that_sends_nothing(sent: dict[str, Any], name: str, client: Any) -> Any:
    """Let a client note the headers of its request; it is how the package's own tests do it."""

    def make_request(opener: object, request: Any, timeout: float | None = None) -> Answer:
        sent[name] = request.headers["Authorization"]
        return Answer()

    client._make_request = make_request
    return client


def test_a_request_goes_out_with_the_headers_of_another_thread() -> None:
    """Headers of a request are merged into a dictionary that all clients of one client share: a token leaks."""

    def scenario() -> None:
        client = python_http_client.Client(HOST, request_headers={"Authorization": "none"})
        sent: dict[str, Any] = {}

        def ask(user: str) -> None:
            client_that_sends_nothing(sent, user, client.users).get(request_headers={"Authorization": user})

        together(lambda: ask("ann"), lambda: ask("bob"))
        assert sent["ann"] == "ann", f"ann asked as {sent['ann']}"
        assert sent["bob"] == "bob", f"bob asked as {sent['bob']}"

    expect_fault(scenario, MODULE, message="asked as")


def test_a_request_goes_to_the_version_of_another_thread() -> None:
    """``client.version(n)`` stores the version in the client that both threads use, and reads it from there."""

    def scenario() -> None:
        client = python_http_client.Client(HOST)
        urls: dict[int, str] = {}

        def ask(version: int) -> None:
            urls[version] = client.version(version).users._build_url(None)

        together(lambda: ask(1), lambda: ask(2))
        assert all(f"/v{version}/" in url for version, url in urls.items()), f"wrong version: {sorted(urls.items())}"

    expect_fault(scenario, MODULE, message="wrong version")


def test_paths_of_one_client_hold() -> None:
    """A path is extended into a new list, so threads may build theirs of one client."""

    def scenario() -> None:
        client = python_http_client.Client(HOST).api
        urls: dict[str, str] = {}

        def ask(name: str) -> None:
            urls[name] = client._(name).items._build_url({"q": name})

        together(lambda: ask("a"), lambda: ask("b"))
        assert urls == {name: f"{HOST}/api/{name}/items?q={name}" for name in "ab"}

    expect_hold(scenario, MODULE)


def test_a_client_for_each_thread_holds() -> None:
    """What is not shared does not race: one order is all there is, but for that of the results."""

    def scenario() -> None:
        sent: dict[str, Any] = {}

        def ask(user: str) -> None:
            client = python_http_client.Client(HOST, request_headers={"Authorization": user}).version(1)
            client_that_sends_nothing(sent, user, client.users).get()

        together(lambda: ask("ann"), lambda: ask("bob"))
        assert sent == {"ann": "ann", "bob": "bob"}

    expect_hold(scenario, MODULE)
