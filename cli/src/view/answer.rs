//! What the page asks for, and the answers: JSON of nodes, and numbers of planes and lines.

use super::levels::{self, Level};
use super::plane;
use crate::element::{self, Form};
use crate::failure::{Failure, Outcome};
use crate::picture::axis::Axis;
use crate::picture::colours::ColourMap;
use crate::place::locate;
use crate::variable::{Dim, Variable, label};
use clap::ValueEnum;
use ozarr::engine::{Memory, Selection};
use ozarr::error::Result;
use ozarr::node::{Array, Group, Map, Mode, Node, Store, Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Children that one answer has.
const CHILDREN: usize = 500;
/// Labels of coordinates that one answer has for each dimension.
const LABELS: u64 = 20_000;
/// Chunks that the map of stored ones has.
const CHUNKS: usize = 50_000;
/// Elements that a table has.
const ELEMENTS: u64 = 500;
/// Arrays that are kept open.
const OPEN: usize = 64;

/// What goes to the browser.
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: Vec<u8>,
    /// Rows and columns of numbers, how many elements each stands for, and what of them it is.
    pub shape: String,
    /// What numbers they are: `f4`, `f8`, and `i8` or `u8` for integers behind them.
    pub numbers: &'static str,
}

impl Answer {
    fn new(kind: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, kind, body: body.into(), shape: String::new(), numbers: "" }
    }

    pub fn refused(status: u16, why: &str) -> Answer {
        Answer { status, ..Answer::new("text/plain; charset=utf-8", why) }
    }
}

/// The store that is shown.
pub struct Shown {
    store: Store,
    /// The path of the node that was named.
    root: String,
    name: String,
    open: Mutex<HashMap<String, Arc<Opened>>>,
    /// The children of the group that was listed last, for those that one answer does not have.
    listed: Mutex<Option<(String, Arc<Vec<Child>>)>>,
}

/// A child of a group: its name, and what the page shows of it where that was read with the others.
type Child = (String, Option<Value>);

/// An array that is kept open.
struct Opened {
    variable: Variable,
    /// The coarser levels, once they were asked for, if it is an image.
    levels: OnceLock<Vec<Level>>,
}

impl Opened {
    fn levels(&self, store: &Store) -> &[Level] {
        self.levels.get_or_init(|| levels::coarser(store, &self.variable.array))
    }
}

/// The parameters of a request.
pub struct Query(HashMap<String, String>);

impl Query {
    fn parse(text: &str) -> Query {
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_string(), decoded(value)));
        Query(text.split('&').filter_map(pair).collect())
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// An integer that is not negative.
    pub fn number(&self, name: &str) -> Outcome<u64> {
        self.text(name).parse().map_err(|_| Failure::Error(format!("{name}: found {:?}, expected an integer", self.text(name))))
    }

    pub fn list(&self, name: &str) -> Outcome<Vec<u64>> {
        let wrong = |_| Failure::Error(format!("{name}: found {:?}, expected integers with commas between", self.text(name)));
        self.text(name).split(',').filter(|n| !n.is_empty()).map(|n| n.parse().map_err(wrong)).collect()
    }
}

