// ozarr_mpi.hpp: collective Zarr for MPI programs, in C++17 and later.          SPDX-License-Identifier: MIT OR Apache-2.0
//
//     auto ranks = ozarr::ranks::open(MPI_COMM_WORLD);
//     auto t = ranks.create<double>("run.zarr/t", {nx, ny});
//     ranks.write(t, u, {{first, 0}, {rows, ny}});                // u: this rank's block; the region's start and shape
//     ranks.close(t);
//     ranks.close();
//
// A thin layer over ozarr_mpi.h, whose rules hold, with the arrays, groups, regions and memory of ozarr.hpp. All functions are collective but
// set, rank, size, test and position. All ranks get the same failure: ozarr::error is thrown on each of them (without exceptions: see ozarr.hpp).
// What a rank finds wrong before the call, such as a region of another rank than the array's, is told to the others, too.
#ifndef OZARR_MPI_HPP
#define OZARR_MPI_HPP

// The C++ bindings that MPI once had are a library of their own.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <ozarr.hpp>
#include <ozarr_extend.h>
#include <ozarr_mpi.h>

#include <cfenv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef OZARR_NO_EXCEPTIONS
#define OZARR_MPI_MODE without_exceptions
#define OZARR_MPI_RAISE(e) return e
#else
#define OZARR_MPI_MODE with_exceptions
#define OZARR_MPI_RAISE(e) throw e
#endif
#define OZARR_MPI_FAIL OZARR_MPI_RAISE(::ozarr::error::last())
#define OZARR_MPI_TRY(call)                      \
    do {                                         \
        if ((call) != OZARR_OK) OZARR_MPI_FAIL;  \
    } while (false)

