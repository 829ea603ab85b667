"""The templates of the pages."""

from __future__ import annotations

import functools

import jinja2


@functools.cache
def template(name: str) -> jinja2.Template:
    """Give a template of the room `page`; what others wrote is escaped in it."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("omni_ipc.report", "page"),
        autoescape=jinja2.select_autoescape(("j2",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template(name)
