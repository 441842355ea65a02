! Parts for parallel programs, metadata that are sent, threads of OpenMP, listings, resizing.
program f_parallel
  use, intrinsic :: iso_fortran_env, only: int8, int64, real64
  use ozarr
  use f_check
  implicit none

  call parts()
  call sent()
  call threads()
  call batch_of_threads()
  call fork_of_threads()
  call listings()
  call resizing()
  call either()
  call refusals()
  call finish()

contains

  ! Each worker writes its part; together they are the array.
  subroutine parts()
    type(ozarr_array) :: a
    integer(int64), allocatable :: start(:), count(:)
    integer :: w, total, u(10, 9)
    integer, allocatable :: part(:, :)
    call a%create("run.zarr/parts", OZARR_INT32, [10, 9], chunks=[4, 3], fill=-1)
    total = 0
    do w = 1, 4
      call a%partition(w, 4, start, count)
      call check(all(mod(start - 1, [4_int64, 3_int64]) == 0), "parts begin where chunks do")
      allocate (part(count(1), count(2)), source=w)
      call a%write(part, start=start, count=count)
      total = total + size(part)
      deallocate (part)
    end do
    call a%read(u)
    call check(total == 90 .and. all(u >= 1) .and. maxval(u) == 4, "the parts are the array")
    call a%partition(3, 3, start, count, region_start=[1, 4], region_count=[10, 3])
    call check(all(start == [9, 4]) .and. all(count == [2, 3]), "a part of a region")
    call a%partition(100, 100, start, count)
    allocate (part(count(1), count(2)), source=5)
    call a%write(part, start=start, count=count)
    call check(product(count) == 0, "a part without elements")
  end subroutine parts

  subroutine sent()
    type(ozarr_array) :: a, b
    type(ozarr_group) :: g, h
    type(ozarr_store) :: s
    integer(int8), allocatable :: bytes(:)
    integer :: u(4), stat
    call g%create("sent.zarr")
    call a%create(g, "a", OZARR_INT32, [4])
    call a%write([1, 2, 3, 4])
    call a%export(bytes)
    call check(size(bytes) > 100, "exported")
    call s%open("sent.zarr", mode="r+")
    call ozarr_import(s, bytes, b)
    call b%read(u)
    call check(all(u == [1, 2, 3, 4]) .and. b%rank() == 1, "an array")
    call ozarr_import("sent.zarr", bytes, b, h, mode="r+")
    call check(b%is_open() .and. .not. h%is_open(), "an array at a location")
    call ozarr_import(s, bytes, group=h, stat=stat)
    call check(stat == OZARR_ERR_NODE_KIND .and. .not. h%is_open(), "an array where a group is expected")
    call b%write([5], start=[1])
    call g%export(bytes)
    call ozarr_import(s, bytes, group=h)
    call b%open(h, "a")
    call b%read(u)
    call check(u(1) == 5, "a group")
    call ozarr_import("sent.zarr", bytes, b, h)
    call check(h%is_open() .and. .not. b%is_open(), "a group at a location")
  end subroutine sent

  ! Threads write different regions with one handle.
  subroutine threads()
    type(ozarr_array) :: a
    real(real64) :: u(16, 16), back(16, 16)
    integer :: k, stat, failures_here
    call a%create("run.zarr/threads", OZARR_FLOAT64, [16, 16], chunks=[16, 3])
    failures_here = 0
    !$omp parallel do num_threads(4) private(stat) reduction(+:failures_here)
    do k = 1, 16
      u(:, k) = k
      call a%write(u(:, k), start=[1, k], stat=stat)
      if (stat /= OZARR_OK) failures_here = failures_here + 1
    end do
    call a%read(back)
    call check(failures_here == 0 .and. all(back == u), "columns by threads")
  end subroutine threads

  ! Threads add regions to one batch.
  subroutine batch_of_threads()
    integer, parameter :: columns = 2000, rounds = 40
    type(ozarr_array) :: a
    type(ozarr_batch) :: b
    real(real64), asynchronous :: u(1, columns)
    integer :: k, round, lost
    u = 1
    call a%create("run.zarr/batch_threads", OZARR_FLOAT64, [1, columns], chunks=[1, columns])
    call a%write(u)
    lost = 0
    do round = 1, rounds
      u = 0
      !$omp parallel do num_threads(8)
      do k = 1, columns
        call b%read(a, u(:, k), start=[1, k])
      end do
      lost = lost + columns - b%size()
      call b%run()
      lost = lost + count(u /= 1)
    end do
    call check(lost == 0, "a batch to which threads add")
  end subroutine batch_of_threads

  ! A child of fork can use the module, whatever another thread of its parent is doing: here one has the lock of the lists, as it has while it adds to one.
  subroutine fork_of_threads()
    use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr, c_ptr
    interface
      subroutine lock() bind(c, name="ozf_lock")
      end subroutine lock
      subroutine unlock() bind(c, name="ozf_unlock")
      end subroutine unlock
      integer(c_int) function fork() bind(c)
        import :: c_int
      end function fork
      integer(c_int) function alarm(seconds) bind(c)
        import :: c_int
        integer(c_int), value :: seconds
      end function alarm
      integer(c_int) function usleep(microseconds) bind(c)
        import :: c_int
        integer(c_int), value :: microseconds
      end function usleep
      integer(c_int) function waitpid(process, ended, options) bind(c)
        import :: c_int
        integer(c_int), value :: process, options
        integer(c_int) :: ended
      end function waitpid
      subroutine leave(code) bind(c, name="_exit")
        import :: c_int
        integer(c_int), value :: code
      end subroutine leave
    end interface
    integer(c_int) :: child, ended, ignored
    logical :: held
    held = .false.
    child = -1
    ended = -1
    !$omp parallel sections num_threads(2) private(ignored)
    !$omp section
    call lock()
    !$omp atomic write
    held = .true.
    ! Until the other one forks, which may have to wait for this.
    ignored = usleep(200000_c_int)
    call unlock()
    !$omp section
    ignored = wait_for(held)
    child = fork()
    if (child == 0) then
      ignored = alarm(10_c_int)
      call lock()
      call unlock()
      call leave(0_c_int)
    end if
    !$omp end parallel sections
    ignored = waitpid(child, ended, 0_c_int)
    call check(child > 0 .and. ended == 0, "a child of fork adds to lists")
  end subroutine fork_of_threads

  ! Waits until another thread has set something; also where there is none.
  integer function wait_for(is_set)
    logical, intent(in) :: is_set
    logical :: now
    do wait_for = 1, 100000000
      !$omp atomic read
      now = is_set
      if (now) return
    end do
  end function wait_for

  subroutine listings()
    type(ozarr_group) :: g, sub
    type(ozarr_array) :: a
    character(:), allocatable :: paths(:), errors(:)
    integer, allocatable :: kinds(:)
    integer :: i, unit
    character(8) :: name
    call g%create("tree.zarr")
    call sub%create(g, "fields")
    do i = 1, 40
      write (name, "(a, i0)") "step", i
      call a%create(sub, trim(name), OZARR_INT32, [1])
    end do
    call g%nodes(paths, kinds)
    call check(size(paths) == 41 .and. paths(1) == "fields" .and. count(kinds == OZARR_NODE_KIND_ARRAY) == 40, "all nodes")
    call g%nodes(paths, pattern="**/step1?")
    call check(size(paths) == 10 .and. all(paths(:)(:12) == "fields/step1"), "a pattern")
    call g%nodes(paths, depth=1)
    call check(size(paths) == 1, "children only")
    open (newunit=unit, file="tree.zarr/fields/step1/zarr.json")
    write (unit, "(a)") "{"
    close (unit)
    call g%open("tree.zarr")
    call g%nodes(paths, kinds, errors=errors)
    call check(count(kinds == OZARR_NODE_KIND_UNKNOWN) == 1 .and. count(len_trim(errors) > 0) == 1, "a node that is damaged")
  end subroutine listings

  subroutine resizing()
    type(ozarr_array) :: a
    integer :: u(8)
    call a%create("run.zarr/resized", OZARR_INT32, [8], chunks=[4])
    call a%write([1, 2, 3, 4, 5, 6, 7, 8])
    call a%resize([2], keep=.true.)
    call a%resize([8])
    call a%read(u)
    call check(all(u == [1, 2, 3, 4, 5, 6, 7, 8]), "kept")
    call a%resize([2_int64])
    call a%resize([8_int64])
    call a%read(u)
    call check(all(u == [1, 2, 0, 0, 0, 0, 0, 0]), "erased")
    call check(a%item_size() == 4, "the size of an element")
    call a%set_dimension_names(["x"])
  end subroutine resizing

  subroutine either()
    type(ozarr_array) :: a
    type(ozarr_group) :: g
    integer :: stat
    call ozarr_open("tree.zarr", a, g)
    call check(g%is_open() .and. .not. a%is_open(), "a group")
    call ozarr_open("run.zarr/resized", a, g, mode="r+")
    call check(a%is_open() .and. .not. g%is_open() .and. a%rank() == 1, "an array")
    call ozarr_open("run.zarr/nothing", a, g, stat=stat)
    call check(stat == OZARR_ERR_NOT_FOUND .and. .not. a%is_open() .and. .not. g%is_open(), "nothing")
  end subroutine either

  subroutine refusals()
    type(ozarr_array) :: a, closed
    type(ozarr_store) :: s
    integer(int64), allocatable :: start(:), count(:)
    integer(int8), allocatable :: bytes(:)
    integer(int64) :: first, length
    integer :: stat
    character(300) :: message
    message = ""
    call a%create("run.zarr/refused", OZARR_INT32, [8])
    call a%partition(0, 4, start, count, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "worker is 0, expected 1 to 4", "workers count from 1")
    call a%partition(5, 4, start, count, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "worker is 5", "a worker too many")
    call a%partition(1, 1, start, count, region_start=[1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "both or none", "half of a region")
    call a%partition(1, 1, start, count, region_start=[1], region_count=[9], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "", "a region that leaves the array")
    call closed%partition(1, 1, start, count, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "a part of no array")
    call closed%export(bytes, stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_NULL .and. size(bytes) == 0, "no array to send")
    call s%memory()
    call ozarr_import(s, [1_int8, 2_int8], a, stat=stat, errmsg=message)
    call check(stat /= OZARR_OK .and. .not. a%is_open(), "bytes that are no export")
    call a%open("run.zarr/refused")
    call a%chunk_extent(2, 1, first, length, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "dim is 2, expected 1 to 1", "a dimension too many")
    call a%chunk_extent(1, 0, first, length, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "from 1", "chunk 0")
    call a%set_dimension_names(["x", "y"], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "names has 2 texts", "too many names")
    call a%resize([9], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_READ_ONLY, message, "", "an array that is open for reading")
  end subroutine refusals

end program f_parallel
