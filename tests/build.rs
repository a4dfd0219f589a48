//! Takes the README's example of a handler apart, so that a test compiles and runs what is printed there and not a copy of it.

use std::path::PathBuf;
use std::{env, fs};

const README: &str = "../README.md";

/// The language of each block under its heading, in their order, and the file that a test includes.
const BLOCKS: [(&str, &str); 4] =
    [("toml", "sources.toml"), ("rust", "invoice.rs"), ("rust", "route.rs"), ("sql", "invoice.sql")];

fn main() {
    println!("cargo::rerun-if-changed={README}");
    let readme = fs::read_to_string(README).expect("README.md is there");
    let (_, example) = readme.split_once("\n## Handle your own events\n").expect("README.md shows how to handle events");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the folder"));
    let mut rest = example;
    for (language, file) in BLOCKS {
        let (_, block) = rest.split_once(&format!("```{language}\n")).expect("README.md has each block of the example");
        let (block, after) = block.split_once("```").expect("a block ends");
        // `include!` takes one expression, and in the list of routes a comma follows it.
        let block = if file == "route.rs" { block.trim().trim_end_matches(',') } else { block };
        fs::write(folder.join(file), block).expect("the folder can be written to");
        rest = after;
    }
}
