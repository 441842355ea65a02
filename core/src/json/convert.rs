//! Values made of Rust's values, and of JSON that is written in the source.

use super::value::{Map, Number, Text, Value};
use std::borrow::Cow;

macro_rules! from_integers {
    ($($t:ty)*) => { $(impl From<$t> for Value {
        fn from(value: $t) -> Value {
            Value::Number(Number::of_integer(value as i128))
        }
    })* }
}
from_integers!(u8 u16 u32 u64 usize i8 i16 i32 i64);

impl From<f64> for Value {
    /// `null` where it is not finite.
    fn from(value: f64) -> Value {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::String(value.into())
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(value: Cow<'_, str>) -> Value {
        Value::String(Text::new(&value))
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Value {
        Value::String(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    /// Converts `None` to `null`.
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, T::into)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::String(value.into())
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        items.into_iter().collect()
    }
}

impl<T: Into<Value> + Clone> From<&[T]> for Value {
    fn from(items: &[T]) -> Value {
        items.iter().cloned().collect()
    }
}

impl From<Map> for Value {
    fn from(members: Map) -> Value {
        Value::Object(members)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Value {
        Value::Array(items.into_iter().map(T::into).collect())
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(other)
    }
}

/// A value written as JSON, with expressions in it.
macro_rules! json {
    (null) => { $crate::json::Value::Null };
    ([ $($items:tt)* ]) => {{
        #[allow(unused_mut)]
        let mut items: ::std::vec::Vec<$crate::json::Value> = ::std::vec::Vec::new();
        $crate::json::json!(@items items $($items)*);
        $crate::json::Value::Array(items.into())
    }};
    ({ $($members:tt)* }) => {{
        #[allow(unused_mut)]
        let mut members = $crate::json::Map::new();
        $crate::json::json!(@members members $($members)*);
        $crate::json::Value::Object(members)
    }};
    (@items $items:ident) => {};
    (@items $items:ident $item:tt $(, $($rest:tt)*)?) => {
        $items.extend([$crate::json::json!($item)]);
        $crate::json::json!(@items $items $($($rest)*)?);
    };
    (@items $items:ident $item:expr $(, $($rest:tt)*)?) => {
        $items.extend([$crate::json::Value::from($item)]);
        $crate::json::json!(@items $items $($($rest)*)?);
    };
    (@members $members:ident) => {};
    (@members $members:ident $name:tt : $value:tt $(, $($rest:tt)*)?) => {
        $members.insert($name.into(), $crate::json::json!($value));
        $crate::json::json!(@members $members $($($rest)*)?);
    };
    (@members $members:ident $name:tt : $value:expr $(, $($rest:tt)*)?) => {
        $members.insert($name.into(), $crate::json::Value::from($value));
        $crate::json::json!(@members $members $($($rest)*)?);
    };
    ($other:expr) => { $crate::json::Value::from($other) };
}
pub(crate) use json;