namespace ozarr {
inline namespace OZARR_MPI_MODE {

namespace detail {
/// Leaves a handle as it is.
template <class H>
ozarr_status leave(H *) noexcept {
    return OZARR_OK;
}

/// A handle whose end is a collective call: `End` is called by the destructor, unless an exception is under way on this rank, which other ranks
/// need not have. Then it is the local call `Leave`.
template <class H, ozarr_status (*End)(H *), ozarr_status (*Leave)(H *) = leave<H>>
class collective {
public:
    collective() = default;
    explicit collective(H *h) noexcept : h_(h) {}
    collective(collective &&other) noexcept : h_(other.release()) {}
    collective &operator=(collective &&other) noexcept {
        if (this != &other) {
            end();
            h_ = other.release();
        }
        return *this;
    }
    ~collective() { end(); }
    H *get() const noexcept { return h_; }
    H *release() noexcept { return std::exchange(h_, nullptr); }
    explicit operator bool() const noexcept { return h_ != nullptr; }

protected:
    H *h_ = nullptr;

private:
    void end() noexcept {
        if (h_ == nullptr) return;
        const ozarr_status unheard = std::uncaught_exceptions() != 0 ? Leave(h_) : End(h_);
        static_cast<void>(unheard);
        h_ = nullptr;
    }
};

/// The result of a call that ends a handle, of which it lets go if it is gone: a refused call leaves it, and has a status that may be that of its
/// end, too. `ask` is any local call with the handle.
template <class Ask, class LetGo>
returned<void> ended(ozarr_status status, Ask ask, LetGo let_go) {
    if (status == OZARR_OK) {
        let_go();
        return returned<void>();
    }
    const error failed = error::last();
    if (ask() == OZARR_ERR_INVALID_HANDLE) let_go();
    OZARR_MPI_RAISE(failed);
}
} // namespace detail

/// A collective read or write that goes on while the program computes. Its memory must stay until wait(). Destroyed before that it is waited for;
/// while an exception is under way it is let go of, by ozarr_mpi_request_free: its memory is free then, if the other ranks move on, too.
class ranks_request : public detail::collective<ozarr_mpi_request, ozarr_mpi_request_wait, ozarr_mpi_request_free> {
public:
    using collective::collective;
    /// Moves on without waiting; whether this rank has done its part.
    returned<bool> test() const {
        return detail::value<bool>([&](bool *done) { return ozarr_mpi_request_test(h_, done); });
    }
    /// Requests are waited for in the same order on all ranks. OZARR_ERR_ARGUMENT, where a rank calls something else, and OZARR_ERR_STATE of the call
    /// leave it as it is; after an error of its own, which may be the same, it is empty.
    returned<void> wait() {
        bool done = false;
        return detail::ended(ozarr_mpi_request_wait(h_), [&] { return ozarr_mpi_request_test(h_, &done); }, [&] { release(); });
    }
};

/// The ranks of a communicator, which work together.
class ranks : public detail::collective<ozarr_mpi, ozarr_mpi_close> {
public:
    using collective::collective;

    static returned<ranks> open(MPI_Comm comm) {
        ozarr_mpi *h = nullptr;
        OZARR_MPI_TRY(ozarr_mpi_new(comm, &h));
        return ranks(h);
    }
    /// Refused by OZARR_ERR_STATE while there are requests that were not waited for, or series that were not closed, and by OZARR_ERR_ARGUMENT
    /// where a rank calls something else: then nothing is closed, here and by the other calls that close.
    returned<void> close() {
        const ozarr_status status = ozarr_mpi_close(h_);
        // Where MPI itself fails nothing more is tried: the other ranks may not come to another call.
        const auto ask = [&] { return status == OZARR_ERR_NETWORK ? OZARR_ERR_INVALID_HANDLE : ozarr_mpi_rank(h_, nullptr, nullptr); };
        return detail::ended(status, ask, [&] { release(); });
    }

    /// The number of this rank, and how many there are.
    returned<int> rank() const {
        return detail::value<int>([&](int *n) { return ozarr_mpi_rank(h_, n, nullptr); });
    }
    returned<int> size() const {
        return detail::value<int>([&](int *n) { return ozarr_mpi_rank(h_, nullptr, n); });
    }
    /// Changes a setting, alike on all ranks: "aggregators", "round_bytes", "message_bytes", "range_bytes", "overlap", "check_writes"; see
    /// ozarr_mpi_set.
    returned<void> set(const std::string &key, const std::string &value) { return detail::checked(ozarr_mpi_set(h_, detail::c_text(key), detail::c_text(value))); }
    /// Calls `f`, which gives `returned<void>`, on rank 0 only; its failure becomes that of all ranks.
    template <class F>
    returned<void> once(F f) {
        return detail::checked(ozarr_mpi_once(h_, [](void *user) -> ozarr_status { return status_of(*static_cast<F *>(user)); }, &f));
    }
    /// Makes the status of calls that ranks made by themselves the same on all.
    returned<void> agree(ozarr_status status) { return detail::checked(ozarr_mpi_agree(h_, status)); }

    // Arrays and groups. They are those of ozarr.hpp, but are closed, resized and given attributes here.

    template <class T>
    returned<array> create(const std::string &location, const index &shape, const index &chunks = {}, existing flags = existing::fail) {
        return create(location, type_of<T>::value, shape, chunks, flags);
    }
    returned<array> create(const std::string &location, ozarr::type t, const index &shape, const index &chunks = {}, existing flags = existing::fail) {
        const auto n = static_cast<std::int32_t>(shape.size() <= index::max_rank ? shape.size() : index::max_rank + 1);
        if (!chunks.empty())
            if (auto wrong = detail::same_rank("chunk shape", chunks.size(), n)) return refused<array>(*wrong);
        return made([&](ozarr_array **out) {
            return ozarr_mpi_array_create(h_, detail::c_text(location), static_cast<ozarr_type>(t), n, shape.data(), chunks.empty() ? nullptr : chunks.data(),
                                          static_cast<ozarr_create_mode>(flags), out);
        });
    }
    returned<array> create(const std::string &location, const spec &s, existing flags = existing::fail) {
        if (auto wrong = s.problem()) return refused<array>(*wrong);
        return made([&](ozarr_array **out) {
            return ozarr_mpi_array_create_ex(h_, detail::c_text(location), s.get(), static_cast<ozarr_create_mode>(flags), out);
        });
    }
    returned<array> open_array(const std::string &location, const char *mode = "r") {
        return made([&](ozarr_array **out) { return ozarr_mpi_array_open(h_, detail::c_text(location), mode, out); });
    }
    /// The array at a path below a group that was opened here.
    returned<array> open_array(const group &g, const std::string &path) {
        return made([&](ozarr_array **out) { return ozarr_mpi_group_open_array(h_, g.get(), detail::c_text(path), out); });
    }
    returned<array> create_array(group &g, const std::string &path, const spec &s, existing flags = existing::fail) {
        if (auto wrong = s.problem()) return refused<array>(*wrong);
        return made([&](ozarr_array **out) {
            return ozarr_mpi_group_create_array(h_, g.get(), detail::c_text(path), s.get(), static_cast<ozarr_create_mode>(flags), out);
        });
    }
    returned<group> open_group(const std::string &location, const char *mode = "r") {
        return found([&](ozarr_group **out) { return ozarr_mpi_group_open(h_, detail::c_text(location), mode, out); });
    }
    returned<group> create_group(const std::string &location, existing flags = existing::fail) {
        return found([&](ozarr_group **out) { return ozarr_mpi_group_create(h_, detail::c_text(location), static_cast<ozarr_create_mode>(flags), out); });
    }
    returned<void> close(array &a) { return ended(ozarr_mpi_array_close(h_, a.get()), ozarr_array_node(a.get()), a); }
    returned<void> close(group &g) { return ended(ozarr_mpi_group_close(h_, g.get()), ozarr_group_node(g.get()), g); }

    returned<void> resize(array &a, const index &shape, std::uint32_t flags = 0) {
        if (auto wrong = detail::same_rank("shape", shape.size(), a.rank())) return refused<void>(*wrong);
        return detail::checked(ozarr_mpi_array_resize(h_, a.get(), shape.data(), flags));
    }
    returned<void> refresh(array &a) { return detail::checked(ozarr_mpi_array_refresh(h_, a.get())); }
    /// Sets an attribute to a value that is given as JSON.
    returned<void> set_attr_json(array &a, const std::string &name, const std::string &json) {
        return detail::checked(ozarr_mpi_array_set_attr(h_, a.get(), detail::c_text(name), detail::c_text(json)));
    }
    returned<void> set_attr_json(group &g, const std::string &name, const std::string &json) {
        return detail::checked(ozarr_mpi_group_set_attr(h_, g.get(), detail::c_text(name), detail::c_text(json)));
    }
    /// Sets an attribute to a number, which is stored with the digits of its type; NaN, infinities and `_FillValue` as the node's set_attr has them.
    template <class N, class T, class = std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>>
    returned<void> set_attr(N &node, const std::string &name, T value) {
        if (name == "_FillValue" && fill_is_text(node)) return set_attr_json(node, name, base64_of(static_cast<double>(value)));
        if constexpr (std::is_integral_v<T>) return set_attr_json(node, name, std::to_string(value));
        else return set_attr_json(node, name, json_of(value));
    }

    // Regions. Each rank gives its own; a region without elements takes part with nothing.

    /// Writes `size` elements at `data`, the last index fastest.
    template <class T>
    returned<void> write(const array &a, const T *data, std::size_t size, const region &r = {}) {
        return done([&](auto call) { return a.transfer(call, data, size, r); }, ozarr_mpi_array_write_all_ex);
    }
    /// Writes a vector, span, `strided` or mdspan.
    template <class M, class = detail::if_memory<const M>>
    returned<void> write(const array &a, const M &memory, const region &r = {}) {
        return done([&](auto call) { return a.transfer_all(call, memory, r); }, ozarr_mpi_array_write_all_ex);
    }
    template <class T>
    returned<void> read(const array &a, T *data, std::size_t size, const region &r = {}) {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        return done([&](auto call) { return a.transfer(call, data, size, r); }, ozarr_mpi_array_read_all_ex);
    }
    /// Reads to a span, `strided` or mdspan, or to a vector, which gets the size of the region.
    template <class M, class = detail::if_memory<M>>
    returned<void> read(const array &a, M &&memory, const region &r = {}) {
        static_assert(!std::is_const_v<std::remove_pointer_t<decltype(detail::view_of(memory).data)>>, "cannot read into constant memory");
        return done([&](auto call) { return a.transfer(call, detail::view_of(memory), r); }, ozarr_mpi_array_read_all_ex);
    }
    template <class T>
    returned<void> read(const array &a, std::vector<T> &out, const region &r = {}) {
        return done([&](auto call) { return a.read_resized(out, r, call); }, ozarr_mpi_array_read_all_ex);
    }
    /// Extends dimension `dim` by `length` elements and writes the new slab, of which each rank gives its region, as ozarr_mpi_array_append:
    /// starts are counted in the array with the slab.
    template <class T>
    returned<void> append(array &a, int dim, std::int64_t length, const region &r, const T *data, std::size_t size) {
        if (auto wrong = no_box(r, a.rank())) return refused<void>(*wrong);
        return detail::checked(ozarr_mpi_array_append(h_, a.get(), dim, length, r.start.data(), r.shape.data(), static_cast<ozarr_type>(type_of<T>::value),
                                                      data, bytes<T>(size)));
    }

    /// Begins to write; the elements must not change before the wait.
    template <class T>
    returned<ranks_request> iwrite(const array &a, const T *data, std::size_t size, const region &r = {}) {
        return begun([&](auto call) { return a.transfer(call, data, size, r); }, ozarr_mpi_array_iwrite_all);
    }
    template <class T>
    returned<ranks_request> iread(const array &a, T *data, std::size_t size, const region &r = {}) {
        static_assert(!std::is_const_v<T>, "cannot read into constant memory");
        return begun([&](auto call) { return a.transfer(call, data, size, r); }, ozarr_mpi_array_iread_all);
    }

    // Checkpoints: groups that are there as a whole or not at all.

    returned<group> begin_checkpoint(const std::string &location, const std::string &name) {
        return found([&](ozarr_group **out) { return ozarr_mpi_checkpoint_begin(h_, detail::c_text(location), detail::c_text(name), out); });
    }
    /// Creates an array of `shape` below a group, and writes this rank's region of it.
    template <class T>
    returned<void> put(group &g, const std::string &path, const index &shape, const T *data, std::size_t size, const region &r) {
        const auto n = static_cast<std::int32_t>(shape.size() <= index::max_rank ? shape.size() : index::max_rank + 1);
        const region box = r.whole ? region(index::zeros(shape.size()), shape) : r;
        if (auto wrong = no_box(box, n)) return refused<void>(*wrong);
        return detail::checked(ozarr_mpi_group_put(h_, g.get(), detail::c_text(path), static_cast<ozarr_type>(type_of<T>::value), n, shape.data(),
                                                   box.start.data(), box.shape.data(), data, bytes<T>(size)));
    }
    /// Reads this rank's region of an array below a group.
    template <class T>
    returned<void> get(const group &g, const std::string &path, T *data, std::size_t size, const region &r) {
        ozarr_array *h = nullptr;
        std::int32_t n = 0;
        index shape = index::zeros(index::max_rank);
        OZARR_MPI_TRY(ozarr_mpi_group_open_array(h_, g.get(), detail::c_text(path), &h));
        ozarr_status status = ozarr_array_rank(h, &n);
        if (status == OZARR_OK) status = ozarr_array_shape(h, shape.data());
        const region box = r.whole ? region(index::zeros(static_cast<std::size_t>(n)), index(shape.data(), static_cast<std::size_t>(n))) : r;
        if (status != OZARR_OK) status = ozarr_mpi_agree(h_, status);
        else if (auto wrong = no_box(box, n)) status = tell(*wrong);
        else status = ozarr_mpi_array_read_all(h_, h, box.start.data(), box.shape.data(), static_cast<ozarr_type>(type_of<T>::value), data, bytes<T>(size));
        // As ozarr_mpi_group_get: a checkpoint may have been removed meanwhile.
        if (status == OZARR_OK) status = ozarr_mpi_array_refresh(h_, h);
        const detail::problem failed = status == OZARR_OK ? detail::problem() : detail::problem(error::last());
        const ozarr_status closed = ozarr_mpi_array_close(h_, h);
        if (failed) OZARR_MPI_RAISE(*failed);
        return detail::checked(closed);
    }
    using collective::get;
    returned<void> commit(group &g) { return ended(ozarr_mpi_checkpoint_commit(h_, g.get()), ozarr_group_node(g.get()), g); }
    returned<void> abandon(group &g) { return ended(ozarr_mpi_checkpoint_abandon(h_, g.get()), ozarr_group_node(g.get()), g); }
    returned<group> latest_checkpoint(const std::string &location) {
        return found([&](ozarr_group **out) { return ozarr_mpi_checkpoint_latest(h_, detail::c_text(location), out); });
    }

private:
    template <class T>
    static constexpr std::size_t bytes(std::size_t size) {
        return size > static_cast<std::size_t>(-1) / sizeof(T) ? static_cast<std::size_t>(-1) : size * sizeof(T);
    }

    /// Has numbers computed as they are when a program begins: rounded to the nearest, small ones kept, without traps; until it is destroyed.
    class default_floats {
        std::fenv_t program_;

    public:
        default_floats() {
            std::fegetenv(&program_);
            std::fesetenv(FE_DFL_ENV);
        }
        default_floats(const default_floats &) = delete;
        default_floats &operator=(const default_floats &) = delete;
        ~default_floats() { std::fesetenv(&program_); }
    };

    /// Whether `_FillValue` is text: of floating-point arrays of format 3, where xarray wants a double as base64.
    static bool fill_is_text(const array &a) {
        std::int32_t format = 0;
        ozarr_type t = OZARR_AS_STORED;
        return ozarr_node_zarr_format(ozarr_array_node(a.get()), &format) == OZARR_OK && format == 3 && ozarr_array_type(a.get(), &t) == OZARR_OK &&
               (t == OZARR_FLOAT16 || t == OZARR_FLOAT32 || t == OZARR_FLOAT64);
    }
    static bool fill_is_text(const group &) { return false; }

    /// The base64 of a double's bytes, the low one first, as JSON.
    static std::string base64_of(double value) {
        static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        std::string json = "\"";
        // Three bytes are four letters; the two at the end are three, and a sign that there are no more.
        for (int first = 0; first < 8; first += 3) {
            std::uint32_t three = 0;
            for (int i = first; i < first + 3; i++) three = three << 8 | (i < 8 ? static_cast<std::uint32_t>(bits >> 8 * i & 255) : 0);
            for (int i = 0; i < 4; i++) json += first + i <= 8 ? letters[three >> (18 - 6 * i) & 63] : '=';
        }
        return json + '"';
    }

    /// A number as JSON, with as few digits as tell it from all others of its type, whatever the program's locale and floating-point environment.
    template <class T>
    static std::string json_of(T value) {
        const default_floats floats;
        using number = std::conditional_t<std::is_same_v<T, float>, float, double>;
        const auto given = static_cast<number>(value);
        if (!std::isfinite(given)) return std::isnan(given) ? "NaN" : given < 0 ? "-Infinity" : "Infinity";
        char text[64] = "";
        for (int digits = 1; digits <= std::numeric_limits<number>::max_digits10; digits++) {
            std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(given));
            if (static_cast<number>(std::strtod(text, nullptr)) == given) break;
        }
        std::string json = text;
        const std::string sign = std::localeconv()->decimal_point;
        const auto at = json.find(sign);
        if (at != std::string::npos) json.replace(at, sign.size(), ".");
        return json.find_first_not_of("-0123456789") == std::string::npos ? json + ".0" : json;
    }

    /// The result of a call that ends an array or a group.
    template <class N>
    static returned<void> ended(ozarr_status status, const ozarr_node *node, N &n) {
        return detail::ended(status, [&] { return ozarr_node_path(node, nullptr, 0, nullptr); }, [&] { n.release(); });
    }

    /// What keeps a region from being a box of `n` dimensions; steps and periods are refused as by calls that take a region.
    static detail::problem no_box(const region &r, std::int32_t n) {
        if (auto wrong = detail::same_rank("region's start", r.start.size(), n)) return wrong;
        if (auto wrong = detail::same_rank("region's shape", r.shape.size(), n)) return wrong;
        for (std::size_t d = 0; d < r.step.size() && d < index::max_rank; d++)
            if (r.step[d] != 1)
                return error(OZARR_ERR_UNSUPPORTED,
                             "region.step[" + std::to_string(d) + "] is " + std::to_string(r.step[d]) + ", expected 1 in a collective call");
        for (std::size_t d = 0; d < r.periodic_rank && d < index::max_rank; d++)
            if (r.is_periodic[d])
                return error(OZARR_ERR_UNSUPPORTED, "region.periodic[" + std::to_string(d) + "] is true, expected false in a collective call");
        return {};
    }

    /// The status of a function that gives `returned<void>`.
    template <class F>
    static ozarr_status status_of(F &call) noexcept {
        return detail::caught([&call]() -> ozarr_status {
#ifdef OZARR_NO_EXCEPTIONS
            const result<void> r = call();
            return r ? OZARR_OK : ozarr_set_error(r.error().status(), r.error().what(), nullptr);
#else
            call();
            return OZARR_OK;
#endif
        });
    }

    template <class F>
    returned<array> made(F call) {
        ozarr_array *h = nullptr;
        OZARR_MPI_TRY(call(&h));
        return array::adopt(h);
    }
    template <class F>
    returned<group> found(F call) {
        ozarr_group *h = nullptr;
        OZARR_MPI_TRY(call(&h));
        return group(h);
    }

    /// Tells the other ranks, which are in the call, what this one found wrong before it.
    ozarr_status tell(const error &e) const { return ozarr_mpi_agree(h_, ozarr_set_error(e.status(), e.what(), nullptr)); }
    template <class T>
    returned<T> refused(const error &e) const {
        static_cast<void>(tell(e));
        OZARR_MPI_FAIL;
    }

    /// Runs `move(call)`, where `call` makes the collective call of C of one region.
    template <class Move, class Call>
    ozarr_status one(Move move, Call call) const {
        bool entered = false;
        ozarr_status status = OZARR_OK;
        detail::problem problem;
        const auto in_call = [&](const ozarr_array *a, const ozarr_region *where, const ozarr_memory *memory) {
            index shape, start = index::zeros(index::max_rank);
            ozarr_region all = OZARR_REGION_INIT;
            std::int32_t n = 0;
            if (where == nullptr && ozarr_array_rank(a, &n) == OZARR_OK) {
                shape = index::zeros(static_cast<std::size_t>(n));
                if (ozarr_array_shape(a, shape.data()) == OZARR_OK) all.start = start.data(), all.shape = shape.data();
            }
            entered = true;
            return status = call(a, 1, where == nullptr ? &all : where, memory);
        };
        // A vector may find no memory.
        const auto moving = [&]() -> returned<void> {
            problem = move(in_call);
            return returned<void>();
        };
        const ozarr_status thrown = status_of(moving);
        if (entered) return status;
        return problem ? tell(*problem) : ozarr_mpi_agree(h_, thrown);
    }
    template <class Move, class Call>
    returned<void> done(Move move, Call call) const {
        return detail::checked(one(move, [&](const ozarr_array *a, std::int64_t n, const ozarr_region *r, const ozarr_memory *m) { return call(h_, a, n, r, m); }));
    }
    template <class Move, class Call>
    returned<ranks_request> begun(Move move, Call call) const {
        ozarr_mpi_request *h = nullptr;
        OZARR_MPI_TRY(one(move, [&](const ozarr_array *a, std::int64_t n, const ozarr_region *r, const ozarr_memory *m) { return call(h_, a, n, r, m, &h); }));
        return ranks_request(h);
    }
};

/// The steps of a dataset's variables along one dimension, written by all ranks.
class ranks_series {
public:
    ranks_series() = default;
    /// The first `keep` steps stay (negative: all that all variables have). Readers see steps every `publish_every` (0: whenever the chunks of
    /// the fields are whole); at most `memory` bytes wait on a rank (0: no limit).
    static returned<ranks_series> open(const ranks &m, const std::string &location, const std::string &dimension, std::int64_t keep = -1,
                                       std::int64_t publish_every = 0, std::size_t memory = 0) {
        ranks_series s;
        OZARR_MPI_TRY(ozarr_mpi_series_open(m.get(), detail::c_text(location), detail::c_text(dimension), keep, publish_every, memory, &s.h_));
        s.ranks_ = m.get();
        return s;
    }
    /// Gives a variable this rank's region of the step that comes next; it lacks the dimension of the series.
    template <class T>
    returned<void> put(const std::string &name, const region &r, const T *data, std::size_t size) {
        return put_described(name, r, [&](detail::step_memory &from) { return from.set(detail::view<const T>{data, size}, r.shape); });
    }
    /// From any memory: a vector or a span of just the region's elements; or with one stride for each of its dimensions.
    template <class M, class = detail::if_memory<const M>>
    returned<void> put(const std::string &name, const region &r, const M &memory) {
        return put_described(name, r, [&](detail::step_memory &from) { return from.set_exactly(detail::view_of(memory), r.shape); });
    }
    /// Ends the step, whose coordinate is `value`.
    returned<void> step(double value) { return detail::checked(ozarr_mpi_series_step(ranks_, h_, value)); }
    returned<std::int64_t> position() const {
        return detail::value<std::int64_t>([&](std::int64_t *n) { return ozarr_mpi_series_position(h_, n, nullptr); });
    }
    /// The number of steps that readers see.
    returned<std::int64_t> published() const {
        return detail::value<std::int64_t>([&](std::int64_t *n) { return ozarr_mpi_series_position(h_, nullptr, n); });
    }
    /// Stores and publishes all steps that were taken.
    returned<void> flush() { return detail::checked(ozarr_mpi_series_flush(ranks_, h_)); }
    /// To be called on all ranks: a destructor closes nothing.
    returned<void> close() {
        return detail::ended(ozarr_mpi_series_close(ranks_, h_), [&] { return ozarr_mpi_series_position(h_, nullptr, nullptr); }, [&] { h_ = nullptr; });
    }

private:
    /// `set` describes the memory of the region.
    template <class Set>
    returned<void> put_described(const std::string &name, const region &r, Set set) {
        detail::step_memory from;
        ozarr_region box = OZARR_REGION_INIT;
        box.start = r.start.data(), box.shape = r.shape.data();
        box.step = r.step.empty() ? nullptr : r.step.data();
        box.periodic = r.periodic_rank == 0 ? nullptr : r.is_periodic;
        const auto as_many = [&r](std::size_t n) { return n == r.shape.size(); };
        const bool fits = as_many(r.start.size()) && (r.step.empty() || as_many(r.step.size())) &&
                          (r.periodic_rank == 0 || as_many(r.periodic_rank));
        if (const auto wrong = fits ? set(from) : detail::problem())
            return detail::checked(ozarr_mpi_agree(ranks_, ozarr_set_error(wrong->status(), wrong->what(), nullptr)));
        const auto rank = fits ? static_cast<std::int32_t>(r.start.size()) : -1;
        return detail::checked(ozarr_mpi_series_put_ex(ranks_, h_, detail::c_text(name), rank, &box, &from.value));
    }

    ozarr_mpi *ranks_ = nullptr;
    ozarr_mpi_series *h_ = nullptr;
};

} // namespace OZARR_MPI_MODE
} // namespace ozarr

#undef OZARR_MPI_MODE
#undef OZARR_MPI_FAIL
#undef OZARR_MPI_RAISE
#undef OZARR_MPI_TRY

#endif // OZARR_MPI_HPP
