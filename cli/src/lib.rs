//! The program `ozarr`: what its subcommands are, and how it ends. A library, so that it is compiled while the machine code of ozarr's
//! own library is still being made; a program has to wait for all of that.
//!
//! Exit statuses: 0 done, 1 an error (or a difference that was looked for), 2 wrong usage. An error is one line on standard error, `ozarr: …`. A reader of standard
//! output that goes away (`ozarr read … | head`) ends the program quietly with 0.

mod attrs;
mod candidates;
mod cdl;
mod closed;
mod completions;
mod consolidate;
mod copy;
mod cp;
mod create;
mod diff;
mod digest;
mod du;
mod dump;
mod element;
mod explain;
mod failure;
mod from;
mod help;
mod info;
mod interrupt;
mod layout;
mod list;
mod ls;
mod man;
mod migrate;
mod netcdf;
mod npy;
mod output;
mod pick;
mod picture;
mod place;
mod plot;
mod read;
mod region;
mod resize;
mod rm;
mod sample;
mod slabs;
mod stats;
mod tail;
mod tree;
mod tune;
mod variable;
mod verify;
mod view;
mod write;
mod zip_repair;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use failure::{Failure, Outcome};
use ozarr::node::{Context, Level, Log};
use std::ffi::OsString;
use std::process::ExitCode;

/// What Rust code cannot refuse is served where memory ends, and the library's next look makes an error of it.
#[global_allocator]
static ALLOCATOR: ozarr::reserve::Allocator = ozarr::reserve::Allocator;

/// Look into Zarr stores, read, create and write arrays (Zarr v2 and v3).
///
/// LOCATION is a folder or zip archive, on this machine, in an object store or on a web server (`s3://`, `gs://`, `az://`, `https://`), or a path into one: the store is the shortest beginning that ends in `.zarr`, `.zip` or
/// `.ozx`, what follows is the path of a node. PATH is a node's path below that, `/` for none. Threads: the environment variable OZARR_NUM_THREADS.
#[derive(Parser)]
#[command(name = "ozarr", version, disable_help_subcommand = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Tree(tree::Tree),
    Ls(ls::Ls),
    Info(info::Info),
    Dump(dump::Dump),
    Read(read::Read),
    Stats(stats::Stats),
    Diff(diff::Diff),
    Digest(digest::Digest),
    Du(du::Du),
    Tail(tail::Tail),
    Plot(Box<plot::Plot>),
    View(view::View),
    Explain(explain::Explain),
    Tune(tune::Tune),
    Create(create::CreateNode),
    Write(write::Write),
    Attrs(attrs::Attrs),
    Resize(resize::Resize),
    Rm(rm::Rm),
    Consolidate(consolidate::Consolidate),
    Verify(verify::Verify),
    Cp(cp::Cp),
    Copy(copy::Copy),
    From(from::From),
    ZipRepair(zip_repair::ZipRepair),
    Migrate(migrate::Migrate),
    Completions(completions::Completions),
    Man(man::Man),
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Tree(c) => c.run(),
        Command::Ls(c) => c.run(),
        Command::Info(c) => c.run(),
        Command::Dump(c) => c.run(),
        Command::Read(c) => c.run(),
        Command::Stats(c) => c.run(),
        Command::Diff(c) => c.run(),
        Command::Digest(c) => c.run(),
        Command::Du(c) => c.run(),
        Command::Tail(c) => c.run(),
        Command::Plot(c) => c.run(),
        Command::View(c) => c.run(),
        Command::Explain(c) => c.run(),
        Command::Tune(c) => c.run(),
        Command::Create(c) => c.run(),
        Command::Write(c) => c.run(),
        Command::Attrs(c) => c.run(),
        Command::Resize(c) => c.run(),
        Command::Rm(c) => c.run(),
        Command::Consolidate(c) => c.run(),
        Command::Verify(c) => c.run(),
        Command::Cp(c) => c.run(),
        Command::Copy(c) => c.run(),
        Command::From(c) => c.run(),
        Command::ZipRepair(c) => c.run(),
        Command::Migrate(c) => c.run(),
        Command::Completions(c) => c.run(),
        Command::Man(c) => c.run(),
    }
}

/// What does what other programs have commands for.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("cat", "`ozarr read` and `ozarr dump` print elements"),
    ("convert", "`ozarr from` makes Zarr of netCDF and HDF5, `ozarr copy` of Zarr"),
    ("delete", "`ozarr rm` erases a node"),
    ("import", "`ozarr from` makes Zarr of netCDF and HDF5"),
    ("move", "`ozarr cp` and then `ozarr rm` move a node"),
    ("mv", "`ozarr cp` and then `ozarr rm` move a node"),
    ("rename", "`ozarr cp` and then `ozarr rm` move a node"),
];

/// The arguments; `help read` is `read --help`.
fn arguments() -> Vec<OsString> {
    let mut all: Vec<OsString> = std::env::args_os().collect();
    if all.get(1).is_some_and(|word| word == "help") {
        all.remove(1);
        // Of the help itself there is no other.
        all.retain(|word| word != "help");
        all.push("--help".into());
    }
    all
}

/// What the argument parser says: help and version on standard output, anything else as a failure of usage.
fn parsed() -> Result<Cli, Failure> {
    let e = match Cli::try_parse_from(arguments()) {
        Ok(cli) => return Ok(cli),
        Err(e) => e,
    };
    let text = e.render().to_string();
    if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let columns = help::columns().filter(|_| e.kind() == ErrorKind::DisplayHelp);
        let text = columns.map_or_else(|| text.clone(), |columns| help::wrapped(&text, columns));
        output::print(&text)?;
        return Err(Failure::Quiet);
    }
    // The first paragraph says what is wrong, the rest is the usage.
    let wrong: Vec<&str> = text.lines().take_while(|l| !l.trim().is_empty()).map(str::trim).collect();
    let mut message = wrong.join(" ").trim_start_matches("error: ").to_string();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
    let command: Vec<&str> = usage.split(' ').take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let command = command.join(" ");
    if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Err(Failure::Usage(format!("a subcommand is missing; `{command} --help` lists them")));
    }
    let is_named = |(name, _): &&(&str, &str)| command == "ozarr" && message.ends_with(&format!(" subcommand '{name}'"));
    // Names that are like the wrong one are in a paragraph of their own, the most alike last.
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: ")?.split_once("similar "));
    if let Some((_, does)) = OTHER_NAMES.iter().find(is_named) {
        message.push_str(&format!("; {does}"));
    } else if let Some((_, names)) = tip {
        let name = names.split('\'').skip(1).step_by(2).last().unwrap_or_default();
        message.push_str(&format!("; did you mean `{name}`?"));
    } else if matches!(e.kind(), ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument) {
        let what = if e.kind() == ErrorKind::InvalidSubcommand { "them" } else { "those that there are" };
        message.push_str(&format!("; `{command} --help` lists {what}"));
    }
    Err(Failure::Usage(message))
}

/// Runs the subcommand that the arguments name, and returns the exit status.
pub fn main() -> ExitCode {
    if let (Some(log), Some(odd)) = (Log::of_environment(), Context::odd_environment()) {
        (log.call)(Level::Warning, &odd);
    }
    match parsed().and_then(|cli| run(cli.command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
