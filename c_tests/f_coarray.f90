! For coarrays: the program has a module of its own that uses `ozarr`, and uses both, so that gfortran reads the types of `ozarr` twice.
module f_coarray_output
  use ozarr, only: ozarr_array
  implicit none
  type :: writer
    type(ozarr_array) :: array
  end type writer
end module f_coarray_output

program f_coarray
  use f_coarray_output
  use ozarr
  implicit none
  type(writer) :: w
  type(ozarr_series) :: s
  integer :: n[*]
  n = this_image()
  if (n /= 1 .or. num_images() /= 1) error stop "more than one image"
  if (w%array%is_open() .or. s%is_open()) error stop "open at once"
end program f_coarray
