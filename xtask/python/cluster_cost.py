"""The cost model of docs/cluster.md: measures its constants, checks it against runs of several nodes in network namespaces whose
bandwidth `tc` limits and whose frames `delayed_network.py` delays, and prints what it predicts for larger data.

    cluster_cost.py [--factors 64] [--nodes 2] [--rates 200,1000] [--delays 1,5]

Needs Linux, root and iproute2. Namespaces and the bridge between them are removed at the end.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import delayed_network
import numpy as np
from delayed_network import DEVICE, MTU

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bindings", "python", "tests")
sys.path.insert(0, TESTS)

BRIDGE, PREFIX, NETWORK = "absentia-br", "absentia-ns", "10.231.77"
# Users, items, entries: one with few rows, one with many.
DENSE = (25_677, 25_815, 731_671)
SPARSE = (300_000, 150_000, 731_671)
CHECKED = (117_176, 75_389, 2_000_000)


class Cost:
    """Seconds of a sweep.

    Each worker improves its share of the rows and entries, on its threads; copies what it gets and sends; gets the bytes of rows
    of others over its link, the sums of all workers reach the driver and the caches leave it over the driver's link; and two steps
    have a fixed cost, and wait several times for a message to cross the network.
    """

    def __init__(self, entry, row, byte, step):
        self.entry, self.row, self.byte, self.step = entry, row, byte, step
        self.messages = 0.0

    def sweep(self, entries, rows, received, nodes, threads, link, factors, delay=0.0):
        compute = (self.entry * 2 * entries + self.row * rows) / (nodes * threads)
        triangle = 8 * factors * (factors + 1) / 2
        # Two half-sweeps: a few nodes of the tree from every worker, and the caches to every worker.
        driver = 2 * nodes * triangle * (1 + math.log2(max(2, rows / 2048 / nodes)))
        return compute + 2 * (self.step + self.messages * delay) + self.byte * received + (received + driver) / link

    def constants(self):
        return f"{self.entry:.3e} s an entry and side, {self.row:.3e} s a row, {self.byte:.3e} s a byte, {self.step:.4f} s a step"


def write(folder, users, items, entries):
    import pyarrow
    import pyarrow.parquet

    random = np.random.default_rng(1)
    for part in range(4):
        user = (users * random.random(entries // 4) ** 1.6).astype(np.int32)
        item = (items * random.random(entries // 4) ** 2.2).astype(np.int32)
        table = pyarrow.table({"user": user, "item": item})
        pyarrow.parquet.write_table(table, os.path.join(folder, f"part-{part}.parquet"))
    return os.path.join(folder, "part-*.parquet")


def settings(factors):
    return {"factors": factors, "iterations": 5, "regularization": 0.01, "random_state": 1, "weights": "uniform:0.01"}


def alone(source, factors):
    """Seconds of a sweep of one process of one thread; entries and rows."""
    import absentia

    best = math.inf
    for _ in range(2):
        model = absentia.Factorizer(**settings(factors), num_threads=1).fit(source)
        best = min(best, min(sweep.seconds for sweep in model.history_[1:]))
    users, items = model.user_factors_.shape[0], model.item_factors_.shape[0]
    return best, users + items


def shared(source, factors, workers):
    """Seconds of a sweep of several workers, the most bytes that one gets, entries, rows, and the bytes that reach the first
    node in a sweep, with everything that Ray adds to them."""
    from absentia.ray import fit

    counted = []
    with fit(source, workers=workers, callback=lambda *_: counted.append(arrived()), **settings(factors)) as run:
        seconds = min(sweep.seconds for sweep in run.history[1:])
        run_ = run._workers.run
        wire = (counted[-1] - counted[0]) / (len(counted) - 1)
        return seconds, max(need[2] for need in run_.needs), run_.entries, sum(run_.shape), wire


def arrived():
    """Bytes that have reached this namespace over its link."""
    with open("/proc/net/dev") as file:
        links = [line.split() for line in file if line.strip().startswith(DEVICE)]
    return sum(int(words[1]) for words in links)


def inside(given):
    """Runs in the namespace of the first node: one line of JSON for each shape."""
    import ray

    ray.init(address=f"{NETWORK}.1:6379", log_to_driver=False, logging_level="ERROR")
    for source in given.inside:
        print(json.dumps(shared(source, given.factors, given.nodes)), flush=True)


def run(*words, check=True):
    return subprocess.run(list(map(str, words)), check=check, capture_output=True, text=True)


class Network:
    """Nodes of Ray, each in a namespace of its own. Links between them are those of the kernel, or with ``delay`` those of a
    process that delays every frame by so many seconds."""

    def __init__(self, nodes, delay=None):
        self.nodes, self.delay, self.carrier = nodes, delay, None

    def __enter__(self):
        names = [f"{PREFIX}{node}" for node in range(self.nodes)]
        if self.delay is None:
            run("ip", "link", "add", BRIDGE, "type", "bridge")
            run("ip", "link", "set", BRIDGE, "up")
        for node, name in enumerate(names):
            inner = f"{DEVICE}{node}"
            run("ip", "netns", "add", name)
            self.link(name, f"absv{node}", inner)
            run("ip", "-n", name, "addr", "add", f"{NETWORK}.{node + 1}/24", "dev", inner)
            run("ip", "-n", name, "link", "set", inner, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
        if self.delay is not None:
            words = [sys.executable, delayed_network.__file__, str(self.delay), *names]
            self.carrier = subprocess.Popen(words, stdout=subprocess.PIPE)
            self.carrier.stdout.readline()
        return self

    def link(self, name, outer, inner):
        if self.delay is not None:
            run("ip", "-n", name, "tuntap", "add", "dev", inner, "mode", "tap")
            run("ip", "-n", name, "link", "set", inner, "mtu", MTU)
            return
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
        run("ip", "link", "set", inner, "netns", name)
        run("ip", "link", "set", outer, "master", BRIDGE)
        run("ip", "link", "set", outer, "up")

    def limit(self, megabits):
        """Limits what each node sends."""
        for node in range(self.nodes):
            name, inner = f"{PREFIX}{node}", f"{DEVICE}{node}"
            run("ip", "netns", "exec", name, "tc", "qdisc", "del", "dev", inner, "root", check=False)
            if megabits:
                rate = ["rate", f"{megabits}mbit", "burst", "1mb", "latency", "100ms"]
                run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", inner, "root", "tbf", *rate)

    def start(self):
        environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
        for node in range(self.nodes):
            ip = f"{NETWORK}.{node + 1}"
            where = ["--head", "--port=6379", "--include-dashboard=false"] if node == 0 else [f"--address={NETWORK}.1:6379"]
            words = ["ip", "netns", "exec", f"{PREFIX}{node}", sys.executable, "-m", "ray.scripts.scripts", "start", *where]
            words += [f"--node-ip-address={ip}", "--num-cpus=1", "--object-store-memory=300000000"]
            done = subprocess.run(words, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)

    def __exit__(self, *_):
        if self.carrier is not None:
            self.carrier.kill()
            self.carrier.wait()
        for node in range(self.nodes):
            name = f"{PREFIX}{node}"
            for process in run("ip", "netns", "pids", name, check=False).stdout.split():
                try:
                    os.kill(int(process), 9)
                except ProcessLookupError:
                    pass
            time.sleep(0.5)
            run("ip", "netns", "del", name, check=False)
            run("ip", "link", "del", f"absv{node}", check=False)
        run("ip", "link", "del", BRIDGE, check=False)


def measured(network, sources, factors):
    """What the nodes of a network take."""
    words = ["ip", "netns", "exec", f"{PREFIX}0", sys.executable, os.path.abspath(__file__)]
    words += ["--factors", str(factors), "--nodes", str(network.nodes), "--inside", *sources]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def fitted(dense, sparse, free, nodes):
    """The constants, from one process and from nodes without limits."""
    entries = [own[2] for own in free]
    # Two equations for the cost of entries and rows, two for that of bytes and steps.
    system = [[2 * entries[0], dense[1]], [2 * entries[1], sparse[1]]]
    entry, row = np.linalg.solve(system, [dense[0], sparse[0]])
    rest = [own[0] - (entry * 2 * own[2] + row * own[3]) / nodes for own in free[:2]]
    byte, step = np.linalg.solve([[free[0][1], 2], [free[1][1], 2]], rest)
    return Cost(entry, row, byte, step)


def compare(cost, found, network, factors, megabits):
    """Prints what is predicted beside what was measured."""
    link = math.inf if megabits is None else megabits * 1e6 / 8
    delay = network.delay or 0.0
    limit = "no limit" if megabits is None else f"{megabits} Mbit/s"
    limit += f" and {1000 * delay:g} ms" if network.delay else ""
    # Nodes share the processor of this machine.
    threads = min(1.0, os.cpu_count() / network.nodes)
    for name, (seconds, received, count, rows, wire) in zip(("dense", "sparse", "checked"), found):
        predicted = cost.sweep(count, rows, received, network.nodes, threads, link, factors, delay)
        print(
            f"{network.nodes} nodes, {name}, {limit}: {received / 2**20:.1f} MiB of rows received by a worker ({wire / 2**20:.1f} MiB "
            f"by the first node over its link, with all that Ray sends), predicted {predicted:.3f} s a sweep, measured "
            f"{seconds:.3f} s, {seconds / predicted:.2f} times",
            flush=True,
        )


def predictions(cost, factors):
    """Data that this machine cannot hold: nodes of 16 threads and 25 Gbit/s."""
    link = 25e9 / 8
    for entries, users, items in ((10**10, 10**8, 10**7), (10**11, 10**9, 2 * 10**7)):
        for nodes in (16, 64):
            named = lambda rows: rows * (1 - math.exp(-entries / nodes / rows))
            received = 4 * factors * (named(users) + named(items)) * (1 - 1 / nodes)
            seconds = cost.sweep(entries, users + items, received, nodes, 16, link, factors)
            part = (16 * entries + 8 * factors * (users + items)) / nodes
            print(
                f"{entries:.0e} entries, {users:.0e} users, {items:.0e} items, {nodes} nodes: {seconds:.1f} s a sweep, "
                f"{received / 2**30:.1f} GiB received by each ({received / link:.1f} s), {part / 2**30:.1f} GiB for each part"
            )


def check(sources, given):
    """Measures the constants, compares predictions with runs, and yields the model."""
    dense, sparse = (alone(source, given.factors) for source in sources[:2])
    rates = [int(rate) for rate in given.rates.split(",")]
    with Network(given.nodes) as network:
        network.start()
        free = measured(network, sources, given.factors)
        cost = fitted(dense, sparse, free, given.nodes)
        print(f"K = {given.factors}, {given.nodes} nodes: {cost.constants()}", flush=True)
        compare(cost, free, network, given.factors, None)
        for rate in rates:
            network.limit(rate)
            compare(cost, measured(network, sources, given.factors), network, given.factors, rate)
    for number, delay in enumerate(float(delay) / 1000 for delay in given.delays.split(",")):
        with Network(given.nodes, delay) as network:
            network.start()
            network.limit(rates[-1])
            found = measured(network, sources, given.factors)
            if number == 0:
                cost.messages = waits(cost, found[0], network, given.factors, rates[-1])
                print(f"a step waits {cost.messages:.1f} times for a message, as the first of these says", flush=True)
            compare(cost, found, network, given.factors, rates[-1])
    with Network(2 * given.nodes) as network:
        network.start()
        network.limit(rates[0])
        compare(cost, measured(network, sources, given.factors), network, given.factors, rates[0])
    return cost


def waits(cost, found, network, factors, megabits):
    """How often a step waits for a message to cross the network."""
    seconds, received, count, rows, _ = found
    without = cost.sweep(count, rows, received, network.nodes, 1, megabits * 1e6 / 8, factors)
    return max(0.0, (seconds - without) / (2 * network.delay))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--factors", type=int, default=64)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--rates", default="200,1000", help="Mbit/s of each node")
    parser.add_argument("--delays", default="1,5", help="milliseconds of each frame")
    parser.add_argument("--inside", nargs="*")
    given = parser.parse_args()
    if given.inside:
        return inside(given)
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for number, shape in enumerate((DENSE, SPARSE, CHECKED)):
            path = os.path.join(folder, str(number))
            os.makedirs(path)
            sources.append(write(path, *shape))
        predictions(check(sources, given), given.factors)


main()
