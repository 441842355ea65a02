! Appends from several handles, threads and variables: each step is stored once, behind those before it.
program f_append
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use ozarr
  use f_check
  implicit none

  call stale_handles()
  call threads()
  call sections()
  call refreshing()
  call arrays_of_handles()
  call finish()

contains

  ! The second handle was opened before the first one appended.
  subroutine stale_handles()
    type(ozarr_array) :: first, second
    integer :: k, steps(2, 11)
    call first%create("run.zarr/stale", OZARR_INT32, [2, 0], chunks=[2, 4])
    call second%open("run.zarr/stale", mode="r+")
    do k = 1, 10
      call first%append([k, -k])
    end do
    call second%append([11, -11])
    call check(all(second%shape() == [2, 11]), "the length after both")
    call first%refresh()
    call first%read(steps)
    call check(all(steps(1, :) == [(k, k=1, 11)]) .and. all(steps(2, :) == [(-k, k=1, 11)]), "the steps of both")
  end subroutine stale_handles

  subroutine threads()
    type(ozarr_array) :: a
    integer :: k, failures_here, stat, steps(40)
    call a%create("run.zarr/threads", OZARR_INT32, [0], chunks=[8])
    failures_here = 0
    !$omp parallel do num_threads(8) private(stat) reduction(+:failures_here) schedule(dynamic, 1)
    do k = 1, 40
      call a%append(k, stat=stat)
      if (stat /= OZARR_OK) failures_here = failures_here + 1
    end do
    call check(failures_here == 0 .and. all(a%shape() == [40]), "all threads appended")
    call a%read(steps)
    call check(sum(steps) == 820 .and. maxval(steps) == 40 .and. minval(steps) == 1, "each thread's steps are there once")
  end subroutine threads

  subroutine sections()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    real(real64) :: wide(5, 6), back(3, 5)
    logical :: flags(4), flags_back(2)
    integer :: i, stat
    character(200) :: message
    call store%memory()
    wide = reshape([(real(i, real64), i=1, 30)], [5, 6])
    call a%create(store, "s", OZARR_FLOAT64, [3, 0])
    call a%append(wide(1:5:2, 2:6:2))
    call a%append(wide(5:1:-2, 1))
    call a%append(wide(1:3, 6:6))
    call a%read(back)
    call check(all(back(:, 1:3) == wide(1:5:2, 2:6:2)) .and. all(back(:, 4) == wide(5:1:-2, 1)) .and. &
      all(back(:, 5) == wide(1:3, 6)), "sections")
    call a%append(wide(1:3, 1:0))
    call check(all(a%shape() == [3, 5]), "no steps")
    call a%create(store, "l", OZARR_BOOL, [0])
    flags = [.true., .false., .true., .true.]
    call a%append(flags(2:4:2))
    call a%read(flags_back)
    call check(.not. flags_back(1) .and. flags_back(2), "logicals")
    message = ""
    call a%create(store, "i", OZARR_INT8, [3, 1])
    call a%append([1, 2, 1000], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "int8 ends at 127", "a step that does not fit")
    call check(all(a%shape() == [3, 1]), "a failed append leaves the shape")
  end subroutine sections

  subroutine refreshing()
    type(ozarr_array) :: writer, reader
    integer :: stat, step(3), runs
    call writer%create("run.zarr/grows", OZARR_INT32, [3, 1])
    call reader%open("run.zarr/grows")
    call writer%append([1, 2, 3])
    call writer%set_attr("runs", 7)
    call reader%read(step, start=[1, 2], stat=stat)
    call check(stat == OZARR_ERR_BOUNDS .and. .not. reader%has_attr("runs"), "the reader has the old shape and attributes")
    call reader%refresh()
    call reader%get_attr("runs", runs)
    call check(runs == 7, "the attribute after refresh")
    call reader%read(step, start=[1, 2])
    call check(all(step == [1, 2, 3]) .and. all(reader%shape() == [3, 2]), "refresh")
  end subroutine refreshing

  subroutine arrays_of_handles()
    type(ozarr_array), allocatable :: list(:), grid(:, :)
    integer :: i
    allocate (list(3), grid(2, 2))
    do i = 1, 3
      call list(i)%open("run.zarr/grows")
    end do
    call grid(2, 2)%open("run.zarr/grows")
    deallocate (list, grid)
    allocate (list(1))
    call check(.not. list(1)%is_open(), "handles of an array are freed with it")
  end subroutine arrays_of_handles

end program f_append
