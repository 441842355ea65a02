//! What CDL tells of a group: dimensions, variables, attributes, data, and the groups in it.

use super::attributes::{Attribute, Values};
use super::data;
use super::model::{Members, Model, Variable};
use super::token::name;
use crate::failure::{Failure, Outcome, one_line};
use std::io::Write;

/// Which variables' data are told.
pub enum Data {
    None,
    All,
    /// Those that have the name of their dimension.
    Coordinates,
    /// Those of that name, or at that path.
    Named(Vec<String>),
}

impl Data {
    pub fn wants(&self, path: &str, variable: &Variable, model: &Model) -> bool {
        match self {
            Data::None => false,
            Data::All => true,
            Data::Coordinates => variable.dims.first().is_some_and(|&d| model.dims[d].name == variable.name),
            Data::Named(names) => {
                let whole = format!("{path}{}", variable.name);
                names.iter().any(|wanted| *wanted == variable.name || wanted.trim_start_matches('/') == whole && wanted.contains('/'))
            }
        }
    }
}

/// Writes the text of a hierarchy.
pub fn write(out: &mut dyn Write, title: &str, model: &Model, data: &Data) -> Outcome {
    put(out, format!("netcdf {} {{\n", name(title)))?;
    let around: [&Members; 0] = [];
    group(out, model, &model.root, &around, data)?;
    put(out, "}\n")
}

fn put(out: &mut dyn Write, text: impl AsRef<[u8]>) -> Outcome {
    out.write_all(text.as_ref()).map_err(|e| Failure::stdout(&e))
}

/// `around`: the groups that this one is in, the root first.
fn group(out: &mut dyn Write, model: &Model, it: &Members, around: &[&Members], data: &Data) -> Outcome {
    let indent = "  ".repeat(around.len());
    if !it.dims.is_empty() {
        put(out, format!("{indent}dimensions:\n"))?;
    }
    for dim in it.dims.iter().map(|&d| &model.dims[d]) {
        let length = if dim.unlimited { format!("UNLIMITED ; // ({} currently)", dim.length) } else { format!("{} ;", dim.length) };
        put(out, format!("{indent}\t{} = {length}\n", name(&dim.name)))?;
    }
    if !it.variables.is_empty() || !it.left_out.is_empty() {
        put(out, format!("{indent}variables:\n"))?;
    }
    let scope: Vec<&Members> = around.iter().copied().chain([it]).collect();
    for variable in &it.variables {
        declaration(out, model, variable, &scope, &indent)?;
    }
    for (what, why) in &it.left_out {
        put(out, format!("{indent}\t// {} is left out: {}\n", name(&one_line(what)), one_line(why)))?;
    }
    if !it.attributes.is_empty() {
        let whose = if around.is_empty() { "global" } else { "group" };
        put(out, format!("\n{indent}// {whose} attributes:\n"))?;
    }
    it.attributes.iter().try_for_each(|a| attribute(out, a, "", (&indent, model.classic)))?;
    if !it.variables.is_empty() && !matches!(data, Data::None) {
        put(out, format!("{indent}data:\n"))?;
        let path: String = scope.iter().skip(1).map(|g| format!("{}/", g.name)).collect();
        for variable in it.variables.iter().filter(|v| data.wants(&path, v, model)) {
            data::write(out, model, variable, indent.len())?;
        }
    }
    for child in &it.groups {
        put(out, format!("\n{indent}group: {} {{\n", name(&child.name)))?;
        group(out, model, child, &scope, data)?;
        put(out, format!("{indent}  }} // group {}\n", name(&child.name)))?;
    }
    Ok(())
}

fn declaration(out: &mut dyn Write, model: &Model, variable: &Variable, scope: &[&Members], indent: &str) -> Outcome {
    let dims: Vec<String> = variable.dims.iter().map(|&d| dimension(model, d, scope)).collect();
    let dims = if dims.is_empty() { String::new() } else { format!("({})", dims.join(", ")) };
    let variable_name = name(&variable.name);
    put(out, format!("{indent}\t{} {variable_name}{dims} ;\n", variable.nc.name()))?;
    variable.attributes.iter().try_for_each(|a| attribute(out, a, &variable_name, (&format!("{indent}\t"), model.classic)))
}

/// The name of a dimension; its path where a group in between has another of that name.
fn dimension(model: &Model, d: usize, scope: &[&Members]) -> String {
    let wanted = &model.dims[d].name;
    let nearest = scope.iter().rev().find_map(|g| g.dims.iter().find(|&&e| model.dims[e].name == *wanted));
    if nearest == Some(&d) {
        return name(wanted);
    }
    let owner = scope.iter().position(|g| g.dims.contains(&d)).unwrap_or(0);
    let path: String = scope[..=owner].iter().skip(1).map(|g| format!("/{}", name(&g.name))).collect();
    format!("{path}/{}", name(wanted))
}

fn attribute(out: &mut dyn Write, attribute: &Attribute, of: &str, (indent, classic): (&str, bool)) -> Outcome {
    let string = if matches!(attribute.values, Values::Strings(_)) { "string " } else { "" };
    // Attributes of a group have one tabulator more than its variables.
    let tabulators = if of.is_empty() { "\t\t" } else { "\t" };
    let mut line = format!("{indent}{tabulators}{string}{of}:{} = ", name(&attribute.name)).into_bytes();
    attribute.push(&mut line, classic);
    line.extend_from_slice(b" ;\n");
    put(out, line)
}
