! Elements at points and at combinations of indices; copies.
program f_picks
  use, intrinsic :: iso_fortran_env, only: int8, int16, int64, real64
  use ozarr
  use f_check
  implicit none
  type(ozarr_array) :: a
  integer :: i, j, whole(6, 5)

  whole = reshape([((10 * i + j, i=1, 6), j=1, 5)], [6, 5])
  call a%create("run.zarr/a", OZARR_INT32, [6, 5], chunks=[4, 2])
  call a%write(whole)
  call points()
  call lists()
  call masks()
  call raw_chunks()
  call copies()
  call refusals()
  call finish()

contains

  subroutine points()
    integer :: u(3), wide(2, 3), at(2, 3)
    logical :: flags(2)
    type(ozarr_array) :: l
    at = reshape([1, 1, 6, 5, 2, 4], [2, 3])
    call a%read_points(u, at)
    call check(all(u == [11, 65, 24]), "three points")
    wide = 0
    call a%read_points(wide(2, 3:1:-1), int(at, int64))
    call check(all(wide(2, :) == [24, 65, 11]) .and. all(wide(1, :) == 0), "to a section, mirrored")
    call a%write_points([-1, -2], reshape([1, 1, 6, 5], [2, 2]))
    call a%read(whole)
    call check(whole(1, 1) == -1 .and. whole(6, 5) == -2 .and. whole(2, 1) == 21, "written")
    call l%create("run.zarr/l", OZARR_BOOL, [4])
    call l%write_points([.true.], reshape([3], [1, 1]))
    call l%read_points(flags, reshape([3, 4], [1, 2]))
    call check(flags(1) .and. .not. flags(2), "logicals")
    call a%read_points(u(1:0), reshape([integer ::], [2, 0]))
  end subroutine points

  subroutine lists()
    real(real64) :: u(2, 3)
    integer(int16) :: column(2)
    call a%read_lists(u, [ozarr_indices([6, 2]), ozarr_indices([5, 1, 3])])
    call check(all(nint(u) == whole([6, 2], [5, 1, 3])), "all combinations")
    call a%read_lists(column, [ozarr_indices([3, 4]), ozarr_indices([2_int64])])
    call check(all(column == [32, 42]), "a list of one")
    call a%write_lists(reshape([7, 8, 9, 10], [2, 2]), [ozarr_indices([1, 6]), ozarr_indices([2, 4])])
    call a%read(whole)
    call check(whole(1, 2) == 7 .and. whole(6, 2) == 8 .and. whole(1, 4) == 9 .and. whole(6, 4) == 10, "written")
  end subroutine lists

  subroutine masks()
    integer :: stat
    integer, allocatable :: found(:)
    integer :: kept(6, 5)
    real(real64) :: pair(2)
    character(300) :: message
    call a%read(kept)
    allocate (found(count(kept > 30)))
    call a%read_mask(found, kept > 30)
    call check(all(found == pack(kept, kept > 30)), "a mask of the whole array")
    call a%read_mask(pair, reshape([.true., .false., .false., .true.], [2, 2]), start=[3, 4])
    call check(nint(pair(1)) == kept(3, 4) .and. nint(pair(2)) == kept(4, 5), "a mask of a region, converted")
    call a%write_mask([-7, -8], reshape([.true., .true.], [2, 1]), start=[5, 1])
    call a%read(kept)
    call check(kept(5, 1) == -7 .and. kept(6, 1) == -8, "written")
    whole = kept
    call a%read_mask(found(1:3), [.true., .true.], start=[1, 1], stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_RANK .and. index(message, "what the mask picks, [2]") > 0, message)
    call a%read_mask(found(1:2), [.true., .true.], start=[6, 1], stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_BOUNDS .and. index(message, "dimension 1: start 6, count 2") > 0, message)
    call a%read_mask(found(1:2), [.true., .true.], stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_RANK, "a mask of another shape")
  end subroutine masks

  subroutine raw_chunks()
    type(ozarr_array) :: other
    integer(int8), allocatable :: bytes(:)
    integer :: from(6, 5), to(6, 5), stat
    character(300) :: message
    call other%create("run.zarr/other", OZARR_INT32, [6, 5], chunks=[4, 2])
    call a%read_chunk([2, 3], bytes)
    call check(size(bytes) > 0, "the encoded bytes")
    call other%write_chunk([2, 3], bytes)
    call a%read(from)
    call other%read(to)
    call check(all(to(5:6, 5) == from(5:6, 5)) .and. all(to(1:4, :) == 0) .and. all(to(:, 1:4) == 0), "one chunk is the same")
    call other%read_chunk([1, 1], bytes, stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_MISSING .and. size(bytes) == 0, message)
    call other%read_chunk([3, 1], bytes, stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_BOUNDS .and. index(message, "dimension 1") > 0, message)
    call other%write_chunk([1], [1_int8], stat=stat, errmsg=message)
    call check(stat == OZARR_ERR_RANK .and. index(message, "index has 1 numbers, expected 2") > 0, message)
  end subroutine raw_chunks

  subroutine copies()
    type(ozarr_store) :: from, to
    type(ozarr_array) :: c
    type(ozarr_spec) :: s
    integer :: found(6, 5), stat
    character(300) :: message
    call ozarr_copy("run.zarr", "copy.zarr", zarr_format=2)
    call c%open("copy.zarr/a")
    call c%read(found)
    call check(all(found == whole) .and. c%zarr_format() == 2, "a hierarchy in another format")
    call a%get_spec(s)
    call s%set_chunks([6, 5])
    call s%set_type(OZARR_FLOAT64)
    call from%open("run.zarr")
    call to%memory()
    call ozarr_copy(from, "a", to, "b/c", spec=s)
    call c%open(to, "b/c")
    call c%read(found)
    call check(all(found == whole) .and. c%type() == OZARR_FLOAT64 .and. all(c%chunks() == [6, 5]), "with other chunks")
    message = ""
    call ozarr_copy("run.zarr", "copy.zarr", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "", "a copy that is there")
    call ozarr_copy("run.zarr", "copy.zarr", overwrite=.true., raw=.true., verify=.true.)
    call ozarr_copy("run.zarr", "never.zarr", verify=.true., stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "OZARR_COPY_RAW", "compared, though not as it is")
    call ozarr_copy("run.zarr", "never.zarr", memory=-1_int64, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "memory is -1", "negative memory")
    call ozarr_copy("nowhere.zarr", "copy.zarr", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "nowhere", "no source")
  end subroutine copies

  subroutine refusals()
    type(ozarr_array) :: closed
    integer :: u(2), stat
    character(300) :: message
    message = ""
    call a%read_points(u, reshape([1, 1, 7, 1], [2, 2]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "", "a point beyond the end")
    call a%read_points(u, reshape([0, 1, 1, 1], [2, 2]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "", "an index of 0")
    call a%read_points(u, reshape([1, 1], [1, 2]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "a point has 1 indices, expected 2", "points of another rank")
    call a%read_points(u, reshape([1.0, 1.0], [2, 1]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "expected integers", "real points")
    call a%read_points(u, reshape([1, 1], [2, 1]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "shape [2], expected that of the points, [1]", "another number of points")
    call closed%read_points(u, reshape([1, 1], [2, 1]), stat=stat, errmsg=message)
    call check(stat /= OZARR_OK, "points of no array")
    call a%read_lists(u, [ozarr_indices([1, 2])], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "found 1 lists, expected 2", "too few lists")
    call a%read_lists(u, [ozarr_indices([1, 2]), ozarr_indices([1, 2])], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "expected that of the lists, [2, 2]", "a variable of another shape")
    call a%read_lists(u, [ozarr_indices([1, 9]), ozarr_indices([1])], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "", "an index beyond the end")
  end subroutine refusals

end program f_picks
