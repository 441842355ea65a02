// ozarr.hpp: Zarr arrays for simulation codes, in C++17 and later.              SPDX-License-Identifier: MIT OR Apache-2.0
//
//     auto t = ozarr::array::create<double>("run.zarr/temperature", {100, 64, 64});
//     t.write(u, {{10, 0, 0}, {1, 64, 64}});                       // u: std::vector<double>; the region's start and shape
//     t.set_attr("units", "K");
//     t.close();                                                  // says whether all is stored; the destructor cannot
//
//     auto t = ozarr::array::open("run.zarr/temperature");
//     std::vector<double> plane = t.read<double>({{10, 0, 0}, {1, 64, 64}});
//
// This header is a thin layer over ozarr.h, whose rules hold; it adds no copy of elements. Handles (array, group, store, spec,
// context) can be moved, not copied, and are given back by their destructors. A member function of a handle that was closed or
// moved from fails like any other failure.
//
// Failures. A function that fails throws ozarr::error: what() is the message; status(), key() and field() say more.
//
// Without exceptions: with -fno-exceptions, or OZARR_NO_EXCEPTIONS defined before this header, the same functions return
// ozarr::result<T> in place of T (`returned<T>` below): `if (auto t = ozarr::array::open(…)) use(*t); else puts(t.error().what());`.
// Setters of a spec return the spec; the first that failed is reported where the spec is used.
//
// Indices are in the array's own order, the last one running fastest; strides are counted in elements.
#ifndef OZARR_HPP
#define OZARR_HPP

#if __cplusplus < 201703L && !defined(_MSVC_LANG)
#error "ozarr.hpp needs C++17 or newer: -std=c++17"
#endif

#include <ozarr/array.hpp>
#include <ozarr/array_base.hpp>
#include <ozarr/base.hpp>
#include <ozarr/callback.hpp>
#include <ozarr/context.hpp>
#include <ozarr/copy.hpp>
#include <ozarr/dataset.hpp>
#include <ozarr/group.hpp>
#include <ozarr/node.hpp>
#include <ozarr/request.hpp>
#include <ozarr/series.hpp>
#include <ozarr/spec.hpp>
#include <ozarr/store.hpp>
#include <ozarr/types.hpp>

#undef OZARR_HPP_MODE
#undef OZARR_HPP_FAIL
#undef OZARR_HPP_TRY
#undef OZARR_HPP_CHECK

#endif // OZARR_HPP
