//! Files that netCDF-C reads: netCDF of every kind, and HDF5.

pub mod classic;
pub mod file;
mod fill;
mod hdf5;
mod library;
pub mod record;
