//! `ozarr create`: a new array or group.

use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::layout::{Layout, format, json_or_string};
use crate::list::List;
use crate::output::tell;
use crate::place::{Place, lengths, locate};
use clap::Args;
use ozarr::dtype::resolve::{self, Grammar};
use ozarr::dtype::{ByteOrder, DataType, ElementType};
use ozarr::error::{Error, ErrorKind};
use ozarr::node::{Array, Create, Format, Group, Map, Mode, NodeKind, OPEN_OR_OVERWRITE, Spec, Store, Value, json};

/// Create an array, or a group with --group, and the groups above it
#[derive(Args)]
pub struct CreateNode {
    #[command(flatten)]
    place: Place,
    /// The type of the elements: float64, int32, complex64, bool, ..; numpy's <f8, >i4, |S5, <M8[s], too; bfloat16, int4, ..; fields as
    /// [["x", "<f8"], ["id", "<i4"]]; or the JSON of a metadata document
    #[arg(long = "type", alias = "dtype", value_name = "TYPE", value_parser = described, required_unless_present_any = ["group", "metadata"])]
    data_type: Option<Described>,
    /// The lengths of the dimensions; `--shape=` for none
    #[arg(long, value_name = "N,M,..", required_unless_present_any = ["group", "metadata"], allow_hyphen_values = true)]
    shape: Option<List>,
    #[command(flatten)]
    layout: Layout,
    /// The version of Zarr (the one that other options need, else that of the group above, else 3)
    #[arg(long, value_name = "2|3", value_parser = format)]
    format: Option<Format>,
    /// The fill value as in a document: 0, NaN, 0x7fc00001, [0, 1], null (Zarr 2, where it is that of arrays with --dims)
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    fill: Option<String>,
    /// The names of the dimensions, nothing between commas for none: time,,x; also a JSON list
    #[arg(long, value_name = "NAME,..")]
    dims: Option<String>,
    /// The attributes: a JSON object
    #[arg(long, value_name = "JSON")]
    attrs: Option<String>,
    /// Store the most significant bytes first
    #[arg(long)]
    big_endian: bool,
    /// A file with a metadata document (.zarray, zarr.json) that says it all; the other options change it
    #[arg(long, value_name = "FILE")]
    metadata: Option<String>,
    /// Create a group
    #[arg(long, conflicts_with_all = ["data_type", "shape", "chunks", "inner_chunks", "codec", "compressor", "fill", "dims", "order",
        "big_endian", "separator", "key_encoding", "metadata"])]
    group: bool,
    /// Erase what is there, with all below it
    #[arg(long)]
    overwrite: bool,
    /// No error if the very same array or a group is there already, which keeps its attributes
    #[arg(long, conflicts_with = "overwrite")]
    exists_ok: bool,
    /// One JSON object: what is there now, and whether it was created
    #[arg(long)]
    json: bool,
}

impl CreateNode {
    pub fn run(&self) -> Outcome {
        let (store, path) = locate(&self.place.location, &self.place.path, Mode::ReadWrite)?;
        let _held = interrupt::hold(&store)?;
        let how = match (self.overwrite, self.exists_ok) {
            (true, _) => Create::Overwrite,
            (_, true) => Create::OpenIfSame,
            _ => Create::New,
        };
        let was_there = self.exists_ok && store.node_kind(&path)? != NodeKind::None;
        let mut members: Vec<(&str, Value)> = vec![("node", self.place.name().into()), ("created", (!was_there).into())];
        if self.group {
            let attributes = self.attrs.as_deref().map_or(Ok(Map::new()), json::given_attributes);
            let attributes = attributes.map_err(|e| Failure::from(e).of_usage())?;
            let group = Group::create_with(&store, &path, self.format, how, attributes).map_err(|e| self.failure(e))?;
            members.extend([("node_type", "group".into()), ("zarr_format", group.format().number().into())]);
        } else {
            let mut spec = self.spec()?;
            self.set(&mut spec).map_err(Failure::of_usage)?;
            if !was_there {
                self.check_format(&store, &path, &spec)?;
            }
            let array = Array::create(&store, &path, &spec, how).map_err(|e| self.failure(e))?;
            members.extend([("node_type", "array".into()), ("zarr_format", array.format().number().into())]);
            members.extend([("shape", array.shape().to_vec().into()), ("chunks", array.chunks_json())]);
        }
        interrupt::close_changed(&store, &format!("the node itself is there: {OPEN_OR_OVERWRITE}"))?;
        tell(self.json, members)
    }

