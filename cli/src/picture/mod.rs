//! Pictures of numbers: what is drawn (`scene`), with what (`colours`, `text`), and the charts that are made of it.

pub mod axis;
pub mod chart;
pub mod colours;
pub mod contours;
pub mod lines;
pub mod scene;
pub mod terminal;
pub mod text;
