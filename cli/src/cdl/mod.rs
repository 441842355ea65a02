//! CDL, the text that ncdump prints: a hierarchy as netCDF sees it, and its tokens, header and data.

pub mod attributes;
pub mod data;
pub mod header;
pub mod json;
pub mod model;
pub mod token;
