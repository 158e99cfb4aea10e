"""Settings for `implicit`'s alternating least squares, found on held-out rows, and a model with them.

    tune_implicit.py search --rows all.csv --fold FOLDER [--fold FOLDER] --factors K --seconds S --out best.json
    tune_implicit.py fit --rows all.csv --settings best.json --factors K --threads N --out FOLDER

A fold is a folder with train.csv and test.csv, as `absentia split` writes them. The search spends half of
its time on trials with a quarter of the factors, then takes the best of them to K factors, where it looks
for the number of iterations as well, and tries points near the best.
"""

import argparse
import csv
import json
import pathlib
import time

import numpy
import scipy.sparse
from implicit.als import AlternatingLeastSquares

AT = 20
# As `absentia tune` does: users measured on the first rung and on the last, all folds together.
FIRST_USERS, LAST_USERS = 3_000, 10_000
FIRST_ITERATIONS = 4
ITERATIONS = [4, 6, 8, 12, 16, 24]
# Weight of an observed entry, those of missing ones being 1; penalty over the observed weight of a typical row.
ALPHA = (1.0, 10_000.0)
PENALTY = (3e-4, 3.0)
# (alpha, penalty): searched first, after the library's own defaults.
STARTS = [(10.0, 0.03), (40.0, 0.03), (40.0, 0.2), (100.0, 0.1), (300.0, 0.4)]
# Trials of the first rung that go on to the last before points near the best are tried.
KEPT = 3


class Ids:
    """Row numbers of ids, those of a file in their order, as our models number them."""

    def __init__(self):
        self.place = {}

    def add(self, names):
        for name in sorted(set(names) - set(self.place), key=int):
            self.place[name] = len(self.place)


class Rows:
    """A file of interactions."""

    def __init__(self, path, users, items):
        with open(path, newline="") as file:
            lines = csv.DictReader(file)
            self.has_values = "rating" in lines.fieldnames
            lines = list(lines)
            users.add(line["user"] for line in lines)
            items.add(line["item"] for line in lines)
            read = [
                (users.place[line["user"]], items.place[line["item"]], float(line.get("rating") or 0))
                for line in lines
            ]
        self.user, self.item = (numpy.array([row[at] for row in read], dtype=numpy.int64) for at in (0, 1))
        self.value = numpy.array([row[2] for row in read])

    def matrix(self, shape, by_value=False):
        """Confidences with a mean of 1: all the same, or growing with the rating."""
        confidence = 1.0 + self.value if by_value else numpy.ones(len(self.value))
        confidence = (confidence / confidence.mean()).astype(numpy.float32)
        return scipy.sparse.csr_matrix((confidence, (self.user, self.item)), shape=shape)


