! Attributes of each kind, set and read with seven calls.
program attributes
  use ozarr
  implicit none
  type(ozarr_array) :: t
  character(:), allocatable :: units
  real(8), allocatable :: range(:)

  call t%create("attributes.zarr/t", OZARR_FLOAT32, [4], overwrite=.true.)
  call t%set_attr("units", "K")
  call t%set_attr("scale", 0.25d0)
  call t%set_attr("valid_range", [0d0, 500d0])
  call t%set_attr("restart", .true.)
  call t%set_attr("flag_meanings", [character(4) :: "land", "sea"])
  call t%get_attr_text("units", units)
  call t%get_attr("valid_range", range)
  call t%close()
  print "(a, 2f6.1)", units, range
end program attributes
