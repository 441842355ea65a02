! The whole table of conversions in a program that is built with -ffpe-trap=invalid,zero,overflow.
program f_traps
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    function conversion_table() bind(c)
      import :: c_int
      integer(c_int) :: conversion_table
    end function
  end interface
  if (conversion_table() /= 0) error stop 1
end program
