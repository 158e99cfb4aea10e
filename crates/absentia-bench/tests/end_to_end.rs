//! The benchmark itself, without peers and on little.

use std::path::PathBuf;
use std::process::Command;

fn bench(folder: &PathBuf, words: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_absentia-bench"))
        .args(words.split_whitespace())
        .arg("--no-peers")
        .arg("--out")
        .arg(folder)
        .output()
        .expect("the benchmark starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_quick_run_leaves_tables_numbers_and_a_chart() {
    let folder = std::env::temp_dir().join(format!("absentia-bench-run-{}", std::process::id()));
    let tables = bench(&folder, "--only yelp --factors 16 --quick");
    assert!(
        tables.contains("yelp shape (25677 x 25815, 731671 entries) | K=16 |"),
        "{tables}"
    );
    assert!(
        tables.contains("implicit, irspack, cmfrec, buffalo"),
        "{tables}"
    );
    let numbers = std::fs::read_to_string(folder.join("results.json")).unwrap();
    let numbers: serde_json::Value = serde_json::from_str(&numbers).unwrap();
    let row = &numbers["cases"][0]["rows"][0];
    assert_eq!(row["contender"]["name"], "absentia eals");
    assert_eq!(row["all"].as_array().unwrap().len(), 2);
    assert!(row["seconds"].is_f64());
    assert!(folder.join("results.md").exists() && folder.join("charts.html").exists());

    let table = bench(&folder, "--big --entries 1000000 --iterations 1");
    assert!(
        table.contains("| 1000000 entries, 10000 x 1000, K=32 |"),
        "{table}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
