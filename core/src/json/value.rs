//! JSON values: numbers with their source text, objects with the order of their members, and copies that share their contents.
//!
//! A value is often held in several places (a node's metadata, its attributes, consolidated metadata above it), mostly unchanged:
//! lists and objects are reference-counted, and a change copies only the level that it touches. Short texts are stored in the value itself.

pub use super::number::{Number, text};
pub use super::text::Text;
use super::text::words_of;
use crate::error::Result;
use crate::fork::Once;
use crate::limits;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::{Deref, Index};
use std::sync::Arc;

/// Any JSON value.
#[derive(Clone, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(Number),
    /// A string.
    String(Text),
    /// A string with half of a surrogate pair, which no [`Text`] can hold: as it is written, in its quotation marks.
    HalfPairs(Text),
    /// A list.
    Array(List),
    /// An object.
    Object(Map),
}

/// The value that a look-up of a missing member or item gives.
static NULL: Value = Value::Null;

/// The items of a list. Copies share them.
#[derive(Clone, Default, PartialEq)]
pub struct List(Option<Arc<[Value]>>);

impl Deref for List {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> List {
        Vec::from_iter(items).into()
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> List {
        List(if items.is_empty() { None } else { Some(items.into()) })
    }
}

impl List {
    /// Items that a reader has read; an error instead of an abort when memory is short.
    pub(super) fn of_read(mut items: SmallVec<[Value; 4]>) -> Result<List> {
        if items.is_empty() {
            return Ok(List(None));
        }
        limits::with_spare(limits::shared_bytes::<Value>(items.len()), || {
            let count = items.len();
            // SAFETY: the list has none, but they are there, and each is moved from there once.
            unsafe { items.set_len(0) };
            let first = items.as_ptr();
            // An iterator that knows its length has them collected in one allocation.
            // SAFETY: as above.
            List(Some((0..count).map(|i| unsafe { first.add(i).read() }).collect()))
        })
    }

    /// A list of those items; an error instead of an abort when memory is short.
    pub fn of(items: Vec<Value>) -> Result<List> {
        if items.is_empty() { Ok(List(None)) } else { limits::shared(items).map(|items| List(Some(items))) }
    }