/// A text without the escapes of addresses.
fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, tail)) = rest.split_first() {
        let escape = tail.get(..2).filter(|_| byte == b'%').and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(escape.unwrap_or(byte));
        rest = if escape.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// A value as the page shows it: a browser would round the numbers of JSON.
fn text(value: &Value) -> Value {
    value.as_str().map_or_else(|| json::to_compact(value), str::to_string).into()
}

fn list(lengths: &[u64]) -> Value {
    Value::from(lengths.to_vec())
}

impl Shown {
    pub fn open(location: &str) -> Outcome<Shown> {
        let (store, root) = locate(location, "", Mode::Read)?;
        let root = Node::open(&store, &root)?.path().to_string();
        Ok(Shown { store, root, name: location.to_string(), open: Mutex::default(), listed: Mutex::default() })
    }

    /// The answer to the part of the address behind the token.
    pub fn answer(&self, path: &str) -> Answer {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query = Query::parse(query);
        let found = match path {
            "" => return Answer::new("text/html; charset=utf-8", include_str!("page.html")),
            "page.js" => return Answer::new("text/javascript; charset=utf-8", include_str!("page.js")),
            "draw.js" => return Answer::new("text/javascript; charset=utf-8", include_str!("draw.js")),
            "page.css" => return Answer::new("text/css; charset=utf-8", include_str!("page.css")),
            "api/maps" => Ok(maps()),
            "api/tree" => self.tree(&query),
            "api/node" => self.node(&query),
            "api/stored" => self.stored(&query),
            "api/table" => self.table(&query),
            "api/plane" => return self.numbers(&query, &|opened, query| plane::plane(&opened.variable, opened.levels(&self.store), query)),
            "api/line" => return self.numbers(&query, &|opened, query| plane::line(&opened.variable, query)),
            _ => return Answer::refused(404, "nothing is there"),
        };
        match found {
            Ok(value) => Answer::new("application/json", json::to_compact(&value)),
            Err(failure) => Answer::refused(400, &message(failure)),
        }
    }

    fn path(&self, query: &Query) -> String {
        format!("{}/{}", self.root, query.text("path"))
    }

    fn opened(&self, path: &str, fresh: bool) -> Outcome<Arc<Opened>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = open.get(path).filter(|_| !fresh) {
            return Ok(found.clone());
        }
        let opened = Arc::new(Opened { variable: Variable::new(Array::open(&self.store, path)?)?, levels: OnceLock::new() });
        if open.len() >= OPEN {
            open.clear();
        }
        open.insert(path.to_string(), opened.clone());
        Ok(opened)
    }

    /// The children of a group.
    fn tree(&self, query: &Query) -> Outcome<Value> {
        let name = ("name", self.name.as_str().into());
        let group = match Node::open(&self.store, &self.path(query))? {
            Node::Array(array) => {
                return Ok(object([name, ("array", shape_of(&array)), ("children", Value::Array(Vec::<Value>::new().into()))]));
            }
            Node::Group(group) => group,
        };
        let from = query.number("from").unwrap_or(0) as usize;
        let all = self.children(&group, from == 0)?;
        let shown = |(name, read): &Child| read.clone().unwrap_or_else(|| child(name, opened(&group, name)));
        let children: Vec<Value> = all.iter().skip(from).take(CHILDREN).map(shown).collect();
        let more = all.len().saturating_sub(from + children.len()) as u64;
        Ok(object([name, ("children", children.into()), ("more", more.into())]))
    }

    /// The children of a group, listed anew or, where that was just done, as they were then. Where each request takes long all are read at the same time.
    fn children(&self, group: &Group, anew: bool) -> Outcome<Arc<Vec<Child>>> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*listed {
            Some((path, children)) if !anew && path == group.path() => Ok(children.clone()),
            _ => {
                let all = if self.store.capabilities().latency {
                    group.describe_nodes(1, &mut |name, node| Some(child(name, node)))?
                } else {
                    group.children()?.into_iter().map(|child| (child.name, None)).collect()
                };
                Ok(listed.insert((group.path().to_string(), Arc::new(all))).1.clone())
            }
        }
    }

    /// All that is known of a node without its chunks.
    fn node(&self, query: &Query) -> Outcome<Value> {
        let node = Node::open(&self.store, &self.path(query))?;
        let attributes = Value::Object(node.attributes().all()?.iter().map(|(name, value)| (name.to_string(), text(value))).collect());
        let mut members = Map::new();
        members.insert("format".into(), node.format().number().into());
        members.insert("attributes".into(), attributes);
        let Node::Array(array) = node else {
            return Ok(Value::Object(members));
        };
        members.insert("array".into(), shape_of(&array));
        members.insert("label".into(), label(&array).into());
        let document = json::parse_object(array.metadata_json()?.as_bytes(), usize::MAX)?;
        for name in ["codecs", "compressor", "filters", "fill_value"] {
            members.extend(document.get(name).map(|v| (name.to_string(), text(v))));
        }
        if let Ok(opened) = self.opened(&self.path(query), true) {
            members.insert("dims".into(), opened.variable.dims.iter().map(dim).collect());
        }
        Ok(Value::Object(members))
    }

    /// Which chunks are stored.
    fn stored(&self, query: &Query) -> Outcome<Value> {
        let array = Array::open(&self.store, &self.path(query))?;
        let usage = array.usage()?;
        let elements = array.shape().iter().fold(array.data_type().size() as f64, |n, &length| n * length as f64);
        let ratio =
            if usage.bytes > 0 && !array.data_type().is_variable() { Value::from(elements / usage.bytes as f64) } else { Value::Null };
        let mut places = Vec::new();
        if usage.chunks <= CHUNKS as u64 {
            let mut chunks = array.chunks(false)?;
            while let Some((index, _)) = chunks.step()? {
                places.push(list(&index));
            }
        }
        let (possible, grid) = (usage.possible_chunks, array.grid_shape());
        Ok(object([
            ("chunks", usage.chunks.into()),
            ("possible", text(&possible.into())),
            ("bytes", usage.bytes.into()),
            ("ratio", ratio),
            ("grid", list(&grid)),
            ("stored", places.into()),
        ]))
    }

    /// The first elements as texts, for types that are no numbers.
    fn table(&self, query: &Query) -> Outcome<Value> {
        let array = Array::open(&self.store, &self.path(query))?;
        let (shape, data_type) = (array.shape(), element::printed_as(array.data_type()));
        let mut left = ELEMENTS;
        let mut count: Vec<i64> = Vec::new();
        for &n in shape.iter().rev() {
            count.insert(0, n.min(left) as i64);
            left /= n.clamp(1, left.max(1));
            left = left.max(1);
        }
        let selection = Selection::new(&shape, &vec![0; shape.len()], &count, None)?;
        let mut texts = Vec::new();
        let mut push = |bytes: &[u8]| {
            let mut text = String::new();
            element::push(&mut text, Form::Json, data_type, bytes);
            texts.push(Value::from(text));
        };
        if array.data_type().is_variable() {
            let elements = array.read_variable(&selection)?;
            (0..elements.len()).filter_map(|i| elements.get(i)).for_each(&mut push);
        } else {
            let (mut strides, mut size) = (vec![0; count.len()], data_type.size());
            for (stride, &n) in strides.iter_mut().zip(&count).rev() {
                *stride = size;
                size *= n as usize;
            }
            let mut bytes = vec![0u8; size];
            let strides = strides.iter().map(|&s| s as _).collect();
            let memory = Memory { strides, ..Memory::of(&mut bytes, &[], data_type) };
            // SAFETY: the memory is all of `bytes`, which nobody else touches until the call returns.
            unsafe { array.read(&selection, &memory) }?;
            bytes.chunks_exact(data_type.size().max(1)).for_each(&mut push);
        }
        Ok(object([("shape", Value::from(count)), ("texts", texts.into())]))
    }

    fn numbers(&self, query: &Query, read: &dyn Fn(&Opened, &Query) -> Outcome<plane::Numbers>) -> Answer {
        let found = self.opened(&self.path(query), false).and_then(|opened| {
            let found = read(&opened, query)?;
            let (body, numbers) = found.encoded(&opened.variable.array)?;
            Ok(Answer { shape: found.shape, numbers, ..Answer::new("application/octet-stream", body) })
        });
        match found {
            Ok(answer) => answer,
            Err(failure) => Answer::refused(400, &message(failure)),
        }
    }
}

