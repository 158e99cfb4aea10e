"""A Ray cluster of several nodes, all of them processes of this machine, and data for it."""

import contextlib
import os

import numpy as np


@contextlib.contextmanager
def cluster(nodes, cpus=1, store=100, config=None):
    """Starts nodes with object stores of this many MiB and connects to them; ``config`` has settings of Ray."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    store = {"object_store_memory": store * 2**20}
    config = {} if config is None else {"_system_config": config}

    def start():
        started = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **config, **store})
        try:
            added = [started.add_node(num_cpus=cpus, **store) for _ in range(nodes)]
            started.wait_for_nodes()
        except BaseException:
            started.shutdown()
            raise
        return started, added

    for attempt in range(4):
        try:
            started, added = start()
            break
        except Exception as error:
            # Ray gives a node thirty seconds, whatever else the machine is doing.
            if attempt == 3 or "timed out" not in str(error):
                raise
    try:
        ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
        yield started, added
    finally:
        ray.shutdown()
        started.shutdown()


def rows(users=5000, items=4000, count=40000, seed=1):
    """Pairs with ratings: half of them of popular items, eight tastes, some pairs more than once, one user with many rows."""
    random = np.random.default_rng(seed)
    user = random.integers(users, size=count)
    item = random.integers(items, size=count)
    popular = (items // 8 * random.random(count) ** 4).astype(int) * 8 + user % 8
    item[: count // 2] = popular[: count // 2]
    user[-600:] = 17
    rating = random.integers(1, 6, size=count)
    return user, item, rating


def write(folder, files=4, ids="text", **sizes):
    """Writes the rows to several CSV files; yields their glob."""
    user, item, rating = rows(**sizes)
    name = (lambda kind, n: f"{kind}{n}") if ids == "text" else (lambda kind, n: str(n))
    for number, part in enumerate(np.array_split(np.arange(len(user)), files)):
        with open(os.path.join(folder, f"part-{number}.csv"), "w") as file:
            file.write("user,item,rating\n")
            for at in part:
                file.write(f"{name('u', user[at])},{name('i', item[at])},{rating[at]}\n")
    return os.path.join(folder, "part-*.csv")


def bits(model):
    """Everything that has to be the same."""
    # Factors that shrink to zero would be the same whatever goes wrong.
    assert all(np.abs(factors).max() > 0.05 for factors in (model.user_factors_, model.item_factors_))
    objectives = [sweep.objective for sweep in model.history_]
    return (
        model.user_factors_.tobytes(),
        model.item_factors_.tobytes(),
        objectives,
        list(model.user_ids_),
        list(model.item_ids_),
    )
