"""``keras.utils.get_file``: files that programs download, from where Keras keeps them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dualgrad.files import limits
from engine.runtime.lazy_scipy import Later

hashlib, tarfile = Later("hashlib", modules=False), Later("tarfile", modules=False)
urllib = Later("urllib", modules=True)
_TIMEOUT = 30


def keras_home() -> Path:
    """Where Keras keeps files: ``KERAS_HOME``, or ``~/.keras``."""
    return Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")


def get_file(
    fname: Any = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: Any = "auto",
    cache_dir: Any = None,
    force_download: bool = False,
) -> str:
    """The path of a file that is kept in a cache, downloaded if it is not there.

    Parameters
    ----------
    fname : str, optional
        Its name in the cache; by default the end of `origin`.
    origin : str
        Where it can be had: an URL.
    untar, extract : bool
        Whether it is an archive to be unpacked.
    md5_hash, file_hash : str, optional
        What its contents must hash to.
    cache_subdir : str
        The folder within the cache.
    hash_algorithm : {"auto", "md5", "sha256"}
    archive_format : {"auto", "tar", "zip"}
    cache_dir : str, optional
        By default where Keras keeps files: ``~/.keras``.
    force_download : bool

    Returns
    -------
    str
        The file; of an archive the folder that it was unpacked to.

    Raises
    ------
    FileNotFoundError
        If it is not there and cannot be downloaded; the message says where to put it.
    ValueError
        If there is no name, or its contents hash to something else.
    """
    if origin is None:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    folder = Path(cache_dir if cache_dir is not None else keras_home()).expanduser() / cache_subdir
    chosen = os.fspath(fname) if fname else ""
    if os.sep in chosen:
        raise ValueError(
            f"get_file: argument `fname` must be a name, got {chosen!r}; say with `cache_dir` and `cache_subdir` where "
            f"the file is to be"
        )
    name = chosen or os.path.basename(urlsplit(origin).path)
    if not name:
        raise ValueError(f"get_file: {origin!r} does not end in a name; give argument `fname`")
    unpacked = None
    target = folder / name
    if untar or extract:
        short = name.partition(".")[0] if chosen else name
        unpacked = folder / (f"{short}_extracted" if chosen and "." in name else short)
        target = folder / name if chosen and "." in name else folder / f"{name}_archive"
        if unpacked.is_dir() and not target.exists() and not force_download:
            return str(unpacked)
    wanted = file_hash or md5_hash
    algorithm = "md5" if md5_hash and not file_hash else hash_algorithm
    if force_download or not target.exists() or (wanted and not matches(target, wanted, algorithm)):
        download(origin, target, wanted, algorithm)
    if unpacked is None:
        return str(target)
    unpack(target, unpacked, "tar" if untar else archive_format)
    return str(unpacked)


def matches(path: Path, wanted: str, algorithm: str = "auto") -> bool:
    """Whether the contents of a file hash to what they should."""
    kind = "sha256" if algorithm == "sha256" or (algorithm == "auto" and len(wanted) == 64) else "md5"
    with open(path, "rb") as file:
        made = hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False))
    return bool(made.hexdigest() == wanted)


def download(origin: str, target: Path, wanted: str | None = None, algorithm: str = "auto") -> None:
    """Download a file; it is there only when it is whole.

    Raises
    ------
    FileNotFoundError
        If that fails; the message says where to put the file.
    ValueError
        If its contents hash to something else.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.write(f"Downloading data from {origin}\n")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(origin, timeout=_TIMEOUT) as source:
            shutil.copyfileobj(source, file)
        if wanted and not matches(part, wanted, algorithm):
            raise ValueError(
                f"get_file: what came from {origin} is incomplete or damaged: it does not hash to {wanted}"
            )
        os.replace(part, target)
    except OSError as error:
        raise FileNotFoundError(
            f"{target} is not there and could not be downloaded from {origin} ({error}). Fetch it on a machine that "
            f"can, and put it at {target}"
        ) from None
    finally:
        part.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path, kind: Any = "auto") -> None:
    """Unpack an archive, unless it has been.

    Raises
    ------
    ValueError
        If it is none.
    DataLossError
        If it is damaged, larger than its limit (`dualgrad.files.limits`), or wants to write elsewhere.
    """
    if folder.is_dir():
        return
    kinds = ("tar", "zip") if kind == "auto" else (kind,) if isinstance(kind, str) else tuple(kind or ())
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        size = 0
        if "tar" in kinds and tarfile.is_tarfile(archive):
            with limits.damage(archive), tarfile.open(archive) as tar:
                for part in tar:
                    size += part.size
                    limits.require(size, archive, "what it unpacks to")
                    tar.extract(part, made, filter="data")
        elif "zip" in kinds and zipfile.is_zipfile(archive):
            with limits.damage(archive), zipfile.ZipFile(archive) as packed:
                limits.require(sum(part.file_size for part in packed.infolist()), archive, "what it unpacks to")
                packed.extractall(made)
        else:
            raise ValueError(f"get_file: {archive} is no archive of the kind {' or '.join(kinds)}")
        made.chmod(0o755)
        os.replace(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
