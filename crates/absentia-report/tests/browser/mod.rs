//! A real browser, for tests that look at what becomes of a page.
//!
//! It is `ABSENTIA_CHROMIUM` or the first Chromium on the path; without one such tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser, where there is one.
pub(crate) fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("ABSENTIA_CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| BROWSERS.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file())
}

/// The document once the page's script has run.
pub(crate) fn dump(browser: &Path, page: &Path, profile: &Path) -> String {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
        ])
        .arg(format!(
            "--user-data-dir={}",
            profile.join("profile").display()
        ))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}: {complaint}",
        browser.display()
    );
    String::from_utf8(output.stdout).expect("a page is UTF-8")
}
