//! The commands that are measured, and their data.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// A command a line; those after a dash make files for later ones and are not measured.
pub(super) const CASES: &str = "
    describe pairs.csv
    describe rated.csv
    describe names.csv
    describe rated.csv --k-core 3 --min-rating 2
    convert rated.csv --out rated.parquet
    convert rated.csv --out rated.csv.gz
    convert pairs.csv --out pairs.npz
    convert pairs.csv --out pairs.adj
    convert rated.csv --out rated.arrow
    describe rated.arrow
    describe rated.parquet
    describe rated.csv.gz
    describe pairs.npz
    describe pairs.adj
    split rated.csv --out parts
    split pairs.csv --out random --pick random --to parquet
    generate --users 100000 --items 20000 --entries 8000000 --out made.npz
    train pairs.csv --model m.absentia -k 8 --regularization 0.1 --iterations 2
    train rated.csv --model m.absentia -k 8 --regularization 0.1 --iterations 2
    train pairs.csv --model m.absentia --memory-limit 2GiB -k 128 --regularization 0.1 --iterations 1
    train rated.csv --model m.absentia -k 64 --regularization 0.1 --iterations 1 --targets log --confidence log:1,1
    train rated.csv --model m.absentia -k 64 --regularization 0.1 --iterations 1 --valid-split leave-one-out
    train few.csv --model m.absentia -k 64 --iterations 1
    train timed.csv --model m.absentia -k 16 --iterations 1
    train few.csv --model m.absentia -k 64 --regularization 0.1 --iterations 1 --exposed shown.csv
    train few.csv --model m.absentia -k 32 --regularization 0.1 --iterations 1 --weights learned:mean=0.01,rank=4
    train wide.csv --model m.absentia -k 512 --regularization 0.1 --iterations 1 --weights groups:table.csv,users.csv,items.csv
    train narrow.csv --model m.absentia -k 64 --regularization 0.1 --iterations 1 --solver eals-vanilla
    train pairs.csv --model m.absentia -k 128 --regularization 0.1 --iterations 1 --solver subspace
    train few.csv --model m.absentia -k 128 --regularization 0.1 --iterations 1 --solver als
    train pairs.csv --model m.absentia -k 128 --regularization 0.1 --iterations 1 --solver als-cg
    train few.csv --model m.absentia -k 24 --iterations 1 --solver svd
    train few.csv --model m.absentia -k 24 --iterations 1 --solver ii-svd
    train pairs.csv --model m.absentia -k 128 --regularization 0.1 --iterations 1 --solver ials1
    train pairs.csv --model m.absentia -k 128 --regularization 0.1 --iterations 1 --solver rcd
    train few.csv --model m.absentia -k 128 --regularization 0.1 --iterations 1 --solver bpr
    train few.csv --model m.absentia -k 128 --regularization 0.1 --iterations 1 --solver sgd-observed
    train pairs.csv --model m.absentia --solver popularity
    train wide.csv --model m.absentia --solver itemknn --neighbours 300
    - train few.csv --model model.absentia -k 128 --regularization 0.1 --iterations 1
    - split few.csv --out held --pick random
    evaluate model.absentia --train held/train.csv --test held/test.csv
    recommend model.absentia --all --train few.csv --out lists.csv
    recommend model.absentia --all --train few.csv --out lists.parquet
    stream model.absentia events.csv --train few.csv --no-metrics --out learned.absentia
    stream learned.absentia events.csv --no-metrics --steps 0 --out learned_again.absentia
    similar model.absentia 7 --of users
    explain model.absentia 7 7 --train few.csv
    export model.absentia --out factors
    export model.absentia --out tables --layout parquet
    export model.absentia --out index --layout faiss
    import factors/P.npy factors/Q.npy --users factors/users.txt --items factors/items.txt --model again.absentia
    compare few.csv -k 64 --regularization 0.1 --iterations 1 --solver eals --solver als-cg
    tune few.csv --trials 12 -k 64 --out tuned.toml
    tune times.csv --trials 12 -k 64 --split time:0.1 --splits 3 --out tuned.toml
    tune thin.csv --trials 26 --pick random --out tuned.toml
    tune thin.csv --trials 80 -k 640 --pick random --out tuned.toml
    tune thin.csv --trials 12 --pick random --splits 3 --out tuned.toml
    demo --users 100000 --items 5000 --entries 3000000 -k 128 --iterations 1
