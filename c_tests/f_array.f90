! The module `ozarr`: arrays from variables of every kind, rank and layout; and what goes wrong.
program f_array
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use ozarr
  use f_check
  implicit none

  call dimensions_are_reversed()
  call sections_are_not_copied()
  call regions()
  call lists_of_components()
  call periodic_regions()
  call kinds()
  call logicals()
  call ranks()
  call empty()
  call growing()
  call figures()
  call creating()
  call wrong_regions()
  call wrong_variables(reshape([1d0, 2d0, 3d0, 4d0], [2, 2]), 2)
  call without_elements()
  call messages()
  call handles()
  call finish()

contains

  ! A list that is a component of an array of a derived type lies scattered in memory.
  subroutine lists_of_components()
    type :: box
      integer :: first, last
      real :: weight = 0
      integer(int8) :: step = 1
    end type box
    type(box), target :: boxes(3)
    type(ozarr_array) :: a
    type(ozarr_spec) :: s
    type(ozarr_summary) :: found
    integer, pointer :: first(:)
    real(real64) :: u(5, 6), v(3, 2), one(1)
    integer :: i, j
    u = reshape([((i + 10d0*j, i=1, 5), j=1, 6)], [5, 6])
    boxes%first = [2, 4, 99]
    boxes%last = [3, 2, 99]
    call a%create("run.zarr/boxes", OZARR_FLOAT64, [5, 6], chunks=[2, 5])
    call a%write(u)
    call a%read(v, start=boxes(1:2)%first, count=boxes(1:2)%last)
    call check(all(v == u(2:4, 4:5)), "start and count are components")
    first => boxes(2:1:-1)%first
    call a%read(v, start=first, count=[2, 3], stat=i)
    call check(i == OZARR_ERR_RANK, "a pointer, and another shape")
    call a%read(v(:, 1:1), start=first - 1, count=[3, 1], stride=boxes(1:2)%step)
    call check(all(v(:, 1) == u(3:5, 1)), "expressions, and a stride of int8")
    boxes(1:2)%step = [2_int8, -3_int8]
    call a%read(v, start=[1, 4], stride=boxes(1:2)%step)
    call check(all(v == u(1:5:2, 4:1:-3)), "strides that are components")
    v = -1
    call a%write(v, start=boxes(1:2)%first)
    u(2:4, 4:5) = -1
    call a%summarize(found, start=boxes(1:2)%first, count=boxes(1:2)%last)
    call check(found%max == -1, "a region of components is summarized")
    call a%resize(boxes(1:2)%first + [3, 2])
    boxes(1:2)%last = [5, 4]
    call a%resize(boxes(1:2)%last)
    call check(all(a%shape() == [5, 4]), "a shape that is a component")
    call a%read_points(one, reshape(boxes(1:2)%first, [2, 1]))
    call check(one(1) == -1, "points")
    call s%create(OZARR_INT32, [5, 6])
    call s%set_chunk_extents(1, boxes(1:2)%first - 1 + [0, 1])
  end subroutine lists_of_components

  subroutine dimensions_are_reversed()
    type(ozarr_array) :: a
    real(real64) :: u(3, 4), v(3, 4)
    character(:), allocatable :: json, name
    integer :: i, j
    u = reshape([((i + 10d0*j, i=1, 3), j=1, 4)], [3, 4])
    call a%create("run.zarr/u", OZARR_FLOAT64, [3, 4], chunks=[3, 2], names=["x", "y"])
    call a%write(u)
    call check(all(a%shape() == [3, 4]) .and. all(a%chunks() == [3, 2]) .and. a%rank() == 2 &
      .and. a%type() == OZARR_FLOAT64, "shape")
    call a%metadata(json)
    call check(index(squeeze(json), '"shape":[4,3]') > 0 .and. index(squeeze(json), '"dimension_names":["y","x"]') > 0, &
      "the document's order")
    call a%dimension_name(1, name)
    call check(name == "x", "dimension_name")
    call a%close()
    call a%open("run.zarr/u")
    v = 0
    call a%read(v)
    call check(all(u == v), "what was written")
  end subroutine dimensions_are_reversed

  function squeeze(text) result(bare)
    character(*), intent(in) :: text
    character(:), allocatable :: bare
    integer :: i
    bare = ""
    do i = 1, len(text)
      if (text(i:i) /= " " .and. text(i:i) /= new_line("a")) bare = bare // text(i:i)
    end do
  end function squeeze

  subroutine sections_are_not_copied()
    type(ozarr_array) :: a
    real(real64), target :: halo(6, 5)
    real(real64), pointer :: mirror(:, :)
    integer(int32) :: big(20, 20)
    integer :: i, j
    call a%create("run.zarr/halo", OZARR_FLOAT64, [4, 3])
    halo = -1
    halo(2:5, 2:4) = reshape([(real(i, real64), i=1, 12)], [4, 3])
    call a%write(halo(2:5, 2:4))
    halo(2:5, 2:4) = 0
    call a%read(halo(2:5, 2:4))
    call check(all(halo(2:5, 2:4) == reshape([(real(i, real64), i=1, 12)], [4, 3])), "the interior")
    call check(all(halo(1, :) == -1) .and. all(halo(6, :) == -1) .and. all(halo(:, 1) == -1) .and. all(halo(:, 5) == -1), &
      "the halo")
    mirror => halo(5:2:-1, 4:2:-1)
    call a%read(mirror)
    call check(halo(5, 4) == 1 .and. halo(2, 2) == 12 .and. halo(4, 4) == 2, "negative strides")
    call a%write(mirror(:, 3:1:-1))
    call a%read(halo(2:5, 2:4))
    call check(halo(2, 2) == 9 .and. halo(5, 4) == 4, "written with a negative stride")
    big = 7
    call a%read(big(1:20:6, 3:9:3))
    call check(big(1, 3) == 9 .and. big(19, 9) == 4 .and. count(big /= 7) <= 12, "a section of another type")
    do j = 1, 20
      do i = 1, 20
        if (mod(i - 1, 6) /= 0 .or. mod(j, 3) /= 0 .or. j > 9 .or. j < 3) call check(big(i, j) == 7, "beside the section")
      end do
    end do
  end subroutine sections_are_not_copied

  ! Around the ends of a dimension: blocks with ghost cells against cshift.
  subroutine periodic_regions()
    type(ozarr_array) :: a, flags, small
    type(ozarr_request) :: r
    real(real64) :: u(4, 5), block(6, 7), part(2, 5)
    real(real64), asynchronous :: later(6, 7)
    logical :: marks(6, 2)
    logical, parameter :: both(2) = [.true., .true.], first(2) = [.true., .false.]
    integer :: i, status
    character(300) :: message
    u = reshape([(real(i, real64), i=1, 20)], [4, 5])
    call a%create("run.zarr/periodic", OZARR_FLOAT64, [4, 5], chunks=[2, 5])
    call a%write(u)
    call a%read(block, start=[0, 0], periodic=both)
    call check(all(block(2:5, 2:6) == u), "the block")
    call check(all(block(1, 2:6) == u(4, :)) .and. all(block(6, 2:6) == u(1, :)), "the ghost cells along the first dimension")
    call check(all(block(2:5, 1) == u(:, 5)) .and. block(1, 1) == u(4, 5) .and. block(6, 7) == u(1, 1), "others, and corners")
    call a%iread(later, r, start=[4, 5], periodic=both)
    call r%wait()
    call check(all(later == block), "in the background, from the last element on")
    call a%read(part, start=[4, 1], periodic=first)
    call check(all(part(1, :) == u(4, :)) .and. all(part(2, :) == u(1, :)), "one dimension only")
    call a%write(-part, start=[0, 1], periodic=first)
    call a%read(block(1:4, 1:5))
    call check(all(block(4, 1:5) == -u(4, :)) .and. all(block(1, 1:5) == -u(1, :)) .and. &
      all(block(2:3, 1:5) == u(2:3, :)), "written")
    call flags%create("run.zarr/periodic_flags", OZARR_BOOL, [4, 2])
    call flags%write(reshape([.true., .false., .false., .false., .false., .false., .false., .true.], [4, 2]))
    call flags%read(marks, start=[0, 1], periodic=first)
    call check(all(marks(:, 1) .eqv. [.false., .true., .false., .false., .false., .true.]) .and. &
      all(marks(:, 2) .eqv. [.true., .false., .false., .false., .true., .false.]), "logicals of 4 bytes")
    ! What is refused says why, as the program counts.
    call a%read(part, start=[4, 2], periodic=first, stat=status, errmsg=message)
    call check(status == OZARR_ERR_BOUNDS .and. index(message, "dimension 2: start 2, count 5") > 0, message)
    call a%read(part, start=[1, 0], periodic=first, stat=status, errmsg=message)
    call check(status == OZARR_ERR_BOUNDS .and. index(message, "start(2) is 0") > 0, message)
    call a%read(part, start=[1, 1], periodic=[.true.], stat=status, errmsg=message)
    call check(status == OZARR_ERR_RANK .and. index(message, "periodic has 1 values, expected 2") > 0, message)
    call a%write(block, start=[0, 0], periodic=both, stat=status, errmsg=message)
    call check(status == OZARR_ERR_BOUNDS .and. index(message, "twice") > 0, message)
    call small%create("run.zarr/periodic_small", OZARR_INT16, [4, 5], chunks=[2, 5])
    part = 0
    part(2, 3) = 70000
    call small%write(part, start=[4, 4], periodic=both, stat=status, errmsg=message)
    call check(status == OZARR_ERR_RANGE .and. index(message, "element [2, 3] is 70000") > 0 .and. &
      index(message, "entry") == 0, message)
    call small%iwrite(part, r, start=[4, 4], periodic=both)
    call r%wait(stat=status, errmsg=message)
    call check(status == OZARR_ERR_RANGE .and. index(message, "element [2, 3] is 70000") > 0, message)
  end subroutine periodic_regions

  subroutine regions()
    type(ozarr_array) :: a
    real(real64) :: u(4, 5, 6), plane(4, 5), line(6), all_(4, 5, 6), one
    integer :: i, k
    integer(int64) :: start(3)
    u = reshape([(real(i, real64), i=1, 120)], [4, 5, 6])
    call a%create("run.zarr/r", OZARR_FLOAT64, [4, 5, 6], chunks=[2, 5, 1])
    do k = 1, 6
      call a%write(u(:, :, k), start=[1, 1, k])
    end do
    call a%read(all_)
    call check(all(all_ == u), "planes make the whole")
    start = [1, 1, 3]
    call a%read(plane, start=start)
    call check(all(plane == u(:, :, 3)), "starts of 8 bytes")
    call a%read(line, start=[2_int16, 3_int16, 1_int16], count=[1, 1, 6])
    call check(all(line == u(2, 3, :)), "count leaves dimensions out")
    call a%read(one, start=[4, 5, 6])
    call check(one == 120, "a scalar")
    call a%read(line(1:3), start=[1, 2, 2], count=[1, 1, 3], stride=[1, 1, 2])
    call check(all(line(1:3) == u(1, 2, 2:6:2)), "stride")
    call a%read(line, start=[1, 2, 6], count=[1, 1, 6], stride=[1, 1, -1])
    call check(all(line == u(1, 2, 6:1:-1)), "backwards")
    call a%read(all_(:, :, 1:3), stride=[1, -1, 2])
    call check(all(all_(:, :, 1:3) == u(:, 5:1:-1, 1:6:2)), "stride alone takes what fits")
    call a%write([-1d0, -2d0], start=[1, 1, 1], count=[2, 1, 1], stride=[3, 1, 1])
    call a%read(plane, start=[1, 1, 1])
    call check(plane(1, 1) == -1 .and. plane(2, 1) == 2 .and. plane(4, 1) == -2, "an expression is written")
  end subroutine regions

  subroutine kinds()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    integer(int8) :: i1(2)
    integer(int16) :: i2(2)
    integer(int32) :: i4(2)
    integer(int64) :: i8(2)
    real(real32) :: r4(2)
    real(real64) :: r8(2)
    complex(real32) :: c4(2)
    complex(real64) :: c8(2)
    integer :: stat
    character(300) :: message
    call store%memory()
    call a%create(store, "n", OZARR_INT16, [2])
    call a%write([-3, 100])
    call a%read(i1); call check(all(i1 == [-3, 100]), "integer(1)")
    call a%read(i2); call check(all(i2 == [-3, 100]), "integer(2)")
    call a%read(i4); call check(all(i4 == [-3, 100]), "integer(4)")
    call a%read(i8); call check(all(i8 == [-3, 100]), "integer(8)")
    call a%read(r4); call check(all(r4 == [-3, 100]), "real(4)")
    call a%read(r8); call check(all(r8 == [-3, 100]), "real(8)")
    call a%write([-3_int8, 5_int8]); call a%read(i2); call check(all(i2 == [-3, 5]), "from integer(1)")
    call a%write([1.5, 2.0]); call a%read(i2); call check(all(i2 == [1, 2]), "from real(4)")
    message = "untouched"
    call a%write([40000, 0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "int16 ends at 32767", "a value that does not fit")
    call a%create(store, "c", OZARR_COMPLEX128, [2], fill=(1d0, -1d0))
    call a%read(c8); call check(all(c8 == (1d0, -1d0)), "complex(8), the fill value")
    call a%write([(1.0, 2.0), (3.0, 4.0)])
    call a%read(c4); call check(all(c4 == [(1.0, 2.0), (3.0, 4.0)]), "complex(4)")
    call a%read(r8, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "", "complex does not become real")
  end subroutine kinds

  subroutine logicals()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    logical :: l4(3, 2), back(5, 2)
    logical(c_bool) :: l1(3, 2)
    logical(int64) :: l8(3)
    logical(int16) :: l2
    integer :: i4(3, 2), stat
    character(200) :: message
    call store%memory()
    call a%create(store, "two", OZARR_BOOL, [1], fill=.true._int16, stat=stat, errmsg=message)
    call check(stat == OZARR_OK, message)
    l2 = .false.
    call a%fill_value(l2, stat=stat, errmsg=message)
    call check(stat == OZARR_OK .and. logical(l2), "a fill value of logical(2)")
    call a%create(store, "l", OZARR_BOOL, [3, 2], fill=.true.)
    call a%read(l4)
    call check(all(l4), "the fill value")
    l4 = reshape([.true., .false., .true., .false., .false., .true.], [3, 2])
    call a%write(l4)
    back = .true.
    call a%read(back(5:1:-2, :))
    call check(all(back(5:1:-2, :) .eqv. l4) .and. all(back(2:4:2, :)), "logical(4), a section")
    call a%read(l1)
    call check(logical(all(l1 .eqv. l4)), "logical(1)")
    call a%write(l1(3:1:-1, :))
    call a%read(l8, start=[1, 2])
    call check(logical(all(l8 .eqv. l4(3:1:-1, 2))), "logical(8)")
    call a%read(i4)
    call check(all(i4(:, 2) == [1, 0, 0]), "as integers")
  end subroutine logicals

  subroutine ranks()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    integer :: s, high(2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2), low(2, 2), i
    call store%memory()
    call a%create(store, "s", OZARR_INT32, [integer ::])
    call a%write(5)
    s = 0
    call a%read(s)
    call check(s == 5 .and. a%rank() == 0 .and. size(a%shape()) == 0, "rank 0")
    high = reshape([1, 2, 3, 4], shape(high))
    call a%create(store, "h", OZARR_INT32, shape(high))
    call a%write(high)
    high = 0
    call a%read(high)
    call check(high(2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2) == 4, "rank 15")
    call a%read(low)
    call check(all(low == reshape([1, 2, 3, 4], [2, 2])), "dimensions of length 1 may be left out")
    call a%create(store, "more", OZARR_INT32, [(1, i=1, 20)])
    call a%write([9], start=[(1, i=1, 20)], count=[(1, i=1, 20)])
    call a%read(s)
    call check(s == 9, "an array of rank 20")
  end subroutine ranks

  subroutine empty()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    real(real64) :: none(0, 3), some(2, 3)
    real(real64), allocatable :: not_there(:, :)
    integer :: stat
    character(200) :: message
    call store%memory()
    some = 0
    call a%create(store, "e", OZARR_FLOAT64, [0, 3], chunks=[2, 3])
    call a%write(none)
    call a%read(none)
    call a%append(some, dim=1)
    call a%read(some(2:1, :), start=[3, 1], count=[0, 3])
    call a%read(some(:, 3:2), start=[1, 4])
    message = ""
    call a%read(not_there, stat=stat, errmsg=message)
    call check(stat /= OZARR_OK, "an array that is not allocated")
    call a%read(some(1:0, :), start=[9, 1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "start 9", "an empty region out of bounds")
  end subroutine empty

  subroutine growing()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    real(real64) :: u(2, 3), all_(2, 4), wide(4, 3)
    integer :: stat, i
    character(200) :: message
    call store%memory()
    call a%create(store, "g", OZARR_FLOAT64, [2, 0], chunks=[2, 2])
    u = reshape([(real(i, real64), i=1, 6)], [2, 3])
    call a%append(u)
    call a%append([7d0, 8d0])
    call a%read(all_)
    call check(all(all_ == reshape([(real(i, real64), i=1, 8)], [2, 4])), "append along the last dimension")
    wide = 0
    wide(1:4:3, :) = 5
    call a%append(wide(1:4:3, :))
    call check(all(a%shape() == [2, 7]), "append a section")
    message = ""
    call a%append(wide, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "[4, 3]", "append another shape")
    call a%append(u, dim=3, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "dim is 3", "append along no dimension")
    call a%create(store, "i", OZARR_INT8, [2])
    call a%append([1000], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "int8 ends at 127", "append what does not fit")
    call check(all(a%shape() == [2]), "a failed append leaves the shape")
    call a%resize([5_int64])
    call check(all(a%shape() == [5]), "resize")
    call a%resize([1, 2], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "2 numbers", "resize with another rank")
  end subroutine growing

  subroutine figures()
    type(ozarr_array) :: a, b, c
    type(ozarr_summary) :: found
    type(ozarr_comparison) :: differences
    character(:), allocatable :: digits, others
    integer(int64), allocatable :: first(:)
    integer(int64), parameter :: large = huge(1_int64)
    integer :: i, status
    call a%create("figures.zarr/a", OZARR_INT64, [4, 3])
    call b%create("figures.zarr/b", OZARR_INT64, [4, 3], chunks=[1, 2])
    call a%write(reshape([(large - i, i=1, 12)], [4, 3]))
    call b%write(reshape([(large - i, i=1, 12)], [4, 3]))
    call a%summarize(found)
    call check(found%elements == 12 .and. found%count == 12 .and. found%max_integer == large - 1 &
      .and. found%min_integer == large - 12, "summarize")
    call a%summarize(found, start=[2, 1], count=[2, 2], stride=[2, 2])
    call check(found%elements == 4 .and. found%max_integer == large - 2 .and. found%min_integer == large - 12, "of a region")
    call a%digest(digits)
    call b%digest(others)
    call check(len(digits) == 32 .and. digits == others, "digest")
    call a%digest(others, start=[1, 1], count=[4, 2])
    call check(digits /= others, "digest of a region")
    call a%compare(b, differences, first=first)
    call check(differences%elements == 12 .and. differences%differing == 0 .and. all(first == 0), "compare")
    call b%write(large - 107, start=[3, 2])
    call a%compare(b, differences, first=first)
    call check(differences%differing == 1 .and. abs(differences%largest_absolute - 100) < 1d-9 .and. all(first == [3, 2]), &
      "where they differ")
    call a%compare(b, differences, absolute=100d0)
    call check(differences%differing == 0, "a tolerance")
    call a%summarize(found, start=[2, 1], stat=status)
    call check(status == OZARR_ERR_ARGUMENT, "start without count")
    call a%summarize(found, start=[2, 1], count=[4, 1], stat=status)
    call check(status == OZARR_ERR_BOUNDS, "outside")
    call c%summarize(found, stat=status)
    call check(status == OZARR_ERR_NULL, "not open")
  end subroutine figures

  subroutine creating()
    type(ozarr_array) :: a
    integer :: stat
    character(300) :: message
    character(:), allocatable :: json, units
    real(real32) :: u(2)
    call a%create("run.zarr/full", OZARR_FLOAT32, [64, 32, 0], chunks=[64, 32, 4], inner_chunks=[8, 32, 1], names=["lon ", &
      "lat ", "time"], &
      fill=-999.0, compressor="blosc", level=5, attributes='{"units": "K"}')
    call check(all(a%inner_chunks() == [8, 32, 1]), "inner chunks")
    call check(all(a%grid_shape() == [1, 1, 0]), "the number of chunks")
    call a%get_attr_text("units", units)
    call check(units == "K", "attributes")
    call a%metadata(json)
    call check(index(squeeze(json), '["time","lat","lon"]') > 0 .and. index(json, "-999") > 0 .and. index(json, &
      "blosc") > 0, "the document")
    message = ""
    call a%create("run.zarr/full", OZARR_FLOAT32, [1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "run.zarr", "create twice")
    call a%create("run.zarr/full", OZARR_FLOAT32, [2], overwrite=.true., zarr_format=2, compressor="zlib", fill=1)
    call a%read(u)
    call check(all(u == 1), "overwritten, fill value of another kind")
    call a%create("run.zarr/x", OZARR_FLOAT32, [1, 2], chunks=[1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "chunks has 1", "chunks of another rank")
    call a%create("run.zarr/x", OZARR_FLOAT32, [1, 2], names=["x"], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "names has 1", "names of another rank")
    call a%create("run.zarr/x", OZARR_FLOAT32, [1.0, 2.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "integers", "a real shape")
    call a%create("run.zarr/x", OZARR_FLOAT32, [-1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "-1", "a negative shape")
    call a%create("run.zarr/x", 77, [1], stat=stat, errmsg=message)
    call check(stat /= OZARR_OK, "no type")
    call a%create("run.zarr/x", OZARR_INT32, [1], fill=1.5d0, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "fill_value", "a fill value with a fraction for integers")
    call a%create("run.zarr/same", OZARR_INT32, [4])
    call a%create("run.zarr/same", OZARR_INT32, [4], mode=OZARR_CREATE_OPEN_IF_SAME, stat=stat)
    call check(stat == OZARR_OK, "open what is just so")
    call a%create("run.zarr/same", OZARR_INT32, [5], mode=OZARR_CREATE_OPEN_IF_SAME, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "same", "what is there has another shape")
    call a%create("run.zarr/x", OZARR_FLOAT32, [1], compressor="squeeze", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_UNSUPPORTED, message, "squeeze", "an unknown compressor")
    call a%create("run.zarr/x", OZARR_FLOAT32, [1], level=19, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "level", "a level of no compressor")
  end subroutine creating

  subroutine wrong_regions()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    real(real64) :: u(3, 4)
    integer :: stat
    character(300) :: message
    character(8) :: short
    call store%memory()
    call a%create(store, "w", OZARR_FLOAT64, [3, 4])
    u = 1
    message = ""
    call a%read(u, start=[0, 1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "start(1) is 0", "start 0")
    call a%read(u, start=[1, 2], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "dimension 2: start 2, count 4", "beyond the end")
    call a%read(u, start=[-huge(1_int64) - 1, 1_int64], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "start(1)", "start of the smallest number")
    call a%read(u, start=[huge(1_int64), 1_int64], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_BOUNDS, message, "dimension 1", "start of the largest number")
    call a%read(u, start=[1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "start has 1", "start of another rank")
    call a%read(u, start=[1, 1], count=[3, 5], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "[3, 4]", "count of another shape")
    call a%read(u, start=[1, 1], count=[3, -4], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "count(2) is -4", "a negative count")
    call a%read(u, stride=[1, 0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "stride(2)", "stride 0")
    call a%read(u, start=[1.0, 1.0], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "integers", "a real start")
    call a%read(u(:, 1:3), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "[3, 3], expected that of the array, [3, 4]", "a smaller variable")
    call a%write(reshape(u, [4, 3]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "[4, 3]", "a transposed variable")
    call a%write(reshape(u, [1, 3, 4]), start=[1, 1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "rank 3", "a variable of a higher rank")
    short = ""
    call a%read(u, start=[9, 9], stat=stat, errmsg=short)
    call check(stat == OZARR_ERR_BOUNDS .and. short == "dimensio", "a short errmsg is cut")
    message = "untouched"
    call a%read(u, stat=stat, errmsg=message)
    call check(stat == 0 .and. message == "untouched" .and. all(u == 0), "success leaves errmsg alone")
  end subroutine wrong_regions

  subroutine wrong_variables(assumed_size, n)
    integer, intent(in) :: n
    real(real64), intent(in), target :: assumed_size(2, *)
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    real(real64) :: back(2, 2)
    call store%memory()
    call a%create(store, "v", OZARR_FLOAT64, [2, 2])
    call size_is_unknown(a, assumed_size)
    call a%write(assumed_size(:, 1:n))
    call a%read(back)
    call check(all(back == assumed_size(:, 1:n)), "a section of an assumed-size array")
    call characters_for_numbers(store, a)
  end subroutine wrong_variables

  ! What a part of a domain without cells has: variables without elements, of whatever bounds. gfortran's extents of these are negative.
  subroutine without_elements()
    type(ozarr_group) :: g
    type(ozarr_array) :: a
    real(real64) :: w(3, 4)
    real(real64), allocatable :: own(:)
    integer, parameter :: last(5) = [0, -2, -3, -9, -1]
    character(1) :: digit
    character(300) :: message
    integer :: i, n, stat
    w = 1
    message = ""
    call g%create("nothing.zarr", overwrite=.true.)
    call a%create(g, "a", OZARR_FLOAT64, [3, 0], chunks=[3, 2])
    do i = 1, size(last)
      n = last(i)
      write (digit, "(i1)") i
      call g%write("rows" // digit, w(1:n, :))
      if (n == -1) exit
      call a%append(w(:, 1:n))
      call a%write(w(:, 1:n))
      call a%read(w(:, 1:n), start=[1, 1], count=[3, 0])
      call a%write(w(:, 1:n), start=[1, 1])
      allocate (own(7:n + 6))
      call g%write("own" // digit, own)
      call g%read("own" // digit, own)
      deallocate (own)
    end do
    call check(all(a%shape() == [3, 0]), "nothing was appended")
    call a%write(w(:, 1:n), start=[1, 1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "bounds 1:-1", "last bounds that look like those of an assumed-size array")
    call a%open(g, "rows2")
    call check(all(a%shape() == [0, 4]), "a group's array without elements")
    call a%open(g, "own3")
    call check(all(a%shape() == [0]), "a group's list without elements")
  end subroutine without_elements

  subroutine size_is_unknown(a, u)
    type(ozarr_array), intent(in) :: a
    real(real64), intent(in) :: u(2, *)
    integer :: stat
    character(300) :: message
    message = ""
    call pass_on(a, u, stat, message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "assumed-size", "an assumed-size array")
  end subroutine size_is_unknown

  subroutine pass_on(a, u, stat, message)
    type(ozarr_array), intent(in) :: a
    real(real64), dimension(..), intent(in) :: u
    integer, intent(out) :: stat
    character(*), intent(inout) :: message
    call a%write(u, stat=stat, errmsg=message)
  end subroutine pass_on

  ! What does compile where a number or a list of numbers is meant; f_refused.f90 has what does not. Each is an error, and the texts beside
  ! it keep their lengths.
  subroutine characters_for_numbers(store, a)
    type(ozarr_store), intent(in) :: store
    type(ozarr_array), intent(inout) :: a
    character(1), parameter :: one = "x"
    character(8) :: around(3)
    character(60) :: message
    real(real64) :: back(2, 2)
    real(selected_real_kind(30)) :: quad = 1
    integer :: stat
    around = "around"
    call a%read(back, start=["a", "b"], stat=stat, errmsg=around(2))
    call check(stat == OZARR_ERR_ARGUMENT .and. all(around == "around"), "a start of characters")
    call a%read(back, start=1, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANK, message, "start", "a start that is no list")
    call a%read(back, start=["a", "b"], stat=stat)
    message = "of another call"
    call a%open(store, "nowhere", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "nowhere", "the message of the call behind one with characters")
    call a%open(store, "v")
    call a%create(store, "x", OZARR_FLOAT32, [2, 2], fill="x", names=["x", "y"], compressor="zstd", &
      attributes='{"units": "m", "long_name": "a text of more than fifty letters, all of them"}', stat=stat, errmsg=around(2))
    call check(stat == OZARR_ERR_TYPE .and. all(around == ["around  ", "fill is ", "around  "]), "a fill value of one character")
    call a%create(store, "x", OZARR_FLOAT32, [2, 2], fill=one // "0", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "fill", "a fill value of two characters")
    call a%create(store, "x", OZARR_FLOAT32, [2, 2], fill=quad, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_TYPE, message, "fill", "a fill value of 16 bytes")
    call a%create(store, "x", OZARR_FLOAT32, ["a", "b"], chunks=["c", "d"], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "shape", "a shape of characters")
    call check(.not. a%is_open() .and. store%node_kind("x") == OZARR_NODE_KIND_NONE, "nothing was created")
  end subroutine characters_for_numbers

  ! The library's messages have the dimensions reversed and count from 1.
  subroutine messages()
    type(ozarr_store) :: store
    type(ozarr_array) :: a
    integer :: u(20, 30), stat
    character(300) :: message
    call store%memory()
    call a%create(store, "m", OZARR_INT8, [20, 30], chunks=[7, 7])
    u = 1
    u(15, 12) = 1000
    message = ""
    call a%write(u, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_RANGE, message, "element [15, 12]", "the element that does not fit")
    call a%create(store, "n", OZARR_INT8, [20, 30, 40], chunks=[5, 0, 5], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "`chunks`[2] is 0", "the chunk's extent")
    call a%create(store, "n", OZARR_INT8, [20, 30, -1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "`shape`[3] is -1", "the length")
    call a%create(store, "n", OZARR_INT8, [20, 30, 40], chunks=[5, 5, 5], inner_chunks=[2, 5, 5], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_ARGUMENT, message, "dimension 1 is 2", "the inner chunk's extent")
    call a%create(store, "m", OZARR_INT8, [30, 20], chunks=[7, 7], mode=OZARR_CREATE_OPEN_IF_SAME, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_EXISTS, message, "shape [20, 30] instead of [30, 20]", "the shape that is there")
  end subroutine messages

  subroutine handles()
    type(ozarr_array) :: a, other
    integer :: stat, i
    character(300) :: message
    message = ""
    call a%read(i, stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "not open", "an array that is not open")
    call a%open("run.zarr/nothing", stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NOT_FOUND, message, "nothing", "open what is not there")
    call check(.not. a%is_open(), "still not open")
    call a%open("run.zarr/u")
    call a%open("run.zarr/nothing", stat=stat)
    call check(stat == OZARR_ERR_NOT_FOUND .and. .not. a%is_open(), "a failed open leaves no array open")
    call a%read(i, start=[1, 1], stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "not open", "read after a failed open")
    call a%open("run.zarr/u")
    call a%create("run.zarr/u", OZARR_INT32, [1], stat=stat)
    call check(stat == OZARR_ERR_EXISTS .and. .not. a%is_open(), "a failed create leaves no array open")
    call a%open("run.zarr/u   ", mode="r", stat=stat)
    call check(stat == OZARR_OK .and. a%is_open(), "blanks at the end of a location")
    call a%write(reshape([(i, i=1, 12)], [3, 4]), stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_READ_ONLY, message, "", "write to what is open for reading")
    other = a
    call a%close()
    call check(.not. a%is_open(), "closed")
    call other%flush(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_INVALID_HANDLE, message, "", "a copy of a closed handle")
    call a%close(stat=stat, errmsg=message)
    call failed(stat, OZARR_ERR_NULL, message, "", "close twice")
    do i = 1, 2000
      call open_and_forget()
    end do
  end subroutine handles

  subroutine open_and_forget()
    type(ozarr_array) :: a
    type(ozarr_array) :: list(2)
    call a%open("run.zarr/u")
    call list(1)%open("run.zarr/u")
    call list(2)%open("run.zarr/u")
  end subroutine open_and_forget

end program f_array
