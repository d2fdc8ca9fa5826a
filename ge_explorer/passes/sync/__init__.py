"""Passes of the event chapter: who activates which stream, which events are needed, which of them GE drops again."""
