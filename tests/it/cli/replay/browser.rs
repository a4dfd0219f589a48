//! Looking at a page as people do: in a browser. It is asked for what it laid out, and not for what the file says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookledger_harness::setting;
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const LOOKED_AT_WITHIN: Duration = Duration::from_secs(90);
/// The page runs no script by its own policy, so another page looks into it. What it finds stands in its `pre`.
const ONLOOKER: &str = r#"<!doctype html><meta charset="utf-8"><pre></pre>
<iframe src="PAGE" width="1200" height="900"></iframe>
<script>
onload = () => {
  const page = document.querySelector("iframe").contentDocument;
  const all = (selector) => [...page.querySelectorAll(selector)];
  const bars = all("svg .bar rect").map((bar) => {
    const box = bar.getBoundingClientRect();
    return { top: box.top, bottom: box.bottom, left: box.left, right: box.right, fill: page.defaultView.getComputedStyle(bar).fill };
  });
  const seen = {
    bars,
    labels: all("svg .bar text").map((text) => text.textContent),
    headline: page.querySelector("h1").innerText,
    figures: Object.fromEntries(all("dl div").map((div) => [div.querySelector("dt").textContent, div.querySelector("dd").innerText])),
    rows: all("tbody tr").length,
    sticks_out: page.documentElement.scrollWidth > page.documentElement.clientWidth,
  };
  document.querySelector("pre").textContent = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
};
</script>"#;

/// What a browser made of a report.
pub(crate) async fn look_at(page: &Path) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let onlooker = folder.path().join("onlooker.html");
    std::fs::write(&onlooker, ONLOOKER.replace("PAGE", &format!("file://{}", page.display()))).unwrap();
    let mut chromium = Command::new(browser());
    chromium.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        // To a browser, two files are two sites.
        "--allow-file-access-from-files",
        "--dump-dom",
    ]);
    chromium.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    chromium.arg(format!("file://{}", onlooker.display()));
    chromium.stdin(Stdio::null()).kill_on_drop(true);
    let ran = timeout(LOOKED_AT_WITHIN, chromium.output()).await.expect("the browser to end").unwrap();
    let dom = String::from_utf8_lossy(&ran.stdout);
    let seen = dom.split_once("<pre>").and_then(|(_, rest)| rest.split_once("</pre>")).map(|(seen, _)| seen);
    let seen = seen.unwrap_or_else(|| panic!("no page: {dom} {}", String::from_utf8_lossy(&ran.stderr)));
    serde_json::from_slice(&STANDARD.decode(seen).unwrap())
        .unwrap_or_else(|error| panic!("{error}: {dom} {}", String::from_utf8_lossy(&ran.stderr)))
}

fn browser() -> std::path::PathBuf {
    let path = setting("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/bin"]);
    let mut programs = folders.flat_map(|folder| NAMES.map(|name| Path::new(folder).join(name)));
    programs.find(|program| program.is_file()).expect("no browser to look with; on Debian, `apt-get install chromium`")
}
