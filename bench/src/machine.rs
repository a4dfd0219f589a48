//! What figures were made on, for whoever compares them with others.

use std::fs;

/// One sentence. What cannot be found out is a question mark.
pub(crate) fn describe() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let processor = value(&read("/proc/cpuinfo"), "model name", ':');
    let memory = value(&read("/proc/meminfo"), "MemTotal", ':');
    let memory = memory.split(' ').next().and_then(|kb| kb.parse::<f64>().ok()).map_or(0.0, |kb| kb / 1024.0 / 1024.0);
    let system = value(&read("/etc/os-release"), "PRETTY_NAME", '=');
    let kernel = read("/proc/sys/kernel/osrelease");
    let huge_pages = value(&read("/proc/meminfo"), "HugePages_Total", ':');
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!(
        "{cores} processors ({processor}, {}), {memory:.0} GB of memory, {huge_pages} huge pages, {}, Linux {}.",
        std::env::consts::ARCH,
        system.trim_matches('"'),
        kernel.trim()
    )
}

fn value(text: &str, name: &str, separator: char) -> String {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(separator));
    found.map_or("?", str::trim).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_name() {
        assert_eq!(value("a: 1\nmodel name\t: X Y\n", "model name", ':'), "X Y");
        assert_eq!(value("A=1\nPRETTY_NAME=\"D 12\"\n", "PRETTY_NAME", '='), "\"D 12\"");
        assert_eq!(value("", "MemTotal", ':'), "?");
    }
}
