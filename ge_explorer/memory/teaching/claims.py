"""Savings the articles promise, as data with their origin. None has a source; views must show them as claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ge_explorer.text import Text

Origin = Literal["article", "ours", "GE"]


@dataclass(frozen=True, slots=True)
class Claim:
    """``low`` to ``high``: share of the memory that is said to be saved. ``objection``: what speaks against it."""

    about: Text
    low: float
    high: float
    origin: Origin
    objection: Text


CLAIMS: tuple[Claim, ...] = (
    Claim(Text("small models", "小模型"), 0.15, 0.30, "article", Text("no measurement given", "未给出测量")),
    Claim(
        Text("large Transformer models", "大型 Transformer 模型"), 0.40, 0.60, "article",
        Text("the article's own formula reaches 50 % at most and 42 % in its largest scenario",
             "文章自己的公式最多只能达到 50%，其最大场景为 42%"),
    ),
    Claim(
        Text("BERT-Large, 4 GB to 1.8 GB", "BERT-Large，4 GB 降至 1.8 GB"), 0.55, 0.55, "article",
        Text("more than the article's own formula can give", "超出文章自己公式的上限"),
    ),
    Claim(Text("training", "训练"), 0.50, 1.0, "article", Text("no measurement given", "未给出测量")),
    Claim(
        Text("in-place of two tensors", "两个张量的原地复用"), 0.50, 0.50, "article",
        Text("a view of two tensors only: in a chain of four operators the peak stays the same",
             "只看两个张量：在四个算子的链上峰值不变"),
    ),
)  # fmt: skip
