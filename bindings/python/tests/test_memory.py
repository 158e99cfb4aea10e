"""Training from Python adds only the conversion."""

import os
import subprocess
import sys

import numpy as np
import pytest

from absentia._tables import columns_of


MEMORY = """
import resource, sys
import numpy as np, scipy.sparse as sp, absentia
rng = np.random.default_rng(0)
m, n, per = 200_000, 1000, 40
indices = np.sort(rng.integers(0, n // per, (m, per), dtype=np.int32) + np.arange(per, dtype=np.int32) * (n // per), axis=1)
x = sp.csr_matrix((np.ones(m * per, np.float32), indices.ravel(), np.arange(0, m * per + 1, per, dtype=np.int32)), shape=(m, n))
del indices
model = absentia.Factorizer(factors=1, regularization=0.01, iterations=1, num_threads=1)
model.fit(x[:10])
def now():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
before = now()
with open("/proc/self/clear_refs", "w") as file: file.write("5")
model.fit(x)
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print((peak - before) / (4 * x.nnz), x.nnz)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="needs /proc")
def test_sorted_int32_rows_are_not_copied():
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    columns = float(done.stdout.split()[0])
    # In columns of four bytes an entry: the transpose has indices (and values until they are known to
    # be binary), and rows and factors take some more; a copy of the matrix would add two.
    assert columns < 3.4, columns


def test_columns_of_tables_are_views():
    users, items = np.arange(1000), np.arange(1000)[::-1].copy()
    values = np.random.default_rng(0).random(1000, dtype=np.float32)
    columns = {"user": users, "item": items, "rating": values}
    for module, make in [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")]:
        table = getattr(pytest.importorskip(module), make)(columns)
        first, second = columns_of(table, {}), columns_of(table, {})
        for name in ("users", "items", "values"):
            assert np.shares_memory(getattr(first, name), getattr(second, name)), (module, name)
