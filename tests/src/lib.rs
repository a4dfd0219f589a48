//! Test support shared by nothing yet.
