//! How much memory this process may take: what the machine has left, and what its container allows.

use std::path::{Path, PathBuf};

/// Limits at or above this are how cgroup v1 says "none".
const NO_LIMIT: u64 = 1 << 60;

/// Yields how many more bytes this process may take, or `None` where the system does not tell.
///
/// The least of: memory the machine has available, what every control group above the process
/// (v2 or v1) has left below its limit, counting file cache as free, and what the limit on
/// address space leaves.
///
/// ```
/// if let Some(bytes) = absentia_io::limits::memory_available() {
///     assert!(bytes > 0);
/// }
/// ```
#[must_use]
pub fn memory_available() -> Option<u64> {
    System::default().available()
}

/// Yields how many bytes this process holds now, or `None` where the system does not tell.
#[must_use]
pub fn memory_held() -> Option<u64> {
    System::default().of_process("VmRSS:")
}

/// Yields the most bytes that this process has held so far, or `None` where the system does not tell.
#[must_use]
pub fn most_memory_held() -> Option<u64> {
    System::default().of_process("VmHWM:")
}

/// Where the kernel reports limits; tests use another folder.
struct System {
    proc: PathBuf,
    cgroup: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            cgroup: "/sys/fs/cgroup".into(),
        }
    }
}

impl System {
    fn available(&self) -> Option<u64> {
        [self.machine(), self.control_groups(), self.address_space()]
            .into_iter()
            .flatten()
            .min()
    }

    fn machine(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.proc.join("meminfo")).ok()?;
        kibibytes(&text, "MemAvailable:")
    }

    fn control_groups(&self) -> Option<u64> {
        let text = std::fs::read_to_string(self.proc.join("self/cgroup")).ok()?;
        text.lines()
            .filter_map(|line| self.control_group(line))
            .min()
    }

    /// What a line `number:controllers:/path` of `/proc/self/cgroup` leaves.
    fn control_group(&self, line: &str) -> Option<u64> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let path = path.trim_start_matches('/');
        if controllers.is_empty() {
            // Version 2 is mounted at the top, or beside version 1.
            let hybrid = self.cgroup.join("unified");
            return [&self.cgroup, &hybrid]
                .into_iter()
                .filter_map(|root| least_left(root, path, &V2))
                .min();
        }
        let is_memory = controllers.split(',').any(|name| name == "memory");
        is_memory
            .then(|| least_left(&self.cgroup.join("memory"), path, &V1))
            .flatten()
    }

    fn of_process(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(self.proc.join("self/status")).ok()?;
        kibibytes(&status, name)
    }

    fn address_space(&self) -> Option<u64> {
        let limits = std::fs::read_to_string(self.proc.join("self/limits")).ok()?;
        let rest = value(&limits, "Max address space")?;
        let limit: u64 = rest.split_whitespace().next()?.parse().ok()?;
        let status = std::fs::read_to_string(self.proc.join("self/status")).unwrap_or_default();
        let taken = kibibytes(&status, "VmSize:").unwrap_or(0);
        Some(limit.saturating_sub(taken))
    }
}

/// Names of the files of a version of control groups.
struct Names {
    limit: &'static str,
    usage: &'static str,
    cache: &'static str,
}

const V2: Names = Names {
    limit: "memory.max",
    usage: "memory.current",
    cache: "inactive_file",
};

const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cache: "total_inactive_file",
};

/// The least that any group from `path` up to the root leaves.
///
/// Inside a container the path may be the host's and not exist; its parents then do.
fn least_left(root: &Path, path: &str, names: &Names) -> Option<u64> {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .collect();
    (0..=parts.len())
        .filter_map(|depth| left(&root.join(parts[..depth].join("/")), names))
        .min()
}

fn left(group: &Path, names: &Names) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        std::fs::read_to_string(group.join(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let limit = number(names.limit).filter(|&limit| limit < NO_LIMIT)?;
    let stat = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = value(&stat, names.cache).and_then(|n| n.parse().ok());
    let used = number(names.usage)
        .unwrap_or(0)
        .saturating_sub(cache.unwrap_or(0));
    Some(limit.saturating_sub(used))
}

/// The text after a key at the start of a line and a blank.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        rest.starts_with([' ', '\t']).then(|| rest.trim())
    })
}

fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let number = value(text, key)?.split_whitespace().next()?;
    number.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up machine of the given files.
    fn available(files: &[(&str, &str)]) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let system = System {
            proc: folder.path().join("proc"),
            cgroup: folder.path().join("cgroup"),
        };
        system.available()
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal: 16000 kB\nMemFree: 10 kB\nMemAvailable:    8000 kB\n",
    );

    #[test]
    fn what_the_system_does_not_say_is_unknown() {
        assert_eq!(available(&[]), None);
        assert_eq!(available(&[("proc/meminfo", "MemAvailable: x kB")]), None);
    }

    #[test]
    fn the_machine_counts_without_a_limit() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/a\n"),
            ("cgroup/a/memory.max", "max\n"),
        ];
        assert_eq!(available(&files), Some(8000 * 1024));
    }

    #[test]
    fn the_tightest_group_above_the_process_counts() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("cgroup/a/memory.max", "500000\n"),
            ("cgroup/a/memory.current", "300000\n"),
            ("cgroup/a/memory.stat", "anon 1\ninactive_file 100000\n"),
            ("cgroup/a/b/memory.max", "400000\n"),
        ];
        assert_eq!(available(&files), Some(300_000));
    }

    #[test]
    fn version_one_counts_even_under_a_path_of_the_host() {
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "4:cpu,memory:/docker/123\n0::/\n"),
            ("cgroup/memory/memory.limit_in_bytes", "700000\n"),
            ("cgroup/memory/memory.usage_in_bytes", "100000\n"),
        ];
        assert_eq!(available(&files), Some(600_000));
        let none = [
            MEMINFO,
            ("proc/self/cgroup", "4:memory:/\n"),
            ("cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
        ];
        assert_eq!(available(&none), Some(8000 * 1024));
    }

    #[test]
    fn a_limit_on_address_space_counts_less_what_is_taken() {
        let limits = "Limit     Soft Limit  Hard Limit  Units\nMax address space  3000000  unlimited  bytes\n";
        let files = [
            MEMINFO,
            ("proc/self/limits", limits),
            ("proc/self/status", "Name: x\nVmSize:\t    1000 kB\n"),
        ];
        assert_eq!(available(&files), Some(3_000_000 - 1_024_000));
    }

    #[test]
    fn a_full_group_leaves_nothing() {
        let files = [
            ("proc/self/cgroup", "0::/../x\n"),
            ("cgroup/x/memory.max", "5"),
            ("cgroup/x/memory.current", "9"),
        ];
        assert_eq!(available(&files), Some(0));
    }
}
