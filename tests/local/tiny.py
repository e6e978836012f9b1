"""A model of a few hundred kilobytes, and its parts as real wheels."""

from __future__ import annotations

import hashlib
import io
import zipfile
from typing import Any

from antiphon.local.catalog import CatalogModel, WheelParts

PART = 100_000
"""Bytes of one part of the tiny model."""


def tiny_content(parts: int = 5) -> bytes:
    """Bytes that do not compress to nothing; the last part is short."""
    block = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(parts * PART // 32))
    return block[: parts * PART - PART // 3]


def tiny_model(content: bytes, **changes: Any) -> CatalogModel:
    fields: dict[str, Any] = {
        "name": "tiny:5",
        "title": "Tiny",
        "file": "tiny.gguf",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "licence": "CC0-1.0",
        "context": 2048,
        "parts": WheelParts(
            package="antiphon-tiny-part{number}",
            version="1.0",
            count=-(-len(content) // PART),
            part_bytes=PART,
        ),
    }
    return CatalogModel(**(fields | changes))


def part_file(model: CatalogModel, number: int) -> str:
    return file_name(*model.parts.requirement(number).split("=="))


def file_name(name: str, version: str) -> str:
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl"


def wheel(name: str, version: str, piece: bytes, member: str = "data/part.bin") -> bytes:
    folder, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{folder}/__init__.py", "raise SystemExit('imported')\n")
        archive.writestr(f"{folder}/{member}", piece)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        archive.writestr(f"{info}/METADATA", metadata)
        tags = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", tags)
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()
