! Particles in a box with periodic ends, each on the rank that has its part of the box: they move from rank to rank, and every rank has another
! number of them. Saves the state each 10 steps, and goes on from the newest state that is there, with any number of ranks. The result, in the
! order of the particles' numbers, does not depend on how many ranks there were, nor on where a run was killed.
!
!     mpirun -n 4 particles_f 40 && mpirun -n 3 particles_f 80
program particles
  use mpi_f08
  use ozarr
  use ozarr_mpi
  implicit none
  integer, parameter :: n = 5000, i8 = selected_int_kind(18)
  type(ozarr_ranks) :: ranks
  real(8), allocatable :: p(:, :)                               ! of each particle of mine: place, velocity, number
  integer :: rank, size_, step, steps, first                    ! first: my first particle's place among those of all ranks
  character(16) :: argument
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size_)
  call get_command_argument(1, argument)
  read (argument, *) steps
  call ranks%open(MPI_COMM_WORLD)
  call restart()
  do while (step < steps)
    step = step + 1
    p(2, :) = p(2, :) + 0.01d0 * sin(6.283185307179586d0 * p(1, :))
    p(1, :) = p(1, :) + 0.01d0 * p(2, :)
    p(1, :) = p(1, :) - floor(p(1, :))
    where (p(1, :) >= 1) p(1, :) = 0
    call exchange(by_place())
    if (mod(step, 10) == 0) call save_state()
  end do
  call exchange((nint(p(3, :)) * size_ - 1) / n)                 ! to the rank that has n * rank / size_ + 1 and the next ones
  call save_result()
  call ranks%close()
  call MPI_Finalize()

contains

  function by_place() result(owner)
    integer, allocatable :: owner(:)
    owner = min(int(p(1, :) * size_), size_ - 1)
  end function by_place

  ! Sends every particle to its owner.
  subroutine exchange(owner)
    integer, intent(in) :: owner(:)
    integer, dimension(0:size_ - 1) :: out, in, out_at, in_at, next
    real(8), allocatable :: sent(:, :), came(:, :)
    integer :: i, r, count
    out = [(3 * size(pack(owner, owner == r)), r=0, size_ - 1)]
    call MPI_Alltoall(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER, MPI_COMM_WORLD)
    out_at = [(sum(out(0:r - 1)), r=0, size_ - 1)]
    in_at = [(sum(in(0:r - 1)), r=0, size_ - 1)]
    count = sum(in) / 3
    allocate (sent(3, size(owner)), came(3, count))
    next = out_at / 3
    do i = 1, size(owner)
      next(owner(i)) = next(owner(i)) + 1
      sent(:, next(owner(i))) = p(:, i)
    end do
    call MPI_Alltoallv(sent, out, out_at, MPI_DOUBLE_PRECISION, came, in, in_at, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
    call move_alloc(came, p)
    first = 0
    call MPI_Exscan(count, first, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    first = merge(first, 0, rank > 0) + 1
  end subroutine exchange

  ! Each rank reads a share of the newest state, whoever wrote it.
  subroutine restart()
    type(ozarr_group) :: g
    integer :: stat, i
    character(300) :: why
    step = 0
    first = n * rank / size_ + 1
    allocate (p(3, n * (rank + 1) / size_ - first + 1))
    call ranks%open_latest(g, "particles-states.zarr", stat=stat, errmsg=why)
    if (stat == OZARR_OK) then
      call g%get_attr("step", step)
      call ranks%get(g, "x", p(1, :), start=[first])
      call ranks%get(g, "v", p(2, :), start=[first])
      call ranks%get(g, "id", p(3, :), start=[first])             ! from integers
      call ranks%close_group(g)
    else if (stat == OZARR_ERR_NOT_FOUND) then                  ! none yet: from the beginning
      p(3, :) = [(first + i, i=0, size(p, 2) - 1)]
      p(2, :) = 0.1d0
      p(1, :) = (p(3, :) - 0.5d0) / n
    else
      error stop "the state cannot be read: " // trim(why)
    end if
    call exchange(by_place())
  end subroutine restart

  subroutine save_state()
    type(ozarr_group) :: g
    character(12) :: name
    write (name, "(a, i6.6)") "step-", step
    call ranks%begin_checkpoint(g, "particles-states.zarr", name)
    call ranks%put(g, "x", [n], p(1, :), start=[first])
    call ranks%put(g, "v", [n], p(2, :), start=[first])
    call ranks%put(g, "id", [n], nint(p(3, :), i8), start=[first])
    if (rank == 0) call g%set_attr("step", step)
    call ranks%commit(g)
  end subroutine save_state

  subroutine save_result()
    real(8) :: sorted(3, size(p, 2))
    sorted(:, nint(p(3, :)) - first + 1) = p
    call save("particles.zarr/x", OZARR_FLOAT64, sorted(1, :))
    call save("particles.zarr/v", OZARR_FLOAT64, sorted(2, :))
    call save("particles.zarr/id", OZARR_INT64, sorted(3, :))
  end subroutine save_result

  subroutine save(location, type, column)
    character(*), intent(in) :: location
    integer, intent(in) :: type
    real(8), intent(in) :: column(:)
    type(ozarr_array) :: t
    call ranks%create(t, location, type, [n], overwrite=.true.)
    call ranks%write(t, column, start=[first])
    call ranks%close_array(t)
  end subroutine save

end program particles
