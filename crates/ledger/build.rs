//! Compiles the crate anew when a migration is added. The macro that embeds them tells the compiler of the files that were there,
//! and not of their folder: without this a build after `git pull` could deploy the code of a release without its migration.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