";

/// Writes the data of the cases, unless it is there.
pub(super) fn write_data(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let plain = Shape {
        users: 150_000,
        items: 40_000,
        rows: 8_000_000,
        columns: "user,item",
        names: false,
    };
    let few = Shape {
        rows: 3_000_000,
        ..plain
    };
    let files = [
        ("pairs.csv", plain),
        ("few.csv", few),
        ("shown.csv", few),
        (
            "events.csv",
            Shape {
                rows: 20_000,
                ..plain
            },
        ),
        (
            "timed.csv",
            Shape {
                columns: "user,item,time",
                ..few
            },
        ),
        (
            "times.csv",
            Shape {
                users: 50_000,
                items: 20_000,
                rows: 600_000,
                columns: "user,item,rating,time",
                ..plain
            },
        ),
        (
            "thin.csv",
            Shape {
                users: 12_000,
                items: 5_000,
                rows: 180_000,
                ..plain
            },
        ),
        (
            "rated.csv",
            Shape {
                columns: "user,item,rating,time",
                ..plain
            },
        ),
        (
            "names.csv",
            Shape {
                names: true,
                users: 1_000_000,
                ..few
            },
        ),
        (
            "narrow.csv",
            Shape {
                users: 200_000,
                items: 50,
                rows: 2_000_000,
                ..plain
            },
        ),
        (
            "wide.csv",
            Shape {
                users: 20_000,
                items: 30_000,
                rows: 1_000_000,
                ..plain
            },
        ),
    ];
    for (seed, (name, shape)) in (1_u64..).zip(files) {
        let path = folder.join(name);
        if !path.is_file() {
            shape.write(&path, seed)?;
        }
    }
    let groups = |name, rows: u32, heading| {
        let mut file = BufWriter::new(File::create(folder.join(name))?);
        writeln!(file, "{heading},group")?;
        (0..rows).try_for_each(|row| writeln!(file, "{row},g{}", row % 4))
    };
    groups("users.csv", 20_000, "user")?;
    groups("items.csv", 30_000, "item")?;
    let mut table = File::create(folder.join("table.csv"))?;
    writeln!(table, "segment,g0,g1,g2,g3")?;
    (1..5).try_for_each(|at| writeln!(table, "g{},0.0{at},0.1,0.2{at},0.3", at - 1))
}

/// A file of random rows, by user; items are the more frequent the smaller their number.
#[derive(Clone, Copy)]
struct Shape {
    users: u64,
    items: u64,
    rows: u64,
    columns: &'static str,
    names: bool,
}

impl Shape {
    fn write(self, path: &Path, seed: u64) -> Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "{}", self.columns)?;
        let mut state = seed;
        for row in 0..self.rows {
            state = state
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(seed | 1);
            let random = state >> 33;
            let share = random as f64 / f64::from(1_u32 << 31);
            let item = (share * share * self.items as f64) as u64;
            let user = row * self.users / self.rows;
            if self.names {
                write!(file, "user-number-{user},item-{item}")?;
            } else {
                write!(file, "{user},{item}")?;
            }
            if self.columns.contains("rating") {
                write!(file, ",{}", 1 + random % 5)?;
            }
            if self.columns.contains("time") {
                write!(file, ",{}", 1_500_000_000 + random % 100_000_000)?;
            }
            writeln!(file)?;
        }
        file.flush()
    }
}