class Fold:
    """Rows to train on, and those that are held out of them."""

    def __init__(self, folder, users, items):
        self.shape = (len(users.place), len(items.place))
        self.train = Rows(folder / "train.csv", users, items)
        self.test = Rows(folder / "test.csv", users, items)
        if (len(users.place), len(items.place)) != self.shape:
            raise SystemExit(f"{folder}: has users or items that are not among all rows")
        self.held_out = numpy.sort(self.test.user * self.shape[1] + self.test.item)
        self.sizes = numpy.bincount(self.test.user, minlength=self.shape[0])
        self.matrices = {}

    def matrix(self, by_value):
        if by_value not in self.matrices:
            self.matrices[by_value] = self.train.matrix(self.shape, by_value)
        return self.matrices[by_value]

    def recalls(self, model, most_users):
        """Recall over users with a held-out row: evenly spaced ones, if there are more than the limit."""
        users = numpy.flatnonzero(self.sizes)
        users = users[:: max(1, -(-len(users) // most_users))]
        lists, _ = model.recommend(users, self.matrix(False)[users], N=AT, filter_already_liked_items=True)
        codes = users[:, None] * self.shape[1] + lists
        hits = numpy.isin(codes, self.held_out) & (lists >= 0)
        return hits.sum(axis=1) / self.sizes[users]


def model_of(point, factors, threads):
    return AlternatingLeastSquares(
        factors=factors,
        alpha=point["alpha"],
        regularization=point["regularization"],
        num_threads=threads,
        random_state=0,
    )


class Search:
    """Trials on all folds."""

    def __init__(self, folds, factors, seconds):
        self.folds, self.factors, self.seconds = folds, factors, seconds
        self.started = time.monotonic()
        self.random = numpy.random.default_rng(0)
        train = folds[0].train
        # What a row weighs typically, between users' and items'.
        self.row = len(train.user) / numpy.sqrt(folds[0].shape[0] * folds[0].shape[1])
        self.has_values = train.has_values and numpy.ptp(train.value) > 0
        self.trials = []

    def spent(self):
        return (time.monotonic() - self.started) / self.seconds

    def point(self, alpha, penalty, by_value=False):
        alpha, penalty = float(numpy.clip(alpha, *ALPHA)), float(numpy.clip(penalty, *PENALTY))
        regularization = penalty * alpha * self.row
        return {"alpha": alpha, "penalty": penalty, "regularization": regularization, "by_value": by_value}

    def anywhere(self):
        alpha, penalty = (numpy.exp(self.random.uniform(*numpy.log(ends))) for ends in (ALPHA, PENALTY))
        return self.point(alpha, penalty, self.has_values and self.random.random() < 0.5)

    def near(self, trial, spread):
        alpha, penalty = (trial[key] * numpy.exp(self.random.normal(0.0, spread)) for key in ("alpha", "penalty"))
        return self.point(alpha, penalty, trial["by_value"])

    def measure(self, point, factors, most_users, checkpoints):
        """Trains on every fold, looks at each number of iterations while that gains and there is time."""
        models = [model_of(point, factors, 1) for _ in self.folds]
        best, done = None, 0
        for iterations in checkpoints:
            recalls = []
            for model, fold in zip(models, self.folds):
                # A model that has factors goes on from them.
                model.iterations = iterations - done
                model.fit(fold.matrix(point["by_value"]), show_progress=False)
                recalls.append(fold.recalls(model, -(-most_users // len(self.folds))).mean())
            done, score = iterations, float(numpy.mean(recalls))
            if best is not None and score <= best["score"]:
                break
            best = {**point, "factors": factors, "iterations": iterations, "score": score}
            if self.spent() >= 1.0:
                break
        self.trials.append(best)
        return best

    def first_rung(self):
        factors = max(16, self.factors // 4)
        starts = [self.point(*start) for start in STARTS]
        # The library's defaults: their penalty is no share of anything.
        default = {"alpha": 1.0, "penalty": max(PENALTY[0], 0.01 / self.row), "regularization": 0.01, "by_value": False}
        found = []
        for point in self.proposals([default, *starts], found):
            found.append(self.measure(point, factors, FIRST_USERS, [FIRST_ITERATIONS]))
            if self.spent() >= 0.5:
                break
        return sorted(found, key=lambda trial: -trial["score"])

    def proposals(self, starts, found):
        yield from starts
        while True:
            yield self.anywhere()
            yield self.near(max(found, key=lambda trial: trial["score"]), 0.7)

    def run(self):
        waiting = self.first_rung()[:KEPT]
        best = None
        while best is None or self.spent() < 1.0:
            point = waiting.pop(0) if waiting else self.near(best, 0.3)
            trial = self.measure(point, self.factors, LAST_USERS, ITERATIONS)
            if best is None or trial["score"] > best["score"]:
                best = trial
        return best


def search(arguments):
    users, items = Ids(), Ids()
    Rows(arguments.rows, users, items)
    folds = [Fold(folder, users, items) for folder in arguments.fold]
    run = Search(folds, arguments.factors, arguments.seconds)
    best = run.run()
    found = {**best, "trials": len(run.trials), "seconds": time.monotonic() - run.started, "log": run.trials}
    arguments.out.write_text(json.dumps(found, indent=1) + "\n")


def fit(arguments):
    users, items = Ids(), Ids()
    rows = Rows(arguments.rows, users, items)
    settings = json.loads(arguments.settings.read_text())
    matrix = rows.matrix((len(users.place), len(items.place)), settings["by_value"])
    model = model_of(settings, arguments.factors, arguments.threads)
    model.iterations = settings["iterations"]
    started = time.monotonic()
    model.fit(matrix, show_progress=False)
    seconds = time.monotonic() - started
    arguments.out.mkdir(parents=True, exist_ok=True)
    model.save(str(arguments.out / "model.npz"))
    for file, ids in (("users.txt", users), ("items.txt", items)):
        (arguments.out / file).write_text("".join(f"{name}\n" for name in ids.place))
    print(json.dumps({"seconds": seconds}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["search", "fit"])
    parser.add_argument("--rows", type=pathlib.Path, required=True)
    parser.add_argument("--fold", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--factors", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--settings", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    {"search": search, "fit": fit}[arguments.task](arguments)


if __name__ == "__main__":
    main()
