//! Memory and processor time of this process, as Linux reports them; 0 on other systems.

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

/// Seconds of processor time spent so far by all threads, to a hundredth.
pub(crate) fn processor_seconds() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may hold spaces; user and system time come 12th and
    // 13th after it, in hundredths.
    let numbers = status.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = numbers.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|word| word.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}
