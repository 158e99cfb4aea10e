//! What this process takes, as Linux counts it; 0 elsewhere.

/// Bytes of memory held now.
pub(crate) fn resident() -> u64 {
    line("VmRSS:")
}

/// Most bytes held so far.
pub(crate) fn peak() -> u64 {
    line("VmHWM:")
}

fn line(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = found.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}