    /// The items.
    pub fn as_slice(&self) -> &[Value] {
        self
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The members of an object in their order. Copies share them.
#[derive(Clone, Default)]
pub struct Map(Option<Arc<MapMembers>>);

#[derive(Default)]
struct MapMembers {
    list: MemberList,
    /// The index of each name, built when a name is first looked up in an object with more than `FEW` members.
    places: Once<HashMap<Text, usize>>,
}

/// The members of an extension (name and configuration) fit in one allocation with their reference counter.
pub(super) type MemberList = SmallVec<[(Text, Value); 2]>;

/// Up to this many names are searched one by one.
const FEW: usize = 24;

impl Clone for MapMembers {
    fn clone(&self) -> MapMembers {
        MapMembers { list: self.list.clone(), places: Once::new() }
    }
}

impl MapMembers {
    fn position(&self, name: &str) -> Option<usize> {
        match (self.places(), words_of(name)) {
            (Some(places), _) => places.get(name).copied(),
            (None, Some(words)) => self.list.iter().position(|(other, _)| other.has_words(words)),
            (None, None) => self.list.iter().position(|(other, _)| other == name),
        }
    }

    /// The index of each name; `None` where they are searched one by one.
    fn places(&self) -> Option<&HashMap<Text, usize>> {
        if self.list.len() <= FEW {
            return None;
        }
        self.places.known().or_else(|| self.all_places().map(|places| self.places.get(|| places)))
    }

    /// The index of each name, with room for as many as there is room for in the list; `None` where there is no memory for that.
    #[cold]
    fn all_places(&self) -> Option<HashMap<Text, usize>> {
        let mut places = HashMap::new();
        if limits::make_table_room(&mut places, self.list.capacity()).is_err() {
            limits::memory_ended();
            return None;
        }
        // Of a name that occurs twice, the first index remains.
        places.extend(self.list.iter().enumerate().rev().map(|(i, (name, _))| (name.clone(), i)));
        Some(places)
    }

    /// Returns whether any name occurs more than once.
    fn is_repeating(&self) -> bool {
        if let [] | [_] = &*self.list {
            return false;
        }
        if let Some(places) = self.places() {
            return places.len() < self.list.len();
        }
        // A bit for the length and the ends of each name so far: most names need not be searched for.
        let mut met = 0u64;
        self.list.iter().enumerate().any(|(i, (name, _))| {
            let bytes = name.as_bytes();
            let ends = bytes.first().zip(bytes.last()).map_or(0, |(first, last)| 5 * usize::from(*first) + usize::from(*last));
            let bit = 1 << ((5 * bytes.len() + ends) % 64);
            let may_repeat = met & bit != 0;
            met |= bit;
            may_repeat && self.position(name) != Some(i)
        })
    }

    fn insert(&mut self, name: Text, value: Value) -> Option<Value> {
        match self.position(&name) {
            Some(i) => Some(std::mem::replace(&mut self.list[i].1, value)),
            None => {
                match self.places.known_mut() {
                    Some(places) if places.len() < places.capacity() => drop(places.insert(name.clone(), self.list.len())),
                    // It is built anew for a longer list, where it can be refused.
                    Some(_) => self.places = Once::new(),
                    None => {}
                }
                self.list.push((name, value));
                None
            }
        }
    }
}

impl Map {
    /// No members.
    pub const fn new() -> Map {
        Map(None)
    }

    /// Members that a reader has read; of those of one name the last value counts, in the first one's place. An error instead of an abort
    /// when memory is short.
    pub(super) fn of_read(mut list: MemberList) -> Result<Map> {
        if list.is_empty() {
            return Ok(Map(None));
        }
        // A little room may be left: giving it back takes as long as to read some members.
        if list.spilled() && list.capacity() > list.len() + list.len() / 2 {
            limits::with_spare(list.len() * size_of::<(Text, Value)>(), || list.shrink_to_fit())?;
        }
        let members = MapMembers { list, places: Once::new() };
        if !members.is_repeating() {
            return Ok(Map(Some(Arc::new(members))));
        }
        let mut map = Map::with_room(members.list.len())?;
        map.extend(members.list);
        Ok(map)
    }

    /// No members, with room for that many; an error instead of an abort when memory is short.
    pub fn with_room(count: usize) -> Result<Map> {
        let mut map = Map::new();
        limits::make_room_small(&mut map.members().list, count)?;
        Ok(map)
    }

    /// Makes the members this map's own, with room for `more`, so that changes take no memory for lists of them; an error instead of an abort when
    /// memory is short.
    pub fn make_room(&mut self, more: usize) -> Result<()> {
        if let Some(members) = self.0.as_mut().and_then(Arc::get_mut) {
            if members.list.capacity() - members.list.len() < more {
                limits::make_room_small(&mut members.list, more)?;
            }
            return Ok(());
        }
        let mut list = MemberList::new();
        limits::make_room_small(&mut list, self.len().saturating_add(more))?;
        list.extend(self.list().iter().cloned());
        self.0 = Some(Arc::new(MapMembers { list, places: Once::new() }));
        Ok(())
    }

    fn list(&self) -> &[(Text, Value)] {
        self.0.as_ref().map_or(&[], |members| &members.list)
    }

    fn members(&mut self) -> &mut MapMembers {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.list().len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    /// The value of the member of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let members = self.0.as_ref()?;
        members.position(name).map(|i| &members.list[i].1)
    }

    /// The value of the member of that name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let i = self.0.as_ref()?.position(name)?;
        Some(&mut self.members().list[i].1)
    }

    /// Whether there is a member of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a member: one of that name in its place, or a new one behind the others. Returns what it was.
    pub fn insert(&mut self, name: Text, value: Value) -> Option<Value> {
        self.members().insert(name, value)
    }

    /// Removes a member; the others keep their order.
    pub fn shift_remove(&mut self, name: &str) -> Option<Value> {
        let i = self.0.as_ref()?.position(name)?;
        let members = self.members();
        let (_, value) = members.list.remove(i);
        if let Some(places) = members.places.known_mut() {
            // To build it anew for each of many that are removed one by one would take a hundred times as long.
            places.remove(name);
            places.values_mut().filter(|place| **place > i).for_each(|place| *place -= 1);
        }
        Some(value)
    }

    /// Keeps those members of which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Text, &mut Value) -> bool) {
        if !self.is_empty() {
            let members = self.members();
            members.list.retain(|(name, value)| keep(name, value));
            members.places = Once::new();
        }
    }

    /// The members in their order.
    pub fn iter(&self) -> MapIter<'_> {
        self.list().iter().map(|(name, value)| (name, value))
    }

    /// The names of the members in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Text> + ExactSizeIterator {
        self.list().iter().map(|(name, _)| name)
    }

    /// The values of the members in their order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.list().iter().map(|(_, value)| value)
    }
}

