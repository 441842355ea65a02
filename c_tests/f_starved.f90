! Calls of the Fortran module in a process whose memory ends: they say so, and the program goes on.
program f_starved
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int64
  use ozarr
  use f_check
  implicit none
  interface
    function setrlimit(what, limits) bind(c)
      import :: c_int, c_long
      integer(c_int), value :: what
      integer(c_long), intent(in) :: limits(2)
      integer(c_int) :: setrlimit
    end function setrlimit
    function getpagesize() bind(c)
      import :: c_int
      integer(c_int) :: getpagesize
    end function getpagesize
  end interface
  type(ozarr_array) :: a
  integer, parameter :: many = 16 * 1024 * 1024
  integer, allocatable :: points(:, :)
  integer(int8), allocatable :: u(:)
  integer :: stat

  call a%create("run.zarr/a", OZARR_INT8, [6, many], chunks=[6, 1024])
  allocate (points(2, many), u(many))
  points = 1
  u = 1
  call a%write_points([1_int8], points(:, :1))
  call room(64)
  call a%read_points(u, points, stat=stat)
  call check(stat == OZARR_ERR_NO_MEMORY, "a list of points that has no room")
  call a%read_points(u(:1), points(:, :1), stat=stat)
  call check(stat == OZARR_OK, "the next one has")
  call finish()

contains

  ! Leaves that many MiB beyond what the process has.
  subroutine room(mebibytes)
    integer, intent(in) :: mebibytes
    integer(c_long) :: pages
    integer :: unit
    open (newunit=unit, file="/proc/self/statm", action="read")
    read (unit, *) pages
    close (unit)
    call check(setrlimit(9_c_int, [pages * getpagesize() + mebibytes * 1048576_c_long, -1_c_long]) == 0, "limit")
  end subroutine room
end program f_starved
