//! Prints the table of providers that `docs/providers.md` holds.

fn main() {
    print!("{}", hookledger_providers::table());
}
