"""Seconds of an iteration of Spark's ALS on this machine: `spark_als.py FILES.parquet K`, printed as one number.

The difference of two runs, so that neither starting Spark nor reading nor dividing the data counts. Two threads, two blocks of
users and of items, Debian's OpenBLAS with one thread a task.
"""

import os
import sys
import time

SHORT, LONG = 2, 8


def main():
    source, factors = sys.argv[1], int(sys.argv[2])
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from pyspark.ml.recommendation import ALS
    from pyspark.sql import SparkSession

    java = "--add-modules=jdk.incubator.vector -Ddev.ludovic.netlib.blas.nativeLib=libblas.so.3 "
    java += "-Ddev.ludovic.netlib.lapack.nativeLib=liblapack.so.3"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.extraJavaOptions", java)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    blas = spark.sparkContext._jvm.dev.ludovic.netlib.blas.BLAS.getInstance().getClass().getSimpleName()
    try:
        blas = spark.sparkContext._jvm.dev.ludovic.netlib.blas.NativeBLAS.getInstance().getClass().getSimpleName()
    except Exception as error:
        print(f"no native BLAS: {str(error).splitlines()[0]}", file=sys.stderr)
    rows = spark.read.parquet(source).selectExpr("cast(user as int) user", "cast(item as int) item", "cast(1 as float) rating")
    rows = rows.repartition(2).cache()
    rows.count()

    def seconds(iterations):
        als = ALS(
            rank=factors,
            maxIter=iterations,
            regParam=0.01,
            implicitPrefs=True,
            alpha=1.0,
            numUserBlocks=2,
            numItemBlocks=2,
            userCol="user",
            itemCol="item",
            ratingCol="rating",
            seed=1,
            checkpointInterval=-1,
        )
        began = time.monotonic()
        als.fit(rows)
        return time.monotonic() - began

    # The first run compiles.
    seconds(1)
    best = min((seconds(LONG) - seconds(SHORT)) / (LONG - SHORT) for _ in range(2))
    print(f"{blas} {best:.4f}")
    spark.stop()


main()
