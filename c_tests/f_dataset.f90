! Datasets: dimensions, coordinates, variables, packed numbers, times, appenders.
program f_dataset
  use, intrinsic :: iso_fortran_env, only: int8, int16, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan, ieee_is_nan
  use ozarr
  use f_check
  implicit none

  call definitions()
  call packing()
  call times()
  call appending()
  call refusals()
  call finish()

contains

  subroutine definitions()
    type(ozarr_dataset) :: ds
    type(ozarr_group) :: g
    type(ozarr_array) :: t, x, time, station
    type(ozarr_dtype) :: letters
    type(ozarr_spec) :: spec
    integer :: status
    character(12) :: stations(4)
    character(:), allocatable :: names(:), name, text
    integer(int64), allocatable :: lengths(:)
    logical, allocatable :: coordinates(:)
    real(real64) :: values(4)
    call ds%create("run.zarr")
    call ds%define_coordinate("x", [1d0, 2d0, 3d0, 4d0], units="m", array=x)
    call ds%define_coordinate("level", [10, 20])
    call ds%define_time("time", 0, "hours since 2026-01-01", chunk=16, array=time)
    call check(all(time%chunks() == [16]), "the chunks of a time axis")
    call ds%define_dimension("y", 3)
    call ds%define_variable("t", OZARR_FLOAT32, [character(4) :: "x", "y", "time"], t, units="K", long_name="temperature", &
      standard_name="air_temperature", chunks=[4, 3, 8], compressor="blosc:zstd", level=3, shuffle=OZARR_SHUFFLE_BYTE)
    call check(all(t%shape() == [4, 3, 0]) .and. all(t%chunks() == [4, 3, 8]), "a variable")
    call t%dimension_name(1, name)
    call check(name == "x", "its first dimension")
    call t%get_attr_text("standard_name", text)
    call check(text == "air_temperature", "its attributes")
    call x%read(values)
    call check(all(values == [1, 2, 3, 4]), "the values of a coordinate")
    call spec%create(OZARR_INT16, rank=2, chunks=[2, 3])
    call ds%define_variable("mask", OZARR_INT16, ["x", "y"], spec=spec)
    call letters%text(12)
    call spec%create(letters, rank=1)
    call ds%define_variable("station", OZARR_AS_STORED, ["x"], station, spec=spec)
    call station%write_text(["Abisko ", "Brocken", "Cuxhave", "Davos  "])
    call station%read_text(stations)
    call check(stations(3) == "Cuxhave", "texts")
    call spec%create(letters, stat=status)
    call check(status == OZARR_ERR_ARGUMENT, "a specification with neither a shape nor a rank")
    call spec%create(letters, [4], rank=2, stat=status)
    call check(status == OZARR_ERR_RANK, "a shape of another rank")
    call ds%define_variable("height", OZARR_FLOAT64, ["x"])
    call ds%set_coordinate("height")
    call ds%resize_dimension("time", 5_int64)
    call check(ds%length("time") == 5, "the length of a dimension")
    call t%resize([4, 3, 6])
    call check(ds%length("time") == 5 .and. ds%longest("time") == 6, "the longest variable")
    call t%resize([4, 3, 5])
    call ds%dimensions(names, lengths)
    call check(size(names) == 4 .and. size(lengths) == 4 .and. len(names) == 5 .and. any(names == "level"), "dimensions")
    call ds%variables(names, coordinates)
    call check(size(names) == 7 .and. count(coordinates) >= 3 .and. any(names == "mask"), "variables")
    call ds%group(g)
    call g%set_attr("title", "a run")
    call ds%close()
    call check(.not. ds%is_open(), "closed")
    call g%open("run.zarr")
    call ds%open(g)
    call ds%open_variable("t", t)
    call check(all(t%shape() == [4, 3, 5]), "opened again")
    call ds%open_variable("mask", t)
    call check(all(t%chunks() == [2, 3]), "the choices of a specification")
    call t%get_attr_text("coordinates", text)
    call check(text == "height", "an auxiliary coordinate")
  end subroutine definitions

  subroutine packing()
    type(ozarr_dataset) :: ds
    type(ozarr_array) :: p
    real(real64) :: u(3), back(3)
    real(real32) :: four(3)
    integer(int16) :: stored(3), missing
    integer(int8) :: small
    integer :: stat
    logical :: defined
    character(200) :: message
    call ds%create("packed.zarr")
    call ds%define_dimension("x", 3)
    call ds%define_variable("p", OZARR_INT16, ["x"], p, missing=-999_int16, scale_factor=0.01d0, add_offset=300d0)
    u = [300.5d0, ieee_value(1d0, ieee_quiet_nan), 299.25d0]
    call p%write_packed(u)
    call p%read(stored)
    call check(all(stored == [50_int16, -999_int16, -75_int16]), "what is stored")
    call p%read_unpacked(back)
    call check(abs(back(1) - 300.5d0) < 1d-9 .and. ieee_is_nan(back(2)) .and. abs(back(3) - 299.25d0) < 1d-9, "unpacked")
    call p%read_unpacked(four(3:1:-1), start=[1])
    call check(abs(four(3) - 300.5) < 1e-4, "unpacked as real(4), mirrored")
    missing = 0
    call p%missing_value(missing, defined)
    call check(missing == -999 .and. defined, "the missing value")
    call ds%define_variable("mask", OZARR_UINT8, ["x"], p, missing=-1_int8)
    call p%read(stored)
    call check(all(stored == 255_int16), "the missing value of a type without a sign")
    small = 0
    call p%missing_value(small, defined)
    call check(small == -1 .and. defined, "the missing value of a type without a sign, as it was given")
    small = 0
    call p%fill_value(small)
    call check(small == -1, "its fill value")
    call ds%define_variable("flag", OZARR_BOOL, ["x"], p, missing=.true._int16, stat=stat, errmsg=message)
    call check(stat == OZARR_OK, "a missing value of logical(2): " // message)
    call ds%close()
  end subroutine packing

  subroutine times()
    type(ozarr_dataset) :: ds
    type(ozarr_array) :: time
    integer(int64) :: counts(3), seconds(3), wide(2, 3), count
    character(:), allocatable :: text
    call ds%create("times.zarr")
    call ds%define_time("time", 3, "hours since 2026-01-01", calendar="noleap", array=time)
    call time%write([0, 6, 12])
    call time%read_times(seconds, "seconds since 2026-01-01")
    call check(all(seconds == [0, 21600, 43200]), "hours as seconds")
    call time%write_times([3600_int64], "seconds since 2026-01-01", start=[2])
    call time%read(counts)
    call check(all(counts == [0, 1, 12]), "seconds as hours")
    wide = -1
    call time%read_times(wide(2, :), "minutes since 2026-01-01")
    call check(all(wide(2, :) == [0, 60, 720]) .and. all(wide(1, :) == -1), "to a section")
    call ozarr_time_text(36_int64, "hours since 2026-01-01", text)
    call check(text == "2026-01-02 12:00:00", "a time as text")
    call ozarr_time_count("2026-01-02 12:00:00", "hours since 2026-01-01", count)
    call check(count == 36, "a text as time")
    call ozarr_time_text(0_int64, "days since 2026-02-30", text, calendar="360_day")
    call check(text(:10) == "2026-02-30", "another calendar")
    call ds%close()
  end subroutine times

  subroutine appending()
    type(ozarr_appender) :: out
    type(ozarr_array) :: a, reader
    real(real64) :: u(4, 3), wide(6, 5), back(4, 3, 7)
    integer(int64) :: length
    integer :: k
    call a%create("steps.zarr", OZARR_FLOAT64, [4, 3, 0], chunks=[4, 3, 4])
    call reader%open("steps.zarr")
    call out%open(a, publish_every=2)
    do k = 1, 5
      u = k
      call out%append(u)
    end do
    call check(out%position() == 5 .and. out%published() == 4, "published in pairs")
    call reader%wait_growth(0_int64, 5d0, length)
    call check(length == 4 .and. all(reader%shape() == [4, 3, 4]), "the reader sees whole pairs")
    wide = 6
    call out%append(wide(2:5, 2:4))
    call out%append(reshape([(7d0, k=1, 12)], [4, 3, 1]))
    call out%flush()
    call check(out%published() == 7, "flush publishes")
    call out%close()
    call check(.not. out%is_open(), "closed")
    call reader%refresh()
    call reader%read(back)
    call check(all([(all(back(:, :, k) == k), k=1, 7)]), "the steps")
  end subroutine appending

  subroutine refusals()
    type(ozarr_dataset) :: ds, closed
    type(ozarr_array) :: a
    type(ozarr_appender) :: out
    type(ozarr_spec) :: spec
    character(:), allocatable :: names(:), text
    integer(int64) :: length
    integer :: stat
    character(300) :: message
    message = ""
    call ds%open("nowhere.zarr", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "nowhere.zarr", "no dataset")
    call ds%create("refused.zarr")
    call ds%define_dimension("x", 3)
    call ds%define_dimension("x", 4, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "x", "another length")
    call ds%define_dimension("y", 4.5, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "expected an integer", "a length that is no integer")
    call ds%define_dimension("y", -4, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "-4", "a negative length")
    call ds%define_variable("t", OZARR_FLOAT32, ["z"], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "z", "an unknown dimension")
    call ds%define_variable("t", OZARR_FLOAT32, ["x"], missing=1, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "of type int32, expected that of the variable, float32", &
      "a missing value of another type")
    call ds%define_variable("t", OZARR_FLOAT32, ["x"], chunks=[1, 1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "chunks has 2 numbers, expected 1", "chunks of another rank")
    call ds%define_variable("t", OZARR_FLOAT32, ["x"], spec=spec, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "specification", "a closed specification")
    call ds%open_variable("t", a, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "t", "no such variable")
    call ds%define_time("time", 1, "fortnights since 2026-01-01", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "fortnights", "an unknown unit")
    call ozarr_time_count("soon", "hours since 2026-01-01", length, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "soon", "no time")
    call closed%variables(names, stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_NULL .and. size(names) == 0, "variables of a closed dataset")
    call closed%dimensions(names, stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_NULL .and. size(names) == 0, "dimensions of a closed dataset")
    call closed%close(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "close a closed dataset")
    call a%create("refused.zarr/steps", OZARR_FLOAT32, [2, 0])
    call out%open(a, dim=3, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "dim is 3, expected 1 to 2", "a dimension too many")
    call out%append([1.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "appender is not open", "an appender that is not open")
    call out%open(a)
    call out%append([1.0, 2.0, 3.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "[3], expected that of a slab", "a step of another shape")
    call check(out%position() == 0, "a refused step is not counted")
    call a%wait_growth(0_int64, 0d0, length, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TIMEOUT, message, "", "no growth")
    call ozarr_time_text(0_int64, "hours", text, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "hours", "units without a date")
  end subroutine refusals

end program f_dataset
