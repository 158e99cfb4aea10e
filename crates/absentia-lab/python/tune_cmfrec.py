"""`cmfrec`'s collective implicit model with tags of items: tuned on held-out rows, then measured on the test.

    tune_cmfrec.py --folder FOLDER --tags item_tags.tsv.gz --least 5 --shape USERS,ITEMS --factors K --seconds S
                   [--cold] --out result.json

FOLDER has train.csv and test.csv, and in fold/ the rows of train.csv divided once more, as `absentia split` writes
them. With --cold, test items have no training row: their factors are folded in from their tags. The search is random
around the library's defaults, for S seconds of the processor, which should be alone in using its threads; every trial
trains a model with all K factors. What is measured is the share of a user's test items among the first k of all items
that the user has not in training and, of new items, among the first 100 of those; settings are chosen by each apart.
"""

import argparse
import csv
import gzip
import json
import pathlib
import sys
import time

import numpy
import scipy.sparse
from cmfrec import CMF_implicit


def rows(path):
    with open(path, newline="") as file:
        read = [(int(line["user"]), int(line["item"])) for line in csv.DictReader(file)]
    return numpy.array(read, dtype=numpy.int64)


def tags(path, items, least):
    """The tags of items, without those that fewer than `least` items have."""
    with gzip.open(path, "rt") as file:
        lines = csv.reader(file, delimiter="\t")
        read = [line for line in lines if line and line[0].isdigit()]
    pairs = numpy.unique(numpy.array([(int(item), int(tag)) for item, tag in read]), axis=0)
    counts = numpy.bincount(pairs[:, 1])
    pairs = pairs[counts[pairs[:, 1]] >= least]
    _, column = numpy.unique(pairs[:, 1], return_inverse=True)
    shape = (items, column.max() + 1)
    return scipy.sparse.csr_matrix((numpy.ones(len(pairs)), (pairs[:, 0], column)), shape=shape)


def fitted(train, attributes, shape, settings, arguments):
    """Factors of all users and items. Items without a training row are folded in from their tags alone."""
    known = numpy.unique(train[:, 1])
    if not arguments.cold:
        known = numpy.arange(shape[1])
    place = numpy.full(shape[1], -1)
    place[known] = numpy.arange(len(known))
    matrix = scipy.sparse.coo_matrix(
        (numpy.ones(len(train)), (train[:, 0], place[train[:, 1]])), shape=(shape[0], len(known))
    )
    model = CMF_implicit(
        k=arguments.factors,
        # Tags that are absent are unknown to it: taken as zeros (NA_as_zero_item), version 3.5.1 yields NaN or crashes.
        center_I=False,
        nthreads=arguments.threads,
        verbose=False,
        random_state=1,
        **settings,
    )
    model.fit(matrix, I=attributes[known].tocoo())
    users, items = model.A_, numpy.zeros((shape[1], model.B_.shape[1]), dtype=model.B_.dtype)
    items[known] = model.B_
    new = numpy.setdiff1d(numpy.arange(shape[1]), known)
    if len(new):
        # It takes no attributes without rows: those of new items are empty.
        none = scipy.sparse.csr_matrix((len(new), shape[0]))
        items[new] = model.swap_users_and_items().factors_multiple(X=none, U=attributes[new])
    return users, items


def recalls(factors, train, test, candidates, at):
    """The share of each test user's items among the first `at` of the candidates."""
    users, items = factors
    seen = scipy.sparse.csr_matrix((numpy.ones(len(train)), (train[:, 0], train[:, 1])), shape=(len(users), len(items)))
    wanted = scipy.sparse.csr_matrix((numpy.ones(len(test)), (test[:, 0], test[:, 1])), shape=(len(users), len(items)))
    measured = numpy.unique(test[:, 0])
    shares = numpy.zeros(len(measured))
    for start in range(0, len(measured), 500):
        part = measured[start : start + 500]
        scores = users[part] @ items[candidates].T
        scores[seen[part][:, candidates].toarray() > 0] = -numpy.inf
        best = numpy.argpartition(-scores, at, axis=1)[:, :at]
        hits = wanted[part][:, candidates].toarray()
        found = numpy.take_along_axis(hits, best, axis=1).sum(axis=1)
        shares[start : start + 500] = found / numpy.asarray(wanted[part].sum(axis=1)).ravel()
    return shares


def drawn(random):
    """Settings around the library's defaults."""

    def between(low, high):
        return float(numpy.exp(random.uniform(numpy.log(low), numpy.log(high))))

    return {
        "lambda_": between(0.1, 100.0),
        "alpha": between(0.5, 100.0),
        "w_item": between(0.05, 20.0),
        "niter": int(random.choice([6, 10, 15])),
    }


def summary(shares):
    """The mean, and the middle 95 % of means over users drawn again."""
    random = numpy.random.default_rng(1)
    means = [shares[random.integers(0, len(shares), len(shares))].mean() for _ in range(1000)]
    return {"mean": shares.mean(), "low": numpy.quantile(means, 0.025), "high": numpy.quantile(means, 0.975)}


def measured(factors, train, test, arguments):
    """What settings are chosen by: the shares of users by name."""
    everything = numpy.arange(len(factors[1]))
    found = {"among_all_20": recalls(factors, train, test, everything, 20)}
    if arguments.cold:
        new = numpy.setdiff1d(everything, numpy.unique(train[:, 1]))
        found["among_themselves_100"] = recalls(factors, train, test, new, 100)
    return found


def search(fold, attributes, shape, arguments):
    """The best settings by each measure, and the number of trials."""
    train, test = rows(fold / "train.csv"), rows(fold / "test.csv")
    random = numpy.random.default_rng(1)
    started, trials, best = time.process_time(), 0, {}
    while trials == 0 or time.process_time() - started < arguments.seconds:
        settings = drawn(random) if trials else {"lambda_": 1.0, "alpha": 1.0, "w_item": 10.0, "niter": 10}
        factors = fitted(train, attributes, shape, settings, arguments)
        trials += 1
        for name, shares in measured(factors, train, test, arguments).items():
            score = float(numpy.nan_to_num(shares).mean())
            if score > best.get(name, (-1.0, None))[0]:
                best[name] = (score, settings)
            print(f"trial {trials}: {name} {score:.4f} {settings}", file=sys.stderr, flush=True)
    return {name: settings for name, (_, settings) in best.items()}, trials


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--tags", type=pathlib.Path, required=True)
    parser.add_argument("--least", type=int, required=True)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--factors", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    shape = tuple(int(size) for size in arguments.shape.split(","))
    attributes = tags(arguments.tags, shape[1], arguments.least)
    chosen, trials = search(arguments.folder / "fold", attributes, shape, arguments)
    train, test = rows(arguments.folder / "train.csv"), rows(arguments.folder / "test.csv")
    result = {"trials": trials}
    for name, settings in chosen.items():
        factors = fitted(train, attributes, shape, settings, arguments)
        shares = measured(factors, train, test, arguments)[name]
        result[name] = {**summary(shares), "settings": settings}
    arguments.out.write_text(json.dumps(result, indent=1))
    print(json.dumps(result))


main()
