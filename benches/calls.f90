! What a call costs through the module `ozarr` beside the C function: reads of one element of an array in memory, in
! nanoseconds each.
program calls
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use ozarr
  use ozarr_c, only: ozarr_store_memory, ozarr_spec_new, ozarr_spec_set_chunks, ozarr_spec_set_compressor, ozarr_array_create_at, &
    ozarr_array_write_region, ozarr_array_read_region
  implicit none
  integer, parameter :: n = 20000, rounds = 15
  type(ozarr_store) :: store
  type(ozarr_array) :: a
  type(c_ptr) :: c_store, c_spec, c_array
  real(real64), target :: u(1000, 10), x, sum
  integer(c_int64_t), target :: start(2), shape(2), chunks(2)
  integer(int64) :: t0, t1, rate
  real(real64) :: best_c, best_f, best_s
  integer :: i, r

  u = 1
  sum = 0
  call store%memory()
  call a%create(store, "a", OZARR_FLOAT64, [1000, 10], chunks=[1000, 10], compressor="none")
  call a%write(u)
  c_array = c_null_ptr
  c_spec = c_null_ptr
  c_store = c_null_ptr
  shape = [10, 1000]
  chunks = shape
  call ok(ozarr_store_memory(c_store))
  call ok(ozarr_spec_new(OZARR_FLOAT64, 2_c_int32_t, shape, c_spec))
  call ok(ozarr_spec_set_chunks(c_spec, chunks))
  call ok(ozarr_spec_set_compressor(c_spec, "none" // c_null_char, -1_c_int32_t))
  call ok(ozarr_array_create_at(c_store, "a" // c_null_char, c_spec, OZARR_CREATE_NEW, c_array))
  start = 0
  call ok(ozarr_array_write_region(c_array, start, shape, OZARR_FLOAT64, c_loc(u), int(8*10000, c_size_t)))
  shape = 1
  best_c = huge(best_c)
  best_f = best_c
  best_s = best_c
  do r = 1, rounds
    call system_clock(t0, rate)
    do i = 0, n - 1
      start = [3, mod(i, 1000)]
      call ok(ozarr_array_read_region(c_array, start, shape, OZARR_FLOAT64, c_loc(x), 8_c_size_t))
      sum = sum + x
    end do
    call system_clock(t1)
    best_c = min(best_c, real(t1 - t0, real64)/real(rate, real64)*1e9/n)
    call system_clock(t0)
    do i = 0, n - 1
      call a%read(x, start=[1 + mod(i, 1000), 4])
      sum = sum + x
    end do
    call system_clock(t1)
    best_f = min(best_f, real(t1 - t0, real64)/real(rate, real64)*1e9/n)
    call system_clock(t0)
    do i = 0, n - 1
      call a%read(u(5:5, 5:5), start=[1 + mod(i, 1000), 4], count=[1, 1], stride=[1, 1])
      sum = sum + u(5, 5)
    end do
    call system_clock(t1)
    best_s = min(best_s, real(t1 - t0, real64)/real(rate, real64)*1e9/n)
  end do
  print "(a, f7.0, a)", "C       ozarr_array_read_region        ", best_c, " ns"
  print "(a, f7.0, a, sp, f7.0)", "Fortran a%read(x, start)               ", best_f, " ns ", best_f - best_c
  print "(a, f7.0, a, sp, f7.0)", "Fortran a%read(section, start, count..)", best_s, " ns ", best_s - best_c
  if (sum < 1) error stop

contains

  subroutine ok(status)
    integer(c_int32_t), intent(in) :: status
    if (status /= OZARR_OK) error stop "a call failed"
  end subroutine ok

end program calls
