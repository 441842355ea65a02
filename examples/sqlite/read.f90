! Reads what examples/sqlite/write.c wrote into a SQLite database: the functions of the store are C's, all else is Fortran.
program read_sqlite
  use, intrinsic :: iso_c_binding
  use ozarr_c
  implicit none
  interface
    function sqlite_store_open(path, mode, out) bind(c) result(r)
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: path(*), mode(*)
      type(c_ptr), intent(inout) :: out
      integer(c_int32_t) :: r
    end function sqlite_store_open
  end interface
  type(c_ptr) :: store = c_null_ptr, t = c_null_ptr
  real(c_double), target :: row(50)
  integer(c_int64_t) :: start(2) = [7, 0], count(2) = [1, 50]

  call check(sqlite_store_open("run.db" // c_null_char, "r" // c_null_char, store))
  call check(ozarr_array_open_at(store, "run/temperature" // c_null_char, t))
  call check(ozarr_array_read_region(t, start, count, OZARR_FLOAT64, c_loc(row), c_sizeof(row)))
  print '(a, f6.1, a, f6.1)', "row 7 from Fortran: ", row(1), " to ", row(50)
  call check(ozarr_array_close(t))
  call check(ozarr_store_close(store))

contains

  subroutine check(status)
    integer(c_int32_t), intent(in) :: status
    if (status /= OZARR_OK) error stop "the store failed"
  end subroutine check

end program read_sqlite
