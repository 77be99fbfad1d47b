"""Kinds of documents as people call them, and the media types that each of them goes by."""

from __future__ import annotations

from typing import Final

_OPEN_XML: Final = "application/vnd.openxmlformats-officedocument."
_ODF: Final = "application/vnd.oasis.opendocument."

LISTING: Final = "inode/directory"  # as the shared MIME-info database calls it; see `directory_entries`

# The first of each is the one that a document is said to be of, whatever its server calls it.
KINDS: Final = {
    "html": ("text/html", "application/xhtml+xml"),
    "pdf": ("application/pdf", "application/x-pdf"),
    "word": (
        _OPEN_XML + "wordprocessingml.document",
        _OPEN_XML + "wordprocessingml.template",
        "application/vnd.ms-word.document.macroenabled.12",
        "application/vnd.ms-word.template.macroenabled.12",
        "application/msword",
    ),
    "excel": (
        _OPEN_XML + "spreadsheetml.sheet",
        _OPEN_XML + "spreadsheetml.template",
        "application/vnd.ms-excel.sheet.macroenabled.12",
        "application/vnd.ms-excel.template.macroenabled.12",
        "application/vnd.ms-excel",
    ),
    "powerpoint": (
        _OPEN_XML + "presentationml.presentation",
        _OPEN_XML + "presentationml.slideshow",
        _OPEN_XML + "presentationml.template",
        "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        "application/vnd.ms-powerpoint.slideshow.macroenabled.12",
        "application/vnd.ms-powerpoint",
    ),
    "odt": (_ODF + "text", _ODF + "text-template", _ODF + "text-master"),
    "ods": (_ODF + "spreadsheet", _ODF + "spreadsheet-template"),
    "odp": (_ODF + "presentation", _ODF + "presentation-template"),
    "rtf": ("application/rtf", "text/rtf", "text/richtext"),
    "epub": ("application/epub+zip",),
    "listing": (LISTING,),
    "feed": ("application/rss+xml", "application/atom+xml", "application/rdf+xml"),
    "xml": ("application/xml", "text/xml", "application/docbook+xml", "text/x-opml"),
    "json": ("application/json", "application/ld+json", "text/json"),
    "csv": ("text/csv", "text/tab-separated-values"),
    "text": ("text/plain", "text/markdown", "text/x-markdown", "text/x-rst", "text/troff", "text/org"),
    "code": (
        "text/x-python",
        "application/x-python-code",
        "text/x-c",
        "text/x-csrc",
        "text/x-chdr",
        "text/x-c++src",
        "text/x-c++hdr",
        "text/x-csharp",
        "text/x-java",
        "text/x-java-source",
        "text/x-go",
        "text/x-rust",
        "text/rust",
        "text/x-perl",
        "application/x-perl",
        "text/x-php",
        "text/x-ruby",
        "application/x-ruby",
        "text/x-sh",
        "application/x-sh",
        "text/x-shellscript",
        "text/x-lua",
        "text/x-haskell",
        "text/x-pascal",
        "text/x-fortran",
        "text/x-lisp",
        "text/x-r",
        "text/x-scala",
        "text/x-sql",
        "application/sql",
        "text/x-diff",
        "text/x-patch",
        "text/x-tex",
        "application/x-tex",
        "text/x-makefile",
        "text/x-asm",
        "text/yaml",
        "application/yaml",
        "text/x-yaml",
        "application/toml",
    ),
}

# As the names of files end, and other words for them.
NAMES: Final = {
    **KINDS,
    "web": KINDS["html"],
    "htm": KINDS["html"],
    "xhtml": ("application/xhtml+xml",),
    "docx": KINDS["word"][:1],
    "doc": KINDS["word"][-1:],
    "xlsx": KINDS["excel"][:1],
    "xls": KINDS["excel"][-1:],
    "pptx": KINDS["powerpoint"][:1],
    "ppt": KINDS["powerpoint"][-1:],
    "document": KINDS["word"] + KINDS["odt"] + KINDS["rtf"],
    "spreadsheet": KINDS["excel"] + KINDS["ods"] + KINDS["csv"],
    "presentation": KINDS["powerpoint"] + KINDS["odp"],
    "slides": KINDS["powerpoint"] + KINDS["odp"],
    "ebook": KINDS["epub"],
    "directory": KINDS["listing"],
    "folder": KINDS["listing"],
    "rss": KINDS["feed"],
    "atom": KINDS["feed"],
    "txt": ("text/plain",),
    "md": ("text/markdown", "text/x-markdown"),
}

_KIND_OF: Final = {media_type: kind for kind, media_types in KINDS.items() for media_type in media_types}


def kind_of(media_type: str) -> str:
    """Return the kind that a media type belongs to, as `KINDS` calls it; "" when it is none of these."""
    return _KIND_OF.get(media_type, "")
