! Opens an array and reads one step of it: three calls.
program read_region
  use ozarr
  implicit none
  type(ozarr_array) :: t
  real(8) :: plane(6, 4)

  call make_steps()
  call t%open("read.zarr/t")
  call t%read(plane, start=[1, 1, 3])
  call t%close()
  print "(6f5.1)", plane(:, 1)

contains

  subroutine make_steps()
    type(ozarr_array) :: steps
    integer :: k
    call steps%create("read.zarr/t", OZARR_FLOAT64, [6, 4, 0], chunks=[6, 4, 1], overwrite=.true.)
    do k = 1, 5
      plane = k
      call steps%append(plane)
    end do
    call steps%close()
  end subroutine make_steps

end program read_region
