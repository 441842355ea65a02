//! The program `ozarr`; see lib.rs.

fn main() -> std::process::ExitCode {
    ozarr_cli::main()
}
