"""One kind of message: its code, what it means, an example that causes it, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Code:
    """One kind of message.

    Attributes:
        code: "MTPP-E101" of an error, "MTPP-W101" of a warning; never used again for something else.
        title: what is wrong, in a few words.
        meaning: what that means, and why it is refused or warned of.
        example: statements that cause it; the page and the tests add the kinds of statements that it lacks.
        remedy: what to write instead.
        given: params given from outside, as ``-D`` gives them.
        files: further files that the example includes or reads, by name.
        whole: whether nothing is added to the example.
        scenario: the one that is chosen.
    """

    code: str
    title: str
    meaning: str
    example: str
    remedy: str
    given: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    whole: bool = False
    scenario: str | None = None