fn message(failure: Failure) -> String {
    match failure {
        Failure::Error(text) | Failure::Usage(text) | Failure::Interrupted(text) => text,
        Failure::Different | Failure::Quiet => String::new(),
    }
}

/// The array that a child of a group is, or `None` if it is a group.
fn opened(group: &Group, name: &str) -> Result<Option<Array>> {
    Ok(match Node::open(group.store(), &format!("{}/{name}", group.path()))? {
        Node::Array(array) => Some(array),
        Node::Group(_) => None,
    })
}

/// What the page shows of a child of a group.
fn child(name: &str, node: Result<Option<Array>>) -> Value {
    let name = ("name", name.into());
    match node {
        Ok(None) => object([name, ("kind", "group".into())]),
        Ok(Some(array)) => object([name, ("kind", "array".into()), ("array", shape_of(&array))]),
        Err(e) => object([name, ("kind", "unknown".into()), ("error", e.to_string().into())]),
    }
}

fn shape_of(array: &Array) -> Value {
    let name = array.data_type().name().to_string();
    let shape = array.shape().iter().map(|&length| text(&length.into())).collect();
    object([("shape", shape), ("chunks", text(&array.chunks_json())), ("chunk", list(&array.chunk_shape())), ("type", name.into())])
}

/// A dimension with the texts of its coordinates.
fn dim(dim: &Dim) -> Value {
    let axis = Axis { label: String::new(), at: Vec::new(), times: dim.times() };
    let labels = match dim.length {
        n if n <= LABELS && dim.coordinate.is_some() => (0..n).map(|i| Value::from(axis.shown(dim.at(i)))).collect(),
        _ => Value::Null,
    };
    let falls = dim.length > 1 && dim.at(0) > dim.at(dim.length - 1);
    object([
        ("name", dim.name.as_str().into()),
        ("label", dim.label().into()),
        ("length", dim.length.into()),
        ("labels", labels),
        ("falls", falls.into()),
    ])
}

