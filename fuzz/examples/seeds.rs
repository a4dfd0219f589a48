//! Writes the seeds anew: `cargo run -p hookledger-fuzz --example seeds`.

use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("seeds");
    fs::remove_dir_all(&folder)?;
    fs::create_dir(&folder)?;
    for (name, text) in hookledger_fuzz::seeds(&here.join("../crates/providers/tests/vectors"))? {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
