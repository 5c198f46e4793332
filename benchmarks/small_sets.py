"""Fit times on half-splits of the paper's small data sets, relative to the kernel lower bound."""

from common import best_time, print_result, real_split
from plcl_vs_floor import floor

from ambilearn import PLCL


def main():
    """Print one line per data set; data sets without a file are skipped with a message."""
    for name in ("fg-net", "lost", "msrcv2"):
        split = real_split(name)
        if split is None:
            print_result("small_sets", data=name, skipped="file not found; set AMBILEARN_DATA")
            continue
        X, Y, X_test, y_test = split
        model = PLCL()
        fit_time = best_time(lambda X=X, Y=Y, model=model: model.fit(X, Y), repeats=5)
        ridges = model.reg, model.reg / model.alpha
        floors = [sum(floor(X, Y.shape[1], ridges, model.n_iter_).values()) for _ in range(5)]
        print_result(
            "small_sets",
            data=name,
            ratio=fit_time / min(floors),
            fit=fit_time,
            iterations=model.n_iter_,
            accuracy=float(model.score(X_test, y_test)),
        )


if __name__ == "__main__":
    main()
