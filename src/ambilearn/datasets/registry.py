"""The known data sets, read from ``registry.toml``."""

import os
import re
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from ambilearn.datasets.errors import UnknownDatasetError

MIRROR_VARIABLE = "AMBILEARN_MIRROR"


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set: one entry of ``registry.toml``."""

    name: str
    description: str
    reference: str
    format: str
    rows: int
    features: int
    labels: int
    license: str
    mean_candidates: float | None = None
    file: str = ""
    folder_url: str = ""
    checksum: str = ""
    size: int | None = None
    delimiter: str | None = None
    id_columns: int = 0
    one_hot: bool = False
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None

    @property
    def source(self) -> str:
        """Published address of the file."""
        return self.folder_url + quote(self.file) if self.file else "scikit-learn"

    @property
    def download_url(self) -> str:
        """Address to fetch from: the source, or the same file name at ``AMBILEARN_MIRROR``."""
        mirror = os.environ.get(MIRROR_VARIABLE)
        return f"{mirror.rstrip('/')}/{quote(self.file)}" if mirror else self.source


@cache
def registry() -> dict[str, DatasetInfo]:
    """All known data sets by name, in the order of the file."""
    content = tomllib.loads(files(__package__).joinpath("registry.toml").read_text("utf-8"))
    folders = {
        key: repository["raw"].format(commit=repository["commit"])
        for key, repository in content["repositories"].items()
    }
    entries = {}
    for name, entry in content["datasets"].items():
        entry["license"] = content["licenses"][entry["license"]]
        if "repository" in entry:
            entry["folder_url"] = folders[entry.pop("repository")]
        for key in ("class_names", "feature_names"):
            if key in entry:
                entry[key] = tuple(entry[key])
        entries[name] = DatasetInfo(name=name, **entry)
    return entries


def find_dataset(name: str) -> DatasetInfo:
    """Entry of a data set; ``Yahoo! News`` and ``yahoo_news`` mean ``yahoo-news``."""
    known = registry()
    plain = re.sub(r"[\s_!-]+", "-", str(name).strip().lower())
    if plain not in known:
        close = get_close_matches(plain, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownDatasetError(
            f"There is no data set {name!r}.{hint} The data sets are: {', '.join(known)}."
        )
    return known[plain]
