"""Read from an mmproj file of llama.cpp what its tower reads: the type of projector, pixels, patches and tokens.

Sizes and counts are those of llama.cpp (tools/mtmd, October 2026): ``clip_n_output_tokens``, and the scaling of images
to whole patches within the least and the most tokens of an image.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from types import MappingProxyType

import numpy as np

from mtpp_dsl.core.errors import UsageError
from mtpp_dsl.exchange.importers.gguf.reader import Header

__all__ = ["QWEN", "Tower", "tower_in"]

Size = tuple[int, int]
USUAL = 896
"""Pixels of a side of images of any size, where the user does not say it."""
MOST_PIXELS = 8192
"""Of a side; llama.cpp loads no tower for more."""
QWEN = ("qwen2vl_merger", "qwen2.5vl_merger", "qwen3vl_merger")


@dataclass(frozen=True)
class _Projector:
    """What llama.cpp's code says of a type of projector.

    Attributes:
        merge: patches of a side that become one token, unless the file says it.
        key: of the metadata, where the file says it.
        limits: least and most tokens of an image; None: all images are scaled to the size in the file.
    """

    merge: int = 1
    key: str = ""
    limits: Size | None = None


PROJECTORS: Mapping[str, _Projector] = MappingProxyType(
    {
        "mlp": _Projector(),
        "gemma3": _Projector(4, "projector.scale_factor"),
        "idefics3": _Projector(1, "projector.scale_factor"),
        "internvl": _Projector(1, "projector.scale_factor"),
        "janus_pro": _Projector(),
        "kimivl": _Projector(1, "projector.scale_factor", (8, 1024)),
        "phi4": _Projector(limits=(1, 1)),
        "pixtral": _Projector(1, "spatial_merge_size", (8, 1024)),
        **dict.fromkeys(QWEN, _Projector(2, "spatial_merge_size", (8, 4096))),
    }
)
"""The types that are known here; ``phi4`` has its limits in the file."""
_FORMATS = {"qwen2.5o": "qwen2.5vl_merger"}
"""Older names."""
_OTHERS = {
    "resampler": "a resampler, whose queries attend to patches",
    "adapter": "a convolution with tokens of its own",
    "ldp": "a small convolutional network",
    "ldpv2": "a small convolutional network",
    "gemma3nv": "a convolutional network, MobileNet-V5",
}


@dataclass(frozen=True)
class Tower:
    """The tower of one file, for images of one size.

    Attributes:
        header: of the file.
        projector: one of :data:`PROJECTORS`.
        layers: of the tower.
        size: height and width in pixels, as an image is scaled to.
        patch: pixels of a side of a patch.
        merge: patches of a side that become one token.
        tokens: that one image is among those of the text.
    """

    header: Header
    projector: str
    layers: int
    size: Size
    patch: int
    merge: int
    tokens: int

    @property
    def grid(self) -> Size:
        """Patches of a column and of a row."""
        return self.size[0] // self.patch, self.size[1] // self.patch


def tower_in(header: Header, size: Size | None) -> Tower:
    """Return the tower of an mmproj file.

    Args:
        header: of the file.
        size: height and width of images in pixels; None: those of the file, or :data:`USUAL` where any size is read.

    Raises:
        UsageError: it is no tower, it reads sounds or is of a type that is not known here, or it does not read images
            of that size.
    """
    projector = _projector(header)
    known = PROJECTORS[projector]
    layers, patch, side = (_number(header, key) for key in ("block_count", "patch_size", "image_size"))
    merge = _number(header, known.key, known.merge) if known.key else known.merge
    if projector in QWEN and merge != 2:
        raise _wrong(header, f"merges squares of {merge} patches a side, and llama.cpp's code for it those of 2")
    if known.limits is None:
        chosen = _fixed(header, (side, side), size)
    else:
        chosen = _scaled(size or (USUAL, USUAL), patch * merge, *_pixels(header, projector, patch * merge))
    rows, columns = chosen[0] // patch, chosen[1] // patch
    if chosen[0] % patch or chosen[1] % patch or rows % merge or columns % merge:
        raise _wrong(header, f"has images of {side} pixels a side, which are no whole squares of {patch * merge}")
    tokens = (rows // merge) * (columns // merge)
    if projector == "pixtral":  # a token at the end of each row but the last
        tokens += rows // merge - 1
    return Tower(header, projector, layers, chosen, patch, merge, tokens)


def _projector(header: Header) -> str:
    """Return the type of projector of a file, which is known here.

    Raises:
        UsageError: it is not.
    """
    facts = header.metadata
    if facts.get("general.architecture") != "clip":
        raise UsageError(
            f"--mmproj {header.name} is no tower: its architecture is {facts.get('general.architecture')!r:.40}, and "
            "llama.cpp's towers have 'clip'"
        )
    sounds = next((name for name in header.tensors if re.match(r"(a|mm\.a)\.", name)), None)
    if facts.get("clip.has_audio_encoder") is True or sounds is not None:
        tensor = f" (tensor {sounds[:80]!r})" if sounds else ""
        raise _wrong(header, f"reads sounds{tensor}, which are not counted here")
    name = facts.get("clip.projector_type") or facts.get("clip.vision.projector_type")
    name = _FORMATS.get(str(name), name)
    if not isinstance(name, str) or name not in PROJECTORS:
        what = f", {_OTHERS[str(name)]}" if name in _OTHERS else ""
        raise _wrong(
            header,
            f"has a projector of type {name!r:.40}{what}, which is not known here, as are {', '.join(PROJECTORS)}",
        )
    return name


def _wrong(header: Header, what: str) -> UsageError:
    return UsageError(
        f"--mmproj {header.name} {what}: import the language model alone, and keep room for the tower by reserve = …"
    )


def _number(header: Header, key: str, usual: int | None = None) -> int:
    """Return a number from 1 to :data:`MOST_PIXELS` of the metadata.

    Raises:
        UsageError: it is not there and has no usual value, or is out of range.
    """
    fact = header.metadata.get(f"clip.vision.{key}", usual)
    if not isinstance(fact, int) or isinstance(fact, bool) or not 1 <= fact <= MOST_PIXELS:
        said = "does not say" if fact is None else f"says {fact!r:.40} for"
        raise UsageError(f"--mmproj {header.name} {said} clip.vision.{key}, a number from 1 to {MOST_PIXELS:,}")
    return fact


def _fixed(header: Header, own: Size, size: Size | None) -> Size:
    """Return the size of the images of a tower that reads one alone.

    Raises:
        UsageError: another one is asked for.
    """
    if size is not None and size != own:
        raise UsageError(
            f"--image-size {size[0]}x{size[1]}: {header.name} reads images of {own[0]}x{own[1]} pixels; others are "
            "scaled to that, or cut into pieces that each count as an image (--images)"
        )
    return own


def _pixels(header: Header, projector: str, step: int) -> Size:
    """Return the least and the most pixels of an image of any size."""
    limits = PROJECTORS[projector].limits
    if projector != "phi4" and limits is not None:
        return limits[0] * step**2, limits[1] * step**2
    bounds = [header.metadata.get(f"clip.vision.image_{end}_pixels") for end in ("min", "max")]
    least, most = (one if isinstance(one, int) and not isinstance(one, bool) else 0 for one in bounds)
    if not 1 <= least <= most <= MOST_PIXELS**2:
        raise UsageError(f"--mmproj {header.name} does not say how many pixels images have (image_min_pixels, …)")
    return least, most


def _scaled(size: Size, step: int, least: int, most: int) -> Size:
    """Return height and width as llama.cpp scales an image: to whole squares of *step* pixels a side, within limits.

    Its code computes in single precision (``calc_size_preserved_ratio``).

    >>> _scaled((1080, 1920), 28, 8 * 28**2, 4096 * 28**2)
    (1092, 1932)
    >>> _scaled((2000, 4000), 28, 8 * 28**2, 1024 * 28**2)
    (616, 1260)
    >>> _scaled((30, 40), 28, 8 * 28**2, 1024 * 28**2)
    (84, 112)
    """
    one = np.float32
    height, width = (max(step, (2 * side + step) // (2 * step) * step) for side in size)
    if height * width > most:
        ratio = np.sqrt(one(size[0]) * one(size[1]) / one(most))
        height, width = (max(step, floor(one(side) / ratio / one(step)) * step) for side in size)
    elif height * width < least:
        ratio = np.sqrt(one(least) / (one(size[0]) * one(size[1])))
        height, width = (ceil(one(side) * ratio / one(step)) * step for side in size)
    return height, width
