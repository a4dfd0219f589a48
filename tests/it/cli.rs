//! The operator's command as people run it: the built program, its output and exit codes, and what it left in the database.

mod cuts;
mod events;
mod maintenance;
mod replay;
pub(crate) mod scene;
mod stack;
mod terminal;
mod through_the_function;
mod trying;
mod verify;
