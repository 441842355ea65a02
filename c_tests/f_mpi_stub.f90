! As much of the module mpi_f08 as docs/fortran.md uses, for one rank: so that its program is compiled and run without MPI.
module mpi_f08
  implicit none
  type :: MPI_Comm
    integer :: val = 0
  end type MPI_Comm
  type :: MPI_Datatype
    integer :: val = 0
  end type MPI_Datatype
  type(MPI_Comm), parameter :: MPI_COMM_WORLD = MPI_Comm(0)
  type(MPI_Datatype), parameter :: MPI_INTEGER = MPI_Datatype(4), MPI_BYTE = MPI_Datatype(1)
contains
  subroutine MPI_Init()
  end subroutine MPI_Init
  subroutine MPI_Finalize()
  end subroutine MPI_Finalize
  subroutine MPI_Comm_rank(comm, rank)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: rank
    rank = comm%val
  end subroutine MPI_Comm_rank
  subroutine MPI_Comm_size(comm, n)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: n
    n = comm%val + 1
  end subroutine MPI_Comm_size
  subroutine MPI_Bcast(buffer, n, datatype, root, comm)
    type(*), dimension(..), intent(inout) :: buffer
    integer, intent(in) :: n, root
    type(MPI_Datatype), intent(in) :: datatype
    type(MPI_Comm), intent(in) :: comm
    if (n < 0 .or. root /= comm%val .or. datatype%val == 0 .or. rank(buffer) > 1) error stop "MPI_Bcast"
  end subroutine MPI_Bcast
end module mpi_f08
