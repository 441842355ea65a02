//! `ozarr dump`: a hierarchy as CDL, the text of ncdump and ncgen.

use crate::cdl::header::{Data, write};
use crate::cdl::json;
use crate::cdl::model::{Members, Model};
use crate::failure::{Failure, Outcome};
use crate::output::{or_unread, texts};
use crate::place::Place;
use clap::{ArgAction, Args};
use ozarr::node::Mode;
use std::io::Write;

/// Print a hierarchy as CDL, as ncdump does: dimensions, variables, attributes, data
///
/// Dimensions and types are those that netCDF, xarray and NCZarr record, else those of the arrays. What netCDF has no type for (complex
/// numbers, structs, bytes of any length) is named in a comment.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Dump {
    #[command(flatten)]
    place: Place,
    /// No data
    #[arg(short = 'h', long)]
    header: bool,
    /// Data of coordinate variables only
    #[arg(short = 'c', long, conflicts_with = "header")]
    coordinates: bool,
    /// Data of these variables only (`t`, `fields/t`)
    #[arg(short = 'v', long, value_name = "NAME,..", value_delimiter = ',', conflicts_with_all = ["header", "coordinates"])]
    variables: Vec<String>,
    /// The name behind `netcdf` (that of LOCATION without its ending)
    #[arg(short = 'n', long, value_name = "NAME")]
    name: Option<String>,
    /// The same as one JSON object: dimensions, attributes, variables with their data, groups; missing elements are null
    #[arg(long, conflicts_with = "name")]
    json: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
}

impl Dump {
    pub fn run(&self) -> Outcome {
        let model = Model::new(&self.place.node(Mode::Read)?)?;
        let data = match (self.header, self.coordinates, self.variables.is_empty()) {
            (true, ..) => Data::None,
            (_, true, _) => Data::Coordinates,
            (.., false) => Data::Named(self.known(&model)?),
            _ => Data::All,
        };
        let mut out = texts();
        let printed = match self.json {
            true => json::write(&mut out, &model, &data),
            false => write(&mut out, &self.title(), &model, &data),
        };
        or_unread(printed.and_then(|()| out.flush().map_err(|e| Failure::stdout(&e))))?;
        model.unread.end(model.nodes)
    }

    /// The names of variables that were asked for, all of which there are.
    fn known(&self, model: &Model) -> Outcome<Vec<String>> {
        let mut paths = Vec::new();
        collect("", &model.root, &mut paths);
        let is_there = |wanted: &str| {
            let plain = wanted.trim_start_matches('/');
            paths.iter().any(|path| path == plain || !wanted.contains('/') && path.rsplit('/').next() == Some(wanted))
        };
        if let Some(unknown) = self.variables.iter().find(|wanted| !is_there(wanted)) {
            let plain = unknown.trim_start_matches('/');
            if let Some((_, why)) = left_out(&model.root, plain) {
                return Err(Failure::Error(format!("{unknown} is left out: {why}; `ozarr read --json` prints it")));
            }
            let shown = paths.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Failure::Error(format!("{} has no variable {unknown:?}, expected one of {shown}", self.place.name())));
        }
        Ok(self.variables.clone())
    }

    fn title(&self) -> String {
        let name = self.place.name();
        let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        self.name.clone().unwrap_or_else(|| if stem.is_empty() { last.to_string() } else { stem.to_string() })
    }
}

/// What netCDF cannot have at that path, and why.
fn left_out<'a>(group: &'a Members, path: &str) -> Option<&'a (String, String)> {
    match path.split_once('/') {
        Some((first, rest)) => left_out(group.groups.iter().find(|g| g.name == first)?, rest),
        None => group.left_out.iter().find(|(name, _)| name == path),
    }
}

fn collect(path: &str, group: &Members, into: &mut Vec<String>) {
    into.extend(group.variables.iter().map(|v| format!("{path}{}", v.name)));
    group.groups.iter().for_each(|g| collect(&format!("{path}{}/", g.name), g, into));
}
