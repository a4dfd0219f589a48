//! The benchmark runs, with tiny numbers. What it measures is not looked at here: time has no place in a test.

use std::process::Command;

use serde_json::Value;

#[test]
fn growth_measures_every_operation_and_shows_the_plans() {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_hookledger-bench"));
    bench.args([
        "growth",
        "--json",
        "--rows",
        "2000",
        "--base",
        "500",
        "--payloads",
        "100",
        "--rounds",
        "1",
        "--operations",
        "10",
    ]);
    let output = bench.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let report = &report["growth"];
    let tables = report["tables"].as_object().unwrap();
    assert_eq!(tables.len(), 4);
    for (title, table) in tables {
        assert_eq!(table.as_object().unwrap().len(), 8, "{title}");
        for (operation, row) in table.as_object().unwrap() {
            assert!(row["large"]["median"].as_f64().unwrap() > 0.0, "{title}: {operation}");
        }
    }
    let plans = report["notes"].as_array().unwrap().last().unwrap().as_str().unwrap();
    // Of a claim, a lease and a sweep.
    for shown in ["Insert on webhook_event ", "Function Scan on webhook_lease ", "  WITH due AS (\n    "] {
        assert!(plans.contains(shown), "{shown} has no plan in {plans}");
    }
}