    /// Refuses a version that is not that of the group above, unless it was asked for: other programs do not find the array there.
    fn check_format(&self, store: &Store, path: &str, spec: &Spec) -> Outcome {
        let (Some(own), Some(above), None) = (spec.own_format(), store.format_above(path)?, self.format) else { return Ok(()) };
        if own == above {
            return Ok(());
        }
        let (name, own, above) = (self.place.name(), own.number(), above.number());
        let why = format!("the options make an array of zarr_format {own}, below a group of zarr_format {above}");
        Err(Failure::Error(format!(
            "{name}: {why}, where programs such as zarr-python do not find it; --format {own} makes it all the same"
        )))
    }

    /// What the options alone make impossible is wrong usage; a metadata document may be wrong by itself.
    fn failure(&self, e: Error) -> Failure {
        let of_spec = matches!(e.kind(), ErrorKind::Argument | ErrorKind::Range | ErrorKind::Type | ErrorKind::Unsupported);
        if of_spec && self.metadata.is_none() { Failure::from(e).of_usage() } else { e.into() }
    }

    /// The type and the shape.
    fn spec(&self) -> Outcome<Spec> {
        match (&self.metadata, &self.data_type, &self.shape) {
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
                Err(Failure::Usage("--metadata says the type and the shape; leave --type and --shape out".into()))
            }
            (Some(file), ..) => {
                let text = std::fs::read_to_string(file).map_err(|e| Failure::file(file, &e))?;
                Ok(Spec::from_json(&text).map_err(|e| e.at_key(file))?)
            }
            (None, Some(Described { element, words }), Some(shape)) => {
                let mut spec = Spec::new(element.data_type, &lengths("shape", &shape.0, 0)?)?;
                spec.set_type_words(words.clone());
                if element.swapped() {
                    spec.set_byte_order(ByteOrder::Big)?;
                }
                Ok(spec)
            }
            _ => Err(Failure::Usage("--type and --shape are needed".into())),
        }
    }

    /// Sets what the other options say.
    fn set(&self, spec: &mut Spec) -> Outcome {
        if self.big_endian {
            spec.set_byte_order(ByteOrder::Big)?;
        }
        self.layout.apply(spec, self.format)?;
        if let Some(fill) = &self.fill {
            spec.set_fill_json(&json_or_string(fill))?;
        }
        if let Some(dims) = &self.dims {
            spec.set_dimension_names(names(dims)?)?;
        }
        if let Some(attributes) = &self.attrs {
            spec.set_attributes_json(attributes)?;
        }
        Ok(())
    }
}

fn names(text: &str) -> Outcome<Vec<Option<String>>> {
    if !text.starts_with('[') {
        let name = |n: &str| Some(n.to_string()).filter(|n| !n.is_empty());
        return Ok(if text.is_empty() { Vec::new() } else { text.split(',').map(name).collect() });
    }
    let Value::Array(items) = json::parse_text(text).map_err(|e| e.at_field("--dims"))? else { return Ok(Vec::new()) };
    let name = |item: Value| match item {
        Value::Null => Ok(None),
        Value::String(name) => Ok(Some(name.into())),
        other => Err(Failure::Error(format!("--dims: found {other}, expected a string or null"))),
    };
    items.iter().cloned().map(name).collect()
}

/// A type, and the words for it, where they are JSON.
#[derive(Clone)]
struct Described {
    element: ElementType,
    words: Value,
}

fn described(text: &str) -> Result<Described, String> {
    Ok(Described { element: element_type(text)?, words: json::parse_text(text).unwrap_or_default() })
}

fn element_type(text: &str) -> Result<ElementType, String> {
    resolve::parse(text, Grammar::Any).map_err(|e| e.to_string())
}

/// A type in memory, which has no byte order.
pub fn native_type(text: &str) -> Result<DataType, String> {
    element_type(text).map(|element| element.data_type.native())
}
