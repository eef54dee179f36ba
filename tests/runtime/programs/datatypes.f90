! A part of a block as one element of a data type: planes of the middle dimension, sent from a
! contiguous block into one with gaps.
program datatypes
  use mpi
  use asphalt_core, only: asphalt_irecv, asphalt_isend
  use asphalt_datatypes, only: free_type, make_strided
  implicit none
  integer, parameter :: n = 3, m = 6, l = 4
  integer :: me, from, to, i, j, k, error, requests(2)
  real(8) :: sent(n, m, l), received(2*n, m, l)
  logical :: right

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  sent = reshape([(dble(i), i = 1, size(sent))], shape(sent))
  received = -1
  call make_strided(MPI_DOUBLE_PRECISION, [n, m, l], 2, 2, from, error)
  call make_strided(MPI_DOUBLE_PRECISION, [n, m, l], 2, 2, to, error, strides=[2, 2*n, 2*n*m])
  call asphalt_irecv(received(1,3,1), 1, to, me, 1, MPI_COMM_WORLD, requests(1), error)
  call asphalt_isend(sent(1,3,1), 1, from, me, 1, MPI_COMM_WORLD, requests(2), error)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
  right = error == MPI_SUCCESS
  do k = 1, l
    do j = 1, m
      do i = 1, 2*n
        if (mod(i, 2) == 1 .and. (j == 3 .or. j == 4)) then
          right = right .and. nint(received(i,j,k)) == nint(sent((i + 1)/2, j, k))
        else
          right = right .and. nint(received(i,j,k)) == -1
        end if
      end do
    end do
  end do
  call free_type(from, error)
  call free_type(to, error)
  from = MPI_DATATYPE_NULL
  call free_type(from, error)  ! there may be none
  right = right .and. error == MPI_SUCCESS
  if (me == 0 .and. right) print '(a)', 'PASS'
  call MPI_Finalize(error)
end program datatypes
