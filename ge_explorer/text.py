"""Text shown to users, in English and Chinese side by side."""

from __future__ import annotations

from dataclasses import dataclass

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Text:
    """One message in both languages.

    ``zh`` may be empty for names that stay English (pass names, op types, units); the English text is shown then.

    >>> Text("2 streams", "2 条流").get("zh")
    '2 条流'
    """

    en: str
    zh: str = ""

    def get(self, lang: str = "en") -> str:
        """Return the text in ``lang`` ("en" or "zh"); English stands in where Chinese is empty."""
        return (self.zh or self.en) if lang == "zh" else self.en

    def format(self, **values: object) -> Text:
        """Fill ``{name}`` fields in both languages."""
        return Text(self.en.format(**values), self.zh.format(**values))

    def __str__(self) -> str:
        return self.en
