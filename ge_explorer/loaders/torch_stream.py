"""``with stream("tag"):`` inside a PyTorch module marks what is traced there for a user's stream, as torchair's scope does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ge_explorer.errors import OptionError

LABEL = "_user_stream_label"
"""GE's attribute for the stream a user asks for."""


@contextmanager
def stream(tag: str) -> Iterator[None]:
    """Operators traced inside carry ``_user_stream_label = tag``; inner contexts win. Does nothing while the module just runs.

    OptionError for an empty tag, or a PyTorch without ``torch.fx.traceback.annotate`` (before 2.9).
    """
    if not isinstance(tag, str) or not tag:
        raise OptionError("a stream tag is a text", got=tag, todo='For example stream("side").')
    from torch.fx import traceback

    if not hasattr(traceback, "annotate"):
        raise OptionError("this PyTorch cannot annotate traced operators", todo="Install torch 2.9 or newer.")
    with traceback.annotate({LABEL: tag}):
        yield