/// The maps of colours: 256 colours each, in hexadecimal digits.
fn maps() -> Value {
    let hex = |map: ColourMap| (0..256).flat_map(|i| map.at(f64::from(i) / 255.0)).map(|v| format!("{v:02x}")).collect::<String>();
    let name = |map: &ColourMap| map.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string());
    Value::Object(ColourMap::value_variants().iter().map(|map| (name(map), hex(*map).into())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ozarr::dtype::DataType;
    use ozarr::node::{Context, Create, Spec};

    #[test]
    fn children_that_an_answer_does_not_have_are_read_when_they_are_asked_for() {
        let folder = std::env::temp_dir().join(format!("ozarr-children-{}", std::process::id()));
        let store = Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
        (0..CHILDREN).for_each(|i| drop(Group::create(&store, &format!("g{i:03}"), None, Create::New).unwrap()));
        let array = Array::create(&store, "z", &Spec::new(DataType::Int8, &[41]).unwrap(), Create::New).unwrap();
        let shown = Shown::open(folder.to_str().unwrap()).map_err(message).unwrap();
        let tree = |from: usize| json::to_compact(&shown.tree(&Query::parse(&format!("path=&from={from}"))).map_err(message).unwrap());
        let first = tree(0);
        array.resize(&[43], false).unwrap();
        let rest = tree(CHILDREN);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(first.contains(r#""kind":"group"}],"more":1"#) && rest.contains(r#""shape":["43"]"#), "{rest}");
    }

    #[test]
    fn addresses_are_decoded() {
        let query = Query::parse("path=a%2Fb%20%C3%A9%zz%&at=1,2&n=-1&=&x");
        assert_eq!(query.text("path"), "a/b \u{e9}%zz%");
        assert_eq!(query.list("at").ok(), Some(vec![1, 2]));
        assert!(query.number("n").is_err() && query.number("none").is_err());
    }
}
