"""Hints within the lines."""

from __future__ import annotations

from mtpp_dsl.editor.server.features.inlay import KINDS, hints
from mtpp_dsl.editor.server.reading import reading_of
from tests.editor.server.test_hover import SPEC


def shown(text: str, kinds: tuple[str, ...] = KINDS) -> list[tuple[int, str]]:
    """Return the lines of hints, from 1, with what they say."""
    reading = reading_of(text)
    return [(hint.position.line + 1, str(hint.label)) for hint in hints(reading, 0, len(reading.lines()), kinds)]


def test_sizes_of_families_and_values_that_cannot_be_read_off() -> None:
    assert shown(SPEC) == [(5, "= 14 ms"), (6, "= 4 members: {embed, attn[0], attn[1], …}"), (10, "3 nodes")]


def test_kinds_may_be_left_out_and_lines_chosen() -> None:
    assert [line for line, _ in shown(SPEC, ("families",))] == [10]
    assert shown(SPEC, ()) == []
    reading = reading_of(SPEC)
    assert [hint.position.line for hint in hints(reading, 4, 4)] == [4]
    (hint,) = hints(reading, 9, 9)
    assert hint.position.character == len("  node attn[i in 0..<k]")


def test_what_can_be_read_off_the_text_has_no_hint() -> None:
    text = "param k: int = 4\nlet a = 3 ms\nlet b = -2\nlet c = [1, 2]\nlet d = { cpu: 3 }\nlet e = 0..4\n"
    assert shown(text + "device gpu[4]\n") == []


def test_blocks_devices_and_params() -> None:
    text = "param k: int = 2\nparam m: int = 2 * k\nblock layer(i) {\n  node a[j in 0..<k]\n  node b[j in 0..<i]\n}\n"
    text += "graph {\n  use layer[i in 1..m]\n}\ndevice gpu[k]\nswitch s[i in 0..<k]\n"
    assert shown(text) == [(2, "= 4"), (4, "2 nodes"), (8, "4 instances"), (10, "2 devices"), (11, "2 switches")]


def test_a_param_that_another_file_sets_shows_its_value() -> None:
    text = "param k: int = 2\nscenario other {\n  param k: int = 5\n}\n"
    assert shown(text) == []


def test_rates_in_bits_are_told_in_bytes() -> None:
    text = "device a[2]\ninterconnect shared (bandwidth = 400 Gbit/s)\nlet x = 8 GB/s\n"
    assert shown(text) == [(2, "= 50 GB/s")]


def test_hints_are_of_one_line_and_show_no_control_characters() -> None:
    text = 'let x = "a\u202e" + "b" + "' + 300 * "c" + '"\n'
    ((_, label),) = shown(text)
    assert "\u202e" not in label
    assert len(label) <= 60