/// Members one after the other.
pub type MapIter<'a> = std::iter::Map<std::slice::Iter<'a, (Text, Value)>, fn(&'a (Text, Value)) -> (&'a Text, &'a Value)>;

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Text, &'a Value);
    type IntoIter = MapIter<'a>;
    fn into_iter(self) -> MapIter<'a> {
        self.iter()
    }
}

impl IntoIterator for Map {
    type Item = (Text, Value);
    type IntoIter = smallvec::IntoIter<[(Text, Value); 2]>;
    fn into_iter(self) -> Self::IntoIter {
        let members = self.0.map(Arc::unwrap_or_clone).unwrap_or_default();
        members.list.into_iter()
    }
}

impl<N: Into<Text>> Extend<(N, Value)> for Map {
    fn extend<I: IntoIterator<Item = (N, Value)>>(&mut self, more: I) {
        let mut more = more.into_iter().peekable();
        if more.peek().is_some() {
            let members = self.members();
            more.for_each(|(name, value)| drop(members.insert(name.into(), value)));
        }
    }
}

impl<N: Into<Text>> FromIterator<(N, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(members: I) -> Map {
        let mut map = Map::new();
        map.extend(members);
        map
    }
}

/// Compares members whatever their order.
impl PartialEq for Map {
    fn eq(&self, other: &Map) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Index<&str> for Map {
    type Output = Value;
    /// The value of that member, or `null`.
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }
}

impl Value {
    /// The value that a text is, however long; an error instead of an abort when memory is short.
    pub fn text_of_any(text: &str) -> Result<Value> {
        super::text(text).map(Value::String)
    }

    /// The value of the member of that name, where this is an object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    /// The items of a list.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Value::Array(items) = self { Some(items) } else { None }
    }

    /// The object.
    pub fn as_object(&self) -> Option<&Map> {
        if let Value::Object(members) = self { Some(members) } else { None }
    }

    /// The object, to be changed.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Value::Object(members) = self { Some(members) } else { None }
    }

    /// The number.
    pub fn as_number(&self) -> Option<&Number> {
        if let Value::Number(number) = self { Some(number) } else { None }
    }

    /// Returns the number as [`Number::as_u64`] does, or `None` if this is not a number.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// Returns the number as [`Number::as_i64`] does, or `None` if this is not a number.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// Returns the number as [`Number::as_f64`] does, or `None` if this is not a number.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// Whether it is true or false.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(is_true) = self { Some(*is_true) } else { None }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether it is a string.
    pub fn is_string(&self) -> bool {
        matches!(self, Value::String(_))
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Number(_))
    }

    /// Whether it is a list.
    pub fn is_array(&self) -> bool {
        matches!(self, Value::Array(_))
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }
}

impl Index<&str> for Value {
    type Output = Value;
    /// The value of that member, or `null`.
    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&NULL)
    }
}

impl Index<usize> for Value {
    type Output = Value;
    /// That item of a list, or `null`.
    fn index(&self, index: usize) -> &Value {
        self.as_array().and_then(|items| items.get(index)).unwrap_or(&NULL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite::Random;

    /// The members that a simple list would have.
    fn plain(map: &Map) -> Vec<(String, u64)> {
        map.iter().map(|(name, value)| (name.to_string(), value.as_u64().unwrap())).collect()
    }

    #[test]
    fn members_are_found_set_and_removed_as_in_a_list_of_any_length() {
        let mut random = Random(7);
        for names in [3, 20, 24, 25, 26, 60] {
            let (mut map, mut list) = (Map::new(), Vec::<(String, u64)>::new());
            for step in 0..2000 {
                let name = format!("a{}z", random.below(names));
                let at = list.iter().position(|(own, _)| *own == name);
                assert_eq!(map.get(&name).and_then(Value::as_u64), at.map(|i| list[i].1));
                // One that is shared is copied, another one is changed as it is.
                let before = if step % 3 == 0 { map.clone() } else { Map::new() };
                match random.below(5) {
                    0 => {
                        assert_eq!(map.shift_remove(&name).is_some(), at.is_some());
                        list.retain(|(own, _)| *own != name);
                    }
                    1 if step % 50 == 0 => {
                        map.retain(|own, _| **own < *name);
                        list.retain(|(own, _)| *own < name);
                    }
                    _ => {
                        map.insert(name.as_str().into(), step.into());
                        match at {
                            Some(i) => list[i].1 = step,
                            None => list.push((name, step)),
                        }
                    }
                }
                assert_eq!(plain(&map), list);
                assert!(before.iter().all(|(name, value)| before.get(name) == Some(value)), "a copy keeps what it had");
            }
        }
    }
}
