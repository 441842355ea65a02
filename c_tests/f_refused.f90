! What must not compile: a line with `refused` is an error of its own, every other line is right. See f_refused.cmake.
program f_refused
  use ozarr
  implicit none
  type :: point
    real :: x, y
  end type point
  type(ozarr_array) :: a
  type(ozarr_request) :: r
  type(ozarr_dataset) :: d
  type(ozarr_series) :: s
  type(ozarr_appender) :: p
  logical :: wide(2) = .true.
  type(point) :: points(2)
  character(1) :: letter = "x"
  character(30) :: words(2) = "x"
  real(selected_real_kind(30)) :: quad(2) = 1
  call a%write([1, 2])
  call a%write("y")                              ! refused
  call a%write(letter)                           ! refused
  call a%write(words)                            ! refused
  call a%write(["y", "z"])                       ! refused
  call a%append("q")                             ! refused
  call a%append(["a", "b"])                      ! refused
  call a%read(words)                             ! refused
  call a%read(3)                                 ! refused
  call a%read(points)                            ! refused
  call a%write(points)                           ! refused
  call a%write(quad)                             ! refused
  call a%create("x", OZARR_INT32, 2)             ! refused
  call a%create("x", OZARR_INT32, [2], fill=[1]) ! refused
  call a%create("x", OZARR_INT32, [2], fill=1)
  call a%iwrite([1, 2], r)
  call a%iwrite(wide, r)                         ! refused
  call a%iread(words, r)                         ! refused
  call a%write_packed([1, 2])                    ! refused
  call a%write_points("x", reshape([1], [1, 1])) ! refused
  call a%read_text(points)                       ! refused
  call a%write_times([1, 2], "hours")            ! refused
  call a%set_attr("x", (1.0, 2.0))               ! refused
  call d%define_coordinate("x", ["a"])           ! refused
  call s%put("t", "x")                           ! refused
  call s%put("t", [1.0])
  call p%append("x")                             ! refused
end program f_refused
